"""Cascades in each of their forms, and the streams that bring them there."""

import numpy as np
import scipy.sparse as sp

from abound import Cascade
from abound.components.linear import Linear
from abound.components.votes import RatedVotes
from abound.kernels.batch import Batch
from tests.kernels.streams import as_lists

TRIAL = 60
FEW, MANY, BOTH = "few", "many", "both"


def growing(n_rows=150, n_features=40, seed=0, every=5):
    """Rows whose labels and columns go on coming, a new label about every few rows; some rows have none."""
    rng = np.random.default_rng(seed)
    X, Y = sp.lil_array((n_rows, n_features)), []
    for row in range(n_rows):
        known = 1 + row // every
        labels = rng.choice(known, size=min(known, rng.integers(0, 4)), replace=False).tolist()
        columns = [label % n_features for label in labels] + rng.integers(
            1 + n_features * row // n_rows, size=3
        ).tolist()
        for column in columns:
            X[row, column] = rng.random() + 0.01
        Y.append([f"label {label}" for label in labels])
    return sp.csr_array(X), Y


def rejections(Y, seed=1):
    """Return, for each row, some labels that were known before it and are not its own."""
    rng, known, wrong = np.random.default_rng(seed), [], []
    for labels in Y:
        others = [name for name in known if name not in labels]
        wrong.append(others[: rng.integers(3)] if rng.random() < 0.5 else [])
        known += [name for name in labels if name not in known]
    return wrong


def learn(ranker, X, Y, wrong=None):
    """Learn rows of which some labels are known to be wrong, as a tagger does."""
    if not hasattr(ranker, "labels_"):
        ranker.reset()
    batch = ranker.encode(X, Y)
    given = None if wrong is None else as_lists([[ranker.labels_.id_of(name) for name in row] for row in wrong])
    ranker.learn(Batch(batch.rows, batch.targets, given))
    return ranker


def form_of(ranker):
    indexed = ranker.component(RatedVotes) is not None
    if ranker.component(Linear) is None:
        assert indexed
        return MANY
    return BOTH if indexed else FEW


def forms():
    """Rankers in every form, with what brought them there; the trial must be short."""
    X, Y = growing(TRIAL + 20)
    return {
        BOTH: learn(Cascade(few_labels=30, candidates=20), X[:40], Y[:40], rejections(Y[:40])),
        FEW: learn(Cascade(few_labels=30, candidates=20), X, Y, rejections(Y)),
        MANY: learn(Cascade(few_labels=5, candidates=20), X, Y, rejections(Y)),
    }
