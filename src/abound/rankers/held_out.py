"""Rows that `fit` holds out to choose a parameter."""

from typing import Any

import numpy as np

from abound.components.rows import select
from abound.kernels.batch import Batch
from abound.rankers.base import Ranker


def split(batch: Batch, share: float, random_state: int | None) -> tuple[Batch, Batch]:
    """Return the rows to learn and a random share to hold out, both in their order."""
    from sklearn.model_selection import train_test_split

    kept, held = train_test_split(np.arange(batch.n_rows), test_size=share, random_state=random_state)
    return select(batch, np.sort(kept)), select(batch, np.sort(held))


def held_out_score(ranker: Ranker, held: Batch, measure: str = "nDCG@5", k: int = 5) -> float:
    """Return a metric of a ranker's rankings of held-out rows."""
    import scipy.sparse as sp

    from abound.metrics import judge, metric

    targets = held.targets
    ones: Any = np.ones(len(targets.ids), np.int8)
    truth = sp.csr_array((ones, targets.ids, targets.indptr), shape=(held.n_rows, len(ranker.labels_)))
    definition, at = metric(measure)
    return definition.reduce(definition.rows(judge(truth, ranker.rank_rows(held.rows, k)), at))
