"""Names as two flat arrays: their bytes one after the other, and where each begins."""

import itertools
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from abound.errors import DamagedModel

Name: TypeAlias = str | int | float | bool


def _encode(name: Name) -> bytes:
    # The first byte tells the type, so that "1", 1, 1.0 and True come back as what they were.
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
    """Return the bytes of all names and the n + 1 offsets that part them.

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
    """Undo `encode_names`; what it cannot have written, or a repeated name, raises DamagedModel."""
    if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != len(data) or np.any(np.diff(offsets) < 0):
        raise DamagedModel("the offsets of the names do not fit their bytes")
    raw, ends = data.tobytes(), offsets.tolist()
    try:
        names = [_decode(raw[i:j]) for i, j in itertools.pairwise(ends)]
    except ValueError as error:
        raise DamagedModel(f"a name cannot be read: {error}") from None
    if unique and len(set(names)) != len(names):
        raise DamagedModel("a name occurs twice")
    return names
