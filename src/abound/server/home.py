"""The data directory of a served model: its journal, its snapshots and the leases of its readers.

journal.sqlite              the journal, with SQLite's files
snapshots/<sequence>/       model directories
snapshots.lock              locked while a snapshot is written
archive/                    records that compaction moved out of the journal
bases/<name>/               models that were fitted later than the first snapshot, see `Refit`
rebuilt/<token>/            a state that is being rebuilt
in-use/<sequence>-<token>   locked by each process that needs the records after a sequence
outcomes.json               how the last corrections were ranked before they were learned, for /v1/progress
queues.sqlite               texts that several people decide together, see `queues.py`
deliveries/                 annotations that another program reported, until they are settled, see `deliveries.py`
origin.json                 the model that the home was created from: its state hash, its rows and its date
"""

import contextlib
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from abound.errors import DamagedJournal, DamagedModel, JournalError, ModelError, UnappliedRecord
from abound.server.leases import Lease, leased
from abound.server.queues import QUEUES
from abound.server.replay import OtherLineage, Progress, check_lineage, follow, restore_history
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
from abound.store.journal import KEY_LIFE, Journal, Lineage
from abound.store.journal.copying import Salvaged, salvage
from abound.store.locks import FileLock
from abound.tagger import Tagger

KEPT_SNAPSHOTS = 2  # the older one is a backup in case the newer one is damaged
UNDO_RECORDS = 10_000  # the last records, each of which has a snapshot shortly before it
URL = re.compile("[a-z]{2,}://")
SNAPSHOT_NAME = re.compile(r"\d{20}")
PRIVATE_DIRECTORY, PRIVATE_FILE = 0o700, 0o600  # other users must not read the corrections
OTHERS = 0o077
ORIGIN = "origin.json"
OUTCOMES = "outcomes.json"
SERVED_SUFFIX = ".served"  # of the home beside a model
SERVED = "served_"  # the prefix of the arrays that a snapshot has besides those of its model


class HomeOrigin(NamedTuple):
    """The model that a home was created from; `rows` and `fitted`, its date, are None if they are not known."""

    state_hash: str
    rows: int | None = None
    fitted: float | None = None  # seconds since 1970


class Home:
    """The data directory of a served model.

    Parameters
    ----------
    path : path
        A directory that was created by `Home.create`.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        if URL.match(str(path)):
            raise JournalError(
                "a home is a directory, and not a URL; name the home of a server"
            )  # it may have a password
        self.path = Path(path)
        if not self.journal_path.is_file():
            raise JournalError(f"{self.path} is not the home of a served model: it has no {self.journal_path.name}")

    @property
    def journal_path(self) -> Path:
        """The journal's file."""
        return self.path / JOURNAL

    @property
    def queues_path(self) -> Path:
        """The file of the shared queues; it exists once there was a queue."""
        return self.path / QUEUES

    @property
    def _snapshots(self) -> Path:
        return self.path / "snapshots"

    @property
    def _leases(self) -> Path:
        return self.path / "in-use"

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        tagger: Tagger,
        *,
        key_life: int = KEY_LIFE,
        origin: str | None = None,
        fitted: float | None = None,
    ) -> "Home":
        """Create a home for a model: an empty journal, and the model as its first snapshot.

        A home whose creation was interrupted is completed. `origin` is the state hash of the model's directory, and
        `fitted` when it was written, in seconds since 1970.
        """
        home = cls.begin(path)
        is_there = Journal.was_made(home.journal_path)
        if not is_there and not all(p.name.startswith(home.journal_path.name) for p in home.path.iterdir()):
            raise FileExistsError(f"{path} is not empty; name a new or an empty directory")
        home.make_private()
        with (
            Journal(home.journal_path, write=True) if is_there else Journal.create(home.journal_path, key_life=key_life)
        ) as journal:
            if home.snapshots() or journal.last:
                raise FileExistsError(f"{path} is already the home of a served model")
            home.write_snapshot(Replica(tagger, journal=journal.id))
        if origin is not None:
            home.note_origin(HomeOrigin(origin, tagger.n_rows, fitted))
        return home

    @classmethod
    def begin(cls, path: str | os.PathLike[str]) -> "Home":
        """Return a home that may have no journal yet; its directory is made if it does not exist."""
        home = cls.__new__(cls)
        home.path = Path(path)
        home.path.mkdir(mode=PRIVATE_DIRECTORY, parents=True, exist_ok=True)
        return home

    def note_origin(self, origin: HomeOrigin) -> None:
        """Write which model the home was created from."""
        write_file(self.path / ORIGIN, json.dumps(origin._asdict()).encode(), PRIVATE_FILE)

    def origin(self) -> HomeOrigin | None:
        """Return the model that the home was created from, or None if that is not known.

        A home of an earlier version does not say it; its first snapshot does, as long as it is kept.
        """
        try:
            known = json.loads((self.path / ORIGIN).read_bytes())
            fitted = known.get("fitted")
            return HomeOrigin(
                str(known["state_hash"]), int(known["rows"]), fitted if isinstance(fitted, int | float) else None
            )
        except FileNotFoundError:
            pass
        except (ValueError, KeyError, TypeError):
            return None
        with contextlib.suppress(ModelError, OSError):
            first = read_manifest(self.snapshot_path(0))
            if first["format_version"] == FORMAT_VERSION:
                return HomeOrigin(hash_of_files(first, without=SERVED))
        return None

    def fitted(self, lineage: Lineage) -> float | None:
        """Return when the model was written that a state is based on, in seconds since 1970; None if it is not known.

        A home of an earlier version does not say it; its first snapshot was then written soon after.
        """
        origin = None if lineage.base else self.origin()
        if origin is not None and origin.fitted is not None:
            return origin.fitted
        path = self.base_path(lineage.base) if lineage.base else self.snapshot_path(0)
        try:
            return (path / MANIFEST).stat().st_mtime
        except OSError:
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

    def load_replica(
        self,
        journal: Journal,
        problems: list[str] | None = None,
        lineage: Lineage | None = None,
        upto: int | None = None,
    ) -> Replica:
        """Load the newest intact snapshot of a lineage, by default of the journal's, or its base model.

        Append to `problems` why newer snapshots were not used. `upto` is the latest snapshot that may be used.
        """
        rejected: list[str] = []
        lineage = journal.lineage() if lineage is None else lineage
        for sequence in reversed(self.snapshots()):
            if upto is not None and sequence > upto:
                continue
            path = self.snapshot_path(sequence)
            try:
                if self._lineage_of(sequence) != lineage.upto(sequence):
                    continue  # it was written before a record was undone, or before a refit
                replica = Replica.load(path)
            except (ModelError, OSError) as error:
                rejected.append(f"snapshot {sequence}: {error}")
                continue
            if (replica.journal, replica.sequence) != (journal.id, sequence):
                rejected.append(f"snapshot {sequence} is of record {replica.sequence} of journal {replica.journal!r}")
                continue
            if sequence > journal.last and journal.is_shared:  # a power failure has removed records of the copy
                rejected.append(f"snapshot {sequence} is ahead of the copy of the journal")
                continue
            if sequence > journal.last:
                raise DamagedJournal(
                    f"{journal.path} ends at record {journal.last}, but there is a snapshot of record {sequence}: "
                    f"records {journal.last + 1} to {sequence} are lost from the journal"
                )
            if problems is not None:
                problems += rejected
            return replica
        if lineage.base:
            replica = Replica.load(self.base_path(lineage.base))
            replica.journal, replica.lineage = journal.id, Lineage(lineage.base)
            return replica
        raise ModelError(f"{self.path} has no intact snapshot" + "".join(f"; {reason}" for reason in rejected))

    def _lineage_of(self, sequence: int) -> Lineage:
        """Return what the state of a snapshot is made of; raise ModelError or OSError if it cannot be read."""
        path = self.snapshot_path(sequence)
        return lineage_of_manifest(read_manifest(path), path)

    def missing_snapshot(self, last: int, every: int, undo_records: int = UNDO_RECORDS) -> int | None:
        """Return the first record that should have a snapshot so that each of the last ones can be undone quickly."""
        snapshots, floor = self.snapshots(), last - undo_records
        for before, after in pairwise(snapshots):
            if after > floor and after - before > every:
                return max(before + every, min(floor, after - every))
        return None

    def base_path(self, name: str) -> Path:
        """Return the path of the model of a refit."""
        return self.path / "bases" / name

    def open_replica(
        self, journal: Journal, problems: list[str] | None = None, progress: Progress | None = None
    ) -> tuple[Replica, Lease]:
        """Load a replica and replay the journal to its end; the lease keeps the records that the replica needs."""
        replica = self.load_replica(journal, problems)
        lease = Lease(self._leases, replica.sequence)
        try:
            if journal.start > replica.sequence:
                raise DamagedJournal(
                    f"{journal.path} begins after record {journal.start}, but the newest intact snapshot is of record "
                    f"{replica.sequence}"
                )
            self._restore_history(replica, journal)
            self.catch_up(replica, journal, progress=progress)
        except BaseException:
            lease.release()
            raise
        return replica, lease

    def _restore_history(self, replica: Replica, journal: Journal) -> None:
        """Restore what is remembered of the records in a replica's snapshot; a damaged file is ignored."""
        restore_history(replica, journal)
        with contextlib.suppress(OSError, ValueError):
            replica.restore_outcomes((self.path / OUTCOMES).read_bytes())

    def save_outcomes(self, replica: Replica) -> None:
        """Write how the last corrections were ranked before, for the next opening from a snapshot of this state."""
        with replica.reading():
            raw = replica.history.encode_outcomes()
        write_file(self.path / OUTCOMES, raw, PRIVATE_FILE)

    def catch_up(
        self, replica: Replica, journal: Journal, upto: int | None = None, progress: Progress | None = None
    ) -> None:
        """Apply the records that a replica has not applied yet, up to a sequence or to the journal's end.

        A record that cannot be applied ends this. The state, which may be partly changed, is then reloaded up to the
        record before it, and `unapplied` has the error. If a record was undone that the replica has applied, the new
        state is loaded beside the old one, which ranks until then.
        """
        if replica.unapplied is not None:
            if replica.sequence + 1 not in journal.lineage().excluded:
                return
            replica.unapplied = None
        try:
            check_lineage(replica, journal.lineage(upto))
            follow(replica, journal, upto, progress)
        except OtherLineage:
            self._switch(replica, journal, upto)
        except UnappliedRecord as error:
            self.reload(replica, journal, error)

    def _switch(self, replica: Replica, journal: Journal, upto: int | None) -> None:
        """Bring a replica to the current lineage, in memory beside its old state."""
        fresh = self.load_replica(journal)
        self._restore_history(fresh, journal)
        lineage = journal.lineage()
        end = max(journal.last if upto is None else upto, replica.sequence, fresh.sequence)
        follow(fresh, journal, end, lineage=lineage)
        replica.replace_state(fresh)
        replica.unapplied = None

    def reload(self, replica: Replica, journal: Journal, error: UnappliedRecord | None = None) -> None:
        """Reload a replica from a snapshot and replay the journal to its sequence, before a record that failed."""
        before = replica.sequence
        replica.release_state()  # first, because there may not be enough memory for two states
        fresh = self.load_replica(journal)
        self._restore_history(fresh, journal)
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
            return self.remove_outdated(journal)

    def _is_intact(self, sequence: int) -> bool:
        try:
            read_model(self.snapshot_path(sequence))
        except (ModelError, OSError):
            return False
        return True

    def remove_outdated(self, journal: Journal) -> list[int]:
        """Remove the snapshots that include a record that does not count any more, or are of another base model."""
        removed, lineage = [], journal.lineage()
        for sequence in self.snapshots():
            with contextlib.suppress(ModelError, OSError):  # leave a snapshot that cannot be read
                found = self._lineage_of(sequence)
                is_first = sequence == 0 and not found.base  # the model that the home was created with
                if not is_first and found != lineage.upto(sequence):
                    self._remove_snapshot(sequence)
                    removed.append(sequence)
        return removed

    def rebuilding_path(self) -> Path:
        """Return a new path for the state that a rebuild writes."""
        folder = self.path / "rebuilt"
        folder.mkdir(mode=PRIVATE_DIRECTORY, exist_ok=True)
        return folder / secrets.token_hex(8)

    def adopt_rebuilt(self, path: Path, sequence: int, journal: Journal) -> None:
        """Make a rebuilt state the snapshot of its sequence, and remove those that it replaces."""
        with self._writing_snapshots():
            self._remove_unfinished()
            self.remove_outdated(journal)
            target = self.snapshot_path(sequence)
            if not target.exists():
                path.rename(target)
                sync_directory(self._snapshots)
            else:
                shutil.rmtree(path, ignore_errors=True)

    def remove_rebuilt(self) -> None:
        """Remove what interrupted rebuilds left."""
        shutil.rmtree(self.path / "rebuilt", ignore_errors=True)

    def salvage(self) -> Salvaged | None:
        """Salvage a damaged journal; move the snapshots that include lost records to the directory of its old files."""
        result = salvage(self.journal_path)
        if result is not None:
            for sequence in self.snapshots():
                if sequence > result.last:
                    self.snapshot_path(sequence).rename(result.aside / f"snapshot-{sequence}")
            sync_directory(self._snapshots)
        return result

    # -- compaction ----------------------------------------------------------------------------------

    def remove_leftovers(self, journal: Journal) -> None:
        """Remove snapshots that a dead process left: incomplete ones, and those that include a skipped record."""
        if self._snapshots.is_dir():
            with contextlib.suppress(OSError), self._writing_snapshots():  # if locked or the disk is full: next time
                self._remove_unfinished()
                self.remove_outdated(journal)
        self.remove_rebuilt()

    def _remove_snapshot(self, sequence: int) -> None:
        path = self.snapshot_path(sequence)
        with contextlib.suppress(FileNotFoundError):
            (path / MANIFEST).unlink()  # first, so that a partly removed snapshot counts as incomplete
        shutil.rmtree(path, ignore_errors=True)

    def drop_old(self, journal: Journal, seconds: float) -> int:
        """Remove the segments of the archive whose records are all older than this; return the number of records."""
        limit, dropped = (time.time() - seconds) * 1e6, 0
        for segment in journal.archive.chain(journal.start, journal.base):
            _, rows = journal.archive.read(segment)
            if rows[-1].time > limit:
                break
            dropped += journal.retain(segment.last)
        return dropped

    def compact(self, journal: Journal, needed: int | None = None, undo_records: int = UNDO_RECORDS) -> int:
        """Remove old snapshots, and archive the records before the others; return the number of records archived.

        The first snapshot is kept, and so many others that each of the last `undo_records` records can be undone
        quickly. `needed` is a snapshot that is always kept.
        """
        snapshots, held = self.snapshots(), {*leased(self._leases), *([] if needed is None else [needed])}
        floor = journal.last - undo_records
        before = [sequence for sequence in snapshots if sequence <= floor]
        kept = {*snapshots[:1], *before[-1:], *(s for s in snapshots if s > floor), *snapshots[-KEPT_SNAPSHOTS:]}
        kept |= held & set(snapshots)
        for sequence in sorted(set(snapshots) - kept):
            self._remove_snapshot(sequence)
        recent = [*(kept - {0}), *held]
        return journal.compact(max(journal.base, min(recent))) if kept - {0} else 0


def lineage_of_manifest(manifest: Mapping[str, Any], name: object) -> Lineage:
    """Return what the state of a snapshot is made of; DamagedModel if its manifest does not tell."""
    served = manifest.get("served", {})
    try:
        return Lineage(str(served.get("base", "")), tuple(sorted(map(int, served.get("skipped", [])))))
    except (AttributeError, TypeError, ValueError) as error:
        raise DamagedModel(f"the lineage of {name} cannot be read: {error}") from None
