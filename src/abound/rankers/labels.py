"""Label names and their numbers in the kernels."""

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from abound.components.rows import Targets
from abound.matrices import indicator
from abound.store.names import Name

if TYPE_CHECKING:
    import scipy.sparse as sp

TargetForm: TypeAlias = Literal["names", "lists", "dense", "sparse"]
LONGEST_NUMBER = 4096  # largest number of bits of an integer label; Python refuses to parse far longer ones


def plain_name(name: Any) -> Name:
    """Return a name as a Python string or number."""
    if isinstance(name, np.generic):
        name = name.item()
    if not isinstance(name, str | int | float):
        raise TypeError(f"a label must be a string or a number, got {type(name).__name__}: {name!r}")
    if isinstance(name, float) and name != name:
        raise ValueError("a label must be a string or a number, got NaN")
    if isinstance(name, int) and name.bit_length() > LONGEST_NUMBER:
        raise ValueError(f"a label that is a number must have at most {LONGEST_NUMBER} bits, got {name.bit_length()}")
    return name


def target_form(Y: Any) -> TargetForm:
    """Tell how the labels of the rows are given: one name each, lists of names, or an indicator matrix."""
    if not isinstance(Y, list | tuple):
        import scipy.sparse as sp

        if sp.issparse(Y):
            return "sparse"
        Y = np.asarray(Y)
        if Y.ndim == 0:
            raise TypeError(f"labels must be a sequence with an entry for each row, got {Y!r}")
        if Y.ndim == 2 and Y.shape[1] > 1:
            return "dense"
    first = next(iter(Y), None)
    return "lists" if isinstance(first, list | tuple | set | frozenset) else "names"


class LabelIndex:
    """Number labels in the order in which they are first seen, and count their rows."""

    def __init__(self) -> None:
        self.names: list[Name] = []
        self.counts = np.zeros(0, np.int64)
        self._ids: dict[Name, int] = {}

    @classmethod
    def restore(cls, names: Sequence[Name], counts: NDArray[np.int64]) -> "LabelIndex":
        """Build an index from saved names and counts."""
        index = cls()
        index.names, index.counts = list(names), counts.copy()
        index._ids = {name: i for i, name in enumerate(index.names)}
        return index

    def __len__(self) -> int:
        return len(self.names)

    def add(self, names: Iterable[Any]) -> None:
        """Add labels without an example."""
        for plain in [plain_name(name) for name in names]:  # all are validated before the first is added
            if self._ids.setdefault(plain, len(self.names)) == len(self.names):
                self.names.append(plain)
        self._widen()

    def rename(self, old: Name, new: Name) -> None:
        """Give a label a new name that no label has yet; its number stays."""
        if new in self._ids:
            raise ValueError(f"label {new!r} already exists")
        number = self._ids.pop(old)
        self.names[number], self._ids[new] = new, number

    def __contains__(self, name: Any) -> bool:
        try:
            return plain_name(name) in self._ids
        except ValueError:  # NaN and very long numbers, which the text of a name may be read as
            return False

    def id_of(self, name: Any) -> int:
        """Return a label's number; raise KeyError if it is unknown."""
        return self._ids[plain_name(name)]

    def _widen(self) -> None:
        if len(self.names) > len(self.counts):  # grow by half, so that appending stays cheap
            wider = np.zeros(max(len(self.names), len(self.counts) * 3 // 2), np.int64)
            wider[: len(self.counts)] = self.counts
            self.counts = wider

    def encode(self, Y: Any, n_rows: int, *, learn: bool) -> Targets:
        """Return the label numbers of each row.

        With `learn`, unknown labels become known. Otherwise each gets a number beyond the known ones, so that it still
        counts as a label that a ranking has missed. All columns of an indicator matrix become known.
        """
        if not learn:
            return self._copy().encode(Y, n_rows, learn=True)
        n_known = len(self)
        try:
            targets = self._encode(Y)
            if len(targets.indptr) - 1 != n_rows:
                raise ValueError(f"X has {n_rows} rows but Y has {len(targets.indptr) - 1}; give labels for each row")
        except BaseException:  # a caller's iterable may raise anything
            self._forget_from(n_known)
            raise
        self._widen()
        return targets

    def _copy(self) -> "LabelIndex":
        """Return a copy that can be changed independently."""
        index = LabelIndex()
        index.names, index._ids = list(self.names), dict(self._ids)
        return index

    def _encode(self, Y: Any) -> Targets:
        form = target_form(Y)
        if form in ("dense", "sparse"):
            return self._encode_indicator(indicator(Y))
        if form == "lists":
            return self._encode_lists(Y)
        from sklearn.utils import column_or_1d
        from sklearn.utils.multiclass import check_classification_targets

        y = column_or_1d(Y, warn=True) if not isinstance(Y, list | tuple) else np.asarray(Y)
        if y.dtype.kind == "f" and not np.isfinite(y).all():
            found = "NaN" if np.isnan(y).any() else "infinity"
            raise ValueError(f"a label must be a string or a number, got {found}")
        if y.dtype.kind in "fc" or y.dtype == object:
            check_classification_targets(y)
        # A list of mixed strings and numbers keeps its types only in its original form.
        given = Y if isinstance(Y, list | tuple) else y.tolist()
        return self._encode_lists([(name,) for name in given])

    def _forget_from(self, number: int) -> None:
        """Forget labels from a number on; nothing was learned about them."""
        for name in self.names[number:]:
            del self._ids[name]
        del self.names[number:]

    def _encode_lists(self, rows: Iterable[Iterable[Any]]) -> Targets:
        known, names = self._ids, self.names
        indptr, ids, n_known = [0], [], len(names)
        for row in rows:
            if isinstance(row, str):
                raise TypeError(f"labels must be a list for each row, got the string {row!r} among lists")
            numbers = []
            for name in row:
                plain = name if type(name) is str else plain_name(name)
                i = known.setdefault(plain, len(names))
                if i == len(names):
                    names.append(plain)
                numbers.append(i)
            ids.extend(numbers if len(numbers) == 1 else sorted(set(numbers)))
            indptr.append(len(ids))
        return Targets(np.array(indptr, np.int64), np.array(ids, np.int32), n_known)

    def _encode_indicator(self, Y: "sp.csr_array[Any]") -> Targets:
        if Y.shape[1] > np.iinfo(np.int32).max:
            raise ValueError(f"an indicator matrix must have fewer than 2**31 columns, got {Y.shape[1]}")
        self.add(range(Y.shape[1]))
        ids = np.array([self._ids[column] for column in range(Y.shape[1])], np.int32)[Y.indices]
        rows = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))
        return Targets(Y.indptr.astype(np.int64), ids[np.lexsort((ids, rows))], len(self.names))

    def known(self, rows: Sequence[Iterable[Any]]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return the numbers of the known labels of each row."""
        numbers = [sorted({self._ids[plain] for plain in map(plain_name, row) if plain in self._ids}) for row in rows]
        indptr = np.array([*accumulate(map(len, numbers), initial=0)], np.int64)
        return indptr, np.array([number for row in numbers for number in row], np.int32)

    def count(self, targets: Targets, copies: NDArray[np.int64] | None = None) -> None:
        """Add rows to the counts of their labels, each once or as often as it is learned."""
        np.add.at(self.counts, targets.ids, 1 if copies is None else np.repeat(copies, np.diff(targets.indptr)))
