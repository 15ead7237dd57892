"""The baseline that looks at no feature: the most frequent labels first."""

import numpy as np
from numpy.typing import NDArray

from abound.rankers.base import Ranker
from abound.rankers.labels import Targets
from abound.rankers.rows import Rows
from abound.store import Model
from abound.store.directory import Source


class FrequencyRanker(Ranker):
    """Rank labels by the share of learnt rows that had them, the same for every row.

    Examples
    --------
    >>> from abound import Frequency
    >>> Frequency().fit([[1], [1], [1]], ["a", "b", "b"]).predict([[1]]).tolist()
    ['b']
    """

    kind = "frequency"

    def _check_params(self) -> None:
        pass

    def _reset(self) -> None:
        pass

    def _learn(self, rows: Rows, targets: Targets) -> None:
        pass  # every ranker counts the rows of its labels, and that is all there is to learn

    def _rank(self, rows: Rows, out_labels: NDArray[np.int32], out_scores: NDArray[np.float64]) -> None:
        counts = self._counts()
        best = np.argsort(-counts, kind="stable")[: out_labels.shape[1]]
        best = best[counts[best] > 0]
        out_labels[:, : len(best)] = best
        out_scores[:, : len(best)] = counts[best] / self.n_rows_seen_

    def _explain(self, rows: Rows, label: int) -> tuple[NDArray[np.int64], NDArray[np.float64], float]:
        return np.zeros(0, np.int64), np.zeros(0), float(self._counts()[label] / self.n_rows_seen_)

    def _state(self) -> dict[str, Source]:
        return {}

    def _restore(self, model: Model) -> None:
        pass
