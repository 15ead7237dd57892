"""Where a served model lives: its journal, its snapshots, and who reads them.

journal.sqlite              and what belongs to it
snapshots/<sequence>/       model directories
in-use/<sequence>-<token>   held by each process that needs the records after a sequence
"""

import contextlib
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from abound.errors import CompactedAway, DamagedJournal, JournalError, ModelError
from abound.server.replica import Replica
from abound.store.directory import MANIFEST, sync_directory
from abound.store.journal import KEY_LIFE, Journal
from abound.store.locks import FileLock
from abound.tagger import Tagger

KEPT_SNAPSHOTS = 2  # the second is there for the day on which the first turns out to be damaged
SNAPSHOT_NAME = re.compile(r"\d{20}")
LEASE_NAME = re.compile(r"(\d{20})-[0-9a-f]+")
Progress = Callable[[int, int], None]  # told of the record that was applied last, and of the last one that there is


class Lease:
    """Keep the records after a sequence from being compacted away, for as long as this process lives."""

    def __init__(self, folder: Path, sequence: int) -> None:
        self._folder = folder
        self._lock = self._take(sequence)
        self.sequence = sequence

    def _take(self, sequence: int) -> FileLock:
        self._folder.mkdir(exist_ok=True)
        while True:
            path = self._folder / f"{sequence:020d}-{secrets.token_hex(8)}"
            with contextlib.suppress(BlockingIOError):
                lock = FileLock(path)
                if path.exists():
                    return lock
                lock.release()  # the writer took it for one that was left behind, and removed it

    def move(self, sequence: int) -> None:
        """Let go of the records up to a later sequence."""
        before, self._lock = self._lock, self._take(sequence)
        self.sequence = sequence
        _drop(before)

    def release(self) -> None:
        """Let go of everything."""
        _drop(self._lock)


def _drop(lock: FileLock) -> None:
    with contextlib.suppress(OSError):  # Windows removes no file that is open: the writer will, later
        lock.path.unlink()
    lock.release()


class Home:
    """A directory in which a model is served.

    Parameters
    ----------
    path : path
        A directory that `Home.create` made.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if not self.journal_path.is_file():
            raise JournalError(f"{self.path} is no home of a served model: it has no {self.journal_path.name}")

    @property
    def journal_path(self) -> Path:
        """The journal's file."""
        return self.path / "journal.sqlite"

    @property
    def _snapshots(self) -> Path:
        return self.path / "snapshots"

    @property
    def _leases(self) -> Path:
        return self.path / "in-use"

    @classmethod
    def create(cls, path: str | os.PathLike[str], tagger: Tagger, *, key_life: int = KEY_LIFE) -> "Home":
        """Make a home for a model: an empty journal, and the model as its first snapshot.

        A home whose making was cut short is finished.
        """
        path = Path(path)
        path.mkdir(parents=True, exist_ok=True)
        home = cls.__new__(cls)
        home.path = path
        is_there = home.journal_path.is_file() and home.journal_path.stat().st_size > 0
        if not is_there and not all(p.name.startswith(home.journal_path.name) for p in path.iterdir()):
            raise FileExistsError(f"{path} is not empty; give a new or an empty directory")
        with (
            Journal(home.journal_path, write=True) if is_there else Journal.create(home.journal_path, key_life=key_life)
        ) as journal:
            if home.snapshots() or journal.last:
                raise FileExistsError(f"{path} is the home of a served model already")
            home.write_snapshot(Replica(tagger, journal=journal.id))
        return home

    # -- snapshots -----------------------------------------------------------------------------------

    def snapshot_path(self, sequence: int) -> Path:
        """Return where the snapshot of a sequence is."""
        return self._snapshots / f"{sequence:020d}"

    def snapshots(self) -> list[int]:
        """Return the sequences of all snapshots, ascending; one that was not finished does not count."""
        if not self._snapshots.is_dir():
            return []
        names = (path.name for path in self._snapshots.iterdir() if (path / MANIFEST).exists())
        return sorted(int(name) for name in names if SNAPSHOT_NAME.fullmatch(name))

    def write_snapshot(self, replica: Replica) -> Path:
        """Write a snapshot of a replica; it is on the disk, and counts, when this returns."""
        with self._writing_snapshots():
            self._snapshots.mkdir(exist_ok=True)
            sync_directory(self.path)
            self._remove_unfinished()
            path = self.snapshot_path(replica.sequence)
            if not (path / MANIFEST).exists():
                replica.save(path)
                sync_directory(self._snapshots)
        return path

    def _writing_snapshots(self) -> FileLock:
        return FileLock(self.path / "snapshots.lock")

    def _remove_unfinished(self) -> None:
        for path in self._snapshots.iterdir():
            if SNAPSHOT_NAME.fullmatch(path.name) and not (path / MANIFEST).exists():
                shutil.rmtree(path)

    def load_replica(self, journal: Journal, problems: list[str] | None = None) -> Replica:
        """Load the newest snapshot that is sound; what is wrong with newer ones is added to `problems`."""
        found: list[str] = []
        for sequence in reversed(self.snapshots()):
            path = self.snapshot_path(sequence)
            try:
                replica = Replica.load(path)
            except (ModelError, OSError) as error:
                found.append(f"snapshot {sequence}: {error}")
                continue
            if (replica.journal, replica.sequence) != (journal.id, sequence):
                found.append(f"snapshot {sequence} is of record {replica.sequence} of journal {replica.journal!r}")
                continue
            if sequence > journal.last:
                raise DamagedJournal(
                    f"{journal.path} ends at record {journal.last}, but there is a snapshot of record {sequence}: "
                    f"records {journal.last + 1} to {sequence} are lost from the journal"
                )
            if problems is not None:
                problems += found
            return replica
        raise ModelError(f"{self.path} has no sound snapshot" + "".join(f"; {words}" for words in found))

    def open_replica(
        self, journal: Journal, problems: list[str] | None = None, progress: Progress | None = None
    ) -> tuple[Replica, Lease]:
        """Load a replica and bring it to the end of the journal; its lease keeps the journal from passing it by."""
        while True:
            newest = max(self.snapshots(), default=-1)
            replica = self.load_replica(journal, problems)
            lease = Lease(self._leases, replica.sequence)
            base = journal.base
            if base <= replica.sequence:
                break
            lease.release()
            if newest == max(self.snapshots(), default=-1):  # else it was compacted between two of our steps
                raise DamagedJournal(
                    f"{journal.path} begins after record {base}, but the newest sound snapshot is of record "
                    f"{replica.sequence}"
                )
        try:
            with contextlib.suppress(CompactedAway):  # between two of our steps; then less is remembered
                recall(replica, journal)
            follow(replica, journal, progress=progress)
        except BaseException:
            lease.release()
            raise
        return replica, lease

    # -- compaction ----------------------------------------------------------------------------------

    def _leased(self) -> Iterator[int]:
        """Yield the sequences that living processes need; what dead ones left behind is removed."""
        for path in self._leases.iterdir() if self._leases.is_dir() else ():
            match = LEASE_NAME.fullmatch(path.name)
            if match is None:
                continue
            try:
                _drop(FileLock(path))
            except BlockingIOError:
                yield int(match[1])

    def tidy(self) -> None:
        """Remove snapshots that were not finished, unless one is being written."""
        if self._snapshots.is_dir():
            with contextlib.suppress(BlockingIOError), self._writing_snapshots():
                self._remove_unfinished()

    def compact(self, journal: Journal) -> int:
        """Drop old snapshots and the records that none of the others needs; return how many records went."""
        snapshots, leased = self.snapshots(), set(self._leased())
        kept = [sequence for sequence in snapshots if sequence in snapshots[-KEPT_SNAPSHOTS:] or sequence in leased]
        if not kept:
            return 0
        for sequence in sorted(set(snapshots) - set(kept)):
            path = self.snapshot_path(sequence)
            with contextlib.suppress(FileNotFoundError):
                (path / MANIFEST).unlink()  # first, so that half a snapshot is never taken for a whole one
            shutil.rmtree(path, ignore_errors=True)
        return journal.compact(max(journal.base, min([*kept, *leased])))


def follow(replica: Replica, journal: Journal, upto: int | None = None, progress: Progress | None = None) -> None:
    """Apply the records that a replica does not have yet, up to a sequence or to the journal's end."""
    last = journal.last if progress is not None else 0
    for stored in journal.read(replica.sequence):
        if upto is not None and stored.sequence > upto:
            return
        replica.apply(stored.sequence, stored.record)
        if progress is not None:
            progress(stored.sequence, max(last, stored.sequence))


def recall(replica: Replica, journal: Journal) -> None:
    """Remember the records that a replica's snapshot had learnt already, as far as the journal still has them."""
    for stored in journal.read(journal.base):
        if stored.sequence > replica.sequence:
            return
        replica.history.note(stored.sequence, stored.record)
