import numpy as np
from numpy.typing import NDArray

from abound.kernels.batch import Batch
from abound.kernels.pool import EdgePool
from abound.kernels.votes import Votes

SIGHTINGS_FOR_FULL_VOTE: float

class IndexSettings:
    w_min: float
    margin: float
    horizon: float
    d_max: int
    max_rank: int
    leak: bool
    rating: bool
    boolean: bool
    def __init__(
        self,
        *,
        w_min: float,
        d_max: int,
        margin: float,
        horizon: float,
        leak: bool,
        rating: bool,
        boolean: bool,
        max_rank: int,
    ) -> None: ...

def index_rank(
    pool: EdgePool,
    votes: Votes,
    s: IndexSettings,
    batch: Batch,
    n_labels: int,
    out_labels: NDArray[np.int32],
    out_scores: NDArray[np.float64],
) -> None: ...
def index_scores(
    pool: EdgePool,
    votes: Votes,
    s: IndexSettings,
    batch: Batch,
    n_labels: int,
    labels: NDArray[np.int32],
    out: NDArray[np.float64],
) -> None: ...
def index_learn(pool: EdgePool, votes: Votes, s: IndexSettings, batch: Batch, n_labels: int, count: bool) -> int: ...
def index_explain(
    pool: EdgePool, s: IndexSettings, indices: NDArray[np.int32], data: NDArray[np.float64], label: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]: ...
