"""The rows of a command's input files, numbered through all of them."""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from abound.cli.common import STANDARD, note
from abound.cli.holdout import Holdout
from abound.cli.reading import Reading
from abound.data import FORMATS, Document, read
from abound.data.streams import READ_BYTES, source_name
from abound.tagger.label_lists import SAMPLED_ROWS, LabelWatch

T = TypeVar("T")


class Inputs:
    """The documents of one or several files, in order.

    Parameters
    ----------
    paths : sequence of str
    reading : Reading
        How all of them are read, and how many rows at the most.
    holdout : Holdout
        Which of the rows are held out.
    """

    def __init__(self, paths: Sequence[str], reading: Reading, holdout: Holdout | None = None) -> None:
        options = reading.options
        self._readers = [read(path, reading.format_, **reading.policy, **options) for path in paths]
        for reader in self._readers:
            if FORMATS[reader.format].record is not Document:
                known = ", ".join(name for name, found in FORMATS.items() if found.record is Document)
                raise ValueError(
                    f"format {reader.format!r} of {reader.path!r} has no texts; those with texts are {known}"
                )
        self.limit = reading.limit
        self.holdout = holdout or Holdout()
        # Standard input cannot be read a second time, so what is held out of it is kept.
        self._keeps = STANDARD in paths
        self._kept: list[Document] = []
        self._at = 0
        self.rows = 0
        self._labels = LabelWatch()
        self._told = "label_separator" in options  # whoever has named it knows what stands in the labels

    @property
    def is_stream(self) -> bool:
        """Whether the rows can be read only once."""
        return self._keeps

    def __iter__(self) -> Iterator[Document]:
        return islice(self._documents(), self.limit)

    def _documents(self) -> Iterator[Document]:
        self.rows = 0
        for at, reader in enumerate(self._readers):
            self._at = at
            for document in reader:
                self.rows += 1
                yield document

    def training_rows(self) -> Iterator[Document]:
        """Yield the rows that are not held out."""
        self._kept, self._labels = [], LabelWatch()
        for row, document in enumerate(self):
            if not self.holdout.holds(row):
                self._labels.see(document.labels)
                if self._labels.labelled == SAMPLED_ROWS:
                    self._note_joined()
                yield document
            elif self._keeps:
                self._kept.append(document)

    def held_out(self) -> Iterator[Document]:
        """Yield the rows that are held out; they are read again, or kept from `training_rows` where that cannot be."""
        if self._keeps and self._kept:
            yield from self._kept
            return
        for row, document in enumerate(self):
            if self.holdout.holds(row):
                yield document

    def share(self) -> float | None:
        """Return how much of the input was read, from 0 to 1, or None for a stream without an end."""
        shares = [] if self.limit is None else [self.rows / self.limit]
        sizes = [reader.size for reader in self._readers if reader.size is not None]
        total = sum(sizes)
        if len(sizes) == len(self._readers) and total:
            done = sum(sizes[: self._at]) + self._readers[self._at].bytes_read
            shares.append(1.0 if done >= total else max(done - READ_BYTES, 0) / total)
        return min(max(shares), 1.0) if shares else None

    @property
    def n_skipped(self) -> int:
        """How many malformed lines the latest loop passed over."""
        return sum(reader.skipped.count for reader in self._readers)

    def check_labels(self, needed: bool = True) -> None:
        """Say on stderr what is odd about the labels that were learned; raise if some are needed and there are none."""
        paths = ", ".join(source_name(reader.path) for reader in self._readers)
        if needed and not self._labels.rows:
            raise ValueError(f"there is nothing to learn in {paths}")
        without = self._labels.rows - self._labels.labelled
        if without and not self._labels.labelled:
            words = f"none of the {without:,} rows of {paths} has a label"
            if needed:
                fields = any("labels_field" in FORMATS[reader.format].options for reader in self._readers)
                field = "name the field of the labels with --labels-field, or " if fields else ""
                raise ValueError(f"{words}, so there is nothing to learn; {field}name the right format with --format")
            note(words)
        elif without:
            note(f"{without:,} of {self._labels.rows:,} rows have no label")
        self._note_joined()

    def _note_joined(self) -> None:
        found = None if self._told else self._labels.joined()
        if found is None:
            return
        self._told = True
        can = all("label_separator" in FORMATS[reader.format].options for reader in self._readers)
        how = f"--label-separator {shlex.quote(found.separator)}" if can else "convert the file to jsonl, and"
        note(f"{found}, and its parts recur; {how} makes each of them a label")

    def note_skipped(self) -> None:
        """Say on stderr which lines were passed over."""
        for reader in self._readers:
            if reader.skipped.count:
                first = "; the first: " + str(reader.skipped.errors[0])
                note(f"passed over {reader.skipped.count:,} malformed lines of {reader.path}{first}")


def chunks(rows: Iterable[T], size: int, first: int | None = None) -> Iterator[list[T]]:
    """Cut rows into lists of `size`; the lists grow to it from `first` by doubling."""
    rows, n_next = iter(rows), first or size
    while chunk := list(islice(rows, n_next)):
        yield chunk
        n_next = min(2 * n_next, size)
