"""Appendix B: how well the feature streaming update estimates the proportions of the labels of a feature."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from abound import FeatureFocus

LENGTH = 1000
W_MINS = (0.0, 0.001, 0.01, 0.05, 0.1)
HIGHEST = (0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.3, 0.5, 0.7, 0.9)
MANY = 100
LOST = (0.01, 0.02, 0.03, 0.05, 0.08)


def shares(draws: np.ndarray, n_labels: int, w_min: float) -> np.ndarray:
    """Update one feature with a stream of labels, and return the shares of its edges afterwards."""
    ranker = FeatureFocus(margin=None, w_min=w_min, d_max=None, rating="none")
    ranker.fit(sp.csr_array(np.ones((len(draws), 1))), draws)
    found = np.zeros(n_labels)
    edges, (_, totals, _) = ranker.head.store.edges(0, 1), ranker.head.store.headers()
    found[np.asarray(ranker.labels_.names)[edges["label"]].astype(int)] = edges["weight"] / totals[0]
    return found


def one_high(p: float, n_labels: int) -> np.ndarray:
    """Return a distribution with one label of probability p; the others share the rest equally."""
    return np.array([p] + [(1 - p) / (n_labels - 1)] * (n_labels - 1))


def few_in_a_row(random: np.random.Generator) -> np.ndarray:
    """Draw probabilities one after another from [0, 1], until no mass is left."""
    found: list[float] = []
    while (left := 1.0 - sum(found)) > 1e-12:
        drawn = float(random.random())
        found.append(min(drawn, left))
    return np.array(found)


def deviations(trials: int, seed: int = 0) -> dict[str, Any]:
    """Return figure 21: the mean of |estimated - true| / true of the highest share, by that share and by w_min."""
    result: dict[str, Any] = {"highest": list(HIGHEST), "trials": trials}
    for regime in ("100 labels", "labels alike"):
        curves: dict[str, list[float]] = {str(w_min): [] for w_min in W_MINS}
        for p in HIGHEST:
            n_labels = MANY if regime == "100 labels" else max(2, int(np.ceil(1 / p)))
            truth, random = one_high(p, n_labels), np.random.default_rng(seed)
            streams = [random.choice(n_labels, LENGTH, p=truth) for _ in range(trials)]
            for w_min in W_MINS:
                off = [abs(shares(draws, n_labels, w_min).max() - p) / p for draws in streams]
                curves[str(w_min)].append(float(np.mean(off)))
        result[regime] = curves
    return result


def losses(trials: int, seed: int = 0) -> dict[str, Any]:
    """Return how often a label of share p has no edge after the stream, beside the chance to miss 1 / w_min draws."""
    result: dict[str, Any] = {"shares": list(LOST), "w_min": 0.01, "trials": trials, "lost": [], "formula": []}
    for p in LOST:
        truth, random = one_high(p, MANY), np.random.default_rng(seed)
        streams = (random.choice(MANY, LENGTH, p=truth) for _ in range(trials))
        result["lost"].append(float(np.mean([shares(draws, MANY, 0.01)[0] == 0 for draws in streams])))
        result["formula"].append((1 - p) ** 100)
    return result


def distances(trials: int, seed: int = 0) -> dict[str, Any]:
    """Return figure 22: the mean distances of the estimated shares from the true ones, by w_min."""
    random = np.random.default_rng(seed)
    found: dict[str, list[tuple[float, float]]] = {str(w_min): [] for w_min in W_MINS}
    for _ in range(trials):
        truth = few_in_a_row(random)
        draws = random.choice(len(truth), LENGTH, p=truth / truth.sum())
        for w_min in W_MINS:
            off = np.abs(shares(draws, len(truth), w_min) - truth)
            found[str(w_min)].append((float(off.sum()), float(off.max())))
    means = {w_min: np.mean(values, axis=0).tolist() for w_min, values in found.items()}
    return {"trials": trials, **{name: {w: m[at] for w, m in means.items()} for at, name in enumerate(("l1", "max"))}}
