import numpy as np
from numpy.typing import NDArray

EDGE_DTYPE: np.dtype[np.void]
BOUNDS_CHECKED: bool
EDGE_BYTES: int
FEATURE_BYTES: int

class EdgePool:
    @property
    def n_features(self) -> int: ...
    @property
    def n_edges(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @classmethod
    def from_arrays(
        cls, indptr: NDArray[np.int64], edges: NDArray[np.void], totals: NDArray[np.float64], seen: NDArray[np.int64]
    ) -> EdgePool: ...
    def headers(self, limit: int = ...) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]: ...
    def edges(self, start: int, stop: int, limit: int = ...) -> NDArray[np.void]: ...
    def compacted(self, limit: int = ...) -> EdgePool: ...

def check_arrays(
    indptr: NDArray[np.int64],
    edges: NDArray[np.void],
    totals: NDArray[np.float64],
    seen: NDArray[np.int64],
    n_labels: int,
) -> str | None: ...
