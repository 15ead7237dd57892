"""Read and verify a journal in PostgreSQL, to which several servers append."""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from abound.closing import Closing
from abound.errors import CompactedAway, DamagedJournal, LostRecords
from abound.store.journal.appending import End
from abound.store.journal.commit_marker import CommitMarker
from abound.store.journal.database import Database
from abound.store.journal.reading import Lineage, check_row, control_record, lineage_of, skip_of, verified
from abound.store.journal.records import Control, Forget
from abound.store.journal.rows import ControlRow, KeyRow, Meta, Row, Skip, SkipRow, StoredRecord
from abound.store.journal.statements import CHANNEL, END, KEYS, META, PAGE, PAGE_RECORDS, SKIPS


class News(NamedTuple):
    """What was written after a record: verified rows, at most a page, with their keys.

    Attributes
    ----------
    rows : list of Row
    keys : list of KeyRow
    skips : list of SkipRow
        All that are intact.
    meta : Meta
        The journal's description.
    is_whole : bool
        Whether there are no further rows.
    """

    rows: list[Row]
    keys: list[KeyRow]
    skips: list[SkipRow]
    meta: Meta
    is_whole: bool


class PostgresReader(Closing):
    """The part of a journal in PostgreSQL that only reads; see `PostgresJournal`."""

    def __init__(self, url: str, *, marker: str | os.PathLike[str] | None = None) -> None:
        self._database = Database(url, self._check_seen)
        self.name = self._database.name
        self._marker = None if marker is None else CommitMarker(marker)
        self._seen: End | None = None  # the last record that this object knows of
        try:
            meta = self.meta
            self.id, self.key_life, self.timeline = meta.id, meta.key_life, meta.timeline
            self._check_marker()
        except BaseException:
            self.close()
            raise

    # -- the connection ------------------------------------------------------------------------------

    def _check_seen(self) -> None:
        """Refuse a database that has lost records, for example a standby that was promoted too early."""
        seen = self._seen
        if seen is None:
            return
        found = self._database.fetch("SELECT checksum FROM record WHERE sequence = %s", (seen.sequence,))
        if found == [(seen.checksum,)]:
            return
        meta = self._read_meta()
        if seen.sequence <= meta.base and (seen.sequence < meta.base or seen.checksum == meta.base_checksum):
            return
        raise LostRecords(f"{self.name} has lost record {seen.sequence} or has another one in its place")

    def _check_marker(self) -> None:
        acknowledged = 0 if self._marker is None else self._marker.read(self.id)
        last = self.last
        if acknowledged > last:
            raise DamagedJournal(
                f"{self.name} ends at record {last}, but records {last + 1} to {acknowledged} were acknowledged and "
                "are lost; remove the commit marker to accept that"
            )

    def _read_meta(self) -> Meta:
        return self._decode_meta(self._database.fetch(META))

    def _decode_meta(self, rows: "list[tuple[Any, ...]]") -> Meta:
        if len(rows) != 1:
            raise DamagedJournal(f"{self.name} has no description")
        return Meta.decode(*rows[0])

    def _end(self, meta: Meta) -> End:
        found = self._database.fetch(END)
        return End(*found[0]) if found else End(meta.base, meta.base_checksum)

    def close(self) -> None:
        """Close all connections."""
        self._database.close()
        if self._marker is not None:
            self._marker.close()

    def risks(self) -> list[str]:
        """Return how the settings of the database may lose records that were acknowledged, in sentences."""
        with self._database.using():
            [(commit, fsync, pages)] = self._database.fetch(
                "SELECT current_setting('synchronous_commit'), current_setting('fsync'),"
                " current_setting('full_page_writes')"
            )
        found = []
        if commit == "off":
            found.append("synchronous_commit is off: if it crashes, it loses the last records that were acknowledged")
        if fsync == "off":
            found.append("fsync is off: if its machine crashes, it may lose or damage any record")
        if pages == "off":
            found.append("full_page_writes is off: if its machine crashes, records may be damaged")
        return [f"{self.name}: {risk}" for risk in found]

    # -- what it has ---------------------------------------------------------------------------------

    @property
    def meta(self) -> Meta:
        """The journal's description."""
        with self._database.using():
            return self._read_meta()

    @property
    def token(self) -> str:
        """Identifies the journal and its timeline: with another token, sequences mean other records."""
        return f"{self.id}-{self.timeline}" if self.timeline else self.id

    @property
    def last(self) -> int:
        """The sequence of the last record; 0 if there was none."""
        with self._database.using():
            found = self._database.fetch(END)
            return int(found[0][0]) if found else self._read_meta().base

    def checksum(self, sequence: int) -> bytes:
        """Return the checksum of a record, or that before the first record that is kept."""
        return next(self._pages(sequence))[0]

    @property
    def start(self) -> int:
        """The sequence before the first record that can still be read."""
        return self.meta.base

    # -- reading -------------------------------------------------------------------------------------

    def read(self, after: int = 0) -> Iterator[StoredRecord]:
        """Yield the records after a sequence; each is verified by its checksum."""
        for previous, rows in self._pages(after):
            for row in rows:
                yield verified(row, after + 1, previous, self.name)
                after, previous = row.sequence, row.checksum

    def rows(self, after: int = 0) -> Iterator[Row]:
        """Yield the verified rows after a record."""
        for previous, rows in self._pages(after):
            for row in rows:
                verified(row, after + 1, previous, self.name)
                yield row
                after, previous = row.sequence, row.checksum

    def _pages(self, after: int) -> Iterator[tuple[bytes, list[Row]]]:
        """Yield the rows after a record in pages, each with the checksum before its first row."""
        while True:
            with self._database.using():
                with self._database.pipeline():
                    answer = self._ask_page(after)
                _, previous, rows = answer()
            yield previous, rows
            if rows:
                self._note(End(rows[-1].sequence, rows[-1].checksum))
            if len(rows) < PAGE_RECORDS:
                return
            after = rows[-1].sequence

    def _ask_page(self, after: int) -> "Callable[[], tuple[Meta, bytes, list[Row]]]":
        """Ask for the rows after a record; the answer has the description, the checksum before the rows, and them."""
        # The rows first: if they have just been removed, the description says so.
        found = self._database.ask(PAGE, (after, PAGE_RECORDS + 1))
        description = self._database.ask(META)

        def answer() -> tuple[Meta, bytes, list[Row]]:
            rows, meta = [Row(*row) for row in found()], self._decode_meta(description())
            if after < meta.base:
                raise CompactedAway(
                    f"records {after + 1} to {meta.base} are no longer kept; a later snapshot includes them"
                )
            if after == meta.base:
                return meta, meta.base_checksum, rows[:PAGE_RECORDS]
            if not rows or rows[0].sequence != after:
                raise DamagedJournal(f"{self.name} has lost record {after}")
            return meta, rows[0].checksum, rows[1:]

        return answer

    def news(self, after: int) -> News:
        """Return what was written after a record, in one round trip."""
        return self._news(after)

    def _news(self, after: int, first: str = "", values: Sequence[object] = ()) -> News:
        """Return what was written after a record, and after a statement that is run first."""
        with self._database.using():
            with self._database.pipeline():
                if first:
                    self._database.send(first, values)
                page = self._ask_page(after)
                keys = self._ask_keys(after, after + PAGE_RECORDS)
                skips = self._database.ask(SKIPS)
            meta, previous, rows = page()
        is_whole = len(rows) < PAGE_RECORDS
        for row in rows:
            check_row(row, after + 1, previous, self.name)  # its content is checked when the copy is read
            after, previous = row.sequence, row.checksum
        if rows:
            self._note(End(after, previous))
        intact = [row for row in map(SkipRow._make, skips()) if row.is_intact(self.id)]
        return News(rows, [row for row in map(KeyRow._make, keys()) if row.sequence <= after], intact, meta, is_whole)

    def keys(self, after: int, upto: int) -> list[KeyRow]:
        """Return the keys of the records after one up to another."""
        with self._database.using():
            return [KeyRow(*row) for row in self._ask_keys(after, upto)()]

    def _ask_keys(self, after: int, upto: int) -> "Callable[[], list[tuple[Any, ...]]]":
        return self._database.ask(f"{KEYS} WHERE sequence > %s AND sequence <= %s", (after, upto))

    def intact_keys(self, upto: int) -> Iterator[KeyRow]:
        """Yield the intact idempotency keys of the records up to a sequence."""
        yield from (row for row in self.keys(-1, upto) if row.is_intact())

    def intact_skips(self, upto: int) -> Iterator[SkipRow]:
        """Yield the intact skips of the records up to a sequence."""
        yield from (row for row in self._skip_rows() if row.is_intact(self.id) and row.sequence <= upto)

    def intact_controls(self, upto: int) -> Iterator[ControlRow]:
        """Yield the intact copies of the records about other records, up to a sequence."""
        yield from (row for row in self._control_rows() if row.is_intact(self.id) and row.sequence <= upto)

    def wait(self, after: int, seconds: float) -> bool:
        """Wait for records after a sequence; return whether there are any.

        A notification may be lost, for example by a failover; then this takes `seconds`.
        """
        if self.last > after:
            return True
        if self._database.listen(CHANNEL) and self.last > after:  # written before this process listened
            return True
        for notice in self._database.notices(seconds):
            identity, _, sequence = notice.partition(" ")
            if identity == self.id and int(sequence) > after:
                return True
        return self.last > after

    def damage(self) -> Iterator[str]:
        """Yield a message for each damage; an intact journal yields none."""
        try:
            forgotten = {number for one in self.controls().values() for number in _forgotten(one)}
            after = self.start
            for previous, rows in self._pages(after):
                known = {row.key: row for row in self.keys(after, rows[-1].sequence)} if rows else {}
                for row in rows:
                    yield from self._damage_of(row, after + 1, previous, known, forgotten)
                    after, previous = row.sequence, row.checksum
            self.skips()
            self._check_marker()
        except (DamagedJournal, CompactedAway) as error:
            yield str(error)

    def _damage_of(
        self, row: Row, expected: int, previous: bytes, known: dict[bytes, KeyRow], forgotten: set[int]
    ) -> Iterator[str]:
        try:
            verified(row, expected, previous, self.name)
        except DamagedJournal as error:
            yield str(error)
        if row.is_forgotten and row.sequence not in forgotten:
            yield f"the content of record {row.sequence} of {self.name} is lost"
        key = None if row.key is None else known.get(row.key)
        if key is not None and not key.is_intact():
            yield f"the idempotency key of record {row.sequence} of {self.name} does not match its checksum"
        if row.key is not None and key is None and self._key_is_lost(row):
            yield f"the idempotency key of record {row.sequence} of {self.name} is lost"

    def _key_is_lost(self, row: Row) -> bool:
        with self._database.using():
            if row.sequence <= self._read_meta().keys_base:
                return False
            found = self._database.fetch("SELECT sequence FROM key WHERE key = %s", (row.key,))
        return not found or found[0][0] < row.sequence  # a later record may have reused it after it expired

    # -- records that do not count -------------------------------------------------------------------

    def skips(self) -> dict[int, Skip]:
        """Return the skipped records by sequence."""
        return {row.sequence: skip_of(row, self.id, self.name) for row in self._skip_rows()}

    def _skip_rows(self) -> list[SkipRow]:
        with self._database.using():
            rows = self._database.fetch(SKIPS)
        return [SkipRow(*row) for row in rows]

    def controls(self, upto: int | None = None) -> dict[int, Control]:
        """Return the records about other records by sequence."""
        found = {row.sequence: control_record(row, self.id, self.name) for row in self._control_rows()}
        return {sequence: one for sequence, one in found.items() if upto is None or sequence <= upto}

    def _control_rows(self) -> list[ControlRow]:
        with self._database.using():
            rows = self._database.fetch("SELECT sequence, payload, checksum FROM control ORDER BY sequence")
        return [ControlRow(*row) for row in rows]

    def lineage(self, upto: int | None = None) -> Lineage:
        """Return what the state at a record, or at the end, is made of."""
        return lineage_of(self.controls(upto), self.skips())

    def _note(self, end: End) -> None:
        if self._seen is None or end.sequence > self._seen.sequence:
            self._seen = end
            if self._marker is not None:
                self._marker.write(self.id, end.sequence)


def _forgotten(record: Control) -> tuple[int, ...]:
    return record.records if isinstance(record, Forget) else ()
