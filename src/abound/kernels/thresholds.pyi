from typing import Any

import numpy as np
from numpy.typing import NDArray

def prank_learn(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    data: NDArray[np.float64],
    ranks: NDArray[np.int32],
    weights: NDArray[np.float64],
    thresholds: NDArray[np.float64],
    span: NDArray[np.float64],
    margin: float,
    n_before: int,
    out_ranks: NDArray[np.int32],
) -> int: ...
def prank_scores(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    data: NDArray[np.float64],
    weights: NDArray[np.float64],
    out_scores: NDArray[np.float64],
) -> None: ...

class SupportRows:
    gamma: float
    coef0: float
    kind: int
    degree: int
    budget: int
    def __init__(self, kind: str, gamma: float, coef0: float, degree: int, budget: int) -> None: ...
    def __len__(self) -> int: ...
    def arrays(self) -> tuple[NDArray[Any], ...]: ...
    @staticmethod
    def from_arrays(
        kind: str,
        gamma: float,
        coef0: float,
        degree: int,
        budget: int,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        data: NDArray[np.float64],
        steps: NDArray[np.int64],
        born: NDArray[np.int64],
    ) -> SupportRows: ...

def prank_kernel_learn(
    support: SupportRows,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    data: NDArray[np.float64],
    ranks: NDArray[np.int32],
    thresholds: NDArray[np.float64],
    span: NDArray[np.float64],
    margin: float,
    n_before: int,
    out_ranks: NDArray[np.int32],
) -> int: ...
def prank_kernel_scores(
    support: SupportRows,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    data: NDArray[np.float64],
    n_seen: int,
    out_scores: NDArray[np.float64],
) -> None: ...
