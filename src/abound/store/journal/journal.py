"""Append, read and compact the records of a journal.

A commit is on disk before `append` returns (write-ahead log, synchronous=FULL); several records share one. SQLite does
not notice flipped bits, so each record has a checksum, which covers the checksum of the record before it. A record that
was changed, lost, swapped or inserted breaks the chain, and reading reports where.

A record may have an idempotency key. Until the key expires, the same key returns its first record instead of adding
another one, even if that record has been compacted away.
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
PAGE_RECORDS = 100  # records that are read in one query
MAX_REASON = 1000  # characters of the reason of a skip


class Journal(JournalFile):
    """Append records and read them in order.

    Parameters
    ----------
    path : path
        The SQLite file; `Journal.create` creates one. SQLite's other files, ``.lock`` and ``.head`` are beside it.
    write : bool
        Whether records will be appended. A journal has one writer; a second one raises JournalInUse.
    verify : bool
        Whether a writer first reads all records and refuses a damaged journal.

    Attributes
    ----------
    id : str
        The unique identifier of this journal.
    key_life : int
        The minimum life of an idempotency key in seconds; see `clock.py`.

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
            raise JournalError(f"{path} is not a journal: there is no such file")
        super().__init__(path, write=write)
        try:
            with self._translate_errors():
                self._read_state()
            if write and verify:
                for problem in self.damage(structure=False):
                    raise DamagedJournal(problem)
        except BaseException:
            self.close()
            raise

    @classmethod
    def create(cls, path: str | os.PathLike[str], *, key_life: int = KEY_LIFE) -> Self:
        """Create an empty journal whose idempotency keys live for `key_life` seconds, and open it for writing."""
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
        """The sequence of the last record; 0 if there was none."""
        if not self.writes:
            with self._translate_errors(), self._reading():
                return self._read_last(self._read_meta())[0]
        return self._last

    @property
    def base(self) -> int:
        """The sequence before the first record that has not been compacted away."""
        with self._translate_errors(), self._reading():
            return self._read_meta().base

    # -- appending -----------------------------------------------------------------------------------

    def find(self, record: Record, key: str | None) -> int | None:
        """Return the sequence of the record with an idempotency key; None if the key is unknown or expired.

        Raises
        ------
        ReusedKey
            If the key belongs to another record.
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
        key_row = KeyRow(*row)
        if not key_row.is_intact():
            raise DamagedJournal(f"the idempotency key {key!r} of {self.path} does not match its checksum")
        if self._is_expired(key_row.time, now):
            return None
        if key_row.digest != digest:
            raise ReusedKey(
                f"the idempotency key {key.decode(errors='replace')!r} belongs to record {key_row.sequence}, "
                "which has other content; use a new key for a new record"
            )
        return key_row.sequence

    def _is_expired(self, written: int, now: int) -> bool:
        return written + self.key_life * 1_000_000 < now

    def append(self, entries: Sequence[tuple[Record, str | None]]) -> list[Receipt]:
        """Append records in one commit; they are on disk when this returns.

        Parameters
        ----------
        entries : sequence of (record, idempotency key or None)
            If one of them cannot be written, none is.

        Returns
        -------
        list of Receipt
            One per entry; an entry whose key is known is not written again.

        Raises
        ------
        RefusedRecord, ReusedKey
            If an entry can never be written.
        JournalUnavailable
            If the disk is full or fails; nothing was acknowledged, and the same entries may be retried.
        """
        self._check_writes()
        with self._translate_errors():
            now, wall = self._clock.now(), wall_time()
            rows, keys, receipts = self._prepare(entries, now, wall)
            if rows:
                with self._writing():
                    self._insert(rows, keys)
                    self._write_meta(self._read_meta()._replace(clock=now, wall=wall))
                self._last, self._last_time, self._last_checksum = rows[-1].sequence, wall, rows[-1].checksum
                self._commit_marker.write(self.id, self._last)
        return receipts

    def _check_writes(self) -> None:
        if not self.writes:
            raise JournalError(f"{self.path} was opened for reading; open it with write=True")

    def _prepare(
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
                    raise ReusedKey(f"the idempotency key {given!r} was used for two records")
                existing = self._find(key, digest, now) if known is None else known.sequence
                if existing is not None:
                    receipts.append(Receipt(existing, True))
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
        """Yield the records after a sequence; each is verified by its checksum.

        Raises
        ------
        DamagedJournal
            If a record is missing or does not match its checksum.
        CompactedAway
            If some of these records have been compacted away.
        """
        while True:
            previous, rows = self._page(after)
            for row in rows:
                yield self._verify(row, after + 1, previous)
                after, previous = row.sequence, row.checksum
            if len(rows) < PAGE_RECORDS:
                return

    def _page(self, after: int) -> tuple[bytes, list[Row]]:
        """Return the checksum of a record, and the next records after it."""
        with self._translate_errors(), self._reading():
            meta = self._read_meta()
            if after < meta.base:
                raise CompactedAway(
                    f"records {after + 1} to {meta.base} were compacted away; a later snapshot includes them"
                )
            previous = meta.base_checksum
            if after > meta.base:
                last = self._connection.execute("SELECT checksum FROM record WHERE sequence = ?", (after,)).fetchone()
                if last is None or type(last[0]) is not bytes:
                    raise DamagedJournal(f"{self.path} has lost record {after}")
                (previous,) = last
            rows = self._connection.execute(
                "SELECT sequence, time, key, payload, checksum FROM record"
                " WHERE sequence > ? ORDER BY sequence LIMIT ?",
                (after, PAGE_RECORDS),
            ).fetchall()
            return previous, [Row(*row) for row in rows]

    def _verify(self, row: Row, expected: int, previous: bytes) -> StoredRecord:
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
        """Yield a message for each damage; an intact journal yields none.

        With `structure`, this includes SQLite's integrity check.
        """
        try:
            yield from self._damaged_records()
            yield from self._damaged_keys()
            yield from self._damaged_skips()
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

    def _damaged_records(self) -> Iterator[str]:
        after = self.base
        while True:
            try:
                previous, rows = self._page(after)
            except CompactedAway:  # by a writer meanwhile
                after = self.base
                continue
            with self._translate_errors(), self._reading():
                meta = self._read_meta()
            for row in rows:
                try:
                    stored = self._verify(row, after + 1, previous)
                    if row.key is not None and self._key_is_lost(meta, stored, row):
                        yield f"the idempotency key of record {row.sequence} of {self.path} is lost"
                except DamagedJournal as error:
                    yield str(error)
                after, previous = row.sequence, row.checksum
            if len(rows) < PAGE_RECORDS:
                return

    def _key_is_lost(self, meta: Meta, stored: StoredRecord, row: Row) -> bool:
        """Return whether the key of a record is missing although it cannot have expired."""
        if meta.version == OLD_VERSION and self._is_expired(stored.time, max(wall_time(), self._last_time)):
            return False
        if stored.sequence <= meta.keys_base:
            return False
        columns = "SELECT key, sequence, time, digest, checksum FROM key WHERE key = ?"
        with self._translate_errors():
            key_row = self._connection.execute(columns, (row.key,)).fetchone()
        if key_row is None:
            return stored.sequence > self._keys_base()  # a writer may have compacted meanwhile
        key = KeyRow(*key_row)
        if not key.is_intact():
            raise DamagedJournal(f"the idempotency key {row.key!r} of {self.path} does not match its checksum")
        if key.sequence == row.sequence:
            return key.digest != digest_of(row.payload)
        return key.sequence < row.sequence  # a later record may have reused it after it expired

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
                yield f"the skip of record {row.sequence} of {self.path} refers to another record"

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
        """Return the skipped records by sequence.

        Raises
        ------
        DamagedJournal
            If a skip does not match its checksum.
        """
        skips = {}
        for row in self._skip_rows():
            if not row.is_intact(self.id):
                raise DamagedJournal(f"the skip of record {row.sequence} of {self.path} does not match its checksum")
            skips[row.sequence] = Skip(row.sequence, row.time, row.reason.decode(errors="replace"))
        return skips

    def _skip_rows(self) -> list[SkipRow]:
        with self._translate_errors(), self._reading():
            if self._read_meta().version == OLD_VERSION:
                return []
            columns = "SELECT sequence, time, record, reason, checksum FROM skip ORDER BY sequence"
            return [SkipRow(*row) for row in self._connection.execute(columns).fetchall()]

    def skip(self, sequence: int, reason: str = "") -> None:
        """Mark a record as skipped, so that no replica applies it; this is on disk when the method returns.

        The caller must make sure that there is a snapshot from before that record, as `Home.skip` does.
        """
        self._check_writes()
        base = self.base
        if not base < sequence <= self._last:
            kept = f"records {base + 1} to {self._last} are kept" if self._last > base else "no record is kept"
            raise JournalError(f"record {sequence} cannot be skipped: {kept}")
        if sequence in self.skips():
            raise JournalError(f"record {sequence} is already skipped")
        previous, rows = self._page(sequence - 1)
        self._verify(rows[0], sequence, previous)
        why = reason[:MAX_REASON].encode("utf-8", "replace")
        row = SkipRow(sequence, wall_time(), rows[0].checksum, why, b"").with_checksum(self.id)
        with self._translate_errors(), self._writing():
            self._write_meta(self._read_meta())
            self._connection.execute("INSERT INTO skip VALUES (?, ?, ?, ?, ?)", row)

    # -- compacting ----------------------------------------------------------------------------------

    def compact(self, upto: int) -> int:
        """Remove the records up to a sequence and the expired keys; return how many records were removed.

        The caller must make sure that no snapshot from before that sequence is needed.
        """
        self._check_writes()
        if not 0 <= upto <= self._last:
            raise ValueError(f"a journal can be compacted up to its last record {self._last}, got {upto}")
        with self._translate_errors():
            meta = self._read_meta()
            if upto > meta.base:
                previous, rows = self._page(upto - 1)
                self._verify(rows[0], upto, previous)  # its checksum verifies the next record from now on
                meta = meta._replace(base=upto, base_checksum=rows[0].checksum)
            with self._writing():
                dropped = self._drop(meta)
            # Return free pages to the file system; SQLite requires this to be outside a transaction.
            self._connection.executescript("PRAGMA incremental_vacuum")  # `execute` would stop after one page
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        return dropped

    def _drop(self, meta: Meta) -> int:
        dropped = self._connection.execute("DELETE FROM record WHERE sequence <= ?", (meta.base,)).rowcount
        now = self._clock.now()
        limit = (now - self.key_life * 1_000_000,)
        (newest,) = self._connection.execute("SELECT max(sequence) FROM key WHERE time < ?", limit).fetchone()
        self._connection.execute("DELETE FROM key WHERE time < ?", limit)
        keys_base = max(meta.keys_base, newest or 0)
        self._write_meta(meta._replace(clock=now, wall=wall_time(), keys_base=keys_base))
        return dropped
