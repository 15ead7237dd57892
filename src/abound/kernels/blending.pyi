from numpy import float64, uint8
from numpy.typing import NDArray

def exponentials(given: NDArray[float64], out: NDArray[float64]) -> None: ...
def logarithms(given: NDArray[float64], out: NDArray[float64]) -> None: ...
def weighted_sums(features: NDArray[float64], weights: NDArray[float64], out: NDArray[float64]) -> None: ...
def learn(
    features: NDArray[float64],
    right: NDArray[uint8],
    judged: NDArray[uint8],
    step: float,
    weights: NDArray[float64],
    squares: NDArray[float64],
    scores: NDArray[float64],
    gradient: NDArray[float64],
) -> bool: ...
