"""Vectors that always come from outside: no text is encoded here."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abound.encoders.base import MAX_DIMENSIONS, VectorEncoder, Vectors, normalized
from abound.errors import MissingVectors

PREFIX = "given:"
CHECKED = 4096  # vectors that are checked at once


class GivenVectors(VectorEncoder):
    """Vectors that are given with each text, such as those of a model that runs elsewhere.

    A text without one is ranked by its words alone, with a warning (`MissingVectors`).

    Parameters
    ----------
    dimensions : int
        The length of a vector.
    name : str, optional
        Identifies where the vectors come from.

    Examples
    --------
    >>> GivenVectors(384, "minilm").name
    'given:minilm:384'
    """

    encodes_texts = False

    def __init__(self, dimensions: int, name: str = "") -> None:
        if type(dimensions) is not int or not 1 <= dimensions <= MAX_DIMENSIONS:
            raise ValueError(f"vectors must have 1 to {MAX_DIMENSIONS} dimensions, got {dimensions!r}")
        self.dimensions = dimensions
        self.name = f"{PREFIX}{name}:{dimensions}" if name else f"{PREFIX}{dimensions}"

    @classmethod
    def from_name(cls, name: str) -> "GivenVectors":
        """Return the vectors with a name such as `given:384`, or `given:minilm:384`; ValueError if it is another."""
        kind, _, number = name.removeprefix(PREFIX).rpartition(":")
        if not name.startswith(PREFIX) or not number.isdecimal():
            raise ValueError(f"{name} must be given:N with the length of the vectors, such as given:384")
        return cls(int(number), kind)

    def raw(self, texts: list[str]) -> Vectors:
        """Return zeros, and warn that nothing is known about the texts but their words."""
        which = "a text has no vector and is" if len(texts) == 1 else f"{len(texts):,} texts have no vectors and are"
        warnings.warn(
            f"{which} known by words alone; give the vectors of {self.name} with the texts",
            MissingVectors,
            stacklevel=2,
        )
        return np.zeros((len(texts), self.dimensions), np.float32)


def given_rows(vectors: Any, n_texts: int, dimensions: int) -> list[Vectors | None]:
    """Return the vectors that are given with texts, each of the length 1, 0, or None if it is not given.

    Parameters
    ----------
    vectors : array-like of shape (n_texts, dimensions), or a sequence of vectors and None
    n_texts : int
    dimensions : int
        The length of a vector.

    Raises
    ------
    ValueError
        If these are not as many vectors of finite numbers of this length.

    Examples
    --------
    >>> [None if row is None else row.tolist() for row in given_rows([[2, 0], None], 2, 2)]
    [[1.0, 0.0], None]
    """
    rows: Sequence[Any] | NDArray[Any] = np.asarray(vectors) if hasattr(vectors, "__array__") else list(vectors)
    if isinstance(rows, np.ndarray) and rows.ndim != 2:
        raise ValueError(f"vectors must have one row per text, got an array of {rows.ndim} dimensions")
    if len(rows) != n_texts:
        raise ValueError(
            f"there are {_counted(n_texts, 'text')} but {_counted(len(rows), 'vector')}; give one per text"
        )
    present = [number for number, row in enumerate(rows) if row is not None]
    found: list[Vectors | None] = [None] * n_texts
    for start in range(0, len(present), CHECKED):
        part = present[start : start + CHECKED]
        for number, row in zip(part, _checked([rows[number] for number in part], part, dimensions), strict=True):
            found[number] = row
    return found


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _checked(rows: list[Any], numbers: Sequence[int], dimensions: int) -> Vectors:
    for number, row in zip(numbers, rows, strict=True):
        shape = np.shape(row) if isinstance(row, np.ndarray | list | tuple) else None
        if shape is None or len(shape) != 1:
            raise ValueError(f"vector {number + 1:,} must be a list of numbers")
        if shape[0] != dimensions:
            raise ValueError(
                f"vector {number + 1:,} has {_counted(shape[0], 'number')}, "
                f"but the vectors of the model have {dimensions}"
            )
    try:
        numeric = np.asarray(rows, np.float64)
    except (TypeError, ValueError):
        raise ValueError("vectors must be lists of numbers") from None
    infinite = np.flatnonzero(~np.isfinite(numeric).all(axis=1))
    if len(infinite):
        raise ValueError(f"vector {numbers[int(infinite[0])] + 1:,} has a number that is not finite")
    return normalized(numeric, (len(rows), dimensions), "given")
