from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

class TextSettings:
    ngrams: int
    char_low: int
    char_high: int
    min_count: int
    pivoted: bool
    counted: bool
    slope: float
    max_terms: int
    stems: Mapping[str, str] | None
    kinds: bytes
    run_weight: float
    part_weight: float
    form_weight: float
    def __init__(
        self,
        *,
        ngrams: int,
        char_low: int,
        char_high: int,
        min_count: int,
        pivoted: bool,
        slope: float,
        max_terms: int,
        counted: bool,
        kinds: bytes,
        stems: Mapping[str, str] | None = ...,
    ) -> None: ...
    def set_field_weights(self, weights: list[float]) -> None: ...

class Vocabulary:
    n_texts: int
    n_distinct: int
    def __init__(self, sightings: NDArray[np.uint8] | None = ...) -> None: ...
    @property
    def n_terms(self) -> int: ...
    @property
    def n_name_bytes(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def longest_probe(self) -> int: ...
    def name(self, number: int, unique: bool = ...) -> str: ...
    def merge(self, other: Vocabulary) -> NDArray[np.int32]: ...
    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], NDArray[np.uint8]]: ...
    def terms_between(
        self, start: int, stop: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]: ...
    def name_bytes(self, start: int, stop: int) -> NDArray[np.uint8]: ...
    def counts(self) -> NDArray[np.int32]: ...
    @classmethod
    def from_arrays(
        cls,
        starts: NDArray[np.int64],
        lengths: NDArray[np.int32],
        counts: NDArray[np.int32],
        names: NDArray[np.uint8],
        sightings: NDArray[np.uint8] | None = ...,
    ) -> Vocabulary: ...
    @property
    def sightings(self) -> NDArray[np.uint8]: ...
