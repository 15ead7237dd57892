"""Rows that `fit` sets aside, to choose by what was not learnt."""

from typing import Any

import numpy as np

from abound.rankers.base import Ranker
from abound.rankers.labels import Targets
from abound.rankers.ranking import Ranking
from abound.rankers.rows import Part, Rows, select


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
