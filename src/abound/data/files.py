"""Read and write records of any format."""

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from abound.data.formats import Format
from abound.data.records import Record
from abound.data.registry import find_format
from abound.data.streams import STANDARD, CountingStream, open_input, open_output, source_name
from abound.errors import DataError

# Enough to see a pattern; a file of a million bad lines must not fill memory.
KEPT_ERRORS = 10


@dataclass(slots=True)
class Skipped:
    """The malformed lines that were passed over: how many, and the first few."""

    count: int = 0
    errors: list[DataError] = field(default_factory=list)


class Reader:
    """The records of a file, read as they are asked for.

    Each loop over the reader reads the file anew, so several passes need no list; standard input can be read
    once.

    Attributes
    ----------
    path : str
        The file, or '-' for standard input.
    format : str
        The format's name.
    skipped : Skipped
        What the latest loop passed over.
    size : int or None
        Bytes of the file as it is stored; None when it is no regular file.
    """

    def __init__(self, path: str, format_: Format[Any], on_error: str, options: dict[str, Any]) -> None:
        self.path = path
        self.format = format_.name
        self.skipped = Skipped()
        self.size = _size(path)
        self._format = format_
        self._stop = on_error == "stop"
        self._options = options
        self._counted: CountingStream | None = None

    def __repr__(self) -> str:
        return f"Reader({self.path!r}, format={self.format!r})"

    @property
    def bytes_read(self) -> int:
        """Bytes of the stored (compressed) file that the latest loop has taken."""
        return self._counted.count if self._counted is not None else 0

    def __iter__(self) -> Iterator[Any]:
        self.skipped = Skipped()
        with open_input(self.path) as (stream, counted):
            self._counted = counted
            yield from self._format.read(stream, self._report, self._options)

    def _report(self, line: int, reason: str, fatal: bool) -> None:
        error = DataError(source_name(self.path), line, reason)
        if self._stop or fatal:
            raise error
        self.skipped.count += 1
        if len(self.skipped.errors) < KEPT_ERRORS:
            self.skipped.errors.append(error)


def _size(path: str) -> int | None:
    if path == STANDARD:
        return None
    status = os.stat(path)  # a missing file is told now, not in the middle of a training run
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(f"{path!r} is a directory; name a file in it")
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def read(
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002  the word that users know
    *,
    on_error: Literal["stop", "skip"] = "stop",
    **options: Any,
) -> Reader:
    """Read the records of a file.

    Parameters
    ----------
    path : str or path
        The file, decompressed by its suffix (.gz, .bz2, .xz, .zst); '-' is standard input.
    format : str, optional
        A key of `FORMATS`; told from the name when not given.
    on_error : {"stop", "skip"}
        Whether a malformed line raises DataError, or is counted in `skipped`. A file that ends early, or
        whose header is unusable, raises in both cases.
    **options
        The format's own; see `FORMATS[name].options`.

    Returns
    -------
    Reader
        An iterable of the format's records.

    Examples
    --------
    >>> for document in read("docs.jsonl.gz"):  # doctest: +SKIP
    ...     print(document.labels, document.text)
    """
    if on_error not in ("stop", "skip"):
        raise ValueError(f"on_error must be 'stop' or 'skip', got {on_error!r}")
    name = os.fspath(path)
    format_ = find_format(format, name)
    return Reader(name, format_, on_error, format_.complete(options, "read"))


def write(
    path: str | os.PathLike[str],
    records: Iterable[Record],
    format: str | None = None,  # noqa: A002  the word that users know
    **options: Any,
) -> int:
    """Write records to a file, which appears whole or not at all.

    Parameters
    ----------
    path : str or path
        The file, compressed by its suffix; '-' is standard output.
    records : iterable
        Records of the format's type; they are not all held in memory.
    format : str, optional
        A key of `FORMATS`; told from the name when not given.
    **options
        The format's own; see `FORMATS[name].options`.

    Returns
    -------
    int
        How many records were written.

    Raises
    ------
    ValueError
        When a record holds what the format cannot carry; the file is then left as it was.
    """
    name = os.fspath(path)
    format_ = find_format(format, name)
    complete = format_.complete(options, "write")
    with open_output(name) as stream:
        return format_.write(stream, records, complete)
