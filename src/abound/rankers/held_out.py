"""Rows that `fit` sets aside, to choose by what was not learnt."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from abound.rankers.base import Ranker, Rows
from abound.rankers.labels import Targets
from abound.rankers.ranking import Ranking

Part: TypeAlias = tuple[Rows, Targets]


def select(rows: Rows, targets: Targets, chosen: NDArray[np.int64]) -> Part:
    """Return the chosen rows and their labels."""
    import scipy.sparse as sp

    # Widths are given: scipy cannot infer them where no row has a value, or none a label.
    n_features, n_labels = (int(ids.max(initial=-1)) + 1 for ids in (rows.indices, targets.ids))
    X = sp.csr_array((rows.data, rows.indices, rows.indptr), shape=(rows.n_rows, n_features))[chosen]
    ones = np.ones(len(targets.ids), np.int8)
    Y = sp.csr_array((ones, targets.ids, targets.indptr), shape=(rows.n_rows, n_labels))[chosen]
    return (
        Rows(X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data),
        Targets(Y.indptr.astype(np.int64), Y.indices.astype(np.int32), targets.n_known),
    )


def split(rows: Rows, targets: Targets, share: float, random_state: int | None) -> tuple[Part, Part]:
    """Return the rows to learn and a random share to hold out, both in their order."""
    from sklearn.model_selection import train_test_split

    kept, held = train_test_split(np.arange(rows.n_rows), test_size=share, random_state=random_state)
    return select(rows, targets, np.sort(kept)), select(rows, targets, np.sort(held))


def held_out_score(ranker: Ranker, part: Part, measure: str = "nDCG@5", k: int = 5) -> float:
    """Return a measure of a ranker's rankings of rows that were held out."""
    import scipy.sparse as sp

    from abound.metrics import judge, metric

    rows, targets = part
    width = min(k, len(ranker.labels_))
    labels, scores = np.full((rows.n_rows, width), -1, np.int32), np.zeros((rows.n_rows, width))
    ranker._rank(rows, labels, scores)
    ones: Any = np.ones(len(targets.ids), np.int8)
    truth = sp.csr_array((ones, targets.ids, targets.indptr), shape=(rows.n_rows, len(ranker.labels_)))
    found, at = metric(measure)
    return found.reduce(found.rows(judge(truth, Ranking(labels, scores, ranker.labels_.names)), at))
