from typing import Any

import numpy as np
from numpy.typing import NDArray

class Batch:
    rows: Any
    targets: Any
    wrong: Any
    weights: NDArray[np.float64] | None
    n_rows: int
    n_features: int
    n_known: int
    def __init__(
        self,
        rows: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]],
        targets: tuple[NDArray[np.int64], NDArray[np.int32], int] | None = None,
        wrong: tuple[NDArray[np.int64], NDArray[np.int32]] | None = None,
        weights: NDArray[np.float64] | None = None,
    ) -> None: ...
