"""The content of a model directory, and the validation of arrays that an estimator reads from it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

MAX_COUNTED = 1 << 53  # rows or occurrences; exact as a double
MAX_COLUMNS = np.iinfo(np.int32).max


@dataclass(frozen=True)
class Model:
    """The content of a model directory: the manifest's content, and arrays by name."""

    content: dict[str, Any]
    arrays: dict[str, NDArray[Any]]

    def under(self, prefix: str) -> dict[str, NDArray[Any]]:
        """Return the arrays whose names begin with a prefix, without it."""
        return {key.removeprefix(prefix): array for key, array in self.arrays.items() if key.startswith(prefix)}

    def take(self, name: str, dtype: DTypeLike, *shape: int | None, finite: bool = True) -> NDArray[Any]:
        """Return an array after validating its type and shape, or raise ValueError.

        Callers that restore a model turn the error into a DamagedModel.

        Parameters
        ----------
        name : str
        dtype : numpy type
        *shape : int or None
            The length of each axis; None means any length.
        finite : bool
            Whether NaN and infinity are refused.
        """
        array = self.arrays.get(name)
        if array is None:
            raise ValueError(f"the model has no array {name}")
        wanted = np.dtype(dtype)
        fits = len(array.shape) == len(shape)
        fits = fits and all(want in (None, have) for want, have in zip(shape, array.shape, strict=True))
        if array.dtype != wanted or not fits:
            form = ", ".join("any" if n is None else str(n) for n in shape)
            raise ValueError(f"{name} must be {wanted} of shape ({form}), got {array.dtype} of shape {array.shape}")
        if finite and wanted.kind == "f" and not np.isfinite(array).all():
            raise ValueError(f"{name} must have finite values only")
        return array

    def take_counts(self, name: str, n: int) -> list[int]:
        """Return `n` counts, each from 0 to `MAX_COUNTED`, or raise ValueError."""
        counts: list[int] = self.take(name, np.int64, n).tolist()
        if any(not 0 <= count <= MAX_COUNTED for count in counts):
            raise ValueError(f"{name} must be counts, got {counts}")
        return counts

    def columns(self) -> tuple[int, NDArray[np.object_] | None]:
        """Return the manifest's number of columns, and their names if it has them, or raise ValueError."""
        columns = self.content.get("columns")
        width = columns.get("n_features_in") if isinstance(columns, dict) else None
        if type(width) is not int or not 0 <= width <= MAX_COLUMNS:
            raise ValueError(f"the number of columns in the manifest must be a whole number, got {width!r}")
        assert isinstance(columns, dict)
        return width, column_names(columns.get("feature_names"), width)


def column_names(names: Any, width: int) -> NDArray[np.object_] | None:
    """Return the names of columns as an array; None if there are none."""
    if names is None:
        return None
    if not isinstance(names, list) or len(names) > width or not all(isinstance(name, str) for name in names):
        raise ValueError(f"the names of the columns must be at most {width} strings")
    return np.array([*names, None], object)[:-1]  # always one axis


def is_sorted(values: NDArray[Any]) -> bool:
    """Return whether no value is smaller than the one before it."""
    return bool(np.all(values[1:] >= values[:-1]))
