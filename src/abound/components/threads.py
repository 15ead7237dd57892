"""Ranges of rows or features, and threads that work on them."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def bounds(n: int, parts: int) -> list[tuple[int, int]]:
    """Return the start and end of `parts` contiguous ranges of n items.

    Examples
    --------
    >>> bounds(10, 3)
    [(0, 3), (3, 6), (6, 10)]
    """
    return list(pairwise(n * i // parts for i in range(parts + 1)))


def in_threads(work: Callable[[Item], Result], items: Sequence[Item], n_jobs: int) -> list[Result]:
    """Return the results of `work` for all items, in their order, computed by `n_jobs` threads."""
    if n_jobs == 1 or len(items) < 2:
        return [work(item) for item in items]
    with ThreadPoolExecutor(n_jobs) as threads:
        return list(threads.map(work, items))
