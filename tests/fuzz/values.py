"""Generate invalid and valid arguments: matrices, labels, texts."""

import contextlib
import functools
import random

import numpy as np
import scipy.sparse as sp

from tests.fuzz.chooser import Chooser

DTYPES = (
    "f8",
    "f4",
    "f2",
    ">f8",
    "i8",
    "i4",
    "i2",
    "i1",
    "u8",
    "u1",
    "?",
    "c16",
    "O",
    "U3",
    "S3",
    "M8[s]",
    "m8[s]",
    "V4",
)
NUMBERS = (0, 1, 2, 3, -1, 5, 10**6, 2**31, 2**63, 2**64, 10**30, 0.0, 0.5, 1.0, -0.5, 1e-320, 1e300, float("inf"))
ODD = (
    None,
    True,
    "",
    "x",
    b"x",
    float("nan"),
    1j,
    [],
    {},
    (),
    object(),
    np.float32(0.5),
    np.int64(3),
    np.array(2),
    "0.5",
)
NAMES = ("a", "b", "c", "d", "label", "", " ", "\0", "\ud800", "é" * 40, 1, 0, -1, 2.5, True, np.int64(7), np.str_("a"))
ODD_NAMES = (
    None,
    float("nan"),
    float("inf"),
    1 << 5000,
    b"a",
    ["a"],
    ("a",),
    1j,
    object(),
    np.datetime64("2020"),
    {"a": 1},
)
WORDS = (
    "red",
    "apple",
    "car",
    "fast",
    "a",
    "the",
    "naïve",
    "ﬁ",
    "İ",
    "क्ष",
    "\ud800",
    "🙂",
    "x" * 300,
    "_",
    "12",
    "\0",
    "ß",
)
FORMATS = ("csr", "csc", "coo", "bsr", "dia", "lil", "dok")


def choose(ch, options):
    """Return one of some options."""
    return options[ch.integers(len(options))]


def whole(ch):
    """Return a value for a number of labels, or for a parameter."""
    return choose(ch, (1, 2, 5, 10**9)) if ch.integers(4) else choose(ch, NUMBERS + ODD)


def _good(ch, n_rows, n_columns):
    rng = np.random.default_rng(ch.integers(256))
    dense = rng.random((n_rows, n_columns)) * (rng.random((n_rows, n_columns)) < 0.5)
    return np.round(dense, 2) if ch.integers(2) else (dense > 0).astype(float)


def _spoil_array(ch, array):
    """Change an array, or replace it."""
    how = ch.integers(12)
    array = np.array(array)
    if how < 5 and array.size and array.dtype.kind in "iuf":  # not objects: lists stay unchanged
        values = (-1, 0, 1, 2, 7, 100, -(2**31), 2**31 - 1, 2**40, np.nan, np.inf, -0.5, 1e300, 5e-324)
        with np.errstate(all="ignore"):
            array.ravel()[ch.integers(array.size)] = np.array(choose(ch, values)).astype(array.dtype)
    elif how == 5:
        array = array[: ch.integers(len(array) + 1)] if array.ndim else array
    elif how == 6:
        array = np.append(array, array)
    elif how == 7:
        array = np.repeat(array, 2, axis=0)[::2] if array.ndim else array
    elif how == 8:
        array.flags.writeable = False
    elif how == 9:
        with np.errstate(all="ignore"), contextlib.suppress(TypeError, ValueError):
            array = array.astype(choose(ch, ("f8", "f4", "i8", "i4", "i2", "u1", "?", ">f8", ">i4", "O")))
    elif how == 10:
        array = array.reshape(1, -1)
    else:
        array = array[::-1] if array.ndim else array
    return array


_ARRAYS = {
    "csr": ("data", "indices", "indptr"),
    "csc": ("data", "indices", "indptr"),
    "bsr": ("data", "indices", "indptr"),
    "coo": ("data", "row", "col"),
    "dia": ("data", "offsets"),
    "lil": ("data", "rows"),
}


def _spoilt_sparse(ch, matrix):
    """Damage a sparse matrix by assigning to its attributes."""
    if ch.integers(2):
        matrix.has_sorted_indices = matrix.has_canonical_format = True
    for _ in range(1 + ch.integers(2)):
        names = _ARRAYS.get(matrix.format)
        if names is None:
            break
        name = choose(ch, names)
        array = getattr(matrix, name)
        if isinstance(array, np.ndarray):
            spoilt = _spoil_array(ch, array) if ch.integers(16) else choose(ch, (None, [1, 2], "x", np.array(1.0)))
            try:
                setattr(matrix, name, spoilt)
            except (AttributeError, ValueError, TypeError):
                break
    return matrix


def matrix(ch):
    """Return one of 65,536 row matrices, half of them valid."""
    return _matrix(ch.integers(1 << 16))


@functools.lru_cache(1 << 13)  # creating one takes longer than most calls; no call may change its arguments
def _matrix(seed):
    ch = Chooser(random.Random(seed).randbytes(60))
    n_rows = choose(ch, (1, 1, 2, 3, 6))
    n_columns = choose(ch, (1, 3, 5, 8))
    how = ch.integers(16)
    good = _good(ch, n_rows, n_columns)
    if how < 5:
        return sp.csr_array(good)
    if how == 5:
        return good
    if how == 6:
        return good.tolist()
    if how < 11:
        kind = choose(ch, ("csr", "csr", "csr", *FORMATS))
        return _spoilt_sparse(ch, sp.csr_array(good).asformat(kind).copy())
    if how == 11:
        return sp.csr_matrix(good).asformat(choose(ch, FORMATS))
    if how == 12:
        with np.errstate(all="ignore"):
            try:
                return good.astype(choose(ch, DTYPES))
            except (TypeError, ValueError):
                return good
    if how == 13:
        return _spoil_array(ch, good)
    if how == 14:
        shape = choose(ch, ((0, 3), (3, 0), (0, 0), (0,), (3,), (), (1, 2, 3), (2, 2)))
        made = np.zeros(shape, choose(ch, ("f8", "O", "i4")))
        return sp.csr_array(made) if len(shape) == 2 and made.dtype != object and ch.integers(2) else made
    return choose(ch, (*ODD, [[1], [1, 2]], [["a"]], [[None]], iter([[1.0]]), sp.coo_array(np.ones(3)), _wide(ch)))


def _wide(ch):
    width = choose(ch, (2**31, 2**40))  # a column below 2**31 may be learned, if there is enough memory
    return sp.csr_array((1, width)) if ch.integers(2) else sp.coo_array(([1.0], ([0], [width - 1])), shape=(1, width))


def name(ch):
    """Return a label."""
    return choose(ch, NAMES) if ch.integers(8) else choose(ch, ODD_NAMES)


def names(ch):
    """Return the labels of one row."""
    found = [choose(ch, NAMES) for _ in range(ch.integers(4))]
    how = ch.integers(16)
    if how == 0:
        return choose(ch, ("a", None, 3, iter(found), {"a": 1}, np.array(found, object), set(found), b"ab", range(3)))
    if how == 1:
        return [*found, choose(ch, ODD_NAMES)]
    if how == 2:
        return found * 50
    return tuple(found) if how == 3 else found


def labels(ch, n_rows):
    """Return the labels of some rows, in a valid or an invalid form."""
    return _labels(ch.integers(1 << 16), n_rows)


@functools.lru_cache(1 << 13)
def _labels(seed, n_rows):
    ch = Chooser(random.Random(seed).randbytes(80))
    if ch.integers(8) == 0:
        n_rows = choose(ch, (0, 1, n_rows + 1, max(0, n_rows - 1)))
    how = ch.integers(12)
    if how < 3:
        return [[choose(ch, NAMES) for _ in range(ch.integers(3))] for _ in range(n_rows)]
    if how == 3:
        return [choose(ch, NAMES[:4]) for _ in range(n_rows)]
    if how == 4:
        return [names(ch) for _ in range(n_rows)]
    if how == 5:
        return [name(ch) for _ in range(n_rows)]
    width = choose(ch, (1, 2, 3, 6))
    rng = np.random.default_rng(ch.integers(256))
    ones = rng.random((n_rows, width)) < 0.4
    if how == 6:
        return ones.astype(choose(ch, ("i8", "?", "f8", "u1")))
    if how == 7:
        return sp.csr_array(ones.astype(int)).asformat(choose(ch, FORMATS))
    if how == 8:
        return _spoilt_sparse(ch, sp.csr_array(ones.astype(choose(ch, ("i8", "u1", "f8")))))
    if how == 9:
        with np.errstate(all="ignore"):
            try:
                found = rng.integers(0, 4, n_rows).astype(choose(ch, DTYPES))
            except (TypeError, ValueError):
                return None
        return found if ch.integers(2) else _spoil_array(ch, found)
    if how == 10:
        return _spoil_array(ch, ones.astype(float))
    return choose(
        ch, (*ODD, "abc", iter(["a"]), {"a": ["b"]}, [[["a"]]], [["a"], "b"], np.array([["a", "b"]]), range(n_rows))
    )


def ranks(ch, n_rows):
    """Return ordinal targets, or queries."""
    if ch.integers(3):
        return np.random.default_rng(ch.integers(256)).integers(0, 4, n_rows)
    return labels(ch, n_rows)


def text(ch):
    """Return a text, or something else."""
    if ch.integers(24) == 0:
        return choose(ch, ODD)
    return " ".join(choose(ch, WORDS) for _ in range(ch.integers(9)))


def texts(ch):
    """Return a few texts."""
    if ch.integers(24) == 0:
        return choose(ch, (*ODD, "a text", np.array(["red car"]), iter(["a"])))
    return [text(ch) for _ in range(ch.integers(4))]
