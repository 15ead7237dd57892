"""What the rankers with one prototype per label share: their component, and passes over all rows."""

from abc import abstractmethod
from collections.abc import Iterator

import numpy as np

from abound.components.prototypes import PrototypeWeights
from abound.components.rows import select
from abound.components.weighting import n_copies
from abound.kernels.batch import Batch
from abound.kernels.category import PrototypeSettings
from abound.kernels.prototypes import Prototypes
from abound.rankers.base import Ranker

CANDIDATES = ("all", "touched")


class PrototypeRanker(Ranker):
    """Rank labels by the product of their prototype with the row.

    A subclass has `candidates`: "all" scores every label, as in the paper; "touched" scores only the labels with a
    weight on a feature of the row and the row's own labels, and scales to many labels.
    """

    candidates: str

    def check_candidates(self) -> None:
        """Raise if `candidates` is invalid."""
        if self.candidates not in CANDIDATES:
            raise ValueError(f"candidates must be 'all' or 'touched', got {self.candidates!r}")

    @abstractmethod
    def settings(self) -> PrototypeSettings:
        """Return the settings of the kernels."""

    def build(self) -> list[PrototypeWeights]:
        """Return its component."""
        return [PrototypeWeights(self.settings())]

    def configure(self) -> None:
        """Set the component by the current parameters."""
        prototypes = self.component(PrototypeWeights)
        assert prototypes is not None
        prototypes.settings = self.settings()

    def use(self, store: Prototypes) -> None:
        """Replace the prototypes."""
        self.set_components([PrototypeWeights(self.settings(), store)])

    def passes_over(
        self, batch: Batch, names: Batch | None, passes: int, averaged: bool, random_state: int | None
    ) -> Iterator[Prototypes]:
        """Learn the rows several times from scratch, and yield the result of each pass.

        With `averaged`, the result is the mean of the weights over the rows of that pass. The first pass keeps the
        rows' order, so that it learns what a stream would. Later passes use a random order; otherwise the last label of
        sorted rows would win.
        """
        learning = Prototypes(has_aux=averaged, may_be_dense=self.candidates == "all")
        if names is not None:
            self.use(learning)
            self.learn(names)
        random = np.random.default_rng(random_state)
        known = Batch(batch.rows, batch.targets._replace(n_known=len(self.labels_)), weights=batch.weights)
        for done in range(passes):
            learning.reset_averages()
            self.use(learning)
            self.learn(select(known, random.permutation(batch.n_rows)) if done else batch)
            yield learning.averaged(max(1, n_copies(batch))) if averaged else learning
