"""A lock that its process holds until it lets go or dies, however it dies."""

import contextlib
import os
import sqlite3
from pathlib import Path


class FileLock:
    """Hold a file, or raise BlockingIOError at once if somebody else does.

    SQLite locks its files on every system, and the system lets go of them with the process. The file stays empty.

    Parameters
    ----------
    path : path
        Made if there is none; it is not removed, because then two could hold two files of one name.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        try:
            self._connection = sqlite3.connect(self.path, timeout=0, isolation_level=None, check_same_thread=False)
        except sqlite3.OperationalError as error:
            raise OSError(f"{self.path} cannot be opened: {error}") from None
        try:
            self._connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            self._connection.close()
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise OSError(f"{self.path} cannot be locked: {error}") from None
            raise BlockingIOError(f"{self.path} is held by another process") from None

    def release(self) -> None:
        """Let go; a second time does nothing."""
        with contextlib.suppress(sqlite3.ProgrammingError):
            self._connection.close()

    def __enter__(self) -> "FileLock":
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
