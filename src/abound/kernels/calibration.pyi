import numpy as np
from numpy.typing import NDArray

N_FEATURES: int
N_COMPARED: int
RECORD_FEATURE: int
N_BENDS: int

def features(
    labels: NDArray[np.int32],
    scores: NDArray[np.float64],
    origin: float,
    unit: float,
    records: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None: ...

class Probabilities:
    def __init__(
        self,
        origin: float,
        unit: float,
        records: NDArray[np.float64],
        weights: NDArray[np.float64],
        bend: NDArray[np.float64],
    ) -> None: ...
    def of(self, labels: NDArray[np.int32], scores: NDArray[np.float64]) -> NDArray[np.float64]: ...

def fit(
    x: NDArray[np.float64],
    y: NDArray[np.uint8],
    ridge: float,
    n_steps: int,
    bend: NDArray[np.float64],
    weights: NDArray[np.float64],
    precision: NDArray[np.float64],
) -> bool: ...
def bend_features(x: NDArray[np.float64], weights: NDArray[np.float64], out: NDArray[np.float64]) -> None: ...
def log_odds(
    x: NDArray[np.float64], weights: NDArray[np.float64], bend: NDArray[np.float64], out: NDArray[np.float64]
) -> None: ...
def moments(x: NDArray[np.float64], mean: NDArray[np.float64], scale: NDArray[np.float64]) -> None: ...
def standardise(x: NDArray[np.float64], mean: NDArray[np.float64], scale: NDArray[np.float64]) -> None: ...
def note_units(scores: NDArray[np.float64], longest: float, units: NDArray[np.float64]) -> None: ...
def note_outcomes(
    odds: NDArray[np.float64], right: NDArray[np.uint8], levels: NDArray[np.float64], outcomes: NDArray[np.float64]
) -> None: ...

class Learner:
    def __init__(
        self,
        mean: NDArray[np.float64],
        scale: NDArray[np.float64],
        bend: NDArray[np.float64],
        levels: NDArray[np.float64],
        units: NDArray[np.float64],
        weights: NDArray[np.float64],
        precision: NDArray[np.float64],
        records: NDArray[np.float64],
        outcomes: NDArray[np.float64],
    ) -> None: ...
    def learn(
        self,
        labels: NDArray[np.int32],
        scores: NDArray[np.float64],
        right: NDArray[np.uint8],
        judged: NDArray[np.uint8],
        unit_rows: float,
        kept: float,
        outcomes_kept: float,
        longest: float,
    ) -> None: ...
