"""Appending, reading and compacting.

A commit is on the disk before `append` returns (write-ahead log, synchronous=FULL); several records share one. SQLite
does not notice flipped bits, so each record carries a checksum of its own, which covers the one before it: a record
that was changed, lost, swapped or slipped in breaks the chain, and reading says where.

A record may come with an idempotency key. For as long as the key lives, the same key finds its first record again
instead of adding one, also after that record was compacted away.
"""

import os
from collections.abc import Iterator, Sequence
from typing import Self

from abound.errors import CompactedAway, DamagedJournal, JournalError, ReusedKey
from abound.store.journal.clock import wall_time
from abound.store.journal.file import JournalFile
from abound.store.journal.records import Record, decode_record, encode_record
from abound.store.journal.rows import (
    OLD_VERSION,
    KeyRow,
    Meta,
    Receipt,
    Row,
    Skip,
    SkipRow,
    StoredRecord,
    digest_of,
    encode_key,
    key_checksum,
)

KEY_LIFE = 7 * 24 * 3600  # seconds
PAGE_RECORDS = 100  # that are read in one go
LONGEST_REASON = 1000  # letters of why a record is skipped


class Journal(JournalFile):
    """Append records, and read them again in order.

    Parameters
    ----------
    path : path
        The SQLite file; `Journal.create` makes one. Beside it stand SQLite's own files, ``.lock`` and ``.head``.
    write : bool
        Whether records will be appended. A journal has one writer; a second one raises JournalInUse.
    verify : bool
        Whether a writer reads everything first and refuses a damaged journal.

    Attributes
    ----------
    id : str
        Tells this journal from every other.
    key_life : int
        For how many seconds an idempotency key is known at the least; see `clock.py`.

    Examples
    --------
    >>> import tempfile
    >>> from abound.store.journal.records import Learn
    >>> journal = Journal.create(tempfile.mkdtemp() + "/journal.sqlite")
    >>> journal.append([(Learn("a red apple", added=["fruit"]), "key-1")])
    [Receipt(sequence=1, repeated=False)]
    >>> journal.append([(Learn("a red apple", added=["fruit"]), "key-1")])
    [Receipt(sequence=1, repeated=True)]
    >>> [stored.record.text for stored in journal.read(after=0)]
    ['a red apple']
    >>> journal.close()
    """

    def __init__(self, path: str | os.PathLike[str], *, write: bool = False, verify: bool = True) -> None:
        if not os.path.isfile(path):
            raise JournalError(f"{path} is no journal: there is no such file")
        super().__init__(path, write=write)
        try:
            with self._translate_errors():
                self._read_state()
            if write and verify:
                for found in self.damage(structure=False):
                    raise DamagedJournal(found)
        except BaseException:
            self.close()
            raise

    @classmethod
    def create(cls, path: str | os.PathLike[str], *, key_life: int = KEY_LIFE) -> Self:
        """Make an empty journal, whose idempotency keys live for so many seconds, and open it to write."""
        journal = cls.__new__(cls)
        JournalFile.__init__(journal, path, write=True)
        try:
            journal.make(int(key_life))
        except BaseException:
            journal.close()
            raise
        return journal

    @property
    def last(self) -> int:
        """The sequence of the last record, 0 before the first."""
        if not self.writes:
            with self._translate_errors(), self._reading():
                return self._read_last(self._read_meta())[0]
        return self._last

    @property
    def base(self) -> int:
        """The sequence before the first record that is still there."""
        with self._translate_errors(), self._reading():
            return self._read_meta().base

    # -- appending -----------------------------------------------------------------------------------

    def find(self, record: Record, key: str | None) -> int | None:
        """Return the sequence of the record that a living key stands for, None if there is none.

        Raises
        ------
        ReusedKey
            If that was another record than this one.
        """
        raw, digest = encode_key(key), digest_of(encode_record(record))
        if raw is None:
            return None
        with self._translate_errors():
            return self._find(raw, digest, self._clock.now())

    def _find(self, key: bytes, digest: bytes, now: int) -> int | None:
        row = self._connection.execute(
            "SELECT key, sequence, time, digest, checksum FROM key WHERE key = ?", (key,)
        ).fetchone()
        if row is None:
            return None
        found = KeyRow(*row)
        if not found.is_intact():
            raise DamagedJournal(f"the idempotency key {key!r} of {self.path} does not match its checksum")
        if self._is_dead(found.time, now):
            return None
        if found.digest != digest:
            raise ReusedKey(
                f"the idempotency key {key.decode(errors='replace')!r} belongs to record {found.sequence}, "
                "which says something else; a new record needs a new key"
            )
        return found.sequence

    def _is_dead(self, written: int, now: int) -> bool:
        return written + self.key_life * 1_000_000 < now

    def append(self, entries: Sequence[tuple[Record, str | None]]) -> list[Receipt]:
        """Add records in one commit; they are on the disk when this returns.

        Parameters
        ----------
        entries : sequence of (record, idempotency key or None)
            If one of them cannot be written, none is.

        Returns
        -------
        list of Receipt
            One for each entry; one whose key is known was not written again.

        Raises
        ------
        RefusedRecord, ReusedKey
            If an entry can never be written.
        JournalUnavailable
            If the disk is full or fails; nothing was acknowledged, and the same may be tried again.
        """
        self._check_writes()
        with self._translate_errors():
            now, wall = self._clock.now(), wall_time()
            rows, keys, receipts = self._prepared(entries, now, wall)
            if rows:
                with self._writing():
                    self._insert(rows, keys)
                    self._write_meta(self._read_meta()._replace(clock=now, wall=wall))
                self._last, self._last_time, self._last_checksum = rows[-1].sequence, wall, rows[-1].checksum
                self._commit_marker.write(self.id, self._last)
        return receipts

    def _check_writes(self) -> None:
        if not self.writes:
            raise JournalError(f"{self.path} was opened to read; open it with write=True")

    def _prepared(
        self, entries: Sequence[tuple[Record, str | None]], now: int, wall: int
    ) -> tuple[list[Row], dict[bytes, KeyRow], list[Receipt]]:
        rows: list[Row] = []
        keys: dict[bytes, KeyRow] = {}
        receipts: list[Receipt] = []
        previous = self._last_checksum
        for record, given in entries:
            key, payload = encode_key(given), encode_record(record)
            digest = digest_of(payload)
            if key is not None:
                known = keys.get(key)
                if known is not None and known.digest != digest:
                    raise ReusedKey(f"the idempotency key {given!r} came twice, for two records")
                found = self._find(key, digest, now) if known is None else known.sequence
                if found is not None:
                    receipts.append(Receipt(found, True))
                    continue
            sequence = self._last + len(rows) + 1
            row = Row(sequence, wall, key, payload, b"").with_checksum(previous)
            rows.append(row)
            if key is not None:
                keys[key] = KeyRow(key, sequence, now, digest, key_checksum(key, sequence, now, digest))
            receipts.append(Receipt(sequence, False))
            previous = row.checksum
        return rows, keys, receipts

    def _insert(self, rows: list[Row], keys: dict[bytes, KeyRow]) -> None:
        self._connection.executemany("INSERT INTO record VALUES (?, ?, ?, ?, ?)", rows)
        self._connection.executemany("INSERT OR REPLACE INTO key VALUES (?, ?, ?, ?, ?)", keys.values())

    # -- reading -------------------------------------------------------------------------------------

    def read(self, after: int = 0) -> Iterator[StoredRecord]:
        """Yield the records that follow a sequence, each checked against its checksum.

        Raises
        ------
        DamagedJournal
            With the record that is not what was written.
        CompactedAway
            If some of these records are not kept any more.
        """
        while True:
            previous, rows = self._page(after)
            for row in rows:
                yield self._checked(row, after + 1, previous)
                after, previous = row.sequence, row.checksum
            if len(rows) < PAGE_RECORDS:
                return

    def _page(self, after: int) -> tuple[bytes, list[Row]]:
        """Return the checksum of one record and some of those that follow it."""
        with self._translate_errors(), self._reading():
            meta = self._read_meta()
            if after < meta.base:
                raise CompactedAway(
                    f"records {after + 1} to {meta.base} were compacted away; a later snapshot holds what they taught"
                )
            previous = meta.base_checksum
            if after > meta.base:
                found = self._connection.execute("SELECT checksum FROM record WHERE sequence = ?", (after,)).fetchone()
                if found is None or type(found[0]) is not bytes:
                    raise DamagedJournal(f"{self.path} does not have record {after}, which it had before")
                (previous,) = found
            rows = self._connection.execute(
                "SELECT sequence, time, key, payload, checksum FROM record"
                " WHERE sequence > ? ORDER BY sequence LIMIT ?",
                (after, PAGE_RECORDS),
            ).fetchall()
            return previous, [Row(*row) for row in rows]

    def _checked(self, row: Row, expected: int, previous: bytes) -> StoredRecord:
        if row.sequence != expected:
            raise DamagedJournal(f"record {expected} of {self.path} is missing; the next one is {row.sequence}")
        if not row.is_intact(previous):
            raise DamagedJournal(f"record {row.sequence} of {self.path} does not match its checksum")
        try:
            record = decode_record(row.payload)
            key = None if row.key is None else row.key.decode("utf-8", "surrogatepass")
        except ValueError as error:
            raise DamagedJournal(f"record {row.sequence} of {self.path}: {error}") from None
        return StoredRecord(row.sequence, row.time, key, record)

    def damage(self, *, structure: bool = True) -> Iterator[str]:
        """Yield a sentence for everything that is not as it was written; a sound journal yields none.

        With `structure`, SQLite looks for damage of its own kind too.
        """
        try:
            yield from self._damaged_records()
            yield from self._damaged_keys()
            yield from self._damaged_skips()
            acknowledged = self._commit_marker.read(self.id)  # before the last record is looked up: a writer may go on
            if acknowledged > self.last:
                yield self._lost(self.last, acknowledged)
            if structure:
                with self._translate_errors():
                    (found,) = self._connection.execute("PRAGMA integrity_check(1)").fetchone()
                if found != b"ok":
                    yield f"{self.path}: {b' '.join(found.split()).decode(errors='replace')}"
        except DamagedJournal as error:
            yield str(error)

    def _damaged_records(self) -> Iterator[str]:
        after = self.base
        while True:
            try:
                previous, rows = self._page(after)
            except CompactedAway:  # by a writer that goes on meanwhile
                after = self.base
                continue
            with self._translate_errors(), self._reading():
                meta = self._read_meta()
            for row in rows:
                try:
                    stored = self._checked(row, after + 1, previous)
                    if row.key is not None and self._key_is_lost(meta, stored, row):
                        yield f"the idempotency key of record {row.sequence} of {self.path} is lost"
                except DamagedJournal as error:
                    yield str(error)
                after, previous = row.sequence, row.checksum
            if len(rows) < PAGE_RECORDS:
                return

    def _key_is_lost(self, meta: Meta, stored: StoredRecord, row: Row) -> bool:
        """Tell whether the key of a record is neither there nor may be gone."""
        if meta.version == OLD_VERSION and self._is_dead(stored.time, max(wall_time(), self._last_time)):
            return False
        if stored.sequence <= meta.keys_base:
            return False
        columns = "SELECT key, sequence, time, digest, checksum FROM key WHERE key = ?"
        with self._translate_errors():
            found = self._connection.execute(columns, (row.key,)).fetchone()
        if found is None:
            return stored.sequence > self._keys_base()  # a writer may have compacted meanwhile
        key = KeyRow(*found)
        if not key.is_intact():
            raise DamagedJournal(f"the idempotency key {row.key!r} of {self.path} does not match its checksum")
        if key.sequence == row.sequence:
            return key.digest != digest_of(row.payload)
        return key.sequence < row.sequence  # a later record may have got it after its life

    def _keys_base(self) -> int:
        with self._translate_errors(), self._reading():
            return self._read_meta().keys_base

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
                yield f"the skip of record {row.sequence} of {self.path} means another record"

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

    # -- skipping ------------------------------------------------------------------------------------

    def skips(self) -> dict[int, Skip]:
        """Return the records that no replica may apply, by sequence.

        Raises
        ------
        DamagedJournal
            If one of them is not as it was written.
        """
        found = {}
        for row in self._skip_rows():
            if not row.is_intact(self.id):
                raise DamagedJournal(f"the skip of record {row.sequence} of {self.path} does not match its checksum")
            found[row.sequence] = Skip(row.sequence, row.time, row.reason.decode(errors="replace"))
        return found

    def _skip_rows(self) -> list[SkipRow]:
        with self._translate_errors(), self._reading():
            if self._read_meta().version == OLD_VERSION:
                return []
            columns = "SELECT sequence, time, record, reason, checksum FROM skip ORDER BY sequence"
            return [SkipRow(*row) for row in self._connection.execute(columns).fetchall()]

    def skip(self, sequence: int, reason: str = "") -> None:
        """Have no replica apply a record from now on; it is on the disk when this returns.

        Whoever calls this knows that a snapshot from before that record is there; `Home.skip` sees to it.
        """
        self._check_writes()
        base = self.base
        if not base < sequence <= self._last:
            kept = f"records {base + 1} to {self._last} are kept" if self._last > base else "no record is kept"
            raise JournalError(f"record {sequence} cannot be skipped: {kept}")
        if sequence in self.skips():
            raise JournalError(f"record {sequence} is skipped already")
        previous, rows = self._page(sequence - 1)
        self._checked(rows[0], sequence, previous)
        why = reason[:LONGEST_REASON].encode("utf-8", "replace")
        row = SkipRow(sequence, wall_time(), rows[0].checksum, why, b"").with_checksum(self.id)
        with self._translate_errors(), self._writing():
            self._write_meta(self._read_meta())
            self._connection.execute("INSERT INTO skip VALUES (?, ?, ?, ?, ?)", row)

    # -- compacting ----------------------------------------------------------------------------------

    def compact(self, upto: int) -> int:
        """Drop the records up to a sequence, and the keys whose life is over; return how many records went.

        Whoever calls this knows that no snapshot from before that sequence is needed any more.
        """
        self._check_writes()
        if not 0 <= upto <= self._last:
            raise ValueError(f"a journal can be compacted up to its last record {self._last}, got {upto}")
        with self._translate_errors():
            meta = self._read_meta()
            if upto > meta.base:
                previous, rows = self._page(upto - 1)
                self._checked(rows[0], upto, previous)  # what follows is checked by this one's checksum from now on
                meta = meta._replace(base=upto, base_checksum=rows[0].checksum)
            with self._writing():
                dropped = self._drop(meta)
            # Outside of a transaction, as SQLite wants it: pages go back to the disk.
            self._connection.executescript("PRAGMA incremental_vacuum")  # `execute` would stop after one page
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        return dropped

    def _drop(self, meta: Meta) -> int:
        dropped = self._connection.execute("DELETE FROM record WHERE sequence <= ?", (meta.base,)).rowcount
        now = self._clock.now()
        over = (now - self.key_life * 1_000_000,)
        (newest,) = self._connection.execute("SELECT max(sequence) FROM key WHERE time < ?", over).fetchone()
        self._connection.execute("DELETE FROM key WHERE time < ?", over)
        keys_base = max(meta.keys_base, newest or 0)
        self._write_meta(meta._replace(clock=now, wall=wall_time(), keys_base=keys_base))
        return dropped
