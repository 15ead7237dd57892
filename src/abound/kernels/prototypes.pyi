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
    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]: ...
    @classmethod
    def from_arrays(
        cls,
        indptr: NDArray[np.int64],
        labels: NDArray[np.int32],
        weights: NDArray[np.float32],
        n_labels: int,
        *,
        may_be_dense: bool = False,
    ) -> Prototypes: ...
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
) -> None: ...
def prototypes_learn(
    store: Prototypes,
    scores: RowScores,
    rule: int,
    all_labels: bool,
    margin: float,
    rivals: int,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    data: NDArray[np.float64],
    label_indptr: NDArray[np.int64],
    labels: NDArray[np.int32],
    n_known: int,
) -> int: ...
def prototypes_explain(
    store: Prototypes, indices: NDArray[np.int32], data: NDArray[np.float64], label: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]: ...
def check_prototypes(
    indptr: NDArray[np.int64], labels: NDArray[np.int32], weights: NDArray[np.float32], n_labels: int
) -> str | None: ...
