"""Judge the claims of the category-ranking paper by our figures: each holds, does not hold, or is undecided.

A difference of two systems varies with the seed and with the documents. Its 95% interval has both: the variance of the
mean over the seeds plus that of the mean over the documents, with Student's t for as many seeds. A claim about one
difference holds if its interval is on the claimed side of 0, does not hold if it is on the other side, and is undecided
otherwise. "The best" must be surely better than each other system; it is refuted if another is surely better, where the
level is divided by the number of comparisons.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from benchmarks.papers.mmp.paper import MORE_IS_BETTER, PERCENT, ROW_MEASURES
from benchmarks.papers.mmp.runs import LOSSES, MMPS, OF_THE_PAPER, ONLINE

LEVEL = 0.05
STRONG = 0.7  # a correlation above it is called strong
LOWER_LOSS1 = {"reuters-21578": ("Perceptron", "MMP l.3"), "rcv1-subsets": ("MMP l.3", "Perceptron")}  # tables 1, 3
HOLDS, FAILS, UNDECIDED = "holds", "does not hold", "undecided"


class Rows(NamedTuple):
    """Figures of documents: seeds x systems x measures x documents."""

    systems: tuple[str, ...]
    figures: np.ndarray

    def of(self, system: str, measure: str) -> np.ndarray:
        """Return seeds x documents."""
        return self.figures[:, self.systems.index(system), ROW_MEASURES.index(measure)]


class Interval(NamedTuple):
    """A mean and its interval."""

    mean: float
    low: float
    high: float


def interval(values: np.ndarray, comparisons: int = 1) -> Interval:
    """Return the interval of the mean of seeds x documents, or of one value per seed."""
    of_seeds = values if values.ndim == 1 else values.mean(axis=1)
    variance = of_seeds.var(ddof=1) / len(of_seeds)
    if values.ndim == 2:
        variance += values.mean(axis=0).var(ddof=1) / values.shape[1]
    wide = stats.t.ppf(1 - LEVEL / 2 / comparisons, len(of_seeds) - 1) * np.sqrt(variance)
    mean = float(of_seeds.mean())
    return Interval(mean, mean - float(wide), mean + float(wide))


def verdict(found: Interval, threshold: float = 0.0) -> str:
    """Return whether a mean is above a threshold."""
    if found.low > threshold:
        return HOLDS
    return FAILS if found.high < threshold else UNDECIDED


def all_of(verdicts: Iterable[str]) -> str:
    """Return the verdict of a claim that needs several others."""
    verdicts = list(verdicts)
    if FAILS in verdicts:
        return FAILS
    return UNDECIDED if UNDECIDED in verdicts else HOLDS


def shown(measure: str, found: Interval) -> str:
    """Return an interval in the unit of the tables."""
    scale, unit = (100, " points") if measure in PERCENT else (1, "")
    return f"{scale * found.mean:+.3g} [{scale * found.low:+.3g}, {scale * found.high:+.3g}]{unit}"


def gain(rows: Rows, first: str, second: str, measure: str) -> np.ndarray:
    """Return how much better the first system is, by seed and document."""
    difference = rows.of(first, measure) - rows.of(second, measure)
    return difference if measure in MORE_IS_BETTER else -difference


def best(rows: Rows, name: str, measure: str, others: Iterable[str], comparisons: int = 1) -> tuple[str, str]:
    """Return whether a system is the best, and how it compares with its strongest rival."""
    others = [other for other in others if other != name]
    gains = {other: gain(rows, name, other, measure) for other in others}
    single = {other: interval(values, comparisons) for other, values in gains.items()}
    many = {other: interval(values, comparisons * len(others)) for other, values in gains.items()}
    if all(verdict(one) == HOLDS for one in single.values()):
        judged = HOLDS
    else:
        judged = FAILS if any(verdict(one) == FAILS for one in many.values()) else UNDECIDED
    rival = min(single, key=lambda other: single[other].mean)
    side = "better" if single[rival].mean >= 0 else "worse"
    return judged, f"{name} is {side} than {rival}: {shown(measure, single[rival])}"


def worst(rows: Rows, name: str, measure: str, others: Iterable[str]) -> tuple[str, str]:
    """Return whether a system is the worst, and how it compares with the next."""
    flipped = Rows(rows.systems, -rows.figures)
    judged, _ = best(flipped, name, measure, others)
    gains = {other: interval(gain(rows, name, other, measure)) for other in others if other != name}
    rival = max(gains, key=lambda other: gains[other].mean)
    return judged, f"beside {rival}: {shown(measure, gains[rival])}"


def claim(text: str, where: str, judged: tuple[str, str]) -> dict[str, str]:
    return {"claim": text, "where": where, "verdict": judged[0], "evidence": judged[1]}


def of_corpus(where: str, rows: Rows) -> list[dict[str, str]]:
    """Judge the claims about the test documents of a corpus (section 4.6)."""
    result = []
    for number, name in enumerate(MMPS, 1):
        text = f"{name} is the best of the five on loss {number}, by which it learns"
        result.append(claim(text, where, best(rows, name, f"loss{number}", OF_THE_PAPER)))
    for measure in ("OneErr", "AvgP", "maxF1/size", "maxF1/row"):
        result.append(
            claim(f"MMP l.1 is the best of the five on {measure}", where, best(rows, "MMP l.1", measure, OF_THE_PAPER))
        )
    means = {name: rows.of(name, "Coverage").mean() for name in MMPS[1:]}
    first = min(means, key=means.__getitem__)
    others = [name for name in OF_THE_PAPER if name not in MMPS[1:]]
    judged = best(rows, first, "Coverage", others, comparisons=2)
    result.append(claim("MMP l.2 or l.3 is the best of the five on Coverage", where, judged))
    result.append(
        claim("Perceptron has the worst Coverage", where, worst(rows, "Perceptron", "Coverage", OF_THE_PAPER))
    )
    for measure in ("loss1", "OneErr", "AvgP", "maxF1/size"):
        judged = worst(rows, "Rocchio", measure, OF_THE_PAPER)
        result.append(claim(f"Rocchio is the worst of the five on {measure}", where, judged))
    if where in LOWER_LOSS1:
        first, second = LOWER_LOSS1[where]
        text = f"{first} has a lower loss 1 than {second}"
        result.append(claim(text, where, best(rows, first, "loss1", [second])))
    result.append(claim("The best MMP beats Rocchio and Perceptron on every measure", where, outperforms(rows)))
    judged = best(rows, "MMP AvgP", "AvgP", ["MMP l.1"])
    result.append(claim("Learning by average precision improves it beside loss 1", where, judged))
    for measure in ("OneErr", "AvgP"):
        judged = best(rows, "MMP l.1 averaged", measure, ["MMP l.1"])
        result.append(claim(f"Averaged prototypes are better than the last ones on {measure}", where, judged))
    return result


def outperforms(rows: Rows) -> tuple[str, str]:
    """Judge whether the best MMP of each measure beats both baselines; it is chosen by its mean."""
    verdicts, lost = [], []
    for measure in ROW_MEASURES:
        sign = -1 if measure in MORE_IS_BETTER else 1
        name = min(MMPS, key=lambda one: sign * rows.of(one, measure).mean())
        judged, evidence = best(rows, name, measure, ["Rocchio", "Perceptron"], comparisons=len(MMPS))
        verdicts.append(judged)
        if judged != HOLDS:
            lost.append(f"{measure}: {evidence}")
    return all_of(verdicts), "; ".join(lost) or f"on all of {', '.join(ROW_MEASURES)}"


def precision_at(curve: list[list[float]], recall: float) -> float:
    """Return the precision at a recall, interpolated between ranks."""
    precision, found = map(np.array, curve)
    return float(np.interp(recall, found, precision))


def of_curves(where: str, curves: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Judge the claims about precision and recall (figure 6); they vary with the seeds."""
    result = []

    def differences(first: str, second: str, recall: float) -> np.ndarray:
        return np.array([precision_at(one[first], recall) - precision_at(one[second], recall) for one in curves])

    if where == "reuters-21578":
        for recall in (0.85, 0.89):
            found = {name: interval(differences("Perceptron", name, recall)) for name in MMPS[1:]}
            text = f"Perceptron has a higher precision than MMP l.2 and l.3 at a recall of {recall}"
            evidence = "; ".join(f"beside {name}: {shown('', one)}" for name, one in found.items())
            result.append(claim(text, where, (all_of(map(verdict, found.values())), evidence)))
    found = {name: interval(differences(name, "Perceptron", 0.99)) for name in OF_THE_PAPER if name != "Perceptron"}
    evidence = "; ".join(f"{name}: {shown('', one)}" for name, one in found.items())
    text = "Perceptron has the lowest precision at a recall of 0.99"
    result.append(claim(text, where, (all_of(map(verdict, found.values())), f"precision more by {evidence}")))
    return result


def of_rounds(where: str, rounds: list[dict[str, Any]], tests: Rows) -> list[dict[str, str]]:
    """Judge the claims about training (figures 4 and 5); each seed has one value at the last round."""
    result = []
    last = {name: {loss: np.array([one[name][loss][-1] for one in rounds]) for loss in LOSSES} for name in ONLINE}
    for number, name in enumerate(MMPS, 1):
        loss = f"loss{number}"
        found = {other: interval(last[other][loss] - last[name][loss]) for other in ONLINE if other != name}
        rival = min(found, key=lambda other: found[other].mean)
        judged = all_of(map(verdict, found.values()))
        text = f"During training, {name} has the lowest loss {number} of the online algorithms"
        result.append(claim(text, where, (judged, f"{rival} has {shown(loss, found[rival])} more")))
    pairs = []
    for seed in range(len(rounds)):
        of_losses = []
        for loss in LOSSES:
            training = [last[name][loss][seed] for name in ONLINE]
            of_losses.append(np.corrcoef(training, [tests.of(name, loss)[seed].mean() for name in ONLINE])[0, 1])
        pairs.append(np.mean(of_losses))
    found_one = interval(np.array(pairs))
    text = f"Losses in training and on test documents correlate strongly (above {STRONG}) over the online algorithms"
    result.append(claim(text, where, (verdict(found_one, STRONG), f"r = {shown('', found_one)}")))
    return result


def of_measures(where: str, rows: Rows, n_true: np.ndarray) -> list[dict[str, str]]:
    """Judge the claims about the relations of measures (section 4.5 and 4.6)."""
    result = []
    for first, second in (("loss1", "OneErr"), ("loss2", "Coverage")):
        a, b = (np.array([rows.of(name, m).mean(axis=1) for name in OF_THE_PAPER]) for m in (first, second))
        found = interval(np.array([np.corrcoef(a[:, seed], b[:, seed])[0, 1] for seed in range(a.shape[1])]))
        text = f"{first} and {second} correlate strongly (above {STRONG}) over the five algorithms"
        result.append(claim(text, where, (verdict(found, STRONG), f"r = {shown('', found)}")))
    exceeds = max(float((rows.of(name, "OneErr") > rows.of(name, "loss1")).mean()) for name in OF_THE_PAPER)
    text = "OneErr is at most loss 1 on every document"
    result.append(claim(text, where, (HOLDS if exceeds == 0 else FAILS, f"{exceeds:.2%} of the documents differ")))
    single = n_true == 1
    differs = max(
        float((rows.of(name, "loss2")[:, single] != rows.of(name, "Coverage")[:, single]).mean())
        for name in OF_THE_PAPER
    )
    text = "With one relevant label, Coverage is loss 2"
    evidence = f"up to {differs:.2%} of these documents differ, which have ties: loss 2 counts ties, Coverage does not"
    result.append(claim(text, where, (HOLDS if differs == 0 else FAILS, evidence if differs else "on all of them")))
    return result
