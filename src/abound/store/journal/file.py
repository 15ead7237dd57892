"""The SQLite file of a journal: opening, transactions, and the distinction of damage from temporary errors."""

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
from abound.store.journal.checksums import digest_of
from abound.store.journal.clock import JournalClock, wall_time
from abound.store.journal.commit_marker import CommitMarker
from abound.store.journal.old_rows import OLD_SCHEMAS, SCHEMA, convert_rows
from abound.store.journal.records import MAX_BYTES
from abound.store.journal.rows import OLD_VERSION, TABLES_VERSION, VERSION, Meta
from abound.store.locks import FileLock, make_private

# A missing table raises SQLITE_ERROR.
DAMAGE = (
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_FORMAT,
    sqlite3.SQLITE_ERROR,
    sqlite3.SQLITE_TOOBIG,
)
UNAVAILABLE = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL)
MAX_ROW_BYTES = 2 * MAX_BYTES  # of a record with its metadata; the journal never writes a longer one
SETTINGS = (
    "fullfsync=1",
    "checkpoint_fullfsync=1",
    "trusted_schema=0",
    "secure_delete=1",  # removed content is overwritten, so that it can be forgotten
    f"journal_size_limit={1 << 22}",  # to which a longer write-ahead log is truncated
)


def sharing_path(path: str | os.PathLike[str]) -> Path:
    """Return the file beside a journal that names the database which it is a copy of."""
    return Path(path).with_suffix(".shared")


def shared_with(path: str | os.PathLike[str]) -> str | None:
    """Return the name of the database that a journal is a copy of, without a password; None if it is no copy."""
    try:
        return sharing_path(path).read_text("utf-8", "replace")
    except FileNotFoundError:
        return None


class JournalFile(Closing):
    """A journal's file, opened for reading or as its only writer."""

    synchronous = "FULL"  # when SQLite's commits are on disk: at once

    def __init__(self, path: str | os.PathLike[str], *, write: bool) -> None:
        self.path = Path(path)
        self.writes = write
        self._process = os.getpid()
        self._lock = threading.RLock()
        self._commit_marker = CommitMarker(self.path.with_name(self.path.name + ".head"))
        self._file_lock: FileLock | None = None
        if write:
            if not all(os.access(path, os.W_OK) for path in (self.path.parent, self.path) if path.exists()):
                raise JournalUnavailable(f"{self.path} cannot be written: it is read-only")
            try:
                self._file_lock = FileLock(self.path.with_name(self.path.name + ".lock"))
            except BlockingIOError:
                raise JournalInUse(f"{self.path} already has a writer; a journal has only one at a time") from None
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
        if "rwc" in options:  # SQLite's other files get the mode of this one
            make_private(self.path)
        uri = f"{(path or self.path).resolve().as_uri()}?mode={options}"
        connection = sqlite3.connect(uri, uri=True, timeout=10, isolation_level=None, check_same_thread=False)
        connection.text_factory = bytes  # a flipped bit may turn bytes into a text, which must not be decoded
        return connection

    def _connect_to_read(self) -> sqlite3.Connection:
        """Open the file without changing it, even if its directory is not writable.

        A reader must not clean up, as SQLite does when the last connection is closed, so that damage stays as it is.
        SQLite still needs space for an index of the write-ahead log. If there is none, because the disk is full or
        read-only, a journal without a log is read in place; a journal with a log is copied to a temporary directory.
        """
        connection = self._connect("ro")
        try:
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        except UnicodeDecodeError:
            return connection  # damaged: reading will report it
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
        """Return whether there is a journal, and not only the file of an interrupted creation."""
        if not path.is_file() or not path.stat().st_size:
            return False
        try:
            with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
                return bool(connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0])
        except (sqlite3.Error, UnicodeDecodeError):
            return True  # damaged: opening will report it

    def make(self, key_life: int, meta: Meta | None = None) -> None:
        """Create an empty journal in an empty file, with a new or a given description, and read its state."""
        if self._commit_marker.path.exists():
            raise JournalError(f"{self._commit_marker.path} belongs to an older journal; remove it to create a new one")
        with self._translate_errors():
            identity, now = secrets.token_hex(8), wall_time()
            first = digest_of(identity.encode())
            new = Meta(identity, key_life, 0, first, now, now, timeline=secrets.token_hex(4))
            self._make_tables(new if meta is None else meta)
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
        """Read the description and the last record of the journal."""
        for pragma in (f"synchronous={self.synchronous}", *SETTINGS):
            self._connection.execute(f"PRAGMA {pragma}").fetchall()
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_ROW_BYTES)
        with self._reading():
            self._check_schema()
            meta = self._read_meta()
            self.id, self.key_life, self.timeline = meta.id, meta.key_life, meta.timeline
            self._version = meta.version
            self._last, self._last_time, self._last_checksum = self._read_last(meta)
            if meta.version == OLD_VERSION:  # its keys have the times of their records
                (newest,) = self._connection.execute("SELECT max(time) FROM key").fetchone()
                counted = max(self._last_time, newest if type(newest) is int else 0)
                meta = meta._replace(clock=counted, wall=counted)
            self._clock = JournalClock(meta.clock, meta.wall, meta.key_life)
        acknowledged = self._commit_marker.read(self.id)
        if self.writes and acknowledged > self._last:  # for a reader, the writer may have continued meanwhile
            raise DamagedJournal(self._lost(self._last, acknowledged))

    def _check_schema(self) -> None:
        """Refuse a file with other tables: a view or a trigger could run foreign code."""
        tables = self._connection.execute("SELECT sql FROM sqlite_schema LIMIT ?", (len(SCHEMA) + 1,)).fetchall()
        for table in ("meta", "record", "key"):
            wanted = [b"CREATE", b"TABLE", table.encode()]
            if not any(sql and sql.split(b"(")[0].split() == wanted for (sql,) in tables):
                raise DamagedJournal(f"{self.path} is damaged: no such table: {table}")
        if sorted(tables) not in [sorted((sql.encode(),) for sql in schema) for schema in (SCHEMA, *OLD_SCHEMAS)]:
            raise DamagedJournal(f"{self.path} is damaged: its tables are not those of a journal")

    def _lost(self, last: int, acknowledged: int) -> str:
        return (
            f"{self.path} ends at record {last}, but records {last + 1} to {acknowledged} were acknowledged and are "
            f"lost; remove {self._commit_marker.path.name} to accept that"
        )

    def _read_meta(self) -> Meta:
        rows = self._connection.execute("SELECT content, checksum FROM meta").fetchall()
        if len(rows) != 1:
            raise DamagedJournal(f"{self.path} has no description")
        meta = Meta.decode(*rows[0])
        (n_tables,) = self._connection.execute("SELECT count(*) FROM sqlite_schema WHERE type = 'table'").fetchone()
        if n_tables != (3 if meta.version == OLD_VERSION else 4 if meta.version < TABLES_VERSION else 5):
            raise DamagedJournal(f"{self.path} is damaged: its tables are not those of its version {meta.version}")
        return meta

    def _write_meta(self, meta: Meta) -> None:
        """Replace the journal's description."""
        self._connection.execute("UPDATE meta SET content = ?, checksum = ?", meta.encode())

    def _upgrade(self) -> None:
        """Convert a journal of an earlier version, which was verified, to the current version."""
        with self._writing():
            meta = self._read_meta()
            if meta.version == OLD_VERSION:
                meta = meta._replace(keys_base=self._last)  # this version may have removed some keys before it
            if meta.version < TABLES_VERSION:
                self._last_checksum = convert_rows(self._connection, meta.id, meta.base_checksum)
                meta = meta._replace(timeline=secrets.token_hex(4))
            self._write_meta(meta._replace(clock=self._clock.now(), wall=wall_time(), version=VERSION))
        self._read_state()

    def _read_last(self, meta: Meta) -> tuple[int, int, bytes]:
        """Return the sequence, time and checksum of the last record."""
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
        """Lock the connection, and translate SQLite's errors."""
        if os.getpid() != self._process:  # a fork does not inherit SQLite's locks, and both processes would write
            raise JournalError(f"{self.path} was opened before this process was forked; open it again in the child")
        with self._lock:
            try:
                yield
            except sqlite3.Error as error:
                if getattr(error, "sqlite_errorcode", -1) & 0xFF in DAMAGE:
                    raise DamagedJournal(f"{self.path} is damaged: {error}") from None
                raise JournalUnavailable(f"{self.path} is temporarily unavailable: {error}") from None
            except UnicodeDecodeError:  # SQLite's error message contains the damaged bytes
                raise DamagedJournal(f"{self.path} is damaged: its schema cannot be read") from None

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        """Read in one transaction, which sees one state of the file."""
        self._connection.execute("BEGIN")
        try:
            yield
        finally:
            if self._connection.in_transaction:  # some errors end the transaction
                self._connection.execute("ROLLBACK")

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """Write in one transaction: all of it is on disk afterwards, or nothing."""
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
        """Close the file and release the writer's lock."""
        with self._lock:
            self._connection.close()
            self._commit_marker.close()
            if self._copy is not None:
                self._copy.cleanup()
            if self._file_lock is not None:
                self._file_lock.release()
