"""Where a served model lives: its journal, its snapshots, and who reads them.

journal.sqlite              and what belongs to it
snapshots/<sequence>/       model directories
snapshots.lock              held by who writes a snapshot
in-use/<sequence>-<token>   held by each process that needs the records after a sequence
"""

import contextlib
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from abound.errors import DamagedJournal, JournalError, ModelError, UnappliedRecord
from abound.server.replay import Progress, follow, restore_history
from abound.server.replica import Replica
from abound.store import read_model
from abound.store.directory import MANIFEST, sync_directory
from abound.store.journal import KEY_LIFE, Journal
from abound.store.locks import FileLock
from abound.tagger import Tagger

KEPT_SNAPSHOTS = 2  # the second is there for the day on which the first turns out to be damaged
SNAPSHOT_NAME = re.compile(r"\d{20}")
LEASE_NAME = re.compile(r"(\d{20})-[0-9a-f]+")
PRIVATE_DIRECTORY, PRIVATE_FILE = 0o700, 0o600  # what people taught is nobody else's to read
OTHERS = 0o077


class Lease:
    """Keep the records after a sequence from being compacted away, for as long as this process lives.

    Where nothing can be written nothing is compacted either, as a rule, and there is no lease.
    """

    def __init__(self, folder: Path, sequence: int) -> None:
        self._folder = folder
        self._lock = self._take(sequence)
        self.sequence = sequence

    def _take(self, sequence: int) -> FileLock | None:
        while True:
            path = self._folder / f"{sequence:020d}-{secrets.token_hex(8)}"
            try:
                self._folder.mkdir(mode=PRIVATE_DIRECTORY, exist_ok=True)
                lock = FileLock(path)
            except BlockingIOError:
                continue
            except OSError:  # a full disk, or one that may not be written to
                return None
            if path.exists():
                return lock
            lock.release()  # the writer took it for one that was left behind, and removed it

    def move(self, sequence: int) -> None:
        """Let go of the records up to a later sequence."""
        before, self._lock = self._lock, self._take(sequence)
        self.sequence = sequence
        if before is not None:
            _drop(before)

    def release(self) -> None:
        """Let go of everything."""
        if self._lock is not None:
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
        path.mkdir(mode=PRIVATE_DIRECTORY, parents=True, exist_ok=True)
        home = cls.__new__(cls)
        home.path = path
        is_there = Journal.was_made(home.journal_path)
        if not is_there and not all(p.name.startswith(home.journal_path.name) for p in path.iterdir()):
            raise FileExistsError(f"{path} is not empty; give a new or an empty directory")
        home.make_private()
        with (
            Journal(home.journal_path, write=True) if is_there else Journal.create(home.journal_path, key_life=key_life)
        ) as journal:
            if home.snapshots() or journal.last:
                raise FileExistsError(f"{path} is the home of a served model already")
            home.write_snapshot(Replica(tagger, journal=journal.id))
        return home

    def make_private(self) -> str | None:
        """Let nobody else read what was taught; return what an operator should know of it."""
        if os.name != "posix":
            return None
        try:
            was_open = self.path.stat().st_mode & OTHERS
            if was_open:
                self.path.chmod(PRIVATE_DIRECTORY)
            for path in self.path.iterdir():
                with contextlib.suppress(FileNotFoundError):  # SQLite removes its own when it likes
                    if not path.is_symlink() and path.stat().st_mode & OTHERS:
                        path.chmod(PRIVATE_DIRECTORY if path.is_dir() else PRIVATE_FILE)
        except OSError as error:
            return f"{self.path} may be read by others, and that cannot be changed: {error}"
        return f"{self.path} could be read by others; it is private now" if was_open else None

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
            self._snapshots.mkdir(mode=PRIVATE_DIRECTORY, exist_ok=True)
            sync_directory(self.path)
            self._remove_unfinished()
            path = self.snapshot_path(replica.sequence)
            if not (path / MANIFEST).exists():
                replica.save(path)
                path.chmod(PRIVATE_DIRECTORY)
                for file in path.iterdir():
                    file.chmod(PRIVATE_FILE)
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
            if replica.skipped != _skips_upto(journal, sequence):
                found.append(f"snapshot {sequence} was made before a record was skipped")
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
            restore_history(replica, journal)
            self.catch_up(replica, journal, progress=progress)
        except BaseException:
            lease.release()
            raise
        return replica, lease

    def catch_up(
        self, replica: Replica, journal: Journal, upto: int | None = None, progress: Progress | None = None
    ) -> None:
        """Apply what a replica does not have yet, up to a sequence or to the journal's end.

        A record that cannot be applied ends it: the state, which may be half changed, is loaded anew up to the record
        before, and `unapplied` says which one it is. The same is done if records were skipped that the replica knows.
        """
        if replica.skipped != _skips_upto(journal, replica.sequence):
            self.reload(replica, journal)
        if replica.unapplied is not None:
            if replica.sequence + 1 not in journal.skips():
                return
            replica.unapplied = None
        try:
            follow(replica, journal, upto, progress)
        except UnappliedRecord as error:
            self.reload(replica, journal, error)

    def reload(self, replica: Replica, journal: Journal, error: UnappliedRecord | None = None) -> None:
        """Have a replica begin again with a snapshot and go on to where it was, before a record that failed."""
        before = replica.sequence
        replica.release_state()  # first: there may be no memory for two
        fresh = self.load_replica(journal)
        restore_history(fresh, journal)
        if fresh.sequence < before:
            follow(fresh, journal, before)
        replica.replace_state(fresh)
        replica.unapplied = error if fresh.sequence == before else None

    # -- skipping ------------------------------------------------------------------------------------

    def skip(self, sequence: int, reason: str = "") -> list[int]:
        """Have no replica apply a record; no server may be running. Return the snapshots that had to go for it.

        Raises
        ------
        JournalError
            If the record is not there, or no snapshot is left from before it.
        """
        with Journal(self.journal_path, write=True) as journal:
            before = [found for found in self.snapshots() if journal.base <= found < sequence]
            if journal.base < sequence <= journal.last and not any(map(self._is_sound, reversed(before))):
                raise JournalError(f"record {sequence} cannot be skipped: every snapshot already includes it")
            journal.skip(sequence, reason)
            return self._remove_overtaken(journal)

    def _is_sound(self, sequence: int) -> bool:
        try:
            read_model(self.snapshot_path(sequence))
        except (ModelError, OSError):
            return False
        return True

    def _remove_overtaken(self, journal: Journal) -> list[int]:
        """Remove the snapshots that hold a record which was skipped later."""
        removed = []
        for sequence in self.snapshots() if journal.skips() else ():
            with contextlib.suppress(ModelError, OSError):  # what cannot be read is not ours to judge
                served = read_model(self.snapshot_path(sequence), verify=False).content.get("served", {})
                if sorted(served.get("skipped", [])) != _skips_upto(journal, sequence):
                    self._remove_snapshot(sequence)
                    removed.append(sequence)
        return removed

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

    def remove_leftovers(self, journal: Journal) -> None:
        """Remove what a process that died has left: snapshots that were not finished, or hold what was skipped."""
        if self._snapshots.is_dir():
            with contextlib.suppress(OSError), self._writing_snapshots():  # held, or the disk is full: another time
                self._remove_unfinished()
                self._remove_overtaken(journal)

    def _remove_snapshot(self, sequence: int) -> None:
        path = self.snapshot_path(sequence)
        with contextlib.suppress(FileNotFoundError):
            (path / MANIFEST).unlink()  # first, so that half a snapshot is never taken for a whole one
        shutil.rmtree(path, ignore_errors=True)

    def compact(self, journal: Journal, needed: int | None = None) -> int:
        """Drop old snapshots and the records that none of the others needs; return how many records went.

        `needed` is a snapshot that is kept in any case.
        """
        snapshots, leased = self.snapshots(), {*self._leased(), *([] if needed is None else [needed])}
        kept = [sequence for sequence in snapshots if sequence in snapshots[-KEPT_SNAPSHOTS:] or sequence in leased]
        if not kept:
            return 0
        for sequence in sorted(set(snapshots) - set(kept)):
            self._remove_snapshot(sequence)
        return journal.compact(max(journal.base, min([*kept, *leased])))


def _skips_upto(journal: Journal, sequence: int) -> list[int]:
    return [skipped for skipped in journal.skips() if skipped <= sequence]
