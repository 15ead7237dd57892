"""Rocchio's prototypes: what a label's rows have in common, less what the others have."""

import numpy as np
from numpy.typing import NDArray

from abound.kernels.prototypes import Prototypes
from abound.rankers.base import check_number
from abound.rankers.labels import Targets
from abound.rankers.prototypes import PrototypeRanker
from abound.rankers.rows import Rows
from abound.store import Model
from abound.store.directory import Source

LEAST_SHARE = 1e-5  # a difference smaller than this is what rounding has left of 0; length 1 would make it large


class RocchioRanker(PrototypeRanker):
    """Rank labels by their closeness to the mean of their rows, less a part of the mean of the others.

    Learning only adds sums; the prototypes are made from them at the first ranking after it, which takes time in
    proportion to the whole model. Labels without a single word in common with a row are not ranked.

    Parameters
    ----------
    positive, negative : float
        The weights of a label's own rows and of the others.

    References
    ----------
    K. Crammer, Y. Singer, "A new family of online algorithms for category ranking", SIGIR 2002, section 4.

    Examples
    --------
    >>> from abound import Rocchio
    >>> ranker = Rocchio().fit([[1, 0], [0, 1]], [["cat", "pet"], ["dog", "pet"]])
    >>> ranker.predict([[0, 1]]).tolist()
    ['dog']
    """

    kind = "rocchio"
    rule = "sum"
    candidates = "touched"

    def __init__(self, *, positive: float = 16.0, negative: float = 4.0) -> None:
        self.positive = positive
        self.negative = negative

    def _check_params(self) -> None:
        check_number("positive", self.positive, 0.0)
        check_number("negative", self.negative, 0.0)

    def _reset(self) -> None:
        super()._reset()
        self._totals = np.zeros(0)
        self._made: list[Prototypes] = []  # from the sums in the store, until more is learnt

    def _learn(self, rows: Rows, targets: Targets) -> None:
        self._made.clear()
        super()._learn(rows, targets)
        wider = np.zeros(max(len(self._totals), int(rows.indices.max(initial=-1)) + 1))
        wider[: len(self._totals)] = self._totals
        np.add.at(wider, rows.indices, rows.data)  # in order, so that a row at a time gives the same bits
        self._totals = wider

    def _keep_features(self, wanted: NDArray[np.bool_]) -> None:
        self._made.clear()
        self._totals = self._totals[wanted[: len(self._totals)]]
        super()._keep_features(wanted)

    def _ranked(self) -> Prototypes:
        if not self._made:
            self._made.append(self._make())
        return self._made[0]

    def _make(self) -> Prototypes:
        """Return max(0, positive * own mean - negative * others' mean) of each label, brought to length 1."""
        indptr, labels, weights = self._store.arrays()
        sums = weights.astype(np.float64)
        feature = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        own = np.maximum(self._counts(), 1.0)  # a label may have been learnt by its name alone
        others = np.maximum(self.n_rows_seen_ - own, 1.0)
        mean = self.positive * sums / own[labels]
        made = mean - self.negative * (self._totals[feature] - sums) / others[labels]
        kept = made > LEAST_SHARE * mean
        feature, labels, made = feature[kept], labels[kept], made[kept]
        norms = np.sqrt(np.bincount(labels, made**2, len(own)))
        weights = np.asarray(made / norms[labels], np.float32)
        kept_indptr = np.concatenate([[0], np.cumsum(np.bincount(feature, minlength=len(indptr) - 1))])
        return Prototypes.from_arrays(kept_indptr.astype(np.int64), labels, weights, len(own))

    def _state(self) -> dict[str, Source]:
        return {**super()._state(), "feature_totals": self._totals}

    def _restore(self, model: Model) -> None:
        super()._restore(model)
        self._made, self._totals = [], np.array(model.take("feature_totals", np.float64, self._store.n_features))
