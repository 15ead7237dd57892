"""The SQLite file of a journal: opening, transactions, and telling damage from trouble that may pass."""

import contextlib
import os
import secrets
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from abound.closing import Closing
from abound.errors import DamagedJournal, JournalError, JournalInUse, JournalUnavailable
from abound.store.journal.clock import JournalClock, wall_time
from abound.store.journal.commit_marker import CommitMarker
from abound.store.journal.records import MAX_BYTES
from abound.store.journal.rows import OLD_VERSION, VERSION, Meta, digest_of
from abound.store.locks import FileLock, make_private

# SQLITE_ERROR is what a missing table gives.
DAMAGE = (
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_FORMAT,
    sqlite3.SQLITE_ERROR,
    sqlite3.SQLITE_TOOBIG,
)
UNAVAILABLE = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL)
MAX_ROW_BYTES = 2 * MAX_BYTES  # of a record with all that belongs to it; a longer one is none of ours
SETTINGS = (
    "synchronous=FULL",
    "fullfsync=1",
    "checkpoint_fullfsync=1",
    "trusted_schema=0",
    f"journal_size_limit={1 << 22}",  # what the write-ahead log keeps of its room once it was longer
)
OLD_SCHEMA = (
    "CREATE TABLE meta (one INTEGER PRIMARY KEY CHECK (one = 1), content BLOB NOT NULL, checksum BLOB NOT NULL)",
    "CREATE TABLE record (sequence INTEGER PRIMARY KEY, time INTEGER NOT NULL, key BLOB, payload BLOB NOT NULL,"
    " checksum BLOB NOT NULL)",
    "CREATE TABLE key (key BLOB PRIMARY KEY, sequence INTEGER NOT NULL, time INTEGER NOT NULL, digest BLOB NOT NULL,"
    " checksum BLOB NOT NULL) WITHOUT ROWID",
)
SKIPS = (
    "CREATE TABLE skip (sequence INTEGER PRIMARY KEY, time INTEGER NOT NULL, record BLOB NOT NULL,"
    " reason BLOB NOT NULL, checksum BLOB NOT NULL)"
)
SCHEMA = (*OLD_SCHEMA, SKIPS)


class JournalFile(Closing):
    """Open a journal's file, to read, or as its one writer."""

    def __init__(self, path: str | os.PathLike[str], *, write: bool) -> None:
        self.path = Path(path)
        self.writes = write
        self._process = os.getpid()
        self._lock = threading.RLock()
        self._commit_marker = CommitMarker(self.path.with_name(self.path.name + ".head"))
        self._file_lock: FileLock | None = None
        if write:
            if not all(os.access(path, os.W_OK) for path in (self.path.parent, self.path) if path.exists()):
                raise JournalUnavailable(f"{self.path} cannot be written: it may only be read")
            try:
                self._file_lock = FileLock(self.path.with_name(self.path.name + ".lock"))
            except BlockingIOError:
                raise JournalInUse(f"{self.path} has a writer already; a journal has one at a time") from None
            except OSError as error:
                raise JournalUnavailable(f"{self.path} cannot be written: {error}") from None
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        try:
            self._connection = self._connect("rwc") if write else self._connect_to_read()
        except (sqlite3.Error, OSError) as error:
            if self._file_lock is not None:
                self._file_lock.release()
            raise JournalUnavailable(f"{self.path} cannot be opened: {error}") from None

    def _connect(self, options: str, path: Path | None = None) -> sqlite3.Connection:
        if "rwc" in options:  # SQLite's other files take their mode from this one
            make_private(self.path)
        uri = f"{(path or self.path).resolve().as_uri()}?mode={options}"
        connection = sqlite3.connect(uri, uri=True, timeout=10, isolation_level=None, check_same_thread=False)
        connection.text_factory = bytes  # a flipped bit may make a text of bytes: it is compared, not decoded
        return connection

    def _connect_to_read(self) -> sqlite3.Connection:
        """Open the file without a change to it, also where nothing can be written beside it.

        A reader must not tidy up, as SQLite does when the last connection is closed: what is damaged stays as it is. It
        still needs room for an index of the write-ahead log. Where there is none, because the disk is full or may not
        be written to, a journal that was closed is read as it lies there; one with a log is copied elsewhere first.
        """
        connection = self._connect("ro")
        try:
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        except UnicodeDecodeError:
            return connection  # damaged: whoever reads will hear of it
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", -1) & 0xFF not in UNAVAILABLE:
                return connection
            connection.close()
        else:
            return connection
        log = self.path.with_name(self.path.name + "-wal")
        if not log.is_file() or not log.stat().st_size:
            return self._connect("ro&immutable=1")
        self._copy = tempfile.TemporaryDirectory(prefix="abound-journal-", ignore_cleanup_errors=True)
        for file in (self.path, log):
            shutil.copyfile(file, Path(self._copy.name) / file.name)
        return self._connect("rw", Path(self._copy.name) / self.path.name)

    @staticmethod
    def was_made(path: Path) -> bool:
        """Tell whether there is a journal, and not only a file of one whose making was cut short."""
        if not path.is_file() or not path.stat().st_size:
            return False
        try:
            with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
                return bool(connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0])
        except (sqlite3.Error, UnicodeDecodeError):
            return True  # damaged: whoever opens it will hear of it

    def make(self, key_life: int) -> None:
        """Make an empty journal of an empty file, and take it up."""
        if self._commit_marker.path.exists():
            raise JournalError(f"{self._commit_marker.path} tells of a journal that was here; remove it to begin anew")
        with self._translate_errors():
            identity, now = secrets.token_hex(8), wall_time()
            self._make_tables(Meta(identity, key_life, 0, digest_of(identity.encode()), now, now))
            self._read_state()

    def _make_tables(self, meta: Meta) -> None:
        if self._connection.execute("SELECT count(*) FROM sqlite_schema").fetchone() != (0,):
            raise JournalError(f"{self.path} is not empty; a new journal needs a new file")
        for pragma in ("auto_vacuum=INCREMENTAL", "journal_mode=WAL", "synchronous=FULL", "fullfsync=1"):
            self._connection.execute(f"PRAGMA {pragma}").fetchall()
        with self._writing():
            for statement in SCHEMA:
                self._connection.execute(statement)
            self._connection.execute("INSERT INTO meta VALUES (1, ?, ?)", meta.encode())

    def _read_state(self) -> None:
        """Read how far the journal has come."""
        for pragma in SETTINGS:
            self._connection.execute(f"PRAGMA {pragma}").fetchall()
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_ROW_BYTES)
        with self._reading():
            self._check_schema()
            meta = self._read_meta()
            self.id, self.key_life = meta.id, meta.key_life
            self._last, self._last_time, self._last_checksum = self._read_last(meta)
            if meta.version == OLD_VERSION:  # its keys have the times of their records
                (newest,) = self._connection.execute("SELECT max(time) FROM key").fetchone()
                counted = max(self._last_time, newest if type(newest) is int else 0)
                meta = meta._replace(clock=counted, wall=counted)
            self._clock = JournalClock(meta.clock, meta.wall, meta.key_life)
        acknowledged = self._commit_marker.read(self.id)
        if self.writes and acknowledged > self._last:  # to a reader, it may be the writer that has gone on
            raise DamagedJournal(self._lost(self._last, acknowledged))

    def _check_schema(self) -> None:
        """Refuse a file with other tables than ours: a view or a trigger would be somebody else's program."""
        found = self._connection.execute("SELECT sql FROM sqlite_schema LIMIT ?", (len(SCHEMA) + 1,)).fetchall()
        for table in ("meta", "record", "key"):
            if not any(sql and sql.split(b"(")[0].split() == [b"CREATE", b"TABLE", table.encode()] for (sql,) in found):
                raise DamagedJournal(f"{self.path} is damaged: no such table: {table}")
        if sorted(found) not in [sorted((sql.encode(),) for sql in schema) for schema in (SCHEMA, OLD_SCHEMA)]:
            raise DamagedJournal(f"{self.path} is damaged: its tables are not those of a journal")

    def _lost(self, last: int, acknowledged: int) -> str:
        return (
            f"{self.path} ends at record {last}, but records {last + 1} to {acknowledged} were acknowledged and are "
            f"lost; removing {self._commit_marker.path.name} accepts that"
        )

    def _read_meta(self) -> Meta:
        rows = self._connection.execute("SELECT content, checksum FROM meta").fetchall()
        if len(rows) != 1:
            raise DamagedJournal(f"{self.path} does not describe itself")
        meta = Meta.decode(*rows[0])
        (skips,) = self._connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'skip'").fetchone()
        if skips != (meta.version == VERSION):
            raise DamagedJournal(f"{self.path} is damaged: its tables are not those of its version {meta.version}")
        return meta

    def _write_meta(self, meta: Meta) -> None:
        """Replace what the journal says of itself; an older journal becomes one of the present version."""
        if meta.version == OLD_VERSION:
            self._connection.execute(SKIPS)
            meta = meta._replace(keys_base=self._last)  # some keys before may have been dropped by another rule
        self._connection.execute("UPDATE meta SET content = ?, checksum = ?", meta.encode())

    def _read_last(self, meta: Meta) -> tuple[int, int, bytes]:
        """Return sequence, time and checksum of the last record."""
        last = self._connection.execute(
            "SELECT sequence, time, checksum FROM record ORDER BY sequence DESC LIMIT 1"
        ).fetchone()
        if last is None:
            return meta.base, 0, meta.base_checksum
        sequence, written, checksum = last
        if (type(sequence), type(written), type(checksum)) != (int, int, bytes) or sequence <= meta.base:
            raise DamagedJournal(f"the last record of {self.path} cannot be read")
        return sequence, written, checksum

    @contextlib.contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Hold the connection, and say in our own words what SQLite raises."""
        if os.getpid() != self._process:  # SQLite's locks do not go with a fork, and both would write
            raise JournalError(f"{self.path} was opened before this process was forked; open it anew in the child")
        with self._lock:
            try:
                yield
            except sqlite3.Error as error:
                if getattr(error, "sqlite_errorcode", -1) & 0xFF in DAMAGE:
                    raise DamagedJournal(f"{self.path} is damaged: {error}") from None
                raise JournalUnavailable(f"{self.path} cannot be used just now: {error}") from None
            except UnicodeDecodeError:  # what SQLite wanted to complain of is itself no text any more
                raise DamagedJournal(f"{self.path} is damaged: its schema cannot be read") from None

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        """See one state of the file."""
        self._connection.execute("BEGIN")
        try:
            yield
        finally:
            if self._connection.in_transaction:  # some errors have ended it already
                self._connection.execute("ROLLBACK")

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """Have all of it on the disk afterwards, or nothing."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._commit()
        except BaseException:
            if self._connection.in_transaction:
                with contextlib.suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
            raise

    def _commit(self) -> None:
        self._connection.execute("COMMIT")

    def close(self) -> None:
        """Close the file, and let another process write to it."""
        with self._lock:
            self._connection.close()
            self._commit_marker.close()
            if self._copy is not None:
                self._copy.cleanup()
            if self._file_lock is not None:
                self._file_lock.release()
