"""MMP, one perceptron a label and Rocchio in plain Python, to read beside the paper (SIGIR 2002), sections 3 and 4.3.

It imports nothing of the package, works in doubles, and compares all pairs of labels. Labels and features are numbers;
a feature of a row is active when its value is not 0. With `single`, weights are kept in single precision, as the
kernels keep them, so that states can be compared bit for bit.
"""

import math
import struct
from collections.abc import Iterable

import numpy as np

SMALLEST = 2.0**-126  # the smallest normal single; a value below it is taken as absent
Row = dict[int, float]
Weights = dict[int, dict[int, float]]


def active(row: Row) -> Row:
    """Return the features that are on, ascending."""
    return {f: float(row[f]) for f in sorted(row) if abs(row[f]) >= SMALLEST}


class Prototypes:
    """One weight vector a label, kept as label -> feature -> weight; labels are ranked by its product with a row.

    Parameters
    ----------
    candidates : {"all", "touched"}
        Which labels take part: all known ones as in the paper, or the relevant ones and those that have a stored
        weight on an active feature.
    stores : {"relevant", "updated"}
        When a pair of a feature and a label is stored: once it was updated, or already once the label was relevant in a
        row with the feature, at weight 0. With "touched" the second way alone would never learn anything: where nothing
        is stored no label competes, and where no label competes nothing is updated.
    single : bool
        Whether weights are rounded to single precision.

    Attributes
    ----------
    w : dict of label to (dict of feature to float)
        A pair is stored once it was updated by an amount other than zero, and stays so.
    n_labels : int
        Labels known so far; their numbers are below it.
    """

    def __init__(self, *, candidates: str = "all", stores: str = "relevant", single: bool = False) -> None:
        self.candidates, self.stores, self.single = candidates, stores, single
        self.w: Weights = {}
        self.n_labels = 0

    def score(self, row: Row, label: int) -> float:
        """Return a label's score; a plain sum, for Python's own compensates from 3.12 on."""
        weights, total = self.w.get(label, {}), 0.0
        for f, v in active(row).items():
            total += v * weights.get(f, 0.0)
        return total

    def scores(self, row: Row) -> dict[int, float]:
        """Return the score of every known label."""
        return {label: self.score(row, label) for label in range(self.n_labels)}

    def touched(self, row: Row) -> set[int]:
        """Return the labels with a stored weight on an active feature."""
        return {label for label, weights in self.w.items() if not weights.keys().isdisjoint(active(row))}

    def taking_part(self, row: Row) -> set[int]:
        """Return the labels that take part whether or not they are relevant."""
        return set(range(self.n_labels)) if self.candidates == "all" else self.touched(row)

    def rank(self, row: Row) -> list[tuple[int, float]]:
        """Return the labels that take part and their scores, best first."""
        scores = [(label, self.score(row, label)) for label in self.taking_part(row)]
        return sorted(scores, key=lambda pair: (-pair[1], pair[0]))

    def add(self, label: int, amount: float, row: Row) -> None:
        """Add a multiple of a row to a label's prototype."""
        for f, v in active(row).items():
            if amount * v != 0:
                weights = self.w.setdefault(label, {})
                total = weights.get(f, 0.0) + v * amount
                weights[f] = float(np.float32(total)) if self.single else total

    def hold(self, labels: Iterable[int], row: Row) -> None:
        """Store the pairs of a row's labels, if that is the way."""
        if self.stores == "relevant":
            for label in labels:
                for f in active(row):
                    self.w.setdefault(label, {}).setdefault(f, 0.0)


class MMPReference(Prototypes):
    """The topic-ranking algorithm of figure 2.

    Parameters
    ----------
    loss : {1, 2, 3, "avgp"}
        What c is: |E|, 1, or |y| (k - |y|), where k is the number of labels known, whichever take part. With "avgp" the
        step is 1 - the average precision, so that c is |E| divided by it.
    update : {"uniform", "max", "proportional", "random"}
        The share of each wrong pair in the step: all alike; all to the lowest relevant label and the highest other one;
        by how far the relevant label is below; by random numbers. See `shares`.
    seed : int
        For the random numbers.
    margin : float
        A pair is an error unless the relevant label scores higher by more than this.
    rivals : int or None
        Only so many of the best other labels take part, of equal ones those with smaller numbers; None is the paper's.
    options
        See `Prototypes`.
    """

    def __init__(
        self,
        loss: int | str = 1,
        candidates: str = "all",
        margin: float = 0.0,
        rivals: int | None = None,
        update: str = "uniform",
        seed: int = 0,
        **options,
    ) -> None:
        super().__init__(candidates=candidates, **options)
        self.loss, self.margin, self.rivals, self.update, self.seed = loss, margin, rivals, update, seed

    def error_set(self, row: Row, labels: Iterable[int]) -> list[tuple[int, int]]:
        """Return all pairs of a relevant and another label of which the relevant one does not score higher."""
        relevant = set(labels)
        if not relevant:
            return []
        scores = self.scores(row)
        others = sorted(self.taking_part(row) - relevant, key=lambda label: (-scores[label], label))[: self.rivals]
        return [(r, s) for r in sorted(relevant) for s in sorted(others) if scores[r] - self.margin <= scores[s]]

    def divisor(self, errors: list[tuple[int, int]], labels: Iterable[int]) -> int:
        """Return c."""
        n_relevant = len(set(labels))
        return {1: len(errors), 2: 1, 3: n_relevant * (self.n_labels - n_relevant)}[self.loss]

    def size(self, row: Row, labels: Iterable[int]) -> float:
        """Return the loss that the step of a row is as large as."""
        errors = self.error_set(row, labels)
        if self.loss != "avgp":
            return len(errors) / self.divisor(errors, labels)
        relevant, scores = sorted(set(labels)), self.scores(row)
        relevant.sort(key=lambda label: -scores[label])
        precisions = []
        for place, r in enumerate(relevant, 1):
            above = sum(pair[0] == r for pair in errors)
            precisions.append(place / (place + above))
        return 1 - sum(precisions) / len(relevant)

    def shares(self, row: Row, labels: Iterable[int]) -> dict[tuple[int, int], float]:
        """Return the share of each wrong pair in the step of a row; they sum to 1."""
        errors, scores = self.error_set(row, labels), self.scores(row)
        if self.update == "max":
            lowest = max({r for r, _ in errors}, key=lambda r: (-scores[r], r))
            highest = max({s for _, s in errors}, key=lambda s: (scores[s], -s))
            return {(lowest, highest): 1.0}
        weights = dict.fromkeys(errors, 1.0)
        if self.update == "proportional":
            weights = {(r, s): scores[s] - (scores[r] - self.margin) for r, s in errors}
        if self.update == "random":
            weights = {pair: self.random(row, sorted(set(labels)), scores, pair) for pair in errors}
        if not any(weights.values()):
            weights = dict.fromkeys(errors, 1.0)
        return {pair: weight / sum(weights.values()) for pair, weight in weights.items()}

    def random(self, row: Row, relevant: list[int], scores: dict[int, float], pair: tuple[int, int]) -> float:
        """Return a number between 0 and 1 that depends on the seed, the row, its labels' scores and the pair."""
        h = self.seed
        for f in sorted(row):
            h = mixed(mixed(h ^ f) ^ bits(row[f]))
        for label in relevant:
            h = mixed(h ^ bits(scores[label]))
        return ((mixed(mixed(h ^ pair[0]) ^ pair[1]) >> 11) + 0.5) * 2.0**-53

    def amounts(self, row: Row, labels: Iterable[int]) -> dict[int, float]:
        """Return by what multiple of the row each prototype moves: n_r / c, and -n_s / c."""
        errors = self.error_set(row, labels)
        if errors and (self.update != "uniform" or self.loss == "avgp"):
            moved: dict[int, float] = {}
            size = self.size(row, labels)
            for (r, s), share in self.shares(row, labels).items():
                moved[r] = moved.get(r, 0.0) + share * size
                moved[s] = moved.get(s, 0.0) - share * size
            return moved
        count: dict[int, int] = {}
        for r, s in errors:
            count[r] = count.get(r, 0) + 1
            count[s] = count.get(s, 0) - 1
        return {label: n / self.divisor(errors, labels) for label, n in count.items()}

    def losses(self, row: Row, labels: Iterable[int]) -> tuple[float, float, float]:
        """Return the three losses of the ranking of a row, over the labels that take part."""
        errors, n_relevant = self.error_set(row, labels), len(set(labels))
        most = n_relevant * (self.n_labels - n_relevant)
        return float(bool(errors)), float(len(errors)), len(errors) / most if most else 0.0

    def learn(self, row: Row, labels: Iterable[int], n_labels: int) -> tuple[float, float, float]:
        """Learn a row, with so many labels known by now; return the losses that it had before."""
        self.n_labels = max(self.n_labels, n_labels)
        labels = list(labels)
        losses = self.losses(row, labels)
        for label, amount in sorted(self.amounts(row, labels).items()):
            self.add(label, amount, row)
        self.hold(labels, row)
        return losses


def mixed(z: int) -> int:
    """Return 64 bits scrambled (SplitMix64)."""
    z = (z + 0x9E3779B97F4A7C15) % 2**64
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return z ^ (z >> 31)


def bits(value: float) -> int:
    """Return the bits of a double as a number."""
    return int(struct.unpack("<Q", struct.pack("<d", value))[0])


class PerceptronReference(Prototypes):
    """One binary perceptron a label, which starts at zero when its label is first known."""

    def learn(self, row: Row, labels: Iterable[int], n_labels: int) -> int:
        """Learn a row for every label that takes part; return how many perceptrons were wrong or undecided."""
        self.n_labels = max(self.n_labels, n_labels)
        relevant, scores, mistakes = set(labels), self.scores(row), 0
        for label in sorted(self.taking_part(row) | relevant):
            side = 1 if label in relevant else -1
            if side * scores[label] <= 0:
                self.add(label, side, row)
                mistakes += 1
        self.hold(relevant, row)
        return mistakes


class RocchioReference(Prototypes):
    """Weighted difference of the mean rows with and without a label, cut at zero, of unit length (section 4.3)."""

    def __init__(self, positive: float = 16.0, negative: float = 4.0) -> None:
        super().__init__(candidates="touched")
        self.positive, self.negative = positive, negative
        self.rows: list[tuple[Row, set[int]]] = []

    def learn(self, row: Row, labels: Iterable[int], n_labels: int) -> None:
        """Take up a row."""
        self.n_labels = max(self.n_labels, n_labels)
        self.rows.append((active(row), set(labels)))
        self.w = {label: unit_norm(self.raw(label)) for label in range(self.n_labels)}

    def raw(self, label: int) -> dict[int, float]:
        """Return the positive weights of a label before they are brought to unit length; without rows it has none."""
        inside = [row for row, labels in self.rows if label in labels]
        outside = [row for row, labels in self.rows if label not in labels]
        if not inside:
            return {}
        weights = {}
        for f in sorted({f for row in inside for f in row}):
            mean = weight = self.positive * sum(row.get(f, 0.0) for row in inside) / len(inside)
            if outside:
                weight -= self.negative * sum(row.get(f, 0.0) for row in outside) / len(outside)
            if weight > 1e-5 * mean:  # less is what rounding has left of 0
                weights[f] = weight
        return weights

    def selected(self, least: int = 100, share: float = 0.025) -> set[int]:
        """Return the terms that some label takes: its heaviest, max(least, share of its positive ones) of them.

        A share is rounded up, and of equal weights the smaller feature goes first (section 4.4).
        """
        chosen: set[int] = set()
        for label in range(self.n_labels):
            weights = self.raw(label)
            order = sorted(weights, key=lambda f: (-weights[f], f))
            chosen.update(order[: max(least, math.ceil(share * len(weights)))])
        return chosen


def unit_norm(weights: dict[int, float]) -> dict[int, float]:
    """Return weights divided by their length."""
    length = math.sqrt(sum(w * w for w in weights.values()))
    return {f: w / length for f, w in weights.items()} if length else {}
