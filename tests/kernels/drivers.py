"""The kernels of the cascade as the tests drive them, and what their oracles hold in the same form."""

import numpy as np

from abound.components.votes import LearningParams
from abound.kernels.batch import Batch
from abound.kernels.category import (
    PrototypeSettings,
    RowScores,
    prototypes_explain,
    prototypes_learn,
    prototypes_rank,
)
from abound.kernels.pairs import PairTables, pairs_explain
from abound.kernels.pool import EDGE_DTYPE, EdgePool
from abound.kernels.prototypes import Prototypes
from abound.kernels.rated import RATED_DTYPE, RATING_DTYPE, RatedSettings, rated_explain, rated_learn, rated_rank
from abound.kernels.votes import Votes
from tests.kernels.streams import as_lists, as_rows
from tests.reference.rated import Learned


def rated_settings(options):
    """Return settings from options that name everything."""
    learning = LearningParams(**{name: options[name] for name in LearningParams._fields})
    others = {name: value for name, value in options.items() if name not in LearningParams._fields}
    return RatedSettings(**others, learning=learning)


class Index:
    """The kernels of the rated index, some rows at a time."""

    def __init__(self, options, pool=None):
        self.pool, self.votes, self.settings = pool or EdgePool(), Votes(), rated_settings(options)
        self.tables = PairTables() if options.get("n_candidates") else None

    def learn(self, examples, *, again=False, rejections=True, before=0):
        wrong = as_lists([e.wrong for e in examples]) if rejections else None
        rows, labels = as_rows([e.row for e in examples]), as_lists([e.labels for e in examples])
        n_labels = max(e.n_labels for e in examples)
        batch = Batch(rows, (*labels, n_labels), wrong)
        return rated_learn(self.pool, self.votes, self.settings, batch, n_labels, again, self.tables, before)

    def rank(self, row, n_labels, k=10_000):
        k = min(k, max(1, n_labels))
        labels, scores = np.full((1, k), -1, np.int32), np.zeros((1, k))
        batch = Batch(as_rows([row]))
        rated_rank(self.pool, self.votes, self.settings, batch, n_labels, labels, scores, self.tables)
        return [pair for pair in zip(labels[0].tolist(), scores[0].tolist(), strict=True) if pair[0] >= 0]

    def explain(self, row, label):
        _, indices, data = as_rows([row])
        positions, votes, corrections = rated_explain(self.pool, self.settings, indices, data, label)
        return list(zip(indices[positions].tolist(), votes.tolist(), strict=True)), corrections.tolist()

    def arrays(self):
        indptr, totals, seen = self.pool.headers()
        edges = self.pool.edges(0, self.pool.n_features).view(RATED_DTYPE)
        return indptr // 2, edges, totals, seen.view(RATING_DTYPE)

    @classmethod
    def of(cls, options, indptr, edges, totals, ratings):
        arrays = indptr * 2, edges.view(EDGE_DTYPE), totals, ratings.view(np.int64)
        return cls(options, EdgePool.from_arrays(*arrays))

    def state(self):
        """Return totals, ratings and edge lists, an entry for each feature."""
        indptr, edges, totals, ratings = self.arrays()
        found = edges.tolist()
        lists = [found[a:b] for a, b in zip(indptr[:-1].tolist(), indptr[1:].tolist(), strict=True)]
        return totals.tolist(), ratings.tolist(), lists


def rated_state(oracle, n_features):
    assert max(oracle.W, default=-1) < n_features
    ratings = [oracle.ratings.get(f, Learned()) for f in range(n_features)]
    corrections = {f: {c: (th.value, th.squares) for c, th in found.items()} for f, found in oracle.corrections.items()}
    return (
        [oracle.W.get(f, 0.0) for f in range(n_features)],
        [(rating.value, rating.squares) for rating in ratings],
        [[(c, w, *corrections[f][c]) for c, w in oracle.edges.get(f, [])] for f in range(n_features)],
    )


def table_state(tables):
    """Return the pairs of candidates as their oracle holds them."""
    indptr, labels, weights, squares = tables.arrays()
    features = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)).tolist()
    keys = zip(features, labels.tolist(), strict=True)
    return dict(zip(keys, zip(weights.tolist(), squares.tolist(), strict=True), strict=True))


def weighed_votes(index, row, label):
    """Return what each feature of a row adds to what a label weighs, and what all rows have."""
    _, indices, data = as_rows([row])
    weights, prior = pairs_explain(index.tables, indices, data, label)
    return dict(zip(indices.tolist(), weights.tolist(), strict=True)), prior


class Pairs:
    """The kernels of the squared hinge, some rows at a time."""

    def __init__(self, options, may_be_dense=True):
        self.bias_value = options.get("bias_value", 0.0)
        self.store = Prototypes(has_aux=True, may_be_dense=may_be_dense)
        self.scratch, self.n_known = RowScores(), 0
        how = {name: options[name] for name in ("margin", "rivals", "step")}
        self.settings = PrototypeSettings(
            rule="hinge", all_labels=True, step_start=options["start"], bias_value=self.bias_value, **how
        )

    def learn(self, examples, rejections=True):
        rows, labels = as_rows([e.row for e in examples]), as_lists([e.labels for e in examples])
        wrong = as_lists([e.wrong for e in examples]) if rejections else None
        batch = Batch(rows, (*labels, self.n_known), wrong)
        changed = prototypes_learn(self.store, self.scratch, self.settings, batch)
        self.n_known = max(self.n_known, *(e.n_labels for e in examples))
        return changed

    def rank(self, row, k=10_000):
        k = min(k, max(1, self.n_known))
        labels, scores = np.full((1, k), -1, np.int32), np.zeros((1, k))
        batch = Batch(as_rows([row]))
        prototypes_rank(self.store, self.scratch, self.settings, batch, self.n_known, labels, scores)
        return [pair for pair in zip(labels[0].tolist(), scores[0].tolist(), strict=True) if pair[0] >= 0]

    def explain(self, row, label):
        _, indices, data = as_rows([row])
        positions, votes, prior = prototypes_explain(self.store, indices, data, label, self.bias_value)
        return list(zip(indices[positions].tolist(), votes.tolist(), strict=True)), prior

    def state(self):
        return table_state(self.store)


def hinge_state(oracle):
    return {key: pair for key, pair in oracle.pairs.items() if pair != (0.0, 0.0)}
