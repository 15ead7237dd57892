"""Append, read and compact the records of a journal.

A commit is on disk before `append` returns (write-ahead log, synchronous=FULL); several records share one. SQLite does
not notice flipped bits, so each record has a checksum, which covers the checksum of the record before it. A record that
was changed, lost, swapped or inserted breaks the chain, and reading reports where.

A record may have an idempotency key. Until the key expires, the same key returns its first record instead of adding
another one, even if that record has been compacted away.
"""

import os
import secrets
from collections.abc import Iterable, Iterator, Sequence
from typing import Self

from abound.errors import DamagedJournal, JournalError, JournalUnavailable
from abound.store.journal.appending import End, known_sequence, make_group
from abound.store.journal.checksums import digest_of
from abound.store.journal.clock import wall_time
from abound.store.journal.file import JournalFile, shared_with
from abound.store.journal.reading import CopySource, JournalReader
from abound.store.journal.records import MAX_REASON, Forget, Record, control_of, encode_record
from abound.store.journal.rows import (
    FORGOTTEN_DIGEST,
    VERSION,
    ControlRow,
    Entry,
    KeyRow,
    Meta,
    Receipt,
    Row,
    SkipRow,
    encode_key,
)

KEY_LIFE = 7 * 24 * 3600  # seconds
SEGMENT_BYTES = 32 << 20  # of the contents of a segment of the archive
ERASE_ATTEMPTS = 3  # to truncate the write-ahead log, which waits for readers


class Journal(JournalReader):
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

    is_shared = False  # whether other machines append, too

    def __init__(self, path: str | os.PathLike[str], *, write: bool = False, verify: bool = True) -> None:
        if not os.path.isfile(path):
            raise JournalError(f"{path} is not a journal: there is no such file")
        shared = shared_with(path)
        if write and shared is not None and not self.is_shared:
            raise JournalError(
                f"{path} is a copy of the journal in {shared}; only `abound serve --journal` writes to it"
            )
        super().__init__(path, write=write)
        try:
            with self._translate_errors():
                self._read_state()
            if write and verify:
                for problem in self.damage(structure=False, archived=False):
                    raise DamagedJournal(problem)
            if write:
                with self._translate_errors():
                    if self._version != VERSION:
                        self._upgrade()
                    self._erase()
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

    @classmethod
    def write_copy(cls, path: str | os.PathLike[str], meta: Meta, rows: Iterable[Row], source: CopySource) -> int:
        """Write a new journal of rows that were verified, with the other tables of a source; return the last record."""
        journal = cls.__new__(cls)
        JournalFile.__init__(journal, path, write=True)
        with journal:
            journal.make(meta.key_life, meta)
            return journal.copy_rows(rows, source)

    def copy_rows(self, rows: Iterable[Row], source: CopySource) -> int:
        """Write rows that were verified to an empty journal, with the other tables of a source."""
        with self._translate_errors(), self._writing():
            last = self._read_meta().base
            for row in rows:
                self._insert([row], {})
                last = row.sequence
            written = {number for (number,) in self._connection.execute("SELECT sequence FROM control")}
            for table, copies in (
                ("key", source.intact_keys(last)),
                ("skip", source.intact_skips(last)),
                ("control", (row for row in source.intact_controls(last) if row.sequence not in written)),
            ):
                for copy in copies:
                    marks = ", ".join("?" * len(copy))
                    self._connection.execute(f"INSERT INTO {table} VALUES ({marks})", copy)  # noqa: S608
        self._commit_marker.write(self.id, last)
        return last

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
        return known_sequence(KeyRow(*row), digest, now - self.key_life * 1_000_000, self.path)

    def append(self, entries: "Sequence[Entry | tuple[Record, str | None]]") -> list[Receipt]:
        """Append records in one commit; they are on disk when this returns.

        Parameters
        ----------
        entries : sequence of Entry
            A pair of a record and an idempotency key or None is an entry, too. If one of them cannot be written, none
            is.

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
        return self._append([Entry(*entry) for entry in entries])

    def _append(self, entries: Sequence[Entry], forgotten: Iterable[int] = ()) -> list[Receipt]:
        self._check_writes()
        with self._translate_errors():
            now, wall = self._clock.now(), wall_time()
            end = End(self._last, self._last_checksum)
            rows, keys, receipts = make_group(entries, end, now, wall, lambda key, digest: self._find(key, digest, now))
            if rows:
                with self._writing():
                    self._insert(rows, keys)
                    self._remove_content(forgotten)
                    self._write_meta(self._read_meta()._replace(clock=now, wall=wall))
                self._last, self._last_time, self._last_checksum = rows[-1].sequence, wall, rows[-1].checksum
                self._commit_marker.write(self.id, self._last)
        return receipts

    def _check_writes(self) -> None:
        if not self.writes:
            raise JournalError(f"{self.path} was opened for reading; open it with write=True")

    def _insert(self, rows: list[Row], keys: dict[bytes, KeyRow]) -> None:
        self._connection.executemany("INSERT INTO record VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
        self._connection.executemany("INSERT OR REPLACE INTO key VALUES (?, ?, ?, ?, ?)", keys.values())
        for row in rows:
            if row.payload is not None and control_of(row.payload) is not None:
                control = ControlRow.of(self.id, row.sequence, row.payload)
                self._connection.execute("INSERT INTO control VALUES (?, ?, ?)", control)

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

    def copy_skips(self, rows: Iterable[SkipRow]) -> None:
        """Write skips that were verified."""
        with self._translate_errors(), self._writing():
            self._connection.executemany("INSERT INTO skip VALUES (?, ?, ?, ?, ?)", list(rows))

    def pull(self) -> int:
        """Return the last record; a journal that several servers share copies new records first."""
        return self._last

    # -- compacting ----------------------------------------------------------------------------------

    def compact(self, upto: int) -> int:
        """Move the records up to a sequence to the archive, and remove expired keys; return how many were moved.

        The caller must make sure that no running process still reads these records from the file.
        """
        self._check_writes()
        if not 0 <= upto <= self._last:
            raise ValueError(f"a journal can be compacted up to its last record {self._last}, got {upto}")
        with self._translate_errors():
            meta = self._read_meta()
            self.archive.remove_after(meta.base)
            for previous, rows in self._segments(meta.base, upto):
                self.archive.write(previous, rows)
                meta = meta._replace(base=rows[-1].sequence, base_checksum=rows[-1].checksum)
            with self._writing():
                dropped = self._drop(meta)
            # Return free pages to the file system; SQLite requires this to be outside a transaction.
            self._connection.executescript("PRAGMA incremental_vacuum")  # `execute` would stop after one page
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        return dropped

    def _segments(self, base: int, upto: int) -> Iterator[tuple[bytes, list[Row]]]:
        """Yield the verified rows of the file up to a sequence in pieces, each with the checksum before it."""
        piece: list[Row] = []
        before, size = b"", 0
        while base < upto:
            previous, rows = self._page(base)
            if not rows:
                raise DamagedJournal(f"{self.path} has lost record {base + 1}")
            for row in rows:
                if row.sequence > upto:
                    break
                self._verify(row, base + 1, previous)
                assert isinstance(row, Row)
                before = before if piece else previous
                piece.append(row)
                size += len(row.payload or b"")
                base, previous = row.sequence, row.checksum
                if size > SEGMENT_BYTES:
                    yield before, piece
                    piece, size = [], 0
        if piece:
            yield before, piece

    def retain(self, after: int) -> int:
        """Remove the archived records up to a sequence for ever, in whole segments; return how many were removed."""
        self._check_writes()
        with self._translate_errors():
            meta = self._read_meta()
            removed = [one for one in self.archive.chain(meta.archive_base, meta.base) if one.last <= after]
            if removed:
                with self._writing():
                    self._write_meta(meta._replace(archive_base=removed[-1].last))
                self.archive.remove(removed)
        return sum(segment.last - segment.first + 1 for segment in removed)

    def _drop(self, meta: Meta) -> int:
        dropped = self._connection.execute("DELETE FROM record WHERE sequence <= ?", (meta.base,)).rowcount
        now = self._clock.now()
        limit = (now - self.key_life * 1_000_000,)
        (newest,) = self._connection.execute("SELECT max(sequence) FROM key WHERE time < ?", limit).fetchone()
        self._connection.execute("DELETE FROM key WHERE time < ?", limit)
        keys_base = max(meta.keys_base, newest or 0)
        self._write_meta(meta._replace(clock=now, wall=wall_time(), keys_base=keys_base))
        return dropped

    # -- forgetting ----------------------------------------------------------------------------------

    def forget(self, entry: Entry) -> Receipt:
        """Write a `Forget` record and remove the content of its records from the file, in one commit.

        `erase` then removes it from all other files. If the process ends before that, the next writer does it.
        """
        if not isinstance(entry.record, Forget):
            raise TypeError(f"a Forget record is needed, got {entry.record!r}")
        return self._append([entry], entry.record.records)[0]

    def _remove_content(self, records: Iterable[int]) -> None:
        numbers = [(number,) for number in records]
        self._connection.executemany(
            "UPDATE record SET key = NULL, origin = NULL, payload = NULL, salt = NULL WHERE sequence = ?", numbers
        )
        for (number,) in numbers:
            rows = self._connection.execute("SELECT * FROM key WHERE sequence = ?", (number,)).fetchall()
            for key in map(KeyRow._make, rows):
                erased = KeyRow.of(key.key, key.sequence, key.time, FORGOTTEN_DIGEST)
                self._connection.execute("REPLACE INTO key VALUES (?, ?, ?, ?, ?)", erased)

    def erase(self) -> None:
        """Remove forgotten content from the archive, from free pages and from the write-ahead log.

        Raises
        ------
        JournalUnavailable
            If a process reads the journal for so long that the log cannot be cleaned; call this again later.
        """
        self._check_writes()
        with self._translate_errors():
            self._erase()

    def _erase(self) -> None:
        meta = self._read_meta()
        forgets = {sequence: one for sequence, one in self.controls().items() if isinstance(one, Forget)}
        due = max(forgets, default=0)
        if due <= meta.erased:
            return
        numbers = {number for sequence, one in forgets.items() if sequence > meta.erased for number in one.records}
        self.archive.remove_unfinished()
        self.archive.remove_after(meta.base)
        for segment in self.archive.segments(meta.base):
            if any(segment.first <= number <= segment.last for number in numbers):
                self.archive.rewrite(segment, lambda row: row.forgotten() if row.sequence in numbers else row)
        self._connection.execute("VACUUM")
        for _ in range(ERASE_ATTEMPTS):
            ((busy, *_),) = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            if not busy:
                break
        else:
            raise JournalUnavailable(f"{self.path} is being read, so that its write-ahead log could not be cleaned yet")
        with self._writing():
            self._write_meta(self._read_meta()._replace(erased=due))

    def start_timeline(self) -> None:
        """Begin a new timeline, after which clients do not rely on earlier sequences."""
        self._check_writes()
        with self._translate_errors():
            with self._writing():
                self._write_meta(self._read_meta()._replace(timeline=secrets.token_hex(4)))
            self._read_state()
