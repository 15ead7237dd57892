"""A ranker as an ordered list of components: each method loops over them."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from abound.components import BatchPosition, Component
from abound.components.weighting import repeated
from abound.kernels.batch import Batch
from abound.rankers.labels import LabelIndex
from abound.store import Stored

C = TypeVar("C", bound=Component)


class Composed(Stored):
    """An object made of components: their memory, training in parts, and shards."""

    labels_: LabelIndex
    shard_params: ClassVar[Mapping[str, Any]] = {}  # parameters that shards override
    n_jobs: int = 1
    shards: int | None = None

    # -- for subclasses ----------------------------------------------------------------------------

    @abstractmethod
    def build(self) -> Sequence[Component]:
        """Return its components, in order, before anything is learned."""

    def configure(self) -> None:
        """Set the components by the current parameters; called before they are used."""

    def learners(self, *, again: bool) -> Sequence[Component]:  # noqa: ARG002 -- the cascade uses it
        """Return the components that learn in the first pass, or in a later one."""
        return self.components

    # -- components --------------------------------------------------------------------------------

    @property
    def components(self) -> list[Component]:
        """The components, in order."""
        self.configure()
        return list(self._components.values())

    def component(self, kind: type[C]) -> C | None:
        """Return the component of a class as it was last configured, or None."""
        return cast("C | None", self._components.get(kind.kind))

    def set_components(self, components: Sequence[Component]) -> None:
        """Replace the components."""
        self._components = {component.kind: component for component in components}

    @property
    def head(self) -> Component:
        """The component that gives the scores: the last one that ranks."""
        self.configure()
        for component in reversed(self._components.values()):
            if component.ranks:
                return component
        raise ValueError(f"a ranker of kind {self.kind!r} has no component that ranks")

    @property
    def nbytes_(self) -> int:
        """Bytes of memory of everything learned about features."""
        return sum(component.nbytes for component in self.components)

    @property
    def n_edges_(self) -> int:
        """The number of feature-to-label edges; 0 without an index."""
        return sum(component.n_edges for component in self.components)

    @property
    def n_pairs_(self) -> int:
        """The number of (feature, label) pairs with a weight."""
        return sum(component.n_pairs for component in self.components)

    @property
    def n_stored(self) -> int:
        """The number of stored features."""
        return max((component.n_features - component.offset for component in self.components), default=0)

    @property
    def has_second_stage(self) -> bool:
        """Whether a second stage re-ranks the best labels."""
        return any(not component.ranks for component in self.components)

    def drop_second_stage(self) -> bool:
        """Remove the second stage to save memory; return whether there was one."""
        ranking = [component for component in self.components if component.ranks]
        dropped = len(ranking) < len(self._components)
        self.set_components(ranking)
        return dropped

    def compact(self) -> None:
        """Release unused memory; ranking and learning do not change."""
        for component in self.components:
            component.compact()

    def feature_bytes(self) -> NDArray[np.int64]:
        """Return the bytes that each feature takes."""
        sizes = [component.feature_bytes() for component in self.components]
        total = np.zeros(max(map(len, sizes), default=0), np.int64)
        for part in sizes:
            total[: len(part)] += part
        return total

    def keep_features(self, wanted: NDArray[np.bool_]) -> None:
        """Forget all features except the wanted ones, which are renumbered in their order."""
        for component in self.components:
            component.keep(wanted)

    def count_edges(self, labels: NDArray[np.int32], start: int, stop: int) -> int | None:
        """Return the number of edges from features start .. stop-1 to some labels; None after the last feature."""
        parts = [component.count_edges(labels, start, stop) for component in self.components]
        counts = [count for count in parts if count is not None]
        return sum(counts) if counts else None

    # -- training ----------------------------------------------------------------------------------

    @property
    def n_shards(self) -> int:
        """The number of row ranges that `fit` learns independently and merges."""
        return self.n_jobs if self.shards is None else self.shards

    def learn_parts(self, parts: Iterable[Batch], n_rows: int, *, again: bool, last: bool) -> None:
        """Learn the `n_rows` rows of one shard in place, piece by piece; copies of a row count as rows.

        `again` marks a later pass, `last` the last of several.
        """
        learners, before = self.learners(again=again), 0
        for component in learners:
            component.begin_pass(n_rows, again=again, last=last)
        for part in parts:
            for batch in repeated(part):
                for component in learners:
                    component.learn(batch, len(self.labels_), BatchPosition(again, before))
                before += batch.n_rows
        for component in learners:
            component.end_pass(before)

    def fork(self, *, share: bool = False) -> Self:
        """Return a ranker that starts here and learns independently; with `share`, it takes over this one's memory."""
        shard = object.__new__(type(self))
        shard.__dict__.update(self.__dict__, **self.shard_params)
        shard.set_components([component.fork(share=share) for component in self.components])
        return shard

    def merge_shards(self, shards: Sequence[Self]) -> None:
        """Replace the state by the merge of shards that all began here."""
        for component in self.components:
            parts = [part for shard in shards if (part := shard.component(type(component))) is not None]
            component.merge(parts, len(self.labels_), n_jobs=self.n_jobs)
