"""Analyse an index: the number of features of a label, and which connections are strong or leak."""

from typing import Any

import numpy as np

from abound import FeatureFocus
from benchmarks.papers.feature_focus.cells import Cells
from benchmarks.papers.feature_focus.corpora import Corpus, Part, spaced

STRONG, LEAKING = 0.9, 0.25
EXAMPLES = 8
SEEN_ENOUGH = 10  # occurrences from which on a feature votes with full rating
PAPERS_OWN = {"w_min": 0.01, "d_max": 25, "rating": "seen", "leak": True, "candidates": 50}


def look(part: Part, corpus: Corpus, margin: float) -> dict[str, Any]:
    """Learn the rows of a trial in one pass, and return the figures of sections 6.4.4 and 6.4.5."""
    ranker = FeatureFocus(margin=margin, **PAPERS_OWN).fit(part.X_train, part.Y_train)
    pool, d_max = ranker.head.store, int(ranker.d_max or 0)
    indptr, totals, seen = pool.headers()
    edges = pool.edges(0, pool.n_features)
    lengths = np.diff(indptr)
    feature = np.repeat(np.arange(len(lengths)), lengths)
    place = np.arange(len(edges)) - np.repeat(indptr[:-1], lengths)
    share = edges["weight"] / totals[feature]
    columns = np.asarray(ranker.labels_.names)[edges["label"]].astype(int)
    degrees = np.bincount(columns[place < d_max], minlength=part.Y_train.shape[1])
    ranking = ranker.rank(part.X_test, 5)
    names = np.asarray(ranking.names, int)
    by_rank = [degrees[names[ids[ids >= 0]]].mean() for ids in ranking.indices.T if (ids >= 0).any()]
    kept = np.bincount(feature, share, minlength=len(lengths))
    strong = np.flatnonzero((share > STRONG) & (seen[feature] >= SEEN_ENOUGH))
    strong = strong[np.argsort(-seen[feature[strong]], kind="stable")]
    leaking = np.flatnonzero((kept < LEAKING) & (lengths > 0))
    leaking = leaking[np.argsort(-seen[leaking], kind="stable")]
    result: dict[str, Any] = {
        "degree of the first": float(by_rank[0]),
        "degree of the true": float(degrees[part.Y_test.indices].mean()),
        "degree by rank": [float(value) for value in by_rank],
        "degree of any": float(degrees[degrees > 0].mean()),
        "longest list": int(lengths.max(initial=0)),
        "strong edges": int(np.count_nonzero(share > STRONG)),
        "leaking": len(leaking),
    }
    if corpus.features:
        pairs = [(corpus.features[feature[i]], spaced(corpus.labels[columns[i]])) for i in strong]
        result["strong examples"] = [f"{word} → {label}" for word, label in _one_a_label(pairs)[:EXAMPLES]]
        result["leaking examples"] = [corpus.features[i] for i in leaking[:EXAMPLES]]
    return result


def summary(cells: Cells, n_trials: int, margin: float) -> dict[str, Any]:
    """Return the means over trials, the in-degrees of each trial, and the examples of the first trial."""
    rows = cells.trials(f"connections, margin {margin:g}", n_trials, lambda part: look(part, cells.corpus, margin))
    names = ("degree of the first", "degree of the true", "degree of any", "strong edges", "leaking")
    means: dict[str, Any] = {name: float(np.mean([row[name] for row in rows])) for name in names}
    n_ranks = min(len(row["degree by rank"]) for row in rows)
    by_rank = np.mean([row["degree by rank"][:n_ranks] for row in rows], axis=0)
    return {
        **means,
        "degree by rank": by_rank.tolist(),
        "longest list": max(row["longest list"] for row in rows),
        "first of trials": [row["degree of the first"] for row in rows],
        "any of trials": [row["degree of any"] for row in rows],
        **{name: rows[0][name] for name in ("strong examples", "leaking examples") if name in rows[0]},
    }


def _one_a_label(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Keep the first pair of each label, so that not all examples are of the largest label."""
    kept: dict[str, tuple[str, str]] = {}
    for word, label in pairs:
        kept.setdefault(label, (word, label))
    return list(kept.values())
