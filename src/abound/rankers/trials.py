"""Choose how rows with few labels are learned, by trials on some of them."""

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple, Protocol

import numpy as np

from abound.components.rows import Rows, cut, join
from abound.kernels.batch import Batch
from abound.rankers.ranking import Ranking
from abound.training.source import MatrixRows, RowSource

LEAST_ROWS, MOST_ROWS = 1_000, 10_000  # that trials are worth, and that they use
HELD_OUT = 5  # one row in so many is ranked
RANKS = 5
MEASURES = ("P@1", "P@3", "P@5")


class Choice(NamedTuple):
    """How rows are learned: by a linear model of every label, or by votes with a second stage, in some passes."""

    is_linear: bool
    passes: int


DEFAULT = Choice(is_linear=True, passes=3)
# In this order: of equal ones, the first is chosen.
CHOICES = (DEFAULT, *(Choice(is_linear=True, passes=n) for n in (2, 5)), Choice(is_linear=False, passes=2))


class Trial(Protocol):
    """The methods of a ranker that a trial uses."""

    def learn_in_passes(
        self, source: RowSource, names: Batch | None, wanted: Collection[int]
    ) -> "Iterator[tuple[int, Trial]]":
        """Learn all rows from scratch; after some numbers of passes, yield the number and the ranker at this point."""

    def rank_rows(self, rows: Rows, k: int) -> Ranking:
        """Rank rows."""


class Trials:
    """Rows that are learned in several ways, and rows that are ranked then.

    The rows are the first ones of a training order, which is random.
    """

    def __init__(self, source: RowSource, n_labels: int) -> None:
        n_rows = min(source.n_rows, MOST_ROWS)
        found = join(list(source.unwatched(0, n_rows)))
        batch = Batch(found.rows, found.targets._replace(n_known=n_labels), weights=found.weights)
        stop = n_rows - n_rows // HELD_OUT
        self._train, self._held = cut(batch, 0, stop), cut(batch, stop, n_rows)
        self._n_labels = n_labels

    def scores(self, ranker: Trial, names: Batch | None, wanted: Collection[int]) -> dict[int, float]:
        """Train a ranker once; return the mean of the measures on the held-out rows for some numbers of passes."""
        found = ranker.learn_in_passes(MatrixRows(self._train), names, wanted)
        return {passes: self._score(trained) for passes, trained in found}

    def _score(self, ranker: Trial) -> float:
        import scipy.sparse as sp  # here, because ranking must not import scipy and scikit-learn

        from abound.metrics import judge, metric
        from abound.metrics.label_ranking import figures

        ranking = ranker.rank_rows(self._held.rows, RANKS)
        indptr, ids, _ = self._held.targets
        truth = sp.csr_array((np.ones(len(ids)), ids, indptr), shape=(self._held.n_rows, self._n_labels))
        judgement = judge(truth, ranking)
        return float(np.mean([metric(name)[0].reduce(figures(name, judgement)) for name in MEASURES]))


def best(scores: Mapping[Choice, float]) -> Choice:
    """Return the choice with the highest score; of equal ones, the first of `CHOICES`.

    Examples
    --------
    >>> best(dict(zip(CHOICES, [0.5, 0.4, 0.6, 0.6])))
    Choice(is_linear=True, passes=5)
    """
    return max(CHOICES, key=lambda choice: scores[choice])
