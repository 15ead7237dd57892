"""The results of a ranker: ranked labels, and the explanation of one of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from abound.store.names import Name


@dataclass(frozen=True)
class Ranking:
    """The best labels of some rows, best first.

    Attributes
    ----------
    indices : ndarray of shape (n_samples, k), int32
        Label numbers, assigned in the order in which the ranker first saw the labels, padded with -1.
    scores : ndarray of shape (n_samples, k), float64
        Their scores, padded with 0.
    names : sequence of length n_labels or more
        The name of every label number.
    probabilities : ndarray of shape (n_samples, k), float64, or None
        How likely each label is to be right, padded with 0; None if the ranker is not calibrated.
    """

    indices: NDArray[np.int32]
    scores: NDArray[np.float64]
    names: Sequence[Name]
    probabilities: NDArray[np.float64] | None = None

    @property
    def labels(self) -> NDArray[np.object_]:
        """The names of the ranked labels, padded with None."""
        labels = np.empty(self.indices.shape, object)
        labels.ravel()[:] = [self.names[i] if i >= 0 else None for i in self.indices.ravel().tolist()]
        return labels

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, row: int) -> list[tuple[Name, float]]:
        """Return the (label, score) pairs of one row."""
        pairs = zip(self.indices[row].tolist(), self.scores[row].tolist(), strict=True)
        return [(self.names[label], score) for label, score in pairs if label >= 0]

    def __iter__(self) -> Iterator[list[tuple[Name, float]]]:
        return (self[row] for row in range(len(self)))


@dataclass(frozen=True)
class Explanation:
    """Why a label has its score: the features that vote for it, in the order of summation.

    ``score`` is ``prior`` plus ``votes`` added from first to last, to the last bit.

    Attributes
    ----------
    label : name
        The label.
    features : ndarray of int64
        Columns of the row.
    votes : ndarray of float64
        What each of them adds to the score.
    prior : float
        The label's bias, which every row receives.
    names : sequence of str
        The names of the columns after a fit on a data frame, otherwise x0, x1, and so on.
    signs : ndarray of int64
        1, or -1 where the negative part of the column votes.
    """

    label: Name
    features: NDArray[np.int64]
    votes: NDArray[np.float64]
    prior: float = 0.0
    names: Sequence[str] = ()
    signs: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def score(self) -> float:
        """The score that `rank` gives the label, up to rounding, if it is among the candidates."""
        total = self.prior
        for vote in self.votes.tolist():
            total += vote
        return total
