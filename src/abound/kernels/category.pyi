import numpy as np
from numpy.typing import NDArray

from abound.kernels.prototypes import Prototypes

RULES: dict[str, int]

class RowScores: ...

def prototypes_rank(
    store: Prototypes,
    scores: RowScores,
    all_labels: bool,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    data: NDArray[np.float64],
    n_labels: int,
    out_labels: NDArray[np.int32],
    out_scores: NDArray[np.float64],
    known_only: bool = False,
    common: float = 0.0,
) -> None: ...
def prototypes_learn(
    store: Prototypes,
    scores: RowScores,
    rule: int,
    all_labels: bool,
    margin: float,
    rivals: int,
    step_size: float,
    step_start: float,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    data: NDArray[np.float64],
    label_indptr: NDArray[np.int64],
    labels: NDArray[np.int32],
    n_known: int,
    wrong_indptr: NDArray[np.int64],
    wrong: NDArray[np.int32],
    common: float = 0.0,
) -> int: ...
def prototypes_explain(
    store: Prototypes, indices: NDArray[np.int32], data: NDArray[np.float64], label: int, common: float = 0.0
) -> tuple[NDArray[np.int64], NDArray[np.float64], float]: ...
