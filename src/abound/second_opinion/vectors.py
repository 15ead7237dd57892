"""Vectors as small whole numbers, so that all sums are exact and every processor gets the same results."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from abound.kernels.blending import exponentials, logarithms

Floats: TypeAlias = NDArray[np.float64]
Codes: TypeAlias = NDArray[np.int8]
LARGEST = 127
UNIT = 4096  # the length of a vector that is added to others


def quantised(vectors: NDArray[np.float32]) -> Codes:
    """Return vectors as 8-bit numbers; the largest number of each vector becomes 127.

    Examples
    --------
    >>> quantised(np.array([[0.6, -0.3], [0, 0]], np.float32)).tolist()
    [[127, -64], [0, 0]]
    """
    return scaled_codes(vectors.astype(np.float64))[0]


def scaled_codes(vectors: Floats) -> tuple[Codes, Floats]:
    """Return vectors as 8-bit numbers, and the factor of each, which gives its size back."""
    largest = np.abs(vectors).max(axis=1, initial=0.0)
    scale = np.divide(LARGEST, largest, out=np.zeros(len(vectors)), where=largest > 0)
    codes = np.rint(vectors * scale[:, None]).astype(np.int8)
    return codes, largest / LARGEST


def lengths(codes: Codes) -> Floats:
    """Return the lengths of vectors of 8-bit numbers."""
    found: Floats = np.sqrt(np.einsum("ij,ij->i", codes, codes, dtype=np.int64).astype(np.float64))
    return found


def directions(codes: Codes) -> Floats:
    """Return vectors of the length `UNIT` as whole numbers."""
    long = lengths(codes)
    factor = np.divide(UNIT, long, out=np.zeros(len(codes)), where=long > 0)
    found: Floats = np.rint(codes * factor[:, None])
    return found


def exp(values: Floats) -> Floats:
    """Return e to the power of each number, the same on every machine."""
    flat = np.ascontiguousarray(values, np.float64).ravel()
    out = np.empty_like(flat)
    exponentials(flat, out)
    return out.reshape(values.shape)


def log(values: Floats) -> Floats:
    """Return the natural logarithm of positive numbers, the same on every machine."""
    flat = np.ascontiguousarray(values, np.float64).ravel()
    out = np.empty_like(flat)
    logarithms(flat, out)
    return out.reshape(values.shape)
