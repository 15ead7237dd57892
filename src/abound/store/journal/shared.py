"""A server's copy of a journal in PostgreSQL: an SQLite file with the same rows, which follows the database.

Everything that reads a journal, such as workers, snapshots, undo and exports, reads the copy. Only records that the
database has committed come into it, so that it can be thrown away. A file beside it, `journal.shared`, has the name of
the database. A home with such a file is only written by `SharedJournal`.
"""

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence

from abound.errors import DamagedJournal, JournalError, JournalUnavailable, LostRecords
from abound.store.directory import write_file
from abound.store.journal.file import shared_with, sharing_path
from abound.store.journal.journal import Journal
from abound.store.journal.postgres import PostgresJournal
from abound.store.journal.postgres_reading import News
from abound.store.journal.records import Control, Forget, Record, control_of
from abound.store.journal.rows import Entry, KeyRow, Meta, Receipt, Row, SkipRow


def _nothing(_: Control) -> None:
    pass


class SharedJournal(Journal):
    """Append to a database, and keep a copy of it in a file.

    If the database is away or has lost records, this opens the copy, which can be read. Methods that need the database
    raise JournalUnavailable or LostRecords then, and connect as soon as that is possible.

    Parameters
    ----------
    path : path
        The file of the copy; see `copy_database`.
    url : str
        Where the database is, see `PostgresJournal`.
    prepare : callable, optional
        Called with each record about other records, before it is copied.
    """

    is_shared = True
    synchronous = "NORMAL"  # records that a power failure removes are copied again; for the same reason, no marker

    def __init__(
        self, path: str | os.PathLike[str], url: str, *, prepare: Callable[[Control], None] = _nothing
    ) -> None:
        self._url = url
        self._prepare = prepare
        self._opened: PostgresJournal | None = None
        self._opening = threading.Lock()
        self._pulling = threading.RLock()
        super().__init__(path, write=True)
        try:
            with contextlib.suppress(JournalUnavailable, LostRecords):  # the copy can be read
                self.pull()
        except BaseException:
            self.close()
            raise

    @property
    def database(self) -> PostgresJournal:
        """The journal in the database; JournalUnavailable if that is away."""
        with self._opening:
            if self._opened is None:
                opened = PostgresJournal(self._url)
                try:
                    self._check_copy(opened)
                    self._mark(opened.name)
                except BaseException:
                    opened.close()
                    raise
                self._opened = opened
            return self._opened

    def _mark(self, name: str) -> None:
        """Note the name of the database beside the copy."""
        try:
            if shared_with(self.path) != name:
                write_file(sharing_path(self.path), name.encode(), 0o600)
        except OSError as error:
            raise JournalUnavailable(f"{sharing_path(self.path)} cannot be written: {error}") from None

    def _check_copy(self, database: PostgresJournal) -> None:
        if self.id != database.id:
            raise JournalError(
                f"{self.path} has another journal than {database.name}; use an empty database, or another --state"
            )
        meta = database.meta
        if self._last < meta.base:
            raise JournalError(
                f"{self.path} ends at record {self._last}, and {database.name} has only the records after "
                f"{meta.base}; use another --state directory, and --snapshots"
            )
        try:
            is_same = database.checksum(self._last) == self._last_checksum
        except DamagedJournal:
            is_same = False
        if not is_same:
            raise self._lost_records(database)

    def _lost_records(self, database: PostgresJournal) -> LostRecords:
        """Return the error of a database with other records than the copy."""
        last, low = database.last, max(database.start, self.start)
        high = min(last, self._last)
        while low < high:  # find the last record that both have
            middle = (low + high + 1) // 2
            low, high = (middle, high) if database.checksum(middle) == self.checksum(middle) else (low, middle - 1)
        what = f"{database.name} and {self.path} have different records after record {low}"
        if last == low:
            what = f"{database.name} ends at record {low}, and has lost the records {low + 1} to {self._last}"
        return LostRecords(
            f"{what}; save the records of this machine with `abound journal export {self.path.parent} --after {low}`, "
            "then use another --state directory"
        )

    @contextlib.contextmanager
    def _noticing_loss(self) -> Iterator[None]:
        """Compare the copy with the database again, if that has lost records."""
        try:
            yield
        except LostRecords:
            with self._opening:
                opened, self._opened = self._opened, None
            if opened is not None:
                opened.close()
            raise

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Keep all other servers from appending; the copy is then up to date."""
        with self._noticing_loss(), self.database.turn_after(self._last) as news:
            self._copy_news(news)
            yield

    def pull(self) -> int:
        """Copy new records and skips from the database; return the last record."""
        with self._pulling, self._noticing_loss():
            self._copy_news(self.database.news(self._last))
            return self._last

    def _copy_news(self, news: News) -> None:
        with self._pulling:
            while True:
                rows = [row for row in news.rows if row.sequence > self._last]  # another thread may have copied some
                if rows:
                    self._copy_rows(rows, {row.key: row for row in news.keys}, news.meta)
                if news.is_whole:
                    break
                news = self.database.news(self._last)
            if missing := self._missing(news.skips):
                self.copy_skips(missing)

    def _missing(self, skips: Sequence[SkipRow]) -> list[SkipRow]:
        known = self.skips() if skips else {}
        return [row for row in skips if row.sequence not in known and row.sequence <= self._last]

    def _copy_rows(self, rows: list[Row], keys: dict[bytes, KeyRow], description: Meta) -> None:
        last = rows[-1]
        forgotten: list[int] = []
        for row in rows:
            control = None if row.payload is None else control_of(row.payload)
            if control is not None:
                self._prepare(control)
            if isinstance(control, Forget):
                forgotten += control.records
        with self._translate_errors():
            with self._writing():
                self._insert(rows, keys)
                self._remove_content(forgotten)
                self._write_meta(self._read_meta()._replace(clock=description.clock, wall=description.wall))
            self._last, self._last_time, self._last_checksum = last.sequence, last.time, last.checksum

    def append(self, entries: "Sequence[Entry | tuple[Record, str | None]]") -> list[Receipt]:
        """Append records to the database, and copy them; JournalMoved if another server has appended meanwhile."""
        with self._pulling:
            group, description = self.database.append_group(entries, after=self._last)
            if group.rows:
                self._copy_rows(group.rows, group.keys, description)
            return group.receipts

    def forget(self, entry: Entry) -> Receipt:
        """Forget records in the database and in the copy."""
        with self._pulling:
            receipt = self.database.forget(entry, after=self._last)
            self.pull()
            return receipt

    def erase(self) -> None:
        """Remove forgotten content from all files of the copy, and from the tables of the database."""
        self.database.erase()
        self.erase_copy()

    def erase_copy(self) -> None:
        """Remove forgotten content from all files of the copy."""
        super().erase()

    def skip(self, sequence: int, reason: str = "") -> None:
        """Mark a record as skipped in the database and in the copy."""
        self.database.skip(sequence, reason)
        self.pull()

    def compact(self, upto: int) -> int:
        """Move the records up to a sequence to the archive of the copy; return how many were moved."""
        with self._durably():
            return super().compact(upto)

    def retain(self, after: int) -> int:
        """Remove the records up to a sequence for ever, from the database and from the archive of the copy."""
        self.database.retain(after)
        with self._durably():
            return super().retain(after)

    @contextlib.contextmanager
    def _durably(self) -> Iterator[None]:
        """Make commits wait for the disk: those before the removal of files must not be lost without it."""
        with self._translate_errors():
            self._connection.execute("PRAGMA synchronous=FULL")
            try:
                yield
            finally:
                self._connection.execute(f"PRAGMA synchronous={self.synchronous}")

    def wait(self, seconds: float) -> bool:
        """Wait for records or skips that the copy does not have; return whether there are any."""
        with self._noticing_loss():
            return self.database.wait(self._last, seconds) or bool(
                self._missing(list(self.database.intact_skips(self._last)))
            )

    def close(self) -> None:
        """Close the copy and the database."""
        super().close()
        if self._opened is not None:
            self._opened.close()


def copy_database(path: str | os.PathLike[str], database: PostgresJournal, after: int) -> None:
    """Write a new copy with the records of a database after one, which a snapshot includes."""
    base = database.meta._replace(base=after, base_checksum=database.checksum(after), archive_base=after)
    Journal.write_copy(path, base, database.rows(after), database)


def fill_database(url: str, journal: Journal) -> PostgresJournal:
    """Create a journal in a database with all records that a local one still has; return it."""
    start = journal.start
    base = journal.meta._replace(base=start, base_checksum=journal.checksum(start), archive_base=start)
    return PostgresJournal.create(url, meta=base, rows=journal.rows(start), source=journal)
