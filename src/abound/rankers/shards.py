"""Learn rows in shards: each from the same starting model, in threads, merged by feature after every pass.

The result depends on how the rows are cut, and on nothing else: not on the threads, not on which shard is done first.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from abound.kernels.merge import merge_features, merge_prototypes
from abound.kernels.pairs import LEAST_WEIGHT, PairTables
from abound.kernels.pool import EDGE_DTYPE, EdgePool
from abound.kernels.prototypes import Prototypes

Item = TypeVar("Item")
Result = TypeVar("Result")
RANGES_A_JOB = 16  # features are merged in so many ranges for each thread: the first ones have most of the edges
# A shard halves nothing by itself, or its delta could not be told; the merge halves. This only keeps sums finite.
SHARD_HORIZON = 2.0**60
# Ratings and corrections that a shard learns fit its own counts, not the merged ones: P@1 falls by .003 to .004 with
# every doubling of the shards on 100,000 rows, less on more. Four merges in a pass win half of it back or more; two
# shards are not worth their time.
FEW_SHARDS, ROUNDS_OF_MORE = 2, 4


class Pruning(NamedTuple):
    """What becomes of an index after a merge."""

    rated: bool
    w_min: float
    horizon: float
    leak: bool


def bounds(n_rows: int, shards: int) -> list[tuple[int, int]]:
    """Return where each of the contiguous ranges of rows begins and ends.

    Examples
    --------
    >>> bounds(10, 3)
    [(0, 3), (3, 6), (6, 10)]
    """
    edges = [n_rows * i // shards for i in range(shards + 1)]
    return list(pairwise(edges))


def usual_rounds(shards: int) -> int:
    """Return how often so many shards are merged in a pass.

    Examples
    --------
    >>> usual_rounds(2), usual_rounds(8)
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


def in_threads(work: Callable[[Item], Result], items: Sequence[Item], n_jobs: int) -> list[Result]:
    """Return the work on each item, in their order, done by so many threads."""
    if n_jobs == 1 or len(items) < 2:
        return [work(item) for item in items]
    with ThreadPoolExecutor(n_jobs) as threads:
        return list(threads.map(work, items))


def merge_pools(
    base: EdgePool | None, shards: Sequence[EdgePool], n_labels: int, pruning: Pruning, n_jobs: int = 1
) -> EdgePool:
    """Return the index that shards make together which all began with `base`; see `kernels/merge.pyx`."""
    n_features = max((pool.n_features for pool in (*shards, *([] if base is None else [base]))), default=0)
    how: dict[str, Any] = pruning._asdict()

    def merge_range(part: tuple[int, int]) -> Any:
        return merge_features(base, list(shards), *part, n_labels, **how)

    parts = in_threads(merge_range, bounds(n_features, RANGES_A_JOB * n_jobs), n_jobs)
    lengths, totals, seen = (np.concatenate([part[i] for part in parts]) for i in range(3))
    indptr = np.zeros(n_features + 1, np.int64)
    np.cumsum(lengths, out=indptr[1:])
    places = np.concatenate([[0], np.cumsum([len(part[3]) for part in parts])])
    edges = np.empty(places[-1], EDGE_DTYPE)

    def put(number: int) -> None:
        target = edges[places[number] : places[number + 1]]
        target.view(np.int64)[:] = parts[number][3].view(np.int64)  # numbers are copied without the GIL

    in_threads(put, range(len(parts)), n_jobs)
    return EdgePool.from_arrays(indptr, edges, totals, seen)


def copy_pool(pool: EdgePool) -> EdgePool:
    """Return a pool of its own with the same lists; other threads go on meanwhile."""
    if pool.n_features == 0:
        return EdgePool()
    # One shard alone, without a base, is merged by copying its lists.
    return merge_pools(None, [pool], 0, Pruning(rated=False, w_min=0.0, horizon=float("inf"), leak=True))


def merge_pairs(base: Prototypes, shards: Sequence[Prototypes], n_labels: int) -> Prototypes:
    """Return the pairs of few labels that shards make together which all began with `base`."""
    indptr, labels, weights, slopes = merge_prototypes(base, list(shards), n_labels)
    return Prototypes.from_arrays(indptr, labels, weights, n_labels, slopes, may_be_dense=base.may_be_dense)


def copy_pairs(pairs: Prototypes, n_labels: int) -> Prototypes:
    """Return a store of its own with the same pairs."""
    indptr, labels, weights, slopes = pairs.arrays()
    return Prototypes.from_arrays(indptr, labels, weights, n_labels, slopes, may_be_dense=pairs.may_be_dense)


def merge_tables(base: PairTables, shards: Sequence[PairTables], n_labels: int, *, tidy: bool = True) -> PairTables:
    """Return the pairs of candidates that shards make together which all began with `base`."""

    def sorted_by_label(tables: PairTables) -> Prototypes:
        indptr, labels, weights, slopes = tables.arrays()
        return Prototypes.from_arrays(indptr, labels, weights, n_labels, slopes)

    stores = [sorted_by_label(tables) for tables in shards]
    merged = merge_prototypes(sorted_by_label(base), stores, n_labels)
    return PairTables.from_arrays(*(without_light(*merged) if tidy else merged))


def without_light(indptr: NDArray[np.int64], *columns: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Drop the pairs of candidates that weigh next to nothing, as tidying does; weights are the second column."""
    kept = np.abs(columns[1].astype(np.float64)) >= LEAST_WEIGHT
    places = np.concatenate([[0], np.cumsum(kept)]).astype(np.int64)
    return places[indptr], *(column[kept] for column in columns)
