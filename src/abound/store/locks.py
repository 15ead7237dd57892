"""Locks that their process holds until it lets go or dies, however it dies."""

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
    """Make an empty file that nobody else may read, unless there is one.

    One that is there is not opened: closing it again would end every lock that this process holds on it.
    """
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), PRIVATE))


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
            raise BlockingIOError(f"{self.path} is held by another process") from None

    def release(self) -> None:
        """Let go; a second time does nothing."""
        with contextlib.suppress(sqlite3.ProgrammingError):
            self._connection.close()

    def __enter__(self) -> "FileLock":
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


# Directories that the code around holds, by device and inode. Another thread has a context of its own, and waits.
_held: ContextVar[frozenset[tuple[int, int]]] = ContextVar("_held", default=frozenset())


@contextlib.contextmanager
def lock_directory(path: Path, busy: Callable[[], None] | None = None) -> Iterator[bool]:
    """Hold a directory, which is made if there is none, so that no other process writes to it.

    Whoever reads a model, changes it and writes it back must hold its directory from before the reading until after
    the writing; otherwise, of two who do so at once, one loses what it wrote. Code inside may hold it again.

    Parameters
    ----------
    path : Path
    busy : callable, optional
        Called once if somebody else holds the directory; what it raises gives up, and if it returns we wait.

    Yields
    ------
    bool
        Whether it is held; False on Windows and on network disks that know no locks.
    """
    if fcntl is None:  # two writers at once must be kept apart by whoever starts them
        path.mkdir(parents=True, exist_ok=True)
        yield False
        return
    descriptor = _opened(path)
    try:
        locked = True
        while (key := _identity(os.fstat(descriptor))) not in _held.get():
            locked = _lock(descriptor, busy)
            busy = None  # said once
            if not locked or _is_still(path, key):
                break
            # Whoever held it has removed it, and perhaps made another of the same name.
            os.close(descriptor)
            descriptor = _opened(path)
        token = _held.set(_held.get() | {key})
        try:
            yield locked
        finally:
            _held.reset(token)
    finally:
        os.close(descriptor)


def _opened(path: Path) -> int:
    while True:
        path.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):  # removed meanwhile by another process that had made it
            return os.open(path, os.O_RDONLY)


def _is_still(path: Path, key: tuple[int, int]) -> bool:
    try:
        return _identity(os.stat(path)) == key
    except FileNotFoundError:
        return False


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _lock(descriptor: int, busy: Callable[[], None] | None) -> bool:
    """Wait for the lock; return False where the file system, such as a network's, knows no locks."""
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
    """Wait until nobody else writes to a directory, or has died while writing; what the dead left is removed.

    Without, the one who finishes first would remove the files that the other has written and not yet listed.
    """
    with lock_directory(path) as held:
        for left in path.glob(".writing-*") if held else ():
            with contextlib.suppress(OSError):
                left.unlink()
        yield
