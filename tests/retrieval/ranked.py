"""Graded documents of queries for the tests of document rankers."""

import numpy as np


def documents(n_queries=20, n_documents=12, n_features=4, noise=0.5, seed=0):
    """Documents whose grades follow a planted linear score; every query has both kinds."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_queries * n_documents, n_features))
    qid = np.repeat(np.arange(n_queries), n_documents)
    score = X @ np.linspace(1, -1, n_features) + noise * rng.normal(size=len(X))
    y = np.zeros(len(X), np.int64)
    for query in range(n_queries):
        inside = np.flatnonzero(qid == query)
        best = inside[np.argsort(-score[inside])[: rng.integers(1, n_documents // 2 + 1)]]
        y[best] = rng.integers(1, 3, size=len(best))
    return X, y, qid
