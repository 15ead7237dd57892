"""Leases: each process that reads a home says which records it still needs."""

import contextlib
import re
import secrets
from collections.abc import Iterator
from pathlib import Path

from abound.store.locks import FileLock

LEASE_NAME = re.compile(r"(\d{20})-[0-9a-f]+")
PRIVATE_DIRECTORY = 0o700


class Lease:
    """Prevent the compaction of the records after a sequence while this process lives.

    There is no lease if the directory is not writable; usually nothing is compacted there either.
    """

    def __init__(self, folder: Path, sequence: int) -> None:
        self._folder = folder
        self._lock = self._acquire(sequence)
        self.sequence = sequence

    def _acquire(self, sequence: int) -> FileLock | None:
        while True:
            path = self._folder / f"{sequence:020d}-{secrets.token_hex(8)}"
            try:
                self._folder.mkdir(mode=PRIVATE_DIRECTORY, exist_ok=True)
                lock = FileLock(path)
            except BlockingIOError:
                continue
            except OSError:  # the disk is full or read-only
                return None
            if path.exists():
                return lock
            lock.release()  # the writer removed the file, because it was not locked yet

    def move(self, sequence: int) -> None:
        """Release the records up to a later sequence."""
        before, self._lock = self._lock, self._acquire(sequence)
        self.sequence = sequence
        if before is not None:
            _drop(before)

    def release(self) -> None:
        """Release all records."""
        if self._lock is not None:
            _drop(self._lock)


def _drop(lock: FileLock) -> None:
    with contextlib.suppress(OSError):  # Windows does not remove an open file; the writer removes it later
        lock.path.unlink()
    lock.release()


def leased(folder: Path) -> Iterator[int]:
    """Yield the sequences that running processes need; remove the leases of dead ones."""
    for path in folder.iterdir() if folder.is_dir() else ():
        match = LEASE_NAME.fullmatch(path.name)
        if match is None:
            continue
        try:
            _drop(FileLock(path))
        except BlockingIOError:
            yield int(match[1])
