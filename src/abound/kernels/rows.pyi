import numpy as np
from numpy.typing import NDArray

def is_canonical_csr(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], data: NDArray[np.float64], n_columns: int, largest: float
) -> bool: ...
