"""The records of a file as an iterable."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from abound.data.formats import Format
from abound.data.streams import STANDARD, CountingStream, open_input, source_name
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
        self.size = self._stored_size()
        self._format = format_
        self._stops = on_error == "stop"
        self._options = options
        self._counted: CountingStream | None = None

    def __repr__(self) -> str:
        return f"Reader({self.path!r}, format={self.format!r})"

    @property
    def bytes_read(self) -> int:
        """Bytes of the stored (compressed) file that the latest iteration has read."""
        return self._counted.count if self._counted is not None else 0

    def _stored_size(self) -> int | None:
        if self.path == STANDARD:
            return None
        status = os.stat(self.path)  # report a missing file now, not during training
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(f"{self.path!r} is a directory; name a file in it")
        return status.st_size if stat.S_ISREG(status.st_mode) else None

    def __iter__(self) -> Iterator[Any]:
        self._restart()
        with open_input(self.path) as (stream, counted):
            self._counted = counted
            yield from self._format.read(stream, self._report, self._options)

    def _restart(self) -> None:
        self.skipped = Skipped()

    def _report(self, line: int, reason: str, fatal: bool) -> None:
        self._handle(DataError(source_name(self.path), line, reason), fatal)

    def _handle(self, error: DataError, fatal: bool = False) -> None:
        """Raise an error, or count it and return."""
        if self._stops or fatal:
            raise error
        self.skipped.count += 1
        if len(self.skipped.errors) < KEPT_ERRORS:
            self.skipped.errors.append(error)
