"""Locks that their process holds until it lets go or dies, however it dies."""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


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


@contextlib.contextmanager
def only_writer(path: Path) -> Iterator[None]:
    """Wait until nobody else writes to a directory, or has died while writing; what the dead left is removed.

    Without, the one who finishes first would remove the files that the other has written and not yet listed.
    """
    if fcntl is None:  # Windows: two writers at once must be kept apart by whoever starts them
        yield
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # a network's file system may know no locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            for left in path.glob(".writing-*"):
                left.unlink()
        yield
    finally:
        os.close(descriptor)
