"""Encoders of texts, and vectors that are given with the rows of a command's input."""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from abound.cli.common import note

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from abound.cli.inputs import Inputs
    from abound.data import Document
    from abound.encoders import VectorEncoder
    from abound.tagger import Tagger

RefusedOption = Annotated[str | None, typer.Option("--embeddings", metavar="ENCODER", hidden=True)]


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


@dataclass(frozen=True)
class Embedding:
    """The encoder of texts. None means that there is none."""

    embeddings: Annotated[
        str | None,
        typer.Option(
            "--embeddings",
            metavar="ENCODER",
            help="Rank by similar texts, too: wordllama, a directory with an encoder, sentence-transformers:NAME, the "
            "URL of a server of embeddings, or given:N for given vectors of N numbers.",
        ),
    ] = None
    download: Annotated[
        bool,
        typer.Option("--download", help="Download a model of sentence-transformers that is not on this machine."),
    ] = False

    def open(self) -> "VectorEncoder | None":
        """Open the encoder, if there is one; it measures how long it takes."""
        if self.embeddings is None:
            if self.download:
                raise ValueError("--download fetches the model of --embeddings sentence-transformers:NAME; name one")
            return None
        from abound.encoders import open_encoder
        from abound.encoders.timed import TimedEncoder
        from abound.errors import ModelError

        what = os.path.abspath(self.embeddings) if os.path.isdir(self.embeddings) else self.embeddings
        try:
            return TimedEncoder(open_encoder(what, download=self.download), what)
        except ModelError as error:
            hint = what.startswith("sentence-transformers:") and not self.download
            raise ModelError(f"{error}; --download fetches it" if hint else str(error)) from None

    def for_rows(self, documents: "Inputs", vectors: Vectors) -> "VectorEncoder | None":
        """Return the encoder, or given vectors of the length that those of the rows have."""
        encoder = self.open()
        if encoder is not None or not vectors:
            return encoder
        from abound.encoders import GivenVectors

        if documents.is_stream and vectors.vectors is None:
            raise ValueError("stdin is read once: name the length of the vectors with --embeddings given:N")
        n_numbers = documents.find_dimensions()
        if n_numbers is None:
            raise ValueError(f"no row has a vector in the field {vectors.vector_field!r}")
        return GivenVectors(n_numbers)


def note_opinion(tagger: "Tagger", encoder: "VectorEncoder | None", *, is_stream: bool) -> None:
    """Print the encoder, its time, and whether the blend of words and vectors is used."""
    from abound.encoders.timed import TimedEncoder

    opinion = tagger.second_opinion
    if opinion is None or encoder is None:
        return
    words = f"encoder: {encoder.name}, vectors of {opinion.dimensions:,} numbers"
    if isinstance(encoder, TimedEncoder) and encoder.encodes_texts and encoder.n_texts:
        words += f", {1000 * encoder.seconds / encoder.n_texts:.3g} ms per text"
    note(words)
    if is_stream:
        note("rankings are a blend of words and vectors")
    elif opinion.blend.is_used:
        note("rankings are a blend of words and vectors: on held-out rows, it ranks no worse than the words alone")
    else:
        note("rankings use the words alone: on held-out rows, they rank better than the blend with vectors")


def refuse_embeddings(given: str | None, reason: str) -> None:
    """Raise ValueError if --embeddings is given to a command that cannot use it."""
    if given is not None:
        raise ValueError(f"--embeddings cannot be used here: {reason}")
