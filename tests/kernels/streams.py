"""Streams of rows for the tests of the kernels."""

import random
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

# Names out of order, so that a label's number is not its name.
NAMES = (50, 7, 31, 2, 64, 18)
# Sixteenths make ties and exact shares; ordinary floats make every rounding count; extreme ones stand at the
# ends of single precision, where a weight underflows or is halved a hundred times.
dyadic = st.integers(0, 32).map(lambda k: k / 16)
ordinary = st.floats(1e-3, 1e3)
LARGEST = float(np.finfo(np.float32).max)
extreme = st.sampled_from([0.0, 5e-324, 5e-46, 3e-45, 1.1e-38, 1.2e-38, 2.5e-38, 1e-30, 1.0, 1e20, LARGEST])


def streams(values, max_rows=14):
    """Draw rows as (features with values, labels, columns beyond the last feature)."""
    row = st.dictionaries(st.integers(0, 5), values, max_size=4)
    labels = st.lists(st.sampled_from(NAMES), max_size=4) | st.just(list(NAMES))
    return st.lists(st.tuples(row, labels, st.integers(0, 3)), min_size=1, max_size=max_rows)


any_stream = st.one_of(streams(dyadic), streams(ordinary), streams(dyadic | ordinary))


def long_stream(seed, n_rows, n_features, n_labels, exact):
    """Return rows with skewed features and labels: long lists, full ratings, edges that come and go."""
    rng = random.Random(seed)
    stream = []
    for _ in range(n_rows):
        features = {int(n_features * rng.random() ** 2) for _ in range(rng.randint(0, 6))}
        row = {f: rng.randint(1, 16) / 16 if exact else rng.uniform(0.01, 1.5) for f in features}
        labels = [1000 - int(n_labels * rng.random() ** 2) for _ in range(rng.randint(0, 3))]
        stream.append((row, labels, 0))
    return stream


def as_matrix(rows, spare=0):
    """Return rows as a CSR matrix that keeps its explicit zeros."""
    items = [sorted(row.items()) for row in rows]
    indices = np.array([f for row in items for f, _ in row], np.int32)
    data = np.array([v for row in items for _, v in row], np.float64)
    indptr = np.cumsum([0] + [len(row) for row in items]).astype(np.int32)
    return sp.csr_array((data, indices, indptr), shape=(len(rows), int(indices.max(initial=0)) + 1 + spare))


class Example(NamedTuple):
    """A row with label numbers, and how many labels are known with it."""

    row: dict[int, float]
    labels: list[int]
    wrong: list[int]
    n_labels: int


def numbered(stream, seed=None):
    """Number the labels of a stream as they come; with a seed, some known labels of every row are wrong ones."""
    rng, ids, examples = random.Random(seed), {}, []
    for row, names, _ in stream:
        labels = sorted({ids.setdefault(name, len(ids)) for name in names})
        others = sorted(set(ids.values()) - set(labels))
        wrong = rng.sample(others, rng.randint(0, min(2, len(others)))) if seed is not None else []
        examples.append(Example(row, labels, wrong, len(ids)))
    return examples


def as_rows(rows):
    """Return rows as the kernels take them: the three arrays of a CSR matrix."""
    matrix = as_matrix(rows)
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data


def as_lists(lists):
    """Return lists of label numbers as the kernels take them."""
    ids = np.array([label for labels in lists for label in labels], np.int32)
    return np.cumsum([0] + [len(labels) for labels in lists]).astype(np.int64), ids
