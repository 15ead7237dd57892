"""How a writer takes part in a journal that other machines write, too.

Machines take turns by a lock in the database: lock, copy and apply the records of the others, check and append own
records. A thread waits for the records of others meanwhile. If the database is away, the thread connects again after
pauses, and nothing is learned until then. Ranking goes on.

One machine at a time, which has a lease in the database, copies its newest snapshot to a place that all of them reach.
"""

import contextlib
import logging
import random
import secrets
import socket
import threading
from collections.abc import Callable, Iterator
from typing import NamedTuple

from abound.errors import AboundError, JournalError, JournalMoved, JournalUnavailable, LostRecords, RefusedRecord
from abound.server.home import Home, lineage_of_manifest
from abound.store.directory import MANIFEST, read_manifest
from abound.store.journal import Journal
from abound.store.journal.records import Control, Refit
from abound.store.places import Place

LOG = logging.getLogger(__name__)
POLL_SECONDS = 1.0  # after which a lost notification does not matter
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 5.0  # seconds between attempts to connect
LEASE_SECONDS = 300.0  # after which another machine may copy snapshots, if this one has died
LEASE = "snapshots"
KEPT = 2  # snapshots at the place
CHECKSUM_DIGITS = 16  # of a record, in the name of a snapshot
FIRST = "first"  # the place's name of the model before the first record


class Sharing:
    """The sharing of a journal; this class is that of a machine alone, which does nothing."""

    def open(self, home: Home) -> Journal | None:  # noqa: ARG002
        """Open the journal of a home; None if it belongs to one machine."""
        return None

    def start(self, ask: Callable[[], None], report: Callable[[str], None]) -> None:
        """Begin to call `ask` when there are records of others, and `report` with messages for the operator."""

    @contextlib.contextmanager
    def turn(self, *, writes: bool) -> Iterator[None]:  # noqa: ARG002
        """Copy the records of other machines; if `writes`, keep all others from appending in this block."""
        yield

    def publish(self, change: Control) -> None:
        """Give other machines what they need for a change, before it is written."""

    def share(self) -> None:
        """Give other machines the newest snapshot."""

    def erase_copy(self) -> None:
        """Remove forgotten content from the files of this machine."""

    @property
    def failure(self) -> str | None:
        """Why the database cannot be used at the moment, or None."""
        return None

    def close(self) -> None:
        """Stop waiting for the records of others."""


class DatabaseSharing(Sharing):
    """Share a journal in PostgreSQL.

    Parameters
    ----------
    url : str
        Where the database is.
    place : Place, optional
        Where snapshots are kept for new machines.
    """

    def __init__(self, url: str, place: Place | None = None) -> None:
        from abound.store.journal.database import Database  # needs psycopg
        from abound.store.journal.shared import SharedJournal

        Database(url).close()  # checks the URL
        self._kind = SharedJournal
        self._url = url
        self._place = place
        self._holder = f"{socket.gethostname()}-{secrets.token_hex(4)}"
        self._failure: str | None = None
        self._has_reported = False  # the risks of the database's settings
        self._ends = threading.Event()
        self._followed = threading.Event()
        self._thread: threading.Thread | None = None
        self._ask: Callable[[], None] = _nothing
        self._report: Callable[[str], None] = LOG.warning

    def open(self, home: Home) -> Journal:
        """Open the copy of the journal in a home, and copy new records if the database can be reached."""
        self._home = home
        self._journal = self._kind(home.journal_path, self._url, prepare=self._fetch)
        return self._journal

    # -- following -----------------------------------------------------------------------------------

    def start(self, ask: Callable[[], None], report: Callable[[str], None]) -> None:
        """Begin to call `ask` when there are records of others, and `report` with messages for the operator."""
        self._ask, self._report = ask, report
        self._thread = threading.Thread(target=self._follow, name="abound-following", daemon=True)
        self._thread.start()

    def _follow(self) -> None:
        pause = FIRST_PAUSE
        while not self._ends.is_set():
            try:
                is_behind = self._journal.wait(POLL_SECONDS)
                if self._failure is not None:
                    self._failure, is_behind = None, True
                    self._report("the journal's database can be used again")
                self._report_risks()
                pause = FIRST_PAUSE
            except JournalError as error:
                self._note(error)
                self._ends.wait(pause * random.uniform(0.5, 1.5))  # noqa: S311  so that not all come at once
                pause = min(2 * pause, LONGEST_PAUSE)
                continue
            if is_behind and not self._ends.is_set():
                self._followed.clear()
                self._ask()
                self._followed.wait(POLL_SECONDS)

    def _report_risks(self) -> None:
        if not self._has_reported:
            self._has_reported = True
            for risk in self._journal.database.risks():
                self._report(risk)

    def _note(self, error: JournalError) -> None:
        is_new = self._failure is None or (isinstance(error, LostRecords) and str(error) != self._failure)
        if is_new and not self._ends.is_set():
            self._report(f"nothing is learned until the journal's database can be used: {error}")
        self._failure = str(error)

    @property
    def failure(self) -> str | None:
        """Why the database cannot be used at the moment, or None."""
        return self._failure

    @contextlib.contextmanager
    def turn(self, *, writes: bool) -> Iterator[None]:
        """Copy the records of other machines; if `writes`, keep all others from appending in this block."""
        try:
            if self._failure is not None:  # another thread connects again
                raise JournalUnavailable(self._failure)
            if writes:
                with self._journal.turn():
                    yield
            else:
                self._journal.pull()
                yield
        except JournalMoved:
            raise
        except JournalError as error:
            self._note(error)
            raise error if isinstance(error, JournalUnavailable) else JournalUnavailable(str(error)) from None
        finally:
            self._followed.set()

    def erase_copy(self) -> None:
        """Remove forgotten content from the files of this machine."""
        self._journal.erase_copy()

    def close(self) -> None:
        """Stop waiting for the records of others."""
        self._ends.set()
        if self._thread is not None:
            self._thread.join()
        self._ask, self._report = _nothing, LOG.warning  # so that their owner, which has this object, is freed at once

    # -- models --------------------------------------------------------------------------------------

    def publish(self, change: Control) -> None:
        """Copy the model of a refit to the place, before its record is written."""
        if not isinstance(change, Refit):
            return
        if self._place is None:
            raise RefusedRecord(
                "a refit needs a place where other machines find its model; start all servers with --snapshots"
            )
        path = self._home.base_path(change.base)
        try:
            self._place.put(base_name(self._journal.id, change.base), path)
        except (AboundError, OSError) as error:
            raise RefusedRecord(f"the model of the refit cannot be copied to {self._place.name}: {error}") from None
        self._journal.database.note_base(change.base, str(read_manifest(path)["state_hash"]))

    def _fetch(self, change: Control) -> None:
        """Copy the model of another machine's refit from the place, before its record is copied."""
        if not isinstance(change, Refit) or (self._home.base_path(change.base) / MANIFEST).exists():
            return
        if self._place is None:
            raise JournalUnavailable(
                f"the model {change.base} of a refit is missing; start this server with --snapshots, too"
            )
        try:
            fetch_base(self._home, self._place, self._journal.id, change.base)
        except (AboundError, OSError) as error:
            raise JournalUnavailable(f"the model {change.base} of a refit cannot be copied: {error}") from None

    # -- snapshots -----------------------------------------------------------------------------------

    def share(self) -> None:
        """Copy the newest snapshot to the place, and remove outdated ones, if this machine has the lease."""
        if self._failure is not None or not self._journal.database.hold(LEASE, self._holder, LEASE_SECONDS):
            return
        try:
            self._share()
        finally:
            self._journal.database.release(LEASE, self._holder)

    def _share(self) -> None:
        self._journal.database.compact(self._journal.last)
        if self._place is None:
            return
        for base in {"", self._journal.lineage().base}:
            path = self._home.base_path(base) if base else self._home.snapshot_path(0)
            if path.exists():
                self._place.put(base_name(self._journal.id, base), path)
        share_snapshot(self._home, self._journal, self._place)


def _nothing() -> None:
    pass


# -- the layout of a place ---------------------------------------------------------------------------


def base_name(journal: str, base: str) -> str:
    """Return the place's name of a base model."""
    return f"{journal}/bases/{base or FIRST}"


def fetch_base(home: Home, place: Place, journal: str, base: str) -> None:
    """Copy a base model from a place to a home."""
    path = home.base_path(base) if base else home.snapshot_path(0)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    place.get(base_name(journal, base), path)


class PlacedSnapshot(NamedTuple):
    """A snapshot at a place: its sequence, its name, and the beginning of the checksum of its last record."""

    sequence: int
    name: str
    checksum: str

    def fits(self, checksum: bytes) -> bool:
        """Return whether its last record has a checksum: a database may have lost it and have another one now."""
        return self.checksum == checksum.hex()[:CHECKSUM_DIGITS]


def snapshots_at(place: Place, journal: str) -> list[PlacedSnapshot]:
    """Return the snapshots of a journal at a place in ascending order."""
    found = []
    for name in place.names(f"{journal}/snapshots"):
        parts = name.rpartition("/")[2].split("-")
        if len(parts) == 3 and parts[0].isdigit():
            found.append(PlacedSnapshot(int(parts[0]), name, parts[1]))
    return sorted(found)


def share_snapshot(home: Home, journal: Journal, place: Place) -> None:
    """Copy the newest snapshot of a home to a place, and remove the ones of the place that are not needed.

    A snapshot of a later record than the journal has is left alone.
    """
    for name in place.incomplete(f"{journal.id}/snapshots"):  # of a machine that ended while it copied
        place.remove(name)
    lineage, start, last = journal.lineage(), journal.start, journal.last
    kept: list[PlacedSnapshot] = []
    for one in snapshots_at(place, journal.id):
        if one.sequence > last:
            continue
        is_same = one.sequence < start or one.fits(journal.checksum(one.sequence))
        if is_same and lineage_of_manifest(place.manifest(one.name), one.name) == lineage.upto(one.sequence):
            kept.append(one)
        else:
            place.remove(one.name)
    for sequence in reversed([one for one in home.snapshots() if one > 0]):  # the first one is a base model
        path = home.snapshot_path(sequence)
        manifest = read_manifest(path)
        if lineage_of_manifest(manifest, path) != lineage.upto(sequence):
            continue
        if (not kept or kept[-1].sequence < sequence) and sequence >= start:
            checksum = journal.checksum(sequence).hex()[:CHECKSUM_DIGITS]
            name = f"{journal.id}/snapshots/{sequence:020d}-{checksum}-{str(manifest['state_hash'])[:16]}"
            place.put(name, path)
            kept.append(PlacedSnapshot(sequence, name, checksum))
        break
    for one in kept[:-KEPT]:
        place.remove(one.name)
