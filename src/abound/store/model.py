"""What was read from a model directory, and how an estimator takes its state out of it: nothing is believed."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

MAX_COUNTED = 1 << 53  # rows or sightings; more than anyone counts, and exact as a double
WIDEST = np.iinfo(np.int32).max  # columns


@dataclass(frozen=True)
class Model:
    """What a model directory holds: a manifest's content and arrays by name."""

    content: dict[str, Any]
    arrays: dict[str, NDArray[Any]]

    def take(self, name: str, dtype: DTypeLike, *shape: int | None, finite: bool = True) -> NDArray[Any]:
        """Return an array that has a type and a shape, or raise ValueError.

        Whoever restores a model makes it a DamagedModel.

        Parameters
        ----------
        name : str
        dtype : numpy type
        *shape : int or None
            The length of each axis; None is any.
        finite : bool
            Whether NaN and infinity are refused, too.
        """
        array = self.arrays.get(name)
        if array is None:
            raise ValueError(f"the model does not hold {name}")
        wanted = np.dtype(dtype)
        fits = len(array.shape) == len(shape)
        fits = fits and all(want in (None, have) for want, have in zip(shape, array.shape, strict=True))
        if array.dtype != wanted or not fits:
            form = ", ".join("any" if n is None else str(n) for n in shape)
            raise ValueError(f"{name} must be {wanted} of shape ({form}), got {array.dtype} of shape {array.shape}")
        if finite and wanted.kind == "f" and not np.isfinite(array).all():
            raise ValueError(f"{name} has values that are no finite numbers")
        return array

    def take_counts(self, name: str, n: int) -> list[int]:
        """Return so many whole numbers, none of them negative or beyond counting, or raise ValueError."""
        counts: list[int] = self.take(name, np.int64, n).tolist()
        if any(not 0 <= count <= MAX_COUNTED for count in counts):
            raise ValueError(f"{name} must hold counts, got {counts}")
        return counts

    def columns(self) -> tuple[int, NDArray[np.object_] | None]:
        """Return how many columns the manifest speaks of, and their names if it has them, or raise ValueError."""
        columns = self.content.get("columns")
        width = columns.get("n_features_in") if isinstance(columns, dict) else None
        if type(width) is not int or not 0 <= width <= WIDEST:
            raise ValueError(f"the manifest must say how many columns there are, got {width!r}")
        assert isinstance(columns, dict)
        return width, column_names(columns.get("feature_names"), width)


def column_names(names: Any, width: int) -> NDArray[np.object_] | None:
    """Return names of columns as an array; None if there are none."""
    if names is None:
        return None
    if not isinstance(names, list) or len(names) > width or not all(isinstance(name, str) for name in names):
        raise ValueError(f"the names of the columns must be at most {width} texts")
    return np.array([*names, None], object)[:-1]  # whatever they are, one axis


def is_sorted(values: NDArray[Any]) -> bool:
    """Tell whether no value is smaller than the one before it."""
    return bool(np.all(values[1:] >= values[:-1]))
