import numpy as np
from numpy.typing import NDArray

LOSS_MAP: int
LOSS_ROC: int
LOSS_ACCURACY: int

def violated_rankings(
    loss: int,
    relevant_weight: float,
    scores: NDArray[np.float64],
    relevant: NDArray[np.uint8],
    indptr: NDArray[np.int64],
    start: int,
    stop: int,
    out_weights: NDArray[np.float64],
    out_losses: NDArray[np.float64],
) -> None: ...
