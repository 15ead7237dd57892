"""The tangent of SVM-map's risk: blocks of whole queries, their most violated rankings, and their sum."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray

from abound.kernels.violated import LOSS_ACCURACY, LOSS_MAP, LOSS_ROC, violated_rankings
from abound.retrieval.design import Block, Floats, make_block
from abound.retrieval.queries import Queries

LOSSES = {"map": LOSS_MAP, "roc": LOSS_ROC, "accuracy": LOSS_ACCURACY}
# Rows are distributed to threads in blocks of at least BLOCK_ROWS, and in at most MAX_BLOCKS blocks.
BLOCK_ROWS, MAX_BLOCKS = 1024, 32


class Tangents:
    """The tangent of the mean hinge of the queries, with blocks distributed to threads.

    Parameters
    ----------
    X : rows in any form that `make_block` takes
    relevant : ndarray of shape (n_rows,), uint8
        Which rows are relevant, in the order of the queries.
    queries : Queries
    loss : {"map", "roc", "accuracy"}
    n_active : int
        The number of queries in the mean.
    relevant_weight : float
        The weight of a relevant document in accuracy.
    n_threads : int
    by_query : bool
        Whether each query is a block of its own, as `each_query` needs.
    """

    def __init__(
        self,
        X: Any,
        relevant: NDArray[np.uint8],
        queries: Queries,
        *,
        loss: str,
        n_active: int,
        relevant_weight: float,
        n_threads: int,
        by_query: bool = False,
    ) -> None:
        self._loss = LOSSES[loss]
        self._relevant_weight = relevant_weight
        self._has_intercept = loss == "accuracy"
        self.n_weights = X.shape[1] + self._has_intercept
        self._n_active = max(n_active, 1)
        self._blocks = cut(X, relevant, queries, 1 if by_query else BLOCK_ROWS, None if by_query else MAX_BLOCKS)
        n_threads = min(n_threads, len(self._blocks))
        self._pool = ThreadPoolExecutor(n_threads) if n_threads > 1 else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def __call__(self, w: Floats) -> tuple[float, Floats]:
        """Return the mean loss of the most violated rankings, and the mean of their Psi(right) - Psi(violated)."""
        each = map if self._pool is None else self._pool.map
        losses, slopes = zip(*each(lambda block: self._violate(block, w), self._blocks), strict=True)
        # Added in the order of the blocks, whichever thread ends first.
        return sum(losses) / self._n_active, np.asarray(sum(slopes) / self._n_active, np.float64)

    def each_query(self) -> list[Callable[[Floats], tuple[float, Floats]]]:
        """Return the tangent of each query that has a relevant and an irrelevant document; needs `by_query`."""
        both = [block for block in self._blocks if 0 < block.relevant.sum() < len(block.relevant)]
        return [partial(self._violate, block) for block in both]

    def _violate(self, block: "QueryBlock", w: Floats) -> tuple[float, Floats]:
        n = len(block.relevant)
        n_features = len(w) - self._has_intercept
        scores = block.rows.scores(w[:n_features])
        if self._has_intercept:
            scores = scores + w[n_features]
        weights, losses = np.empty(n), np.empty(len(block.indptr) - 1)
        violated_rankings(
            self._loss, self._relevant_weight, scores, block.relevant, block.indptr, 0, len(losses), weights, losses
        )
        slope = block.rows.weighted_sum(weights)
        return float(losses.sum()), np.append(slope, weights.sum()) if self._has_intercept else slope


class QueryBlock(NamedTuple):
    """Some whole queries."""

    rows: Block
    relevant: NDArray[np.uint8]
    indptr: NDArray[np.int64]


def cut(
    X: Any, relevant: NDArray[np.uint8], queries: Queries, at_least: int = BLOCK_ROWS, at_most: int | None = MAX_BLOCKS
) -> list[QueryBlock]:
    """Divide rows into at most so many blocks of at least so many rows, each of whole queries."""
    order, indptr = queries.order, queries.indptr
    if at_most is not None:
        at_least = max(at_least, -(-len(order) // at_most))
    blocks, first = [], 0
    for q in range(1, len(indptr)):
        if indptr[q] - indptr[first] >= at_least or q == len(indptr) - 1:
            span = slice(int(indptr[first]), int(indptr[q]))
            rows = X[order[span]]
            if isinstance(rows, np.ndarray):
                rows = np.ascontiguousarray(rows)
            inner = cast("NDArray[np.int64]", indptr[first : q + 1] - indptr[first])
            blocks.append(QueryBlock(make_block(rows), relevant[span], inner))
            first = q
    return blocks
