from typing import Any

import numpy as np
from numpy.typing import NDArray

RULES: dict[str, int]

class Prototypes:
    traced: bool
    may_be_dense: bool
    n_features: int
    n_pairs: int
    def __init__(self, *, traced: bool = False, may_be_dense: bool = False) -> None: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def n_dense(self) -> int: ...
    def arrays(self) -> tuple[NDArray[Any], ...]: ...
    @classmethod
    def from_arrays(
        cls,
        indptr: NDArray[np.int64],
        labels: NDArray[np.int32],
        weights: NDArray[np.float32],
        n_labels: int,
        traces: NDArray[np.float32] | None = None,
        *,
        may_be_dense: bool = False,
    ) -> Prototypes: ...
    def kept(self, wanted: NDArray[np.bool_]) -> Prototypes: ...
    def forget_traces(self) -> None: ...
    def averaged(self, steps: float) -> Prototypes: ...

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
) -> int: ...
def prototypes_explain(
    store: Prototypes, indices: NDArray[np.int32], data: NDArray[np.float64], label: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]: ...
def check_prototypes(
    indptr: NDArray[np.int64],
    labels: NDArray[np.int32],
    weights: NDArray[np.float32],
    n_labels: int,
    slopes: NDArray[np.float32] | None = None,
) -> str | None: ...
