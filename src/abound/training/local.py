"""Train a ranker on this machine; shards are threads."""

from collections.abc import Iterable, Sequence
from typing import Protocol, Self, TypeVar

import numpy as np

from abound.components.threads import in_threads
from abound.kernels.batch import Batch
from abound.training.schedule import Plan, Round, schedule
from abound.training.source import RowSource


class Trainable(Protocol):
    """The methods of a ranker that training uses."""

    def learn_parts(self, parts: Iterable[Batch], n_rows: int, *, again: bool, last: bool) -> None:
        """Learn the `n_rows` rows of one shard in place, piece by piece."""

    def fork(self) -> Self:
        """Return a ranker that starts here and learns independently."""

    def merge_shards(self, shards: Sequence[Self]) -> None:
        """Replace the state by the merge of shards that all began here."""


R = TypeVar("R", bound=Trainable)


def train(ranker: Trainable, source: RowSource, plan: Plan) -> None:
    """Visit the rows as planned; shards start from the ranker's state, learn independently, and are merged."""
    for round_ in schedule(source.n_rows, plan):
        if plan.shards == 1:
            learn_shard(ranker, source, round_, 0)
        else:
            ranker.merge_shards(_shards(ranker, source, round_, plan.n_jobs))


def _shards(ranker: R, source: RowSource, round_: Round, n_jobs: int) -> list[R]:
    def learn(number: int) -> R:
        shard = ranker.fork()
        learn_shard(shard, source, round_, number)
        return shard

    return in_threads(learn, range(len(round_.spans)), n_jobs)


def learn_shard(ranker: Trainable, source: RowSource, round_: Round, number: int) -> None:
    """Learn the rows of one shard of a round, in place."""
    start, stop = round_.spans[number]
    if round_.orders is None:
        parts = source.parts(start, stop)
    else:
        random = np.random.default_rng()
        random.bit_generator.state = round_.orders[number]
        parts = source.shuffled(start, stop, random)
    ranker.learn_parts(parts, source.n_copies(start, stop), again=round_.again, last=round_.last)
