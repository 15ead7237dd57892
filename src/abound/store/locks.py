"""Locks between processes, which the system releases if their process dies."""

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


PRIVATE = 0o600


def make_private(path: Path) -> None:
    """Create an empty file that other users cannot read, unless the file exists.

    An existing file is not opened: closing it would release every lock that this process has on it.
    """
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), PRIVATE))


class FileLock:
    """Lock a file, or raise BlockingIOError immediately if it is already locked.

    SQLite's file locks work on every system, and the system releases them with the process. The file stays empty.

    Parameters
    ----------
    path : path
        Created if it does not exist. It is not removed, because then two processes could lock two files of one name.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        make_private(self.path)
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
            raise BlockingIOError(f"{self.path} is locked by another process") from None

    def release(self) -> None:
        """Release the lock; a second call does nothing."""
        with contextlib.suppress(sqlite3.ProgrammingError):
            self._connection.close()

    def __enter__(self) -> "FileLock":
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


# Directories that the current context has locked, by device and inode. Another thread has another context and waits.
_held: ContextVar[frozenset[tuple[int, int]]] = ContextVar("_held", default=frozenset())


@contextlib.contextmanager
def lock_directory(path: Path, busy: Callable[[], None] | None = None) -> Iterator[bool]:
    """Lock a directory against other writers; create it if it does not exist.

    To read a model, change it and write it back, lock its directory from before the reading until after the writing;
    otherwise, one of two concurrent changes is lost. The lock is reentrant.

    Parameters
    ----------
    path : Path
    busy : callable, optional
        Called once if the directory is locked by another process. If it raises, this does not wait.

    Yields
    ------
    bool
        Whether the directory is locked; False on Windows and on network disks without locks.
    """
    if fcntl is None:  # the caller must prevent two concurrent writers
        path.mkdir(parents=True, exist_ok=True)
        yield False
        return
    descriptor = _open_directory(path)
    try:
        locked = True
        while (key := _identity(os.fstat(descriptor))) not in _held.get():
            locked = _lock(descriptor, busy)
            busy = None  # called once
            if not locked or _is_still(path, key):
                break
            # The previous owner of the lock has removed the directory, and perhaps created another of the same name.
            os.close(descriptor)
            descriptor = _open_directory(path)
        token = _held.set(_held.get() | {key})
        try:
            yield locked
        finally:
            _held.reset(token)
    finally:
        os.close(descriptor)


def _open_directory(path: Path) -> int:
    while True:
        path.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):  # another process has removed it meanwhile
            return os.open(path, os.O_RDONLY)


def _is_still(path: Path, key: tuple[int, int]) -> bool:
    try:
        return _identity(os.stat(path)) == key
    except FileNotFoundError:
        return False


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _lock(descriptor: int, busy: Callable[[], None] | None) -> bool:
    """Wait for the lock; return False if the file system has no locks, as some network disks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        if busy is not None:
            busy()
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError:
        return False
    return True


@contextlib.contextmanager
def exclusive_writer(path: Path) -> Iterator[None]:
    """Lock a directory for writing, and remove the temporary files of writers that died.

    Without the lock, the writer that finishes first would remove the files of the other, which are not listed yet.
    """
    with lock_directory(path) as locked:
        for leftover in path.glob(".writing-*") if locked else ():
            with contextlib.suppress(OSError):
                leftover.unlink()
        yield
