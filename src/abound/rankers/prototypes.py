"""What the rankers with one prototype a label share: their component, and passes over all rows."""

from abc import abstractmethod
from collections.abc import Iterator

import numpy as np

from abound.components.prototypes import PrototypeWeights
from abound.components.rows import select
from abound.kernels.batch import Batch
from abound.kernels.category import PrototypeSettings
from abound.kernels.prototypes import Prototypes
from abound.rankers.base import Ranker

CANDIDATES = ("all", "touched")


class PrototypeRanker(Ranker):
    """Rank labels by the product of their prototype with the row.

    A subclass has `candidates`: "all" lets every label take part, as in the paper; "touched" only those with a
    weight on a feature of the row and the row's own, which is what scales to many labels.
    """

    candidates: str

    def check_candidates(self) -> None:
        """Raise unless `candidates` can be used."""
        if self.candidates not in CANDIDATES:
            raise ValueError(f"candidates must be 'all' or 'touched', got {self.candidates!r}")

    @abstractmethod
    def settings(self) -> PrototypeSettings:
        """Return how the kernels rank and learn."""

    def build(self) -> list[PrototypeWeights]:
        """Return its component."""
        return [PrototypeWeights(self.settings())]

    def configure(self) -> None:
        """Give the component what the parameters say now."""
        prototypes = self.component(PrototypeWeights)
        assert prototypes is not None
        prototypes.settings = self.settings()

    def use(self, store: Prototypes) -> None:
        """Rank by some prototypes from now on."""
        self.set_components([PrototypeWeights(self.settings(), store)])

    def passes_over(
        self, batch: Batch, names: Batch | None, passes: int, averaged: bool, random_state: int | None
    ) -> Iterator[Prototypes]:
        """Learn the rows several times from scratch, and give what was learnt after each pass.

        Averaged, that is the mean of the weights after each row of that pass. The first pass keeps the rows' order, so
        that it learns what a stream would; later ones go in random order, or the last label of sorted rows would win.
        """
        learning = Prototypes(has_aux=averaged, may_be_dense=self.candidates == "all")
        if names is not None:
            self.use(learning)
            self.learn(names)
        random = np.random.default_rng(random_state)
        known = Batch(batch.rows, batch.targets._replace(n_known=len(self.labels_)))
        for done in range(passes):
            learning.reset_averages()
            self.use(learning)
            self.learn(select(known, random.permutation(batch.n_rows)) if done else batch)
            yield learning.averaged(max(1, batch.n_rows)) if averaged else learning
