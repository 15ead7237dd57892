from typing import Any

import numpy as np
from numpy.typing import NDArray

from abound.kernels.batch import Batch
from abound.kernels.pairs import PairTables
from abound.kernels.pool import EdgePool
from abound.kernels.votes import Votes

RATED_DTYPE: np.dtype[np.void]
RATING_DTYPE: np.dtype[np.void]
SECOND_STAGE_WEIGHT: float

class RatedSettings:
    w_min: float
    d_max: int
    horizon: float
    leak: bool
    boolean: bool
    kappa: float
    shrink: float
    def __init__(
        self,
        *,
        w_min: float,
        d_max: int,
        horizon: float,
        leak: bool,
        boolean: bool,
        step: float,
        learning: tuple[float, float, float, float, float],
        n_candidates: int = ...,
    ) -> None: ...

def rated_rank(
    pool: EdgePool,
    votes: Votes,
    s: RatedSettings,
    batch: Batch,
    n_labels: int,
    out_labels: NDArray[np.int32],
    out_scores: NDArray[np.float64],
    pairs: PairTables | None = ...,
) -> None: ...
def rated_scores(
    pool: EdgePool,
    votes: Votes,
    s: RatedSettings,
    batch: Batch,
    n_labels: int,
    labels: NDArray[np.int32],
    out: NDArray[np.float64],
) -> None: ...
def rated_lift(
    pool: EdgePool, s: RatedSettings, indices: NDArray[np.int32], data: NDArray[np.float64], label: int
) -> None: ...
def rated_learn(
    pool: EdgePool,
    votes: Votes,
    s: RatedSettings,
    batch: Batch,
    n_labels: int,
    again: bool,
    pairs: PairTables | None = ...,
    n_before: int = ...,
    prunes: bool = ...,
) -> float: ...
def rated_explain(
    pool: EdgePool, s: RatedSettings, indices: NDArray[np.int32], data: NDArray[np.float64], label: int
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]: ...
def check_rated(
    indptr: NDArray[np.int64], edges: NDArray[Any], totals: NDArray[np.float64], ratings: NDArray[Any], n_labels: int
) -> str | None: ...
