"""Passes, rounds and shards: which rows are learned when, identically on one machine and on several.

The result depends only on how the rows are divided, not on the threads or on which shard ends first.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from abound.components.threads import bounds
from abound.training.source import skip_shuffle

# Ratings and corrections that a shard learns match its own counts, not the merged ones. On 100,000 rows, P@1 falls by
# 0.003 to 0.004 with every doubling of the shards; on more rows it falls less. Four merges per pass recover at least
# half of it. For two shards they are not worth their time.
FEW_SHARDS, ROUNDS_OF_MORE = 2, 4
FEWEST_TO_HOLD_OUT, MOST_HELD_OUT = 1_000, 5_000  # rows; a calibration of 1,000 rows is off by less than 0.01


class Plan(NamedTuple):
    """How a ranker is trained on some rows."""

    passes: int = 1
    shards: int = 1  # ranges of the rows that are learned independently and merged
    rounds: int = 1  # merges of the shards per pass
    shuffles: bool = False  # whether later passes visit the rows in a different order
    seed: int = 0
    n_jobs: int = 1  # threads; the result does not depend on them
    held_out: int = 0  # last rows of the training order that no pass visits; calibration uses them


class Round(NamedTuple):
    """One round of one pass."""

    again: bool  # a later pass
    last: bool  # the last of several
    spans: list[tuple[int, int]]  # the rows of each shard
    orders: list[dict[str, Any]] | None  # generator states that shuffle the rows; None keeps the training order


def default_rounds(shards: int) -> int:
    """Return the default number of merges per pass for some shards.

    Examples
    --------
    >>> default_rounds(2), default_rounds(8)
    (1, 4)
    """
    return 1 if shards <= FEW_SHARDS else ROUNDS_OF_MORE


def calibration_rows(n_rows: int) -> int:
    """Return how many of so many rows are held out of all passes, ranked for calibration, and learned at the end.

    Examples
    --------
    >>> [calibration_rows(n) for n in (999, 1_000, 20_000, 50_000, 1_000_000)]
    [0, 100, 1000, 1250, 5000]
    """
    if n_rows < FEWEST_TO_HOLD_OUT:
        return 0
    return int(min(MOST_HELD_OUT, max(n_rows // 40, min(1_000, n_rows // 10))))


def rounds_of(n_rows: int, rounds: int, shards: int) -> list[list[tuple[int, int]]]:
    """Return the row ranges of each round of a pass, one for each shard that has rows.

    Examples
    --------
    >>> rounds_of(5, 2, 2)
    [[(0, 1), (1, 2)], [(2, 3), (3, 5)]]
    """
    all_spans = []
    for first, last in bounds(n_rows, rounds):
        spans = [(first + start, first + stop) for start, stop in bounds(last - first, shards) if start < stop]
        if spans:
            all_spans.append(spans)
    return all_spans


def schedule(n_rows: int, plan: Plan) -> Iterator[Round]:
    """Yield the rounds of a training.

    The orders of later passes are drawn one after the other from one generator. Only its states are passed on, so that
    a shard can draw its order elsewhere.
    """
    random = np.random.default_rng(plan.seed)
    rounds = rounds_of(n_rows - plan.held_out, 1 if plan.shards == 1 else plan.rounds, plan.shards)
    for number in range(plan.passes):
        for spans in rounds:
            orders = None
            if number and plan.shuffles:
                orders = []
                for start, stop in spans:
                    orders.append(dict(random.bit_generator.state))
                    skip_shuffle(stop - start, random)
            yield Round(number > 0, 0 < number == plan.passes - 1, spans, orders)
