import numpy as np
from numpy.typing import NDArray

def thermometer_score(
    cells: NDArray[np.int32], tables: NDArray[np.float64], start: int, stop: int, out: NDArray[np.float64]
) -> None: ...
def thermometer_sum(
    cells: NDArray[np.int32], weights: NDArray[np.float64], start: int, stop: int, out: NDArray[np.float64]
) -> None: ...
