"""What another program reports about its annotations: each is taught once, and taken back when it changes.

A delivery is first written to a directory of the home, then settled, and then removed, so that nothing is lost if the
process ends in between. Which annotations are taught is read from the journal: the key of each record names the
annotation and its version. Keys stay in the records when they have expired as idempotency keys.
"""

import contextlib
import json
import secrets
import time
from pathlib import Path
from typing import Any, NamedTuple

from abound.errors import JournalBusy, JournalUnavailable, RefusedRecord
from abound.store.directory import sync_directory, write_file
from abound.store.journal import Journal
from abound.store.journal.records import Learn, describe

DELIVERIES = "deliveries"
SOURCE = "label studio"  # of the records
PREFIX = "label-studio"  # of their keys
DELETED = 1 << 62  # the version of a deleted annotation, after all others
MAX_WAITING = 10_000  # deliveries of a home


class Annotation(NamedTuple):
    """An annotation of a project; a project is named by its number and the second in which it was made."""

    project: str
    number: int


class Change(NamedTuple):
    """An annotation at a version: what it teaches, None if nothing.

    `version` is the time of the change in microseconds since 1970.
    """

    annotation: Annotation
    version: int
    record: Learn | None

    @property
    def key(self) -> str:
        """The key of the record."""
        return f"{PREFIX}/{self.annotation.project}/{self.annotation.number}/{self.version}"


class Delivery(NamedTuple):
    """Changes that were reported together; `may_undo_all` is whether the sender may undo the records of others."""

    changes: tuple[Change, ...]
    who: str | None
    may_undo_all: bool

    def encode(self) -> bytes:
        """Return this as JSON."""
        changes = [
            (*one.annotation, one.version, None if one.record is None else describe(one.record)) for one in self.changes
        ]
        return json.dumps([changes, self.who, self.may_undo_all]).encode()

    @classmethod
    def decode(cls, raw: bytes) -> "Delivery":
        """Return what `encode` wrote; ValueError for other bytes."""
        try:
            changes, who, may_undo_all = json.loads(raw)
            return cls(tuple(_change(*one) for one in changes), who, may_undo_all)
        except (TypeError, AttributeError) as error:
            raise ValueError(f"it cannot be read: {error}") from None


def _change(project: str, number: int, version: int, content: dict[str, Any] | None) -> Change:
    given = {} if content is None else {name: value for name, value in content.items() if name != "kind"}
    return Change(Annotation(project, number), version, None if content is None else Learn(**given))


class Deliveries:
    """The deliveries of a home that are not settled, a file each.

    Parameters
    ----------
    home : path
    """

    def __init__(self, home: Path) -> None:
        self._folder = home / DELIVERIES
        self.lock_path = home / f"{DELIVERIES}.lock"

    def add(self, delivery: Delivery) -> str:
        """Write a delivery, which is on disk when this returns; return its name."""
        if len(self.names()) >= MAX_WAITING:
            raise JournalBusy(f"{MAX_WAITING:,} deliveries are waiting to be learned; try again later")
        name = f"{time.time_ns():020d}-{secrets.token_hex(4)}.json"
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            write_file(self._folder / name, delivery.encode(), 0o600)
        except OSError as error:
            raise JournalUnavailable(f"{self._folder} cannot be written: {error}") from None
        return name

    def names(self) -> list[str]:
        """Return the names of the deliveries, the oldest first."""
        try:
            return sorted(path.name for path in self._folder.iterdir() if path.suffix == ".json")
        except FileNotFoundError:
            return []

    def read(self, name: str) -> Delivery | None:
        """Return a delivery; None if it is settled."""
        try:
            return Delivery.decode((self._folder / name).read_bytes())
        except FileNotFoundError:
            return None

    def remove(self, name: str) -> None:
        """Remove a delivery that is settled."""
        with contextlib.suppress(FileNotFoundError):
            (self._folder / name).unlink()
        sync_directory(self._folder)


class _Taught(NamedTuple):
    sequence: int
    who: str | None


class TaughtAnnotations:
    """The annotations that a journal has, read from the keys of its records.

    Parameters
    ----------
    path : path
        The journal.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._last = 0
        self._versions: dict[Annotation, dict[int, _Taught]] = {}
        self._excluded: set[int] = set()

    def follow(self) -> None:
        """Read the records that were written since the last call."""
        with Journal(self._path) as journal:
            for stored in journal.read(max(self._last, journal.start)):
                self._last = stored.sequence
                parsed = _parsed(stored.key) if stored.source == SOURCE and stored.key is not None else None
                if parsed is not None and isinstance(stored.record, Learn):
                    annotation, version = parsed
                    self._versions.setdefault(annotation, {})[version] = _Taught(stored.sequence, stored.who)
            self._excluded = set(journal.lineage().excluded)

    def teaches(self, change: Change) -> bool:
        """Return whether a change says something that was not taught before."""
        known = self._versions.get(change.annotation, {})
        if change.record is None or max(known, default=-1) >= change.version:
            return False
        newest = known[max(known)].sequence if known else 0
        return newest == 0 or newest in self._excluded or not _is_same(self._record(newest), change.record)

    def _record(self, sequence: int) -> Any:
        with Journal(self._path) as journal:
            return next(journal.read(sequence - 1)).record

    def superseded(self, delivery: Delivery) -> tuple[int, ...]:
        """Return the records that must not count any more: those of versions before the last one."""
        found: set[int] = set()
        for change in delivery.changes:
            known = self._versions.get(change.annotation, {})
            limit = change.version + 1 if change.record is None else max(known, default=0)
            found.update(taught.sequence for version, taught in known.items() if version < limit)
        return tuple(sorted(found - self._excluded))

    def check(self, delivery: Delivery) -> None:
        """Raise RefusedRecord if the sender may not undo the records of an annotation."""
        for change in delivery.changes if not delivery.may_undo_all else ():
            for taught in self._versions.get(change.annotation, {}).values():
                if taught.who != delivery.who and taught.sequence not in self._excluded:
                    number = change.annotation.number
                    raise RefusedRecord(
                        f"annotation {number} was taught with another key; use that key, or one of scope admin"
                    )


def _parsed(key: str) -> tuple[Annotation, int] | None:
    """Return the annotation and the version that a key names.

    Examples
    --------
    >>> _parsed("label-studio/1.1760000000/5/1760000001000000")
    (Annotation(project='1.1760000000', number=5), 1760000001000000)
    """
    parts = key.split("/")
    if len(parts) != 4 or parts[0] != PREFIX or not parts[2].isdecimal() or not parts[3].isdecimal():
        return None
    return Annotation(parts[1], int(parts[2])), int(parts[3])


def _is_same(taught: Any, record: Learn) -> bool:
    """Return whether a written record says the same as another one; its labels are ids."""
    return (
        isinstance(taught, Learn)
        and taught.text == record.text
        and {*taught.accepted, *taught.added} == {*record.accepted, *record.added}
        and {*taught.rejected} == {*record.rejected}
    )
