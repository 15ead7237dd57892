import numpy as np
from numpy.typing import NDArray

from abound.kernels.batch import Batch
from abound.kernels.prototypes import Prototypes

RULES: dict[str, int]
UPDATES: dict[str, int]

class PrototypeSettings:
    all_labels: bool
    bias_value: float
    def __init__(
        self,
        *,
        rule: str,
        all_labels: bool,
        margin: float = ...,
        rivals: int = ...,
        step: float = ...,
        step_start: float = ...,
        bias_value: float = ...,
        known_only: bool = ...,
        update: str = ...,
        seed: int = ...,
    ) -> None: ...

class RowScores: ...

def prototypes_rank(
    store: Prototypes,
    scores: RowScores,
    s: PrototypeSettings,
    batch: Batch,
    n_labels: int,
    out_labels: NDArray[np.int32],
    out_scores: NDArray[np.float64],
) -> None: ...
def prototypes_learn(
    store: Prototypes, scores: RowScores, s: PrototypeSettings, batch: Batch, n_before: int = 0
) -> int: ...
def row_changes(
    s: PrototypeSettings, values: NDArray[np.float64], batch: Batch
) -> tuple[NDArray[np.int32], NDArray[np.float64]]: ...
def prototypes_explain(
    store: Prototypes, indices: NDArray[np.int32], data: NDArray[np.float64], label: int, bias_value: float = 0.0
) -> tuple[NDArray[np.int64], NDArray[np.float64], float]: ...
