"""The interface of an encoder: texts become vectors, and similar texts have similar ones."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
MAX_DIMENSIONS = 8192


class VectorEncoder(ABC):
    """Encode texts as vectors.

    Attributes
    ----------
    name : str
        Identifies the vectors: those of encoders with other names cannot be compared with them.
    dimensions : int
        The length of a vector.
    encodes_texts : bool
        Whether it can encode a text. Otherwise, vectors must be given with the texts.
    is_slow : bool
        Whether a text takes so long that a server encodes it in a thread.
    opened_by : str or None
        What `abound.encoders.open_encoder` opens it by, which models save; None if it is the name.
    """

    name: str
    dimensions: int
    encodes_texts: bool = True
    is_slow: bool = False
    opened_by: str | None = None

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text. A row has the length 1, or 0 if nothing is known about the text.

        Blank texts are not given to the encoder: their rows have the length 0. Half of a surrogate pair becomes `?`.

        Raises
        ------
        ValueError
            If the encoder returns something else than one vector of finite numbers per text.
        """
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        places = [place for place, text in enumerate(texts) if text and not text.isspace()]
        if places:
            given = [texts[place].encode("utf-8", "replace").decode() for place in places]
            rows[places] = normalized(self.raw(given), (len(given), self.dimensions), self.name)
        return rows

    @abstractmethod
    def raw(self, texts: list[str]) -> object:
        """Return one row of numbers per text, of any length."""


def normalized(rows: object, shape: tuple[int, int], name: str) -> Vectors:
    """Return rows that were checked, each divided by its length.

    Examples
    --------
    >>> normalized([[3, 4], [0, 0]], (2, 2), "example").tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    found = as_numbers(rows, name)
    if found.shape != shape:
        raise ValueError(f"the encoder {name} must return {shape[0]} x {shape[1]} numbers, got the shape {found.shape}")
    if not np.isfinite(found).all():
        raise ValueError(f"the encoder {name} returned a number that is not finite")
    largest = np.abs(found).max(axis=1, keepdims=True, initial=0.0)
    scaled = np.divide(found, largest, out=np.zeros(shape), where=largest > 0)  # so that no square is too large
    lengths = np.sqrt((scaled * scaled).sum(axis=1, keepdims=True))
    unit: Vectors = np.divide(scaled, lengths, out=np.zeros(shape), where=lengths > 0).astype(np.float32)
    return unit


def as_numbers(rows: object, name: str) -> NDArray[np.float64]:
    """Return rows as an array; ValueError if they are not numbers, or differ in their lengths."""
    try:
        return np.asarray(rows, np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"the encoder {name} must return rows of numbers, all of the same length") from None


class CallableEncoder(VectorEncoder):
    """Encode texts by a function.

    Parameters
    ----------
    function : callable
        Takes a list of texts and returns one row of numbers per text.
    name : str
        Identifies the vectors.
    dimensions : int, optional
        The length of a vector; by default, the function is called once to find it.

    Examples
    --------
    >>> encoder = CallableEncoder(lambda texts: [[len(text), 1.0] for text in texts], "lengths")
    >>> encoder.dimensions
    2
    """

    def __init__(self, function: Callable[[list[str]], object], name: str, dimensions: int | None = None) -> None:
        self._function = function
        self.name = name
        self.dimensions = found_dimensions(function, name) if dimensions is None else dimensions

    def raw(self, texts: list[str]) -> object:
        """Return one row of numbers per text."""
        return self._function(texts)


def found_dimensions(function: Callable[[list[str]], object], name: str) -> int:
    """Return the length of the vectors of a function, which is called once."""
    shape: tuple[int, ...] = np.shape(as_numbers(function(["a text"]), name))
    if len(shape) != 2 or shape[0] != 1 or not 1 <= shape[1] <= MAX_DIMENSIONS:
        raise ValueError(
            f"the encoder {name} must return a row of 1 to {MAX_DIMENSIONS} numbers, got the shape {shape}"
        )
    return shape[1]
