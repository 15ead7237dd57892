"""Arrays that grow: rows are appended in constant time on average."""

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

T = TypeVar("T", bound=np.generic)


class Growing(Generic[T]):
    """An array whose first axis grows. An array that was loaded is copied when it is first changed.

    Parameters
    ----------
    rows : ndarray
        The first rows.

    Examples
    --------
    >>> numbers = Growing(np.array([1, 2]))
    >>> numbers.extend([3])
    >>> numbers.rows.tolist()
    [1, 2, 3]
    """

    def __init__(self, rows: NDArray[T]) -> None:
        self._array, self._n = rows, len(rows)
        self._is_own = False

    def __len__(self) -> int:
        return self._n

    @property
    def rows(self) -> NDArray[T]:
        """The rows; not to be changed."""
        return self._array[: self._n]

    @property
    def nbytes(self) -> int:
        """Bytes of memory, with spare capacity."""
        return self._array.nbytes

    def own(self) -> NDArray[T]:
        """Return the rows, to be changed."""
        self._reserve(self._n)
        return self._array[: self._n]

    def extend(self, rows: ArrayLike) -> None:
        """Append rows."""
        given = np.asarray(rows, self._array.dtype).reshape(-1, *self._array.shape[1:])
        self._reserve(self._n + len(given))
        self._array[self._n : self._n + len(given)] = given
        self._n += len(given)

    def resize(self, n: int) -> None:
        """Append rows of zeros until there are `n`."""
        if n > self._n:
            self.extend(np.zeros((n - self._n, *self._array.shape[1:]), self._array.dtype))

    def _reserve(self, n: int) -> None:
        if self._is_own and n <= len(self._array):
            return
        room = n if n <= self._n else max(16, n + n // 2)
        grown: NDArray[Any] = np.zeros((room, *self._array.shape[1:]), self._array.dtype)
        grown[: self._n] = self._array[: self._n]
        self._array, self._is_own = grown, True


class LabelLists:
    """Lists of label numbers in flat arrays, which grow."""

    def __init__(self, indptr: NDArray[np.int64] | None = None, ids: NDArray[np.int32] | None = None) -> None:
        self._indptr = Growing(np.zeros(1, np.int64) if indptr is None else indptr)
        self._ids = Growing(np.zeros(0, np.int32) if ids is None else ids)

    def __len__(self) -> int:
        return len(self._indptr) - 1

    @property
    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The offsets of the lists, and all their labels."""
        return self._indptr.rows, self._ids.rows

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return self._indptr.nbytes + self._ids.nbytes

    def append(self, ids: ArrayLike) -> None:
        """Append a list."""
        self._ids.extend(ids)
        self._indptr.extend([len(self._ids)])

    def extend(self, lists: Sequence[NDArray[np.int32]]) -> None:
        """Append lists."""
        ends = len(self._ids) + np.cumsum([len(ids) for ids in lists], dtype=np.int64)
        self._ids.extend(np.concatenate([np.zeros(0, np.int32), *lists]))
        self._indptr.extend(ends)

    def __getitem__(self, row: int) -> NDArray[np.int32]:
        indptr, ids = self.arrays
        return ids[indptr[row] : indptr[row + 1]]
