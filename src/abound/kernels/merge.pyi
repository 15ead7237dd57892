from typing import Any

import numpy as np
from numpy.typing import NDArray

from abound.kernels.pool import EdgePool
from abound.kernels.prototypes import Prototypes

class Pruning:
    rated: bool
    w_min: float
    horizon: float
    leak: bool
    def __init__(self, *, rated: bool, w_min: float = ..., horizon: float = ..., leak: bool = ...) -> None: ...

def merge_features(
    base: EdgePool | None,
    shards: list[EdgePool],
    start: int,
    stop: int,
    n_labels: int,
    pruning: Pruning,
    present: NDArray[np.uint8] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64], NDArray[Any]]: ...
def renumber(pool: EdgePool, features: NDArray[np.int32], labels: NDArray[np.int32], *, rated: bool) -> EdgePool: ...
def merge_prototypes(
    base: Prototypes, shards: list[Prototypes], n_labels: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32], NDArray[np.float32]]: ...
