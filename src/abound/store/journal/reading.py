"""Read and verify the records of a journal, in its file and its archive."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple, Protocol

from abound.errors import CompactedAway, DamagedJournal
from abound.store.journal.archive import Archive, rows_after
from abound.store.journal.clock import wall_time
from abound.store.journal.file import JournalFile
from abound.store.journal.old_rows import COLUMNS, OLD_COLUMNS, OldRow
from abound.store.journal.records import CONTROLS, Control, Forget, Forgotten, Refit, Undo, control_of, decode_record
from abound.store.journal.rows import (
    OLD_VERSION,
    TABLES_VERSION,
    ControlRow,
    KeyRow,
    Meta,
    Origin,
    Row,
    Skip,
    SkipRow,
    StoredRecord,
)

PAGE_RECORDS = 100  # records that are read in one query


class Lineage(NamedTuple):
    """What a state is made of: the base model, and the records that do not count.

    Attributes
    ----------
    base : str
        The name of the base model; "" is the model that the home was created with.
    excluded : tuple of int
        Records that were undone, forgotten or skipped, in ascending order.
    """

    base: str = ""
    excluded: tuple[int, ...] = ()

    def upto(self, sequence: int) -> "Lineage":
        """Return the lineage of a state at a sequence, which later exclusions cannot concern."""
        return self._replace(excluded=tuple(number for number in self.excluded if number <= sequence))


class CopySource(Protocol):
    """A journal whose rows are copied: its tables besides that of the records."""

    def intact_keys(self, upto: int) -> Iterator[KeyRow]:
        """Yield the intact idempotency keys of the records up to a sequence."""

    def intact_skips(self, upto: int) -> Iterator[SkipRow]:
        """Yield the intact skips of the records up to a sequence."""

    def intact_controls(self, upto: int) -> Iterator[ControlRow]:
        """Yield the intact copies of the records about other records, up to a sequence."""


class JournalReader(JournalFile):
    """The part of a journal that only reads; see `Journal`."""

    @cached_property
    def archive(self) -> Archive:
        """The records that were moved out of the file."""
        return Archive(self.path.with_name("archive"), self.id)

    @property
    def last(self) -> int:
        """The sequence of the last record; 0 if there was none."""
        if not self.writes:
            with self._translate_errors(), self._reading():
                return self._read_last(self._read_meta())[0]
        return self._last

    @property
    def last_time(self) -> int:
        """The time of the last record that was appended, or that was there when this was opened."""
        return self._last_time

    @property
    def base(self) -> int:
        """The sequence before the first record in the file; earlier ones are in the archive."""
        return self._meta().base

    @property
    def start(self) -> int:
        """The sequence before the first record that can still be read."""
        return self._meta().archive_base

    @property
    def token(self) -> str:
        """Identifies the journal and its timeline: with another token, sequences mean other records."""
        return f"{self.id}-{self.timeline}" if self.timeline else self.id

    @property
    def meta(self) -> Meta:
        """The journal's description."""
        return self._meta()

    def rows(self, after: int) -> Iterator[Row]:
        """Yield the verified rows after a record."""
        for previous, rows in self._pages(after):
            for row in rows:
                self._verify(row, after + 1, previous)
                assert isinstance(row, Row)  # not of an older version
                yield row
                after, previous = row.sequence, row.checksum

    def checksum(self, sequence: int) -> bytes:
        """Return the checksum of a record, or that before the first record that is kept."""
        return next(self._pages(sequence))[0]

    def intact_keys(self, upto: int) -> Iterator[KeyRow]:
        """Yield the intact idempotency keys of the records up to a sequence."""
        with self._translate_errors():
            rows = self._connection.execute("SELECT * FROM key ORDER BY key").fetchall()
        yield from (row for row in map(KeyRow._make, rows) if row.is_intact() and row.sequence <= upto)

    def intact_skips(self, upto: int) -> Iterator[SkipRow]:
        """Yield the intact skips of the records up to a sequence."""
        yield from (row for row in self._skip_rows() if row.is_intact(self.id) and row.sequence <= upto)

    def intact_controls(self, upto: int) -> Iterator[ControlRow]:
        """Yield the intact copies of the records about other records, up to a sequence."""
        with self._translate_errors():
            rows = self._connection.execute("SELECT * FROM control ORDER BY sequence").fetchall()
        yield from (row for row in map(ControlRow._make, rows) if row.is_intact(self.id) and row.sequence <= upto)

    def _meta(self) -> Meta:
        with self._translate_errors(), self._reading():
            return self._read_meta()

    # -- reading -------------------------------------------------------------------------------------

    def read(self, after: int = 0) -> Iterator[StoredRecord]:
        """Yield the records after a sequence; each is verified by its checksum.

        Raises
        ------
        DamagedJournal
            If a record is missing or does not match its checksum.
        CompactedAway
            If some of these records have been compacted away.
        """
        for previous, rows in self._pages(after):
            for row in rows:
                yield self._verify(row, after + 1, previous)
                after, previous = row.sequence, row.checksum

    def _pages(self, after: int) -> "Iterator[tuple[bytes, list[Row] | list[OldRow]]]":
        """Yield the rows after a record in pages, each with the checksum before its first row."""
        while True:
            meta = self._meta()
            if after < meta.archive_base:
                raise CompactedAway(
                    f"records {after + 1} to {meta.archive_base} are no longer kept; a later snapshot includes them"
                )
            if after < meta.base:
                chain = self.archive.chain(meta.archive_base, meta.base)
                for previous, archived in rows_after(self.archive, chain, after):
                    yield previous, archived
                after = meta.base
            try:
                previous, rows = self._page(after)
            except CompactedAway:  # by a writer meanwhile
                continue
            yield previous, rows
            if len(rows) < PAGE_RECORDS:
                return
            after = rows[-1].sequence

    def _page(self, after: int) -> "tuple[bytes, list[Row] | list[OldRow]]":
        """Return the checksum of a record, and the next records of the file."""
        with self._translate_errors(), self._reading():
            meta = self._read_meta()
            if after < meta.base:
                raise CompactedAway(f"records {after + 1} to {meta.base} are in the archive")
            previous = meta.base_checksum
            if after > meta.base:
                last = self._connection.execute("SELECT checksum FROM record WHERE sequence = ?", (after,)).fetchone()
                if last is None or type(last[0]) is not bytes:
                    raise DamagedJournal(f"{self.path} has lost record {after}")
                (previous,) = last
            is_old = meta.version < TABLES_VERSION
            rows = self._connection.execute(
                f"SELECT {OLD_COLUMNS if is_old else COLUMNS} FROM record"  # noqa: S608
                " WHERE sequence > ? ORDER BY sequence LIMIT ?",
                (after, PAGE_RECORDS),
            ).fetchall()
            return previous, [OldRow(*row) for row in rows] if is_old else [Row(*row) for row in rows]

    def _verify(self, row: Row | OldRow, expected: int, previous: bytes) -> StoredRecord:
        return verified(row, expected, previous, self.path)

    def damage(self, *, structure: bool = True, archived: bool = True) -> Iterator[str]:
        """Yield a message for each damage; an intact journal yields none.

        With `structure`, this includes SQLite's integrity check. Without `archived`, the archive is only checked for
        missing segments.
        """
        try:
            meta = self._meta()
            self.archive.chain(meta.archive_base, meta.base)
            start = meta.archive_base if archived else meta.base
            yield from self._damaged_records(start)
            yield from self._damaged_keys()
            yield from self._damaged_skips()
            yield from self._damaged_controls(start)
            acknowledged = self._commit_marker.read(self.id)  # before the last record, because a writer may continue
            if acknowledged > self.last:
                yield self._lost(self.last, acknowledged)
            if structure:
                with self._translate_errors():
                    (result,) = self._connection.execute("PRAGMA integrity_check(1)").fetchone()
                if result != b"ok":
                    yield f"{self.path}: {b' '.join(result.split()).decode(errors='replace')}"
        except DamagedJournal as error:
            yield str(error)

    def _damaged_records(self, after: int) -> Iterator[str]:
        forgotten = self._forgotten()
        for previous, rows in self._pages(after):
            meta = self._meta()
            for row in rows:
                try:
                    stored = self._verify(row, after + 1, previous)
                    if row.key is not None and self._key_is_lost(meta, stored, row):
                        yield f"the idempotency key of record {row.sequence} of {self.path} is lost"
                    if row.is_forgotten and row.sequence not in forgotten:
                        forgotten = self._forgotten()  # by a writer meanwhile
                        if row.sequence not in forgotten:
                            yield f"the content of record {row.sequence} of {self.path} is lost"
                except DamagedJournal as error:
                    yield str(error)
                after, previous = row.sequence, row.checksum

    def _forgotten(self) -> set[int]:
        forgets = (record for record in self.controls().values() if isinstance(record, Forget))
        return {number for record in forgets for number in record.records}

    def _key_is_lost(self, meta: Meta, stored: StoredRecord, row: Row | OldRow) -> bool:
        """Return whether the key of a record is missing although it cannot have expired."""
        if meta.version == OLD_VERSION and self._is_expired(stored.time, max(wall_time(), self._last_time)):
            return False
        if stored.sequence <= meta.keys_base:
            return False
        columns = "SELECT key, sequence, time, digest, checksum FROM key WHERE key = ?"
        with self._translate_errors():
            key_row = self._connection.execute(columns, (row.key,)).fetchone()
        if key_row is None:
            return stored.sequence > self._meta().keys_base  # a writer may have compacted meanwhile
        key = KeyRow(*key_row)
        if not key.is_intact():
            raise DamagedJournal(f"the idempotency key {row.key!r} of {self.path} does not match its checksum")
        return key.sequence < row.sequence  # a later record may have reused it after it expired

    def _is_expired(self, written: int, now: int) -> bool:
        return written + self.key_life * 1_000_000 < now

    def _damaged_skips(self) -> Iterator[str]:
        for row in self._skip_rows():
            if not row.is_intact(self.id):
                yield f"the skip of record {row.sequence} of {self.path} does not match its checksum"
                continue
            with self._translate_errors():
                record = self._connection.execute(
                    "SELECT checksum FROM record WHERE sequence = ?", (row.sequence,)
                ).fetchone()
            if record is not None and record != (row.record,):
                yield f"the skip of record {row.sequence} of {self.path} refers to another record"

    def _damaged_controls(self, start: int) -> Iterator[str]:
        try:
            controls = self.controls()
        except DamagedJournal as error:
            yield str(error)
            return
        for _, rows in self._pages(start):
            for row in rows:
                known = controls.pop(row.sequence, None)
                try:
                    record = control_of(row.payload) if type(row.payload) is bytes else None
                except ValueError:
                    continue  # reported with the record
                if record != known:
                    yield f"the copy of record {row.sequence} of {self.path}, about other records, is lost or wrong"
        if any(start < sequence <= self.last for sequence in controls):
            yield f"{self.path} has copies of records that do not exist"

    def _damaged_keys(self) -> Iterator[str]:
        before = b""
        while True:
            with self._translate_errors():
                rows = self._connection.execute(
                    "SELECT key, sequence, time, digest, checksum FROM key WHERE key > ? ORDER BY key LIMIT ?",
                    (before, PAGE_RECORDS),
                ).fetchall()
            for row in map(KeyRow._make, rows):
                if not row.is_intact():
                    yield f"the idempotency key {row.key!r} of {self.path} does not match its checksum"
                if type(row.key) is not bytes or row.key <= before:
                    yield f"the idempotency keys of {self.path} are out of order"
                    return
                before = row.key
            if len(rows) < PAGE_RECORDS:
                return

    # -- records that do not count -----------------------------------------------------------------------------------

    def skips(self) -> dict[int, Skip]:
        """Return the skipped records by sequence.

        Raises
        ------
        DamagedJournal
            If a skip does not match its checksum.
        """
        return {row.sequence: skip_of(row, self.id, self.path) for row in self._skip_rows()}

    def _skip_rows(self) -> list[SkipRow]:
        with self._translate_errors(), self._reading():
            if self._read_meta().version == OLD_VERSION:
                return []
            columns = "SELECT sequence, time, record, reason, checksum FROM skip ORDER BY sequence"
            return [SkipRow(*row) for row in self._connection.execute(columns).fetchall()]

    def controls(self, upto: int | None = None) -> dict[int, Control]:
        """Return the records about other records by sequence, also the archived ones.

        Raises
        ------
        DamagedJournal
            If one does not match its checksum.
        """
        with self._translate_errors(), self._reading():
            if self._read_meta().version < TABLES_VERSION:
                return {}
            rows = self._connection.execute("SELECT sequence, payload, checksum FROM control ORDER BY sequence")
            copies = map(ControlRow._make, rows.fetchall())
            controls = {row.sequence: control_record(row, self.id, self.path) for row in copies}
        return {sequence: one for sequence, one in controls.items() if upto is None or sequence <= upto}

    def lineage(self, upto: int | None = None) -> Lineage:
        """Return what the state at a record, or at the end, is made of."""
        return lineage_of(self.controls(upto), self.skips())


def verified(row: Row | OldRow, expected: int, previous: bytes, journal: object) -> StoredRecord:
    """Return the record of a row; DamagedJournal if it is not the expected one, or does not match its checksum.

    Parameters
    ----------
    row : Row or OldRow
    expected : int
        The sequence that it must have.
    previous : bytes
        The checksum of the row before it.
    journal : object
        What messages call the journal.
    """
    check_row(row, expected, previous, journal)
    try:
        record = Forgotten() if row.payload is None else decode_record(row.payload)
        key = None if row.key is None else row.key.decode("utf-8", "surrogatepass")
        origin = Origin.decode(row.origin)
    except ValueError as error:
        raise DamagedJournal(f"record {row.sequence} of {journal}: {error}") from None
    return StoredRecord(row.sequence, row.time, key, record, *origin)


def check_row(row: Row | OldRow, expected: int, previous: bytes, journal: object) -> None:
    """Raise DamagedJournal if a row is not the expected one, or does not match its checksum; see `verified`."""
    if row.sequence != expected:
        raise DamagedJournal(f"record {expected} of {journal} is missing; the next one is {row.sequence}")
    if not row.is_intact(previous):
        raise DamagedJournal(f"record {row.sequence} of {journal} does not match its checksum")


def control_record(row: ControlRow, identity: str, journal: object) -> Control:
    """Return the record of a copy; DamagedJournal if it does not match its checksum, or is not of its kind."""
    if not row.is_intact(identity):
        raise DamagedJournal(f"the copy of record {row.sequence} of {journal} does not match its checksum")
    record = decode_record(row.payload)
    if not isinstance(record, CONTROLS):
        raise DamagedJournal(f"the copy of record {row.sequence} of {journal} is not of its kind")
    return record


def skip_of(row: SkipRow, identity: str, journal: object) -> Skip:
    """Return a skip; DamagedJournal if it does not match its checksum."""
    if not row.is_intact(identity):
        raise DamagedJournal(f"the skip of record {row.sequence} of {journal} does not match its checksum")
    return Skip(row.sequence, row.time, row.reason.decode(errors="replace"))


def lineage_of(controls: Mapping[int, Control], skipped: Iterable[int] = ()) -> Lineage:
    """Return the base model and the records that do not count.

    Examples
    --------
    >>> lineage_of({3: Undo([1, 2]), 4: Refit("b"), 6: Undo([3]), 7: Undo([4])})
    Lineage(base='', excluded=(3, 4))
    """
    undone: set[int] = set()
    forgotten: set[int] = set()
    base: str | None = None
    for sequence in sorted(controls, reverse=True):
        record = controls[sequence]
        if sequence in undone:
            continue
        if isinstance(record, Undo):
            undone.update(record.records)
        elif isinstance(record, Forget):
            forgotten.update(record.records)
        elif isinstance(record, Refit) and base is None:
            base = record.base
    return Lineage(base or "", tuple(sorted({*undone, *forgotten, *skipped})))
