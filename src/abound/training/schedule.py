"""Passes, rounds and shards: which rows are learnt when, the same on one machine and on several.

What is learnt depends on how the rows are cut, and on nothing else: not on the threads, not on which shard ends first.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from abound.components.threads import bounds
from abound.training.source import skip_shuffle

# Ratings and corrections that a shard learns fit its own counts, not the merged ones: P@1 falls by .003 to .004 with
# every doubling of the shards on 100,000 rows, less on more. Four merges in a pass win half of it back or more; two
# shards are not worth their time.
FEW_SHARDS, ROUNDS_OF_MORE = 2, 4


class Plan(NamedTuple):
    """How a ranker is trained on some rows."""

    passes: int = 1
    shards: int = 1  # ranges of the rows that are learnt apart and merged
    rounds: int = 1  # how often shards are merged in a pass
    shuffles: bool = False  # whether later passes visit the rows in another order than the first
    seed: int = 0
    n_jobs: int = 1  # threads; what is learnt does not depend on them


class Round(NamedTuple):
    """One round of one pass."""

    again: bool  # a later pass
    last: bool  # the last of several
    spans: list[tuple[int, int]]  # the rows of each shard
    orders: list[dict[str, Any]] | None  # states of the generators that shuffle them; None keeps the training order


def default_rounds(shards: int) -> int:
    """Return how often so many shards are merged in a pass.

    Examples
    --------
    >>> default_rounds(2), default_rounds(8)
    (1, 4)
    """
    return 1 if shards <= FEW_SHARDS else ROUNDS_OF_MORE


def rounds_of(n_rows: int, rounds: int, shards: int) -> list[list[tuple[int, int]]]:
    """Return the ranges of rows of each round of a pass, one for each shard that gets any.

    Examples
    --------
    >>> rounds_of(5, 2, 2)
    [[(0, 1), (1, 2)], [(2, 3), (3, 5)]]
    """
    found = []
    for first, last in bounds(n_rows, rounds):
        spans = [(first + start, first + stop) for start, stop in bounds(last - first, shards) if start < stop]
        if spans:
            found.append(spans)
    return found


def schedule(n_rows: int, plan: Plan) -> Iterator[Round]:
    """Yield the turns of a training.

    The orders of later passes are drawn one after the other from one generator; only its states are handed out, so that
    a shard can draw its own order elsewhere.
    """
    random = np.random.default_rng(plan.seed)
    cut = rounds_of(n_rows, 1 if plan.shards == 1 else plan.rounds, plan.shards)
    for number in range(plan.passes):
        for spans in cut:
            orders = None
            if number and plan.shuffles:
                orders = []
                for start, stop in spans:
                    orders.append(dict(random.bit_generator.state))
                    skip_shuffle(stop - start, random)
            yield Round(number > 0, 0 < number == plan.passes - 1, spans, orders)
