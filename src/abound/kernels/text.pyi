import numpy as np
from numpy.typing import NDArray

from abound.kernels.vocabulary import TextSettings, Vocabulary

def text_rows(
    v: Vocabulary, texts: list[str | tuple[str, ...]], s: TextSettings, learn: bool
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]: ...
def text_counts(
    v: Vocabulary, texts: list[str | tuple[str, ...]], s: TextSettings
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.uint16]]: ...
def add_counts(v: Vocabulary, indptr: NDArray[np.int64], terms: NDArray[np.int32], by: int) -> None: ...
def weighted_rows(
    v: Vocabulary,
    s: TextSettings,
    indptr: NDArray[np.int64],
    terms: NDArray[np.int32],
    occurrences: NDArray[np.uint16],
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]: ...
