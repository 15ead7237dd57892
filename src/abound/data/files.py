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

# Enough to see a pattern. A file of a million malformed lines must not fill the memory.
KEPT_ERRORS = 10


@dataclass(slots=True)
class Skipped:
    """The malformed lines that were skipped: their number and the first few."""

    count: int = 0
    errors: list[DataError] = field(default_factory=list)


class Reader:
    """The records of a file, read lazily.

    Each iteration reads the file again, so several passes need no list. Standard input can be read only once.

    Attributes
    ----------
    path : str
        The file, or '-' for standard input.
    format : str
        The name of the format.
    skipped : Skipped
        The lines that the latest iteration skipped.
    size : int or None
        Bytes of the stored file; None if it is not a regular file.
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
        """Bytes of the stored (compressed) file that the latest iteration has read."""
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
    status = os.stat(path)  # report a missing file now, not during training
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
        The file, which is decompressed by its suffix (.gz, .bz2, .xz, .zst); '-' is standard input.
    format : str, optional
        A key of `FORMATS`. By default, the file name decides.
    on_error : {"stop", "skip"}
        Whether a malformed line raises DataError or is counted in `skipped`. A truncated file or an invalid header
        always raises DataError.
    **options
        Options of the format; see `FORMATS[name].options`.

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
    """Write records to a file atomically.

    Parameters
    ----------
    path : str or path
        The file, which is compressed by its suffix; '-' is standard output.
    records : iterable
        Records of the format's type. They are written one by one.
    format : str, optional
        A key of `FORMATS`. By default, the file name decides.
    **options
        Options of the format; see `FORMATS[name].options`.

    Returns
    -------
    int
        The number of records written.

    Raises
    ------
    ValueError
        If the format cannot represent a record. The file is then unchanged.
    """
    name = os.fspath(path)
    format_ = find_format(format, name)
    complete = format_.complete(options, "write")
    with open_output(name) as stream:
        return format_.write(stream, records, complete)
