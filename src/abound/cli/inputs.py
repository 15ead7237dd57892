"""The rows of a command's input files, numbered across all files."""

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar

from abound.cli.common import STANDARD, note
from abound.cli.holdout import Holdout
from abound.cli.reading import Reading
from abound.cli.vectors import Vectors
from abound.data import FORMATS, Document, read
from abound.data.documents import DocumentsReader
from abound.data.formats import Format
from abound.data.registry import find_format
from abound.data.streams import READ_BYTES, source_name
from abound.tagger.label_lists import SAMPLED_ROWS, LabelWatch

T = TypeVar("T")
DOCUMENTS = "documents"  # the format
BESIDE = "put the labels of report.pdf into report.tsv (URI, tab, name) or report.key (a label per line) beside it"


class Inputs:
    """The documents of one or more files, in order.

    Parameters
    ----------
    paths : sequence of str
    reading : Reading
        How to read the files, and the maximum number of rows.
    holdout : Holdout
        Which rows to hold out.
    vectors : Vectors
        Where the vectors of the rows come from.
    """

    def __init__(
        self,
        paths: Sequence[str],
        reading: Reading,
        holdout: Holdout | None = None,
        vectors: Vectors = Vectors(),  # noqa: B008  immutable
    ) -> None:
        options = reading.options
        self._table = vectors.table()
        if vectors.vector_field is not None:
            options["vector_field"] = vectors.vector_field
        if self._table is not None and reading.on_error == "skip":
            raise ValueError("--vectors needs a vector for each row: it cannot be used with --on-error skip")
        self._dimensions = None if self._table is None else self._table.dimensions
        formats = [find_format(reading.format_, path) for path in paths]
        self._readers = [
            read(path, format_.name, **reading.policy, **_options_for(format_, formats, options))
            for path, format_ in zip(paths, formats, strict=True)
        ]
        for reader in self._readers:
            if FORMATS[reader.format].record is not Document:
                known = ", ".join(name for name, format_ in FORMATS.items() if format_.record is Document)
                raise ValueError(
                    f"format {reader.format!r} of {reader.path!r} has no texts; formats with texts: {known}"
                )
        self.limit = reading.limit
        self.holdout = holdout or Holdout()
        # Stdin cannot be read twice, so its held-out rows are kept in memory.
        self._keeps = STANDARD in paths
        self._kept: list[Document] = []
        self._at = 0
        self.rows = 0
        self._labels = LabelWatch()
        self._warned = "label_separator" in options  # a given separator is deliberate
        self.replacements: Mapping[str, str] = {}  # labels that are read as others
        self.label_of: Callable[[str], str] | None = None  # returns the id of a label that may be given by its name

    @property
    def is_stream(self) -> bool:
        """Whether the rows can be read only once."""
        return self._keeps

    @property
    def has_documents(self) -> bool:
        """Whether the rows are documents, which may be long."""
        return any(reader.format == DOCUMENTS for reader in self._readers)

    @property
    def is_document(self) -> bool:
        """Whether the input is a single document."""
        return len(self._readers) == 1 and isinstance(self._readers[0], DocumentsReader) and self._readers[0].is_single

    def __iter__(self) -> Iterator[Document]:
        return islice(self._documents(), self.limit)

    def _documents(self) -> Iterator[Document]:
        self.rows = 0
        for at, reader in enumerate(self._readers):
            self._at = at
            for document in reader:
                self.rows += 1
                if self._table is not None:
                    document = document._replace(vector=self._table.row(self.rows - 1))
                if document.vector is not None:
                    self._check_vector(document.vector)
                named = document if self.label_of is None else self._by_ids(document, self.label_of)
                yield self._replaced(named) if self.replacements else named
        if self._table is not None:
            self._table.check_rows(self.rows)

    def _check_vector(self, vector: tuple[float, ...]) -> None:
        if self._dimensions is None:
            self._dimensions = len(vector)
        if len(vector) != self._dimensions:
            raise ValueError(
                f"row {self.rows:,}: the vector has {len(vector):,} numbers, but others have {self._dimensions:,}"
            )

    def find_dimensions(self) -> int | None:
        """Return the length of the vectors, from the first row that has one; None if there is none."""
        if self._dimensions is None:
            next((row for row in self if row.vector is not None), None)
        return self._dimensions

    def _by_ids(self, document: Document, label_of: Callable[[str], str]) -> Document:
        """Return a document with the ids of its labels; an ambiguous name is an error."""
        try:
            labels, wrong = tuple(map(label_of, document.labels)), tuple(map(label_of, document.wrong))
        except ValueError as error:
            raise ValueError(f"row {self.rows:,}: {error}") from None
        if (labels, wrong) == (document.labels, document.wrong):
            return document
        return document._replace(labels=tuple(dict.fromkeys(labels)), wrong=tuple(dict.fromkeys(wrong)))

    def _replaced(self, document: Document) -> Document:
        """Return a document with other labels instead of those in `replacements`."""
        if self.replacements.keys().isdisjoint((*document.labels, *document.wrong)):
            return document
        labels = dict.fromkeys(self.replacements.get(label, label) for label in document.labels)
        wrong = dict.fromkeys(self.replacements.get(label, label) for label in document.wrong)
        return document._replace(labels=tuple(labels), wrong=tuple(label for label in wrong if label not in labels))

    def training_rows(self) -> Iterator[Document]:
        """Yield the rows that are not held out."""
        self._kept, self._labels = [], LabelWatch()
        for row, document in enumerate(self):
            if not self.holdout.holds(row):
                self._labels.see(document.labels or document.wrong)
                if self._labels.labelled == SAMPLED_ROWS:
                    self._note_joined()
                yield document
            elif self._keeps:
                self._kept.append(document)

    def held_out(self) -> Iterator[Document]:
        """Yield the held-out rows. They are read again; for stdin, those kept by `training_rows` are used."""
        if self._keeps and self._kept:
            yield from self._kept
            return
        for row, document in enumerate(self):
            if self.holdout.holds(row):
                yield document

    def share(self) -> float | None:
        """Return the share of the input read so far, from 0 to 1, or None if the size is unknown."""
        shares = [] if self.limit is None else [self.rows / self.limit]
        sizes = [reader.size for reader in self._readers if reader.size is not None]
        total = sum(sizes)
        if len(sizes) == len(self._readers) and total:
            done = sum(sizes[: self._at]) + self._readers[self._at].bytes_read
            shares.append(1.0 if done >= total else max(done - READ_BYTES, 0) / total)
        return min(max(shares), 1.0) if shares else None

    @property
    def n_skipped(self) -> int:
        """Malformed lines that were skipped in the latest pass."""
        return sum(reader.skipped.count for reader in self._readers)

    def check_labels(self, needed: bool = True) -> None:
        """Print notes on missing or joined labels. Raise an error if labels are needed and there are none."""
        paths = ", ".join(source_name(reader.path) for reader in self._readers)
        if needed and not self._labels.rows:
            raise ValueError(f"there is nothing to learn in {paths}")
        without = self._labels.rows - self._labels.labelled
        if without and not self._labels.labelled:
            words = f"none of the {without:,} rows of {paths} has a label"
            if needed and all(reader.format == DOCUMENTS for reader in self._readers):
                raise ValueError(f"{words}, so there is nothing to learn; {BESIDE}")
            if needed:
                fields = any("labels_field" in FORMATS[reader.format].options for reader in self._readers)
                field = "name the field of the labels with --labels-field, or " if fields else ""
                raise ValueError(f"{words}, so there is nothing to learn; {field}name the right format with --format")
            note(words)
        elif without:
            beside = f"; {BESIDE}" if self.has_documents else ""
            note(f"{without:,} of {self._labels.rows:,} rows have no label{beside}")
        self._note_joined()

    def _note_joined(self) -> None:
        joined = None if self._warned else self._labels.joined()
        if joined is None:
            return
        self._warned = True
        can = any("label_separator" in FORMATS[reader.format].options for reader in self._readers)
        how = (
            f"split them with --label-separator {shlex.quote(joined.separator)}"
            if can
            else "convert the file to jsonl with a list of labels per row"
        )
        note(f"{joined}, and its parts recur; if they are separate labels, {how}")

    def note_skipped(self) -> None:
        """Print how many malformed lines were skipped, and the first of them."""
        for reader in self._readers:
            if reader.skipped.count:
                first = "; the first: " + str(reader.skipped.errors[0])
                what = "unreadable documents" if reader.format == DOCUMENTS else "malformed lines"
                note(f"skipped {reader.skipped.count:,} {what} of {reader.path}{first}")


def _options_for(format_: Format[Any], formats: Iterable[Format[Any]], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of one file: those of its format, and those that no file's format has, which it reports."""
    known = {name for other in formats for name in _reading_options(other)}
    return {name: value for name, value in options.items() if name in _reading_options(format_) or name not in known}


def _reading_options(format_: Format[Any]) -> set[str]:
    return {name for name, option in format_.options.items() if option.use in ("both", "read")}


def chunks(rows: Iterable[T], size: int, first: int | None = None) -> Iterator[list[T]]:
    """Split rows into lists of `size`. With `first`, the lists start at that size and double up to `size`."""
    rows, n_next = iter(rows), first or size
    while chunk := list(islice(rows, n_next)):
        yield chunk
        n_next = min(2 * n_next, size)
