from typing import Any

import numpy as np
from numpy.typing import NDArray

class Prototypes:
    has_aux: bool
    may_be_dense: bool
    n_features: int
    n_pairs: int
    def __init__(self, *, has_aux: bool = False, may_be_dense: bool = False) -> None: ...
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
        aux: NDArray[np.float32] | None = None,
        *,
        may_be_dense: bool = False,
    ) -> Prototypes: ...
    def kept(self, wanted: NDArray[np.bool_]) -> Prototypes: ...
    def reset_averages(self) -> None: ...
    def averaged(self, steps: float) -> Prototypes: ...
    def copy(self) -> Prototypes: ...
    def update_mean(self, latest: Prototypes, share: float) -> None: ...

def check_prototypes(
    indptr: NDArray[np.int64],
    labels: NDArray[np.int32],
    weights: NDArray[np.float32],
    n_labels: int,
    grad_sq: NDArray[np.float32] | None = None,
) -> str | None: ...
