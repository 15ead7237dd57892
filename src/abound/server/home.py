"""The data directory of a served model: its journal, its snapshots and the leases of its readers.

journal.sqlite              the journal, with SQLite's files
snapshots/<sequence>/       model directories
snapshots.lock              locked while a snapshot is written
in-use/<sequence>-<token>   locked by each process that needs the records after a sequence
origin.json                 the model that the home was created from: its state hash, and how many rows it had learned
"""

import contextlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from abound.errors import DamagedJournal, JournalError, ModelError, UnappliedRecord
from abound.server.replay import Progress, follow, restore_history
from abound.server.replica import Replica
from abound.store import read_model
from abound.store.directory import (
    FORMAT_VERSION,
    JOURNAL,
    MANIFEST,
    hash_of_files,
    read_manifest,
    sync_directory,
    write_file,
)
from abound.store.journal import KEY_LIFE, Journal
from abound.store.locks import FileLock
from abound.tagger import Tagger

KEPT_SNAPSHOTS = 2  # the older one is a backup in case the newer one is damaged
SNAPSHOT_NAME = re.compile(r"\d{20}")
LEASE_NAME = re.compile(r"(\d{20})-[0-9a-f]+")
PRIVATE_DIRECTORY, PRIVATE_FILE = 0o700, 0o600  # other users must not read the corrections
OTHERS = 0o077
ORIGIN = "origin.json"
SERVED = "served_"  # the prefix of the arrays that a snapshot has besides those of its model


class HomeOrigin(NamedTuple):
    """The model that a home was created from; `rows` is None if it is not known."""

    state_hash: str
    rows: int | None = None


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


class Home:
    """The data directory of a served model.

    Parameters
    ----------
    path : path
        A directory that was created by `Home.create`.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if not self.journal_path.is_file():
            raise JournalError(f"{self.path} is not the home of a served model: it has no {self.journal_path.name}")

    @property
    def journal_path(self) -> Path:
        """The journal's file."""
        return self.path / JOURNAL

    @property
    def _snapshots(self) -> Path:
        return self.path / "snapshots"

    @property
    def _leases(self) -> Path:
        return self.path / "in-use"

    @classmethod
    def create(
        cls, path: str | os.PathLike[str], tagger: Tagger, *, key_life: int = KEY_LIFE, origin: str | None = None
    ) -> "Home":
        """Create a home for a model: an empty journal, and the model as its first snapshot.

        A home whose creation was interrupted is completed. `origin` is the state hash of the model's directory.
        """
        path = Path(path)
        path.mkdir(mode=PRIVATE_DIRECTORY, parents=True, exist_ok=True)
        home = cls.__new__(cls)
        home.path = path
        is_there = Journal.was_made(home.journal_path)
        if not is_there and not all(p.name.startswith(home.journal_path.name) for p in path.iterdir()):
            raise FileExistsError(f"{path} is not empty; name a new or an empty directory")
        home.make_private()
        with (
            Journal(home.journal_path, write=True) if is_there else Journal.create(home.journal_path, key_life=key_life)
        ) as journal:
            if home.snapshots() or journal.last:
                raise FileExistsError(f"{path} is already the home of a served model")
            home.write_snapshot(Replica(tagger, journal=journal.id))
        if origin is not None:
            about = json.dumps(HomeOrigin(origin, tagger.n_rows)._asdict())
            write_file(home.path / ORIGIN, about.encode(), PRIVATE_FILE)
        return home

    def origin(self) -> HomeOrigin | None:
        """Return the model that the home was created from, or None if that is not known.

        A home of an earlier version does not say it; its first snapshot does, as long as it is kept.
        """
        try:
            known = json.loads((self.path / ORIGIN).read_bytes())
            return HomeOrigin(str(known["state_hash"]), int(known["rows"]))
        except FileNotFoundError:
            pass
        except (ValueError, KeyError, TypeError):
            return None
        with contextlib.suppress(ModelError, OSError):
            first = read_manifest(self.snapshot_path(0))
            if first["format_version"] == FORMAT_VERSION:
                return HomeOrigin(hash_of_files(first, without=SERVED))
        return None

    def make_private(self) -> str | None:
        """Remove the access of other users; return a message for the operator if there is something to report."""
        if os.name != "posix":
            return None
        try:
            was_open = self.path.stat().st_mode & OTHERS
            if was_open:
                self.path.chmod(PRIVATE_DIRECTORY)
            for path in self.path.iterdir():
                with contextlib.suppress(FileNotFoundError):  # SQLite may remove its files at any time
                    if not path.is_symlink() and path.stat().st_mode & OTHERS:
                        path.chmod(PRIVATE_DIRECTORY if path.is_dir() else PRIVATE_FILE)
        except OSError as error:
            return f"other users may read {self.path}, and its permissions cannot be changed: {error}"
        return f"other users could read {self.path}; it is private now" if was_open else None

    # -- snapshots -----------------------------------------------------------------------------------

    def snapshot_path(self, sequence: int) -> Path:
        """Return the path of the snapshot of a sequence."""
        return self._snapshots / f"{sequence:020d}"

    def snapshots(self) -> list[int]:
        """Return the sequences of all complete snapshots in ascending order."""
        if not self._snapshots.is_dir():
            return []
        names = (path.name for path in self._snapshots.iterdir() if (path / MANIFEST).exists())
        return sorted(int(name) for name in names if SNAPSHOT_NAME.fullmatch(name))

    def write_snapshot(self, replica: Replica) -> Path:
        """Write a snapshot of a replica; it is complete and on disk when this returns."""
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
        """Load the newest intact snapshot; append to `problems` why newer ones were not used."""
        rejected: list[str] = []
        for sequence in reversed(self.snapshots()):
            path = self.snapshot_path(sequence)
            try:
                replica = Replica.load(path)
            except (ModelError, OSError) as error:
                rejected.append(f"snapshot {sequence}: {error}")
                continue
            if (replica.journal, replica.sequence) != (journal.id, sequence):
                rejected.append(f"snapshot {sequence} is of record {replica.sequence} of journal {replica.journal!r}")
                continue
            if replica.skipped != _skips_upto(journal, sequence):
                rejected.append(f"snapshot {sequence} was written before a record was skipped")
                continue
            if sequence > journal.last:
                raise DamagedJournal(
                    f"{journal.path} ends at record {journal.last}, but there is a snapshot of record {sequence}: "
                    f"records {journal.last + 1} to {sequence} are lost from the journal"
                )
            if problems is not None:
                problems += rejected
            return replica
        raise ModelError(f"{self.path} has no intact snapshot" + "".join(f"; {reason}" for reason in rejected))

    def open_replica(
        self, journal: Journal, problems: list[str] | None = None, progress: Progress | None = None
    ) -> tuple[Replica, Lease]:
        """Load a replica and replay the journal to its end; the lease keeps the records that the replica needs."""
        while True:
            newest = max(self.snapshots(), default=-1)
            replica = self.load_replica(journal, problems)
            lease = Lease(self._leases, replica.sequence)
            base = journal.base
            if base <= replica.sequence:
                break
            lease.release()
            if newest == max(self.snapshots(), default=-1):  # otherwise the journal was compacted meanwhile
                raise DamagedJournal(
                    f"{journal.path} begins after record {base}, but the newest intact snapshot is of record "
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
        """Apply the records that a replica has not applied yet, up to a sequence or to the journal's end.

        A record that cannot be applied ends this. The state, which may be partly changed, is then reloaded up to the
        record before it, and `unapplied` has the error. The state is also reloaded if a record was skipped that the
        replica has already applied.
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
        """Reload a replica from a snapshot and replay the journal to its sequence, before a record that failed."""
        before = replica.sequence
        replica.release_state()  # first, because there may not be enough memory for two states
        fresh = self.load_replica(journal)
        restore_history(fresh, journal)
        if fresh.sequence < before:
            follow(fresh, journal, before)
        replica.replace_state(fresh)
        replica.unapplied = error if fresh.sequence == before else None

    def recover(self, replica: Replica, journal: Journal) -> None:
        """Give a replica that failed the state that it would have if the home was opened now."""
        replica.release_state()
        fresh, lease = self.open_replica(journal)
        lease.release()  # only the writer compacts, and it calls this
        replica.unapplied = fresh.unapplied
        replica.replace_state(fresh)

    # -- skipping ------------------------------------------------------------------------------------

    def skip(self, sequence: int, reason: str = "") -> list[int]:
        """Mark a record as skipped, while no server is running; return the snapshots that were removed.

        Raises
        ------
        JournalError
            If the journal does not have the record, or no older snapshot is left.
        """
        with Journal(self.journal_path, write=True) as journal:
            before = [snapshot for snapshot in self.snapshots() if journal.base <= snapshot < sequence]
            if journal.base < sequence <= journal.last and not any(map(self._is_intact, reversed(before))):
                raise JournalError(f"record {sequence} cannot be skipped: every snapshot already includes it")
            journal.skip(sequence, reason)
            return self._remove_outdated(journal)

    def _is_intact(self, sequence: int) -> bool:
        try:
            read_model(self.snapshot_path(sequence))
        except (ModelError, OSError):
            return False
        return True

    def _remove_outdated(self, journal: Journal) -> list[int]:
        """Remove the snapshots that include a record that was skipped later."""
        removed = []
        for sequence in self.snapshots() if journal.skips() else ():
            with contextlib.suppress(ModelError, OSError):  # leave a snapshot that cannot be read
                served = read_model(self.snapshot_path(sequence), verify=False).content.get("served", {})
                if sorted(served.get("skipped", [])) != _skips_upto(journal, sequence):
                    self._remove_snapshot(sequence)
                    removed.append(sequence)
        return removed

    # -- compaction ----------------------------------------------------------------------------------

    def _leased(self) -> Iterator[int]:
        """Yield the sequences that running processes need; remove the leases of dead ones."""
        for path in self._leases.iterdir() if self._leases.is_dir() else ():
            match = LEASE_NAME.fullmatch(path.name)
            if match is None:
                continue
            try:
                _drop(FileLock(path))
            except BlockingIOError:
                yield int(match[1])

    def remove_leftovers(self, journal: Journal) -> None:
        """Remove snapshots that a dead process left: incomplete ones, and those that include a skipped record."""
        if self._snapshots.is_dir():
            with contextlib.suppress(OSError), self._writing_snapshots():  # if locked or the disk is full: next time
                self._remove_unfinished()
                self._remove_outdated(journal)

    def _remove_snapshot(self, sequence: int) -> None:
        path = self.snapshot_path(sequence)
        with contextlib.suppress(FileNotFoundError):
            (path / MANIFEST).unlink()  # first, so that a partly removed snapshot counts as incomplete
        shutil.rmtree(path, ignore_errors=True)

    def compact(self, journal: Journal, needed: int | None = None) -> int:
        """Remove old snapshots and the records that no other snapshot needs; return the number of records removed.

        `needed` is a snapshot that is always kept.
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
