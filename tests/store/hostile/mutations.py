"""Random changes of a model's arrays and parameters, with valid checksums."""

import copy

import numpy as np

from abound.store import Model
from tests.store.hostile.forge import OWN

WHOLE = (0, 1, -1, 2, 7, 255, 1 << 15, 1 << 30, (1 << 31) - 1, -(1 << 31), 1 << 40, 1 << 52, 1 << 62, -(1 << 63))
REAL = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-45, 1e-38, 1e-300, 1e30, 3e38, 1e300, float("nan"), float("inf"), float("-inf"))


def mutated(model, rng):
    """Return a model that differs from another in a few places."""
    arrays = {name: np.array(array) for name, array in model.arrays.items()}
    content = copy.deepcopy({name: value for name, value in model.content.items() if name not in OWN})
    for _ in range(rng.integers(1, 4)):
        if rng.random() < 0.15:
            change_param(content, rng)
        else:
            name = sorted(arrays)[rng.integers(len(arrays))]
            arrays[name] = change_array(arrays[name], rng)
    return Model(content, arrays)


def change_array(array, rng):
    """Return an array with one entry, its order or its length changed."""
    how = rng.random()
    if how < 0.65 and array.size:
        flat = array.reshape(-1)
        at = rng.integers(len(flat))
        field = None if array.dtype.names is None else array.dtype.names[rng.integers(len(array.dtype.names))]
        part = flat if field is None else flat[field]
        part[at] = value_for(part, at, rng)
    elif how < 0.75:
        array = array[: rng.integers(len(array) + 1)]
    elif how < 0.85 and len(array):
        array = np.concatenate([array, array[-rng.integers(1, min(len(array), 5) + 1) :]])
    elif how < 0.95 and len(array):
        array = array[rng.permutation(len(array))]
    elif len(array):
        array = np.repeat(array, 2, axis=0)
    return np.ascontiguousarray(array)


def value_for(array, at, rng):
    """Return a value that an entry could take: a notorious one, a neighbour's, or one nearby."""
    how = rng.random()
    if how < 0.3:
        return array[rng.integers(len(array))]
    if array.dtype.kind == "f":
        with np.errstate(over="ignore"):
            return np.asarray(REAL[rng.integers(len(REAL))]).astype(array.dtype)
    if how < 0.6:
        return np.asarray((int(array[at]) + int(rng.integers(-3, 4))) % (1 << 64), np.uint64).astype(array.dtype)
    return np.asarray(WHOLE[rng.integers(len(WHOLE))]).astype(array.dtype)


def change_param(content, rng):
    """Change one parameter of a model's manifest."""
    params = content["params"]
    if rng.random() < 0.3 and isinstance(content.get("columns"), dict):
        params = content["columns"]
    if isinstance(params.get("ranker_params"), dict) and rng.random() < 0.5:
        params = params["ranker_params"]
    if params:
        name = sorted(params)[rng.integers(len(params))]
        odd = (None, True, 0, 1, -1, 3, 2.5, 1e30, 1 << 70, "", "x", [], [1], [1, 2], {}, 10**6)
        params[name] = odd[rng.integers(len(odd))]
