"""What the rankers with one prototype a label share: storage, ranking, saving."""

from collections.abc import Iterator
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from abound.errors import DamagedModel
from abound.kernels.category import RULES, RowScores, prototypes_explain, prototypes_learn, prototypes_rank
from abound.kernels.prototypes import Prototypes, check_prototypes
from abound.rankers.base import UNLIMITED, Ranker
from abound.rankers.labels import Targets
from abound.rankers.rows import NOTHING, Part, Rows, select
from abound.store import Model
from abound.store.directory import Source

CANDIDATES = ("all", "touched")
BYTES_A_PAIR = 8  # a label and a weight


class PrototypeRanker(Ranker):
    """Rank labels by the product of their prototype with the row.

    A subclass has `candidates`: "all" lets every label take part, as in the paper; "touched" only those with a
    weight on a feature of the row and the row's own, which is what scales to many labels.
    """

    candidates: str
    rule: ClassVar[str]

    def _check_candidates(self) -> None:
        if self.candidates not in CANDIDATES:
            raise ValueError(f"candidates must be 'all' or 'touched', got {self.candidates!r}")

    @property
    def _all(self) -> bool:
        return self.candidates == "all"

    def _rule(self) -> int:
        return RULES[self.rule]

    def _margin_and_rivals(self) -> tuple[float, int]:
        """Return by how much a relevant label must win, and against how many others."""
        return 0.0, UNLIMITED

    def _reset(self) -> None:
        self._use(Prototypes(may_be_dense=self._all))

    def _use(self, store: Prototypes) -> None:
        self._store = store
        self._scratch: list[RowScores] = []

    def _ranked(self) -> Prototypes:
        """Return the prototypes that rank."""
        return self._store

    def _borrow_scratch(self) -> RowScores:
        return self._scratch.pop() if self._scratch else RowScores()

    @property
    def n_pairs_(self) -> int:
        """The number of (feature, label) pairs with a weight."""
        return self._store.n_pairs

    @property
    def nbytes_(self) -> int:
        """Bytes of memory that the prototypes hold."""
        return self._store.nbytes

    def _n_stored(self) -> int:
        return self._store.n_features

    def _feature_bytes(self) -> NDArray[np.int64]:
        return np.diff(self._store.arrays()[0]) * BYTES_A_PAIR

    def _keep_features(self, wanted: NDArray[np.bool_]) -> None:
        self._use(self._store.kept(wanted))

    def _learn(self, rows: Rows, targets: Targets) -> None:
        scratch = self._borrow_scratch()
        margin, rivals = self._margin_and_rivals()
        prototypes_learn(
            self._store, scratch, self._rule(), self._all, margin, rivals, 0.0, 0.0, *rows, *targets, *NOTHING
        )
        self._scratch.append(scratch)

    def _passes(
        self, part: Part, names: Part | None, passes: int, averaged: bool, random_state: int | None
    ) -> Iterator[Prototypes]:
        """Learn the rows several times from scratch, and give what was learnt after each pass.

        Averaged, that is the mean of the weights after each row of that pass. The first pass keeps the rows' order, so
        that it learns what a stream would; later ones go in random order, or the last label of sorted rows would win.
        """
        learning, (rows, targets) = Prototypes(traced=averaged, may_be_dense=self._all), part
        if names is not None:
            self._use(learning)
            self._learn(*names)
        random, known = np.random.default_rng(random_state), targets._replace(n_known=len(self.labels_))
        for done in range(passes):
            learning.forget_traces()
            self._use(learning)
            if done:
                self._learn(*select(rows, known, random.permutation(rows.n_rows)))
            else:
                self._learn(rows, targets)
            yield learning.averaged(max(1, rows.n_rows)) if averaged else learning

    def _rank(self, rows: Rows, out_labels: NDArray[np.int32], out_scores: NDArray[np.float64]) -> None:
        scratch = self._borrow_scratch()
        prototypes_rank(self._ranked(), scratch, self._all, *rows, len(self.labels_), out_labels, out_scores)
        self._scratch.append(scratch)

    def _explain(self, rows: Rows, label: int) -> tuple[NDArray[np.int64], NDArray[np.float64], float]:
        positions, votes, _ = prototypes_explain(self._ranked(), rows.indices, rows.data, label)
        return rows.indices[positions].astype(np.int64), votes, 0.0

    def _state(self) -> dict[str, Source]:
        indptr, labels, weights = self._store.arrays()
        return {"prototype_indptr": indptr, "prototype_labels": labels, "prototype_weights": weights}

    def _restore(self, model: Model) -> None:
        indptr = model.take("prototype_indptr", np.int64, None)
        labels, weights = model.take("prototype_labels", np.int32, None), model.arrays["prototype_weights"]
        wrong = check_prototypes(indptr, labels, weights, len(self.labels_))
        if wrong:
            raise DamagedModel(f"the prototypes are damaged: {wrong}")
        self._use(Prototypes.from_arrays(indptr, labels, weights, len(self.labels_), may_be_dense=self._all))

    def __getstate__(self) -> dict[str, Any]:
        return {**cast("dict[str, Any]", super().__getstate__()), "_scratch": []}
