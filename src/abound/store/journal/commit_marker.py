"""A witness of how far a journal had come, in a small file of its own.

SQLite takes a write-ahead log only up to the first frame that does not match its checksum. One flipped bit there, or
a log that was cut or removed, ends it early without a word. The witness is written after each commit, without a
sync of its own: after a loss of power it may say less than is true, never more.
"""

import contextlib
import hashlib
import os
from pathlib import Path

HEADER = "abound journal head 1"
LONGEST = 200  # bytes of a witness's line


class CommitMarker:
    """Say, and remember, the last sequence that was committed to a journal.

    Parameters
    ----------
    path : path
        The witness's own file.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._descriptor = -1

    def read(self, journal: str) -> int:
        """Return the last sequence that is testified for a journal; 0 if nothing is, or nothing legible."""
        with contextlib.suppress(OSError, ValueError):
            descriptor = os.open(self.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
            with open(descriptor, "rb") as file:
                line = file.read(LONGEST).decode("ascii")
            body, _, checksum = line.rstrip("\n").rpartition(" ")
            header, identity, sequence = body.rsplit(" ", 2)
            if header == HEADER and identity == journal and checksum == _checksum(body):
                return int(sequence)
        return 0

    def write(self, journal: str, sequence: int) -> None:
        """Testify; a witness that cannot write is silent, because the commit itself stands."""
        body = f"{HEADER} {journal} {sequence:020d}"
        with contextlib.suppress(OSError):
            if self._descriptor < 0:
                self._descriptor = os.open(
                    self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0), 0o600
                )
            os.lseek(self._descriptor, 0, os.SEEK_SET)
            os.write(self._descriptor, f"{body} {_checksum(body)}\n".encode("ascii"))  # always of one length

    def close(self) -> None:
        """Close the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _checksum(body: str) -> str:
    return hashlib.blake2b(body.encode("ascii"), digest_size=8).hexdigest()
