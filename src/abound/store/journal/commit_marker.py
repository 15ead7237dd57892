"""The commit marker: a small separate file with the last committed sequence of a journal.

SQLite reads a write-ahead log only up to the first frame that does not match its checksum. A flipped bit in the log, or
a truncated or removed log, therefore loses records without an error. The marker is written after each commit, without a
sync: after a power failure it may be behind the journal, but never ahead of it.
"""

import contextlib
import hashlib
import os
from pathlib import Path

HEADER = "abound journal head 1"
MAX_LINE_BYTES = 200


class CommitMarker:
    """Read and write the last committed sequence of a journal.

    Parameters
    ----------
    path : path
        The marker's file.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._descriptor = -1

    def read(self, journal: str) -> int:
        """Return the last committed sequence of a journal; 0 if there is no valid marker."""
        with contextlib.suppress(OSError, ValueError):
            descriptor = os.open(self.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
            with open(descriptor, "rb") as file:
                line = file.read(MAX_LINE_BYTES).decode("ascii")
            body, _, checksum = line.rstrip("\n").rpartition(" ")
            header, identity, sequence = body.rsplit(" ", 2)
            if header == HEADER and identity == journal and checksum == _checksum(body):
                return int(sequence)
        return 0

    def write(self, journal: str, sequence: int) -> None:
        """Write the marker; errors are ignored, because the commit itself is complete."""
        body = f"{HEADER} {journal} {sequence:020d}"
        with contextlib.suppress(OSError):
            if self._descriptor < 0:
                self._descriptor = os.open(
                    self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0), 0o600
                )
            os.lseek(self._descriptor, 0, os.SEEK_SET)
            os.write(self._descriptor, f"{body} {_checksum(body)}\n".encode("ascii"))  # always the same length

    def close(self) -> None:
        """Close the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _checksum(body: str) -> str:
    return hashlib.blake2b(body.encode("ascii"), digest_size=8).hexdigest()
