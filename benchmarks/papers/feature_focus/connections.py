"""Analyse an index: the number of features of a label, and which connections are strong or leak."""

from typing import Any

import numpy as np

from abound import FeatureFocus
from benchmarks.papers.feature_focus.corpora import Corpus, spaced
from benchmarks.papers.feature_focus.runs import PAPERS_OWN

STRONG, LEAKING = 0.9, 0.25
EXAMPLES = 8
SEEN_ENOUGH = 10  # occurrences from which on a feature votes with full rating


def look(corpus: Corpus, margin: float) -> dict[str, Any]:
    """Learn the rows of the first trial in one pass, and return the figures of sections 6.4.4 and 6.4.5."""
    part = corpus.trial(0)
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
        "strong": len(strong),
        "strong edges": int(np.count_nonzero(share > STRONG)),
        "leaking": len(leaking),
        "features": int(np.count_nonzero(lengths)),
    }
    if corpus.features:
        pairs = [(corpus.features[feature[i]], spaced(corpus.labels[columns[i]])) for i in strong]
        result["strong examples"] = [f"{word} → {label}" for word, label in _one_a_label(pairs)[:EXAMPLES]]
        result["leaking examples"] = [corpus.features[i] for i in leaking[:EXAMPLES]]
    return result


def _one_a_label(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Keep the first pair of each label, so that not all examples are of the largest label."""
    kept: dict[str, tuple[str, str]] = {}
    for word, label in pairs:
        kept.setdefault(label, (word, label))
    return list(kept.values())
