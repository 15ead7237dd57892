"""Vectors that are given with the rows of a command's input."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from abound.data import Document


@dataclass(frozen=True)
class Vectors:
    """Where the vectors of rows come from. None means that they are not given."""

    vectors: Annotated[
        str | None,
        typer.Option("--vectors", metavar="FILE.npy", help="Vectors of the rows: one row of numbers each, in order."),
    ] = None
    vector_field: Annotated[
        str | None,
        typer.Option(
            "--vector-field", metavar="NAME", help="Field of the vector of a row: a list of numbers, or null for none."
        ),
    ] = None

    def __bool__(self) -> bool:
        return self.vectors is not None or self.vector_field is not None

    def refuse(self, reason: str) -> None:
        """Raise ValueError if vectors are given."""
        if self:
            raise ValueError(f"--vectors and --vector-field cannot be used here: {reason}")

    def table(self) -> "VectorTable | None":
        """Return the vectors of the file, which stay on disk; ValueError if it has something else."""
        if self.vectors is None:
            return None
        if self.vector_field is not None:
            raise ValueError("give either --vectors or --vector-field, not both")
        import numpy as np

        try:
            found = np.load(self.vectors, mmap_mode="r", allow_pickle=False)
        except (ValueError, EOFError):
            raise ValueError(f"{self.vectors} is not a table in numpy's format .npy") from None
        if not isinstance(found, np.ndarray) or found.ndim != 2 or found.dtype.kind not in "fiu":
            raise ValueError(f"{self.vectors} must be a table of numbers with one row for each row of the input")
        return VectorTable(self.vectors, found)


class VectorTable:
    """The vectors of rows in a file, by row number.

    Parameters
    ----------
    name : str
        The name of the file, for messages.
    table : ndarray
    """

    def __init__(self, name: str, table: "NDArray[np.float64]") -> None:
        self.name, self._table = name, table

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        return int(self._table.shape[1])

    def row(self, number: int) -> tuple[float, ...]:
        """Return the vector of a row, numbered from 0."""
        if number >= len(self._table):
            raise ValueError(f"{self.name} has {len(self._table):,} vectors, but the input has more rows")
        vector = tuple(self._table[number].tolist())
        if not all(map(math.isfinite, vector)):
            raise ValueError(f"{self.name}: vector {number + 1:,} has a number that is not finite")
        return vector

    def check_rows(self, n_rows: int) -> None:
        """Raise ValueError if there are not as many vectors as rows."""
        if n_rows != len(self._table):
            raise ValueError(f"{self.name} has {len(self._table):,} vectors, but the input has {n_rows:,} rows")


def vectors_of(rows: Sequence["Document"]) -> list[Any] | None:
    """Return the vectors of rows; None if no row has one."""
    return None if all(row.vector is None for row in rows) else [row.vector for row in rows]
