"""Compare the orderings that the paper reports with our figures."""

from typing import Any

import numpy as np
from scipy.stats import binomtest

SURE = 0.05
GOALS = {"20news": 0.86, "reuters-10": 0.88}
SMALLEST = "reuters-10"  # the only data set on which the paper's index loses


def paired(first: dict[str, Any], second: dict[str, Any], measure: str = "R1") -> dict[str, float]:
    """Return the mean difference over common trials (first minus second), wins, losses and the sign test."""
    pairs = list(zip(first[f"{measure} of trials"], second[f"{measure} of trials"], strict=False))
    differences = np.array([a - b for a, b in pairs])
    wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
    p = float(binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0
    return {"difference": float(differences.mean()), "wins": wins, "losses": losses, "p": p}


def better(found: dict[str, float]) -> bool:
    """Return whether the first is better, at least in the mean."""
    return found["difference"] > 0


def not_worse(found: dict[str, float]) -> bool:
    """Return whether the first is not significantly worse: better in the mean, or level by the sign test."""
    return found["difference"] >= 0 or found["p"] > SURE


def shown(found: dict[str, float]) -> str:
    """Return a short description of a comparison."""
    return f"{found['difference']:+.3f}, {found['wins']:.0f} : {found['losses']:.0f}, p {found['p']:.2g}"


Check = dict[str, Any]


def _check(claim: str, sets: dict[str, tuple[bool, str]]) -> Check:
    return {"claim": claim, "sets": {name: {"holds": bool(ok), "evidence": text} for name, (ok, text) in sets.items()}}


def _of_option(found: dict[str, Any], option: str, judged: Any, *, turned: bool = False) -> dict[str, tuple[bool, str]]:
    """Compare the default with an option on each data set that has it; if turned, the option with the default."""
    result = {}
    for name, corpus in found.items():
        options = corpus["options"]
        if option in options and options[option]["trials"] > 1:
            pair = (options["default"], options[option])
            against = paired(*(pair[::-1] if turned else pair))
            result[name] = (judged(against), shown(against))
    return result


# R1 of a flat LinearSVC on the same trials, measured separately: the tree of SVMs that the command runs on these data
# sets is not tuned on held-out rows, and is not the best classifier there.
MEASURED_APART = {"wordnet": 0.578}


def checks(result: dict[str, Any]) -> list[Check]:
    """Return each claim with the data sets to which it applies, and whether it holds there."""
    found = result["corpora"]
    best = {name: corpus["systems"]["FF best"] for name, corpus in found.items()}
    goals = {
        name: (best[name]["R1"] >= goal, f"{best[name]['R1']:.3f}, wanted {goal}")
        for name, goal in GOALS.items()
        if name in best
    }
    rivals, lost = {}, {}
    for name, corpus in found.items():
        if corpus["sign"]:
            against = paired(best[name], corpus["systems"][corpus["sign"]["against"]])
            text = f"{shown(against)}, against {corpus['sign']['against']}"
            if name == SMALLEST:
                lost[name] = (against["difference"] < 0 and against["p"] <= SURE, text)
            elif name in MEASURED_APART:
                flat = MEASURED_APART[name]
                text = f"{best[name]['R1']:.3f}, against the {flat:.3f} of a flat LinearSVC, measured apart"
                rivals[name] = (best[name]["R1"] >= flat, text)
            else:
                rivals[name] = (not_worse(against), text)
    lists = [
        _check("The index reaches the R1 that was to be reached", goals),
        _check("The index is surely worse than the best of the classifiers on the smallest set", lost),
        _check("Elsewhere it is not worse", rivals),
        _check("The margin matters: the best beats the worst by more than .01 in R1", _margins(found)),
        _check("Bounds on edges cost no accuracy", _unbounded(found)),
        _check("Bounds on edges save edges, and time where labels are many", _saved(found)),
        _check("w_min 0.1 is worse than 0.01", _of_option(found, "w_min 0.1", better)),
        _check("w_min 0.001 is not better than 0.01 by more than .01", _small(found)),
        _check("The leak helps, or does no harm", _of_option(found, "no leak", not_worse)),
        _check("Down-weighting what was seen little helps, or does no harm", _of_option(found, "no rating", not_worse)),
        _check("Five edges a feature do as well as 25, to .01", _few_edges(found)),
        *_boolean(found, best),
        _check("A wider margin brings training and test accuracy closer", _gaps(found)),
        _check("Labels that are ranked first have more features than others", _degrees(found)),
    ]
    return [check for check in lists if check["sets"]] + _appendix(result)


def _margins(found: dict[str, Any]) -> dict[str, tuple[bool, str]]:
    result = {}
    for name, corpus in found.items():
        peaks = {margin: max(curve["R1"]) for margin, curve in corpus["curves"].items()}
        best, worst = max(peaks, key=peaks.__getitem__), min(peaks, key=peaks.__getitem__)
        text = f"{peaks[best]:.3f} with {float(best):g}, {peaks[worst]:.3f} with {float(worst):g}"
        result[name] = (peaks[best] > peaks[worst] + 0.01, text)
    return result


def _unbounded(found: dict[str, Any]) -> dict[str, tuple[bool, str]]:
    result = {}
    for name, corpus in found.items():
        free = corpus["options"].get("no constraints")
        if free:
            bounded = corpus["options"]["default"]
            pair = (bounded, free) if free["trials"] > 1 else (bounded["one_pass"], free["one_pass"])
            difference = pair[0]["R1"] - pair[1]["R1"]
            result[name] = (difference > -0.005, f"{difference:+.3f}")
    return result


def _saved(found: dict[str, Any]) -> dict[str, tuple[bool, str]]:
    result = {}
    for name, corpus in found.items():
        free = corpus["options"].get("no constraints")
        if free:
            bounded, free = corpus["options"]["default"]["one_pass"], free["one_pass"]
            edges, time, touched = (free[key] / max(bounded[key], 1e-9) for key in ("W", "seconds", "d"))
            text = f"{edges:.1f} times the edges, {touched:.1f} times those touched, {time:.1f} times the time without"
            result[name] = (edges >= 1 and touched >= 1, text)
    return result


def _small(found: dict[str, Any]) -> dict[str, tuple[bool, str]]:
    return _of_option(found, "w_min 0.001", lambda against: against["difference"] <= 0.01, turned=True)


def _few_edges(found: dict[str, Any]) -> dict[str, tuple[bool, str]]:
    result = {}
    for name, corpus in found.items():
        degrees = corpus.get("degrees", {})
        if {"5", "25"} <= set(degrees):
            few, many = degrees["5"]["R1"], degrees["25"]["R1"]
            result[name] = (few >= many - 0.01, f"{few:.3f} and {many:.3f}")
    return result


def _boolean(found: dict[str, Any], best: dict[str, Any]) -> list[Check]:
    forms = {name: corpus["boolean"] for name, corpus in found.items() if "boolean" in corpus}
    against = {name: paired(best[name], form["IND"]) for name, form in forms.items()}
    booleans = {name: paired(form["best"], form["IND"]) for name, form in forms.items()}
    values = {name: paired(best[name], form["best"]) for name, form in forms.items()}
    return [
        _check("FF beats IND", {name: (better(pair), shown(pair)) for name, pair in against.items()}),
        _check("FF with values of 1 beats IND", {name: (better(pair), shown(pair)) for name, pair in booleans.items()}),
        _check(
            "The features' values help beside values of 1, or do no harm",
            {n: (not_worse(p), shown(p)) for n, p in values.items()},
        ),
    ]


def _gaps(found: dict[str, Any]) -> dict[str, tuple[bool, str]]:
    result = {}
    for name, corpus in found.items():
        curves = {m: c for m, c in corpus["curves"].items() if "training" in c}
        if curves:
            gaps = [curve["training"][-1] - curve["R1"][-1] for curve in curves.values()]
            text = ", ".join(f"{margin}: {gap:.3f}" for margin, gap in zip(curves, gaps, strict=True))
            result[name] = (gaps[-1] < gaps[0], text)
    return result


def _degrees(found: dict[str, Any]) -> dict[str, tuple[bool, str]]:
    result = {}
    for name, corpus in found.items():
        inside = corpus["inside"]
        high, low = inside["degree of the first"], inside["degree of any"]
        result[name] = (high > low, f"{high:,.0f} and {low:,.0f}")
    return result


def _appendix(result: dict[str, Any]) -> list[Check]:
    if "appendix" not in result:
        return []
    off, far = result["appendix"]["deviations"], result["appendix"]["distances"]["l1"]
    at = [i for i, p in enumerate(off["highest"]) if p >= 0.05]
    sets = {}
    for regime in ("100 labels", "labels alike"):
        exact, fine, coarse = (np.array([off[regime][w][i] for i in at]) for w in ("0.0", "0.01", "0.1"))
        worst = float((fine - exact).max())
        text = f"at most {worst:+.3f} beside w_min 0; w_min 0.1 up to {float((coarse - exact).max()):+.3f}"
        sets[regime] = (worst < 0.1 < float((coarse - exact).max()), text)
    text = f"l1 distances {far['0.0']:.3f} (w_min 0), {far['0.01']:.3f} (0.01), {far['0.1']:.3f} (0.1)"
    sets["random shares"] = (far["0.01"] < far["0.0"] + 0.01 < far["0.1"], text)
    return [_check("w_min 0.01 estimates shares from .05 on as well as none, and 0.1 does not", sets)]
