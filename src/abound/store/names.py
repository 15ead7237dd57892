"""Names as two flat arrays: their concatenated bytes, and the offset of each name."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from abound.errors import DamagedModel

Name: TypeAlias = str | int | float | bool
CHUNK = 1 << 16  # names that are decoded in one step


def _encode(name: Name) -> bytes:
    # The first byte is the type, so that "1", 1, 1.0 and True keep their types.
    if isinstance(name, str):
        return b"s" + name.encode("utf-8", "surrogatepass")
    if isinstance(name, bool):
        return b"b1" if name else b"b0"
    if isinstance(name, int):
        return b"i%d" % name
    if isinstance(name, float):
        return b"f" + repr(name).encode()
    raise TypeError(f"a name must be a string or a number, got {type(name).__name__}: {name!r}")


def _decode(raw: bytes) -> Name:
    kind, text = raw[:1], raw[1:]
    if kind == b"s":
        return text.decode("utf-8", "surrogatepass")
    if kind == b"i":
        return int(text)
    if kind == b"f":
        return float(text)
    if raw in (b"b0", b"b1"):
        return raw == b"b1"
    raise ValueError("unknown type of name")


def encode_names(names: Iterable[Name]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the bytes of all names and the n + 1 offsets between them.

    Examples
    --------
    >>> data, offsets = encode_names(["cat", 7])
    >>> bytes(data), offsets.tolist()
    (b'scati7', [0, 4, 6])
    """
    raw = [_encode(name) for name in names]
    offsets = np.zeros(len(raw) + 1, np.int64)
    np.cumsum([len(r) for r in raw], out=offsets[1:])
    return np.frombuffer(b"".join(raw), np.uint8), offsets


def decode_names(data: NDArray[np.uint8], offsets: NDArray[np.int64], *, unique: bool = True) -> Sequence[Name]:
    """Decode the output of `encode_names`; raise DamagedModel for anything else or a repeated name."""
    _check_offsets(data, offsets)
    names: list[Name] = []
    try:
        for part, ends in _chunks(data, offsets):
            names += [_decode(part[i:j]) for i, j in itertools.pairwise(ends)]
    except ValueError as error:
        raise DamagedModel(f"a name cannot be read: {error}") from None
    if unique and len(set(names)) != len(names):
        raise DamagedModel("a name occurs twice")
    return names


def check_texts(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
    """Raise DamagedModel unless all names are valid strings; this is ten times faster than decoding them."""
    _check_offsets(data, offsets)
    try:
        for part, ends in _chunks(data, offsets):
            starts = np.frombuffer(part, np.uint8)[ends[:-1]]
            if np.any(starts != ord("s")):  # an ASCII byte, so that no name begins within a character
                raise ValueError("it is not a string")
            part.decode("utf-8", "surrogatepass")
    except ValueError as error:
        raise DamagedModel(f"a name cannot be read: {error}") from None


def _check_offsets(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
    if data.dtype != np.uint8 or offsets.dtype != np.int64 or data.ndim != 1 or offsets.ndim != 1:
        raise DamagedModel("the names have a wrong type or shape")
    increasing = len(offsets) > 0 and offsets[0] == 0 and offsets[-1] == len(data)
    for start in range(0, len(offsets), CHUNK):  # each name has at least the byte of its type
        increasing = increasing and bool(np.all(np.diff(offsets[start : start + CHUNK + 1]) > 0))
    if not increasing:
        raise DamagedModel("the offsets of the names do not match their bytes")


def _chunks(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> Iterator[tuple[bytes, list[int]]]:
    """Yield the bytes of some names with their offsets; all at once would take many times the memory."""
    for start in range(0, len(offsets) - 1, CHUNK):
        ends = offsets[start : start + CHUNK + 1]
        yield data[ends[0] : ends[-1]].tobytes(), (ends - ends[0]).tolist()
