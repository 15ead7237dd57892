"""Counts that the processes of a server share in small files: what was done in the last minute, and is under way.

A file has a constant size, which is allocated when it is created, so that a full disk does not prevent later changes.
Each change locks the file for some microseconds. The system releases the lock of a process that dies.
"""

import contextlib
import hashlib
import os
import secrets
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

try:
    import fcntl
except ImportError:  # Windows, where a server has one process
    fcntl = None  # type: ignore[assignment]

NANOSECONDS = 1_000_000_000
MINUTE = 60 * NANOSECONDS
# Answers take a moment to arrive. With this margin, a client that measures when they do sees no more in a minute.
WINDOW = MINUTE + NANOSECONDS // 2
# For which an action that has begun may go on; longer than a server waits for the writer. If its process dies, the
# action counts as if it had ended after this time.
UNDER_WAY = 40 * NANOSECONDS
LOCK_SECONDS = 0.5
PAUSE_SECONDS = 0.0002
SLOTS = 64  # processes that use a key at the same time
_WORD = 8  # bytes
_CLOCK = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))
_PROGRAM = secrets.randbits(31)  # of this program: a restart in place keeps the process, and not its requests


def _boot_offset() -> int:
    """Return a number below 2^62 that each start of the system changes; 0 if the system does not tell its starts apart.

    Times of an earlier start would otherwise count again when this one has lasted as long.
    """
    try:
        with open("/proc/sys/kernel/random/boot_id", "rb") as file:
            return int.from_bytes(hashlib.sha256(file.read()).digest()[:8], "big") >> 2
    except OSError:
        return 0


_OFFSET = _boot_offset()


def _now() -> int:
    """Return the nanoseconds since the system was started, after an offset: nobody can set this clock."""
    return _OFFSET + (time.monotonic_ns() if _CLOCK is None else time.clock_gettime_ns(_CLOCK))


class Full(Exception):  # noqa: N818  an answer, not an error
    """There is no room now; `seconds` is when to try again."""

    def __init__(self, seconds: int) -> None:
        super().__init__(seconds)
        self.seconds = seconds


class Taken(NamedTuple):
    """Places of a window that are taken, and their mark."""

    places: tuple[int, ...]
    mark: int


class Window:
    """Admit at most `limit` actions in any minute.

    An action counts from its beginning until a minute after its end: a record that takes long to write could otherwise
    be written in the same minute as those that are admitted a minute after it. A place of the file has the time of an
    end, or that at which an action under way ends at the latest, or 0. Times of an earlier start of the system do not
    count.

    Parameters
    ----------
    path : path
        The file; it is created if it does not exist.
    limit : int
        If it is lower or higher than before, earlier actions still count.
    """

    def __init__(self, path: Path, limit: int) -> None:
        self.path = path
        self.limit = limit

    def prepare(self) -> None:
        """Create the file."""
        with locked_file(self.path, self.limit * _WORD):
            pass

    def take(self, n: int = 1) -> Taken:
        """Begin `n` actions; raise Full if they do not fit."""
        with locked_file(self.path, self.limit * _WORD) as file:
            times, now = _read(file), _now()
            # 0 is no time, although less than a minute may have passed since the system was started.
            is_live = (times > max(0, now - WINDOW)) & (times <= now + UNDER_WAY)
            n_missing = int(np.count_nonzero(is_live)) + n - self.limit
            if n_missing > 0:
                live = np.sort(np.minimum(times[is_live], now))  # those under way may end now
                freed = int(live[min(n_missing, len(live)) - 1]) + WINDOW
                raise Full(max(1, -(-(freed - now) // NANOSECONDS)))
            free = [int(is_live.argmin())] if n == 1 else np.flatnonzero(~is_live)[:n].tolist()
            places, mark = free, now + UNDER_WAY
            _write_places(file, places, mark)
            return Taken(tuple(places), mark)

    def end(self, taken: Taken) -> None:
        """End actions: they count for a minute from now on."""
        self._replace(taken, counts=True)

    def give_back(self, taken: Taken) -> None:
        """Take actions back that were not done."""
        self._replace(taken, counts=False)

    def _replace(self, taken: Taken, *, counts: bool) -> None:
        with locked_file(self.path, self.limit * _WORD) as file:
            mine = [place for place in taken.places if _word(file, place) == taken.mark]
            _write_places(file, mine, _now() if counts else 0)


class InProgress:
    """Admit at most `limit` bytes at a time.

    Each object has a slot in the file: its process's id, when that was started, a random number, and its bytes. The
    slot of a process that has ended, or was restarted in place, does not count.

    Parameters
    ----------
    path : path
        The file; it is created if it does not exist.
    limit : int
    """

    def __init__(self, path: Path, limit: int) -> None:
        self.path = path
        self.limit = limit
        self._own = 0
        self._pid, self._started = os.getpid(), started(os.getpid()) or 0
        self._token = _PROGRAM << 31 | secrets.randbits(31) | 1

    def prepare(self) -> None:
        """Create the file."""
        with locked_file(self.path, SLOTS * 4 * _WORD):
            pass

    def take(self, n_bytes: int) -> None:
        """Begin with some bytes; raise Full if they do not fit."""
        with locked_file(self.path, SLOTS * 4 * _WORD) as file:
            slots = _read(file)[: SLOTS * 4].reshape(SLOTS, 4).copy()
            others = np.flatnonzero((slots[:, 3] > 0) & (slots[:, 2] != self._token))
            free = self._slot(slots)
            if free is None or self._own + n_bytes + int(slots[others, 3].sum()) > self.limit:
                for dead in [slot for slot in others.tolist() if not _lives(*slots[slot, :3].tolist())]:
                    slots[dead] = 0
                    _write(file, dead * 4, [0, 0, 0, 0])
                free = self._slot(slots)
                if free is None or self._own + n_bytes + int(slots[others, 3].sum()) > self.limit:
                    raise Full(1)
            self._own += n_bytes
            try:
                _write(file, free * 4, [self._pid, self._started, self._token, self._own])
            except OSError:
                self._own -= n_bytes
                raise

    def end(self, n_bytes: int) -> None:
        """End with some bytes; if the file cannot be changed now, the next change corrects it."""
        self._own -= n_bytes
        with locked_file(self.path, SLOTS * 4 * _WORD) as file:
            slot = self._slot(_read(file)[: SLOTS * 4].reshape(SLOTS, 4))
            if slot is not None:
                row = [self._pid, self._started, self._token, self._own]
                _write(file, slot * 4, row if self._own else [0, 0, 0, 0])

    def _slot(self, slots: np.ndarray) -> int | None:
        """Return the slot of this object, or a free one; None if all are used."""
        found = np.flatnonzero(slots[:, 2] == self._token)
        if not len(found):
            found = np.flatnonzero(slots[:, 3] <= 0)
        return int(found[0]) if len(found) else None


@contextlib.contextmanager
def locked_file(path: Path, size: int) -> Iterator[int]:
    """Open and lock a file of at least `size` bytes, which are zero at first; raise OSError if that fails."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    try:
        file = os.open(path, flags, 0o600)
    except FileNotFoundError:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        file = os.open(path, flags, 0o600)
    try:
        _lock(file, path)
        there = os.fstat(file).st_size
        if there < size:
            _allocate(file, there, size)
        yield file
    finally:
        os.close(file)


def _lock(file: int, path: Path) -> None:
    if fcntl is None:
        return
    ends = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > ends:
                raise TimeoutError(None, "another process does not release it", str(path)) from None
            time.sleep(PAUSE_SECONDS)


def _allocate(file: int, there: int, size: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, there, size - there)
        return
    os.lseek(file, there, os.SEEK_SET)
    os.write(file, bytes(size - there))


def _read(file: int) -> np.ndarray:
    os.lseek(file, 0, os.SEEK_SET)
    raw = os.read(file, os.fstat(file).st_size)
    return np.frombuffer(raw, np.int64, len(raw) // _WORD)


def _word(file: int, place: int) -> int:
    os.lseek(file, place * _WORD, os.SEEK_SET)
    return int.from_bytes(os.read(file, _WORD), sys.byteorder, signed=True)


def _write(file: int, place: int, words: list[int]) -> None:
    os.lseek(file, place * _WORD, os.SEEK_SET)
    os.write(file, np.array(words, np.int64).tobytes())


def _write_places(file: int, places: list[int], word: int) -> None:
    for place in places:
        _write(file, place, [word])


def started(pid: int) -> int | None:
    """Return when a process was started, in the system's ticks; None if it has ended or the system does not tell."""
    with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{pid}/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
        return None if fields[0] in (b"Z", b"X") else int(fields[19])
    return None


def _lives(pid: int, start: int, token: int) -> bool:
    if pid == os.getpid() and token >> 31 != _PROGRAM:
        return False
    if os.path.exists("/proc/self/stat"):
        return started(pid) == start
    if pid == os.getpid() or os.name != "posix":
        return pid == os.getpid()
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
