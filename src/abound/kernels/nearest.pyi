from numpy import float64, int8, int16, int32, int64, uint64
from numpy.typing import NDArray

class Best:
    def __init__(self, k: int) -> None: ...
    def offer(
        self,
        vectors: NDArray[int8],
        factors: NDArray[float64],
        biases: NDArray[float64],
        query: NDArray[int16],
        gain: float,
        first: int,
    ) -> None: ...
    def offer_chosen(
        self,
        vectors: NDArray[int8],
        factors: NDArray[float64],
        biases: NDArray[float64],
        query: NDArray[int16],
        gain: float,
        first: int,
        chosen: NDArray[int32],
    ) -> None: ...
    def taken(self) -> tuple[NDArray[int64], NDArray[float64]]: ...

def dots(vectors: NDArray[int8], chosen: NDArray[int64], query: NDArray[int16], out: NDArray[float64]) -> None: ...
def fewest_differences(bits: NDArray[uint64], query: NDArray[uint64], wanted: int) -> NDArray[int32]: ...
