"""The baseline that ignores features: the most frequent labels first."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from abound.components.rows import Rows, empty_ranking
from abound.rankers.base import Ranker
from abound.rankers.ranking import Ranking


class FrequencyRanker(Ranker):
    """Rank labels by the share of learned rows that had them, the same for every row.

    Every ranker counts the rows of its labels, so it needs no component.

    Examples
    --------
    >>> from abound import Frequency
    >>> Frequency().fit([[1], [1], [1]], ["a", "b", "b"]).predict([[1]]).tolist()
    ['b']
    """

    kind = "frequency"

    def build(self) -> list[Any]:
        """Return no component."""
        return []

    def rank_rows(self, rows: Rows, k: int) -> Ranking:
        """Rank the most frequent labels, the same for each row."""
        labels, scores = empty_ranking(rows.n_rows, min(k, max(1, len(self.labels_))))
        best = np.argsort(-self.label_counts, kind="stable")[: labels.shape[1]]
        best = best[self.label_counts[best] > 0]
        labels[:, : len(best)], scores[:, : len(best)] = best, self.label_counts[best] / self.n_rows_seen_
        return Ranking(labels, scores, self.labels_.names)

    def score_rows(self, rows: Rows, labels: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the shares of some labels for each row."""
        counts = self.label_counts[labels].astype(np.float64)
        shares = np.where(counts > 0, counts, np.nan) / max(1, self.n_rows_seen_)
        return np.tile(shares, (rows.n_rows, 1))

    def explain_row(self, row: Rows, label: int) -> tuple[NDArray[np.int64], NDArray[np.float64], float]:  # noqa: ARG002
        """Return no votes: features are ignored."""
        return np.zeros(0, np.int64), np.zeros(0), float(self.label_counts[label] / self.n_rows_seen_)
