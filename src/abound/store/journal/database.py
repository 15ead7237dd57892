"""A connection to PostgreSQL that is made again after it was lost, with errors as this package has them."""

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

from abound.closing import Closing
from abound.errors import JournalError, JournalUnavailable, missing_extra

try:
    import psycopg
except ImportError:
    psycopg = None  # type: ignore[assignment]

# Of each connection, unless the URL says otherwise. A server that hangs or is cut off must not keep the others waiting.
SESSION = {
    "lock_timeout": "10s",
    "statement_timeout": "30s",
    "idle_in_transaction_session_timeout": "10s",
    "tcp_user_timeout": "10s",
    "client_min_messages": "error",
    "jit": "off",  # all statements are short
}
CONNECTION = {
    "connect_timeout": 5,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,  # ms; a database that is gone does not acknowledge, and keepalives are not sent then
}


class Database(Closing):
    """A database that has a journal.

    Parameters
    ----------
    url : str
        Where it is, as in `postgresql://user@host/database`. It may name several hosts, of which the one that can be
        written is used.
    connected : callable, optional
        Called after each connection; if it raises, the connection is not used.

    Attributes
    ----------
    name : str
        What messages call it, without a password.
    """

    def __init__(self, url: str, connected: Callable[[], None] | None = None) -> None:
        if psycopg is None:
            raise missing_extra("a journal in PostgreSQL needs psycopg", "postgres", "psycopg")
        check_url(url)
        self._url = url
        self._connected = connected
        self.name = _without_password(url)
        self._lock = threading.RLock()
        self._opened: psycopg.Connection[Any] | None = None
        self._listening: psycopg.Connection[Any] | None = None

    @contextlib.contextmanager
    def using(self) -> Iterator[None]:
        """Lock the connection, and translate the database's errors."""
        with self._lock:
            try:
                yield
            except psycopg.errors.UndefinedTable:
                raise JournalError(f"{self.name} has no journal; `abound serve --journal` creates one") from None
            except psycopg.errors.DuplicateTable:
                raise JournalError(f"{self.name} has a journal already, or tables of something else") from None
            except psycopg.errors.UndefinedColumn:
                raise JournalError(f"{self.name} has tables of something else; use an empty database") from None
            except psycopg.Error as error:
                self.disconnect()
                raise self.unavailable(error) from None

    def unavailable(self, error: Exception) -> JournalUnavailable:
        """Return the error for one of the database."""
        return JournalUnavailable(f"{self.name} is unavailable: {_one_line(error)}")

    @property
    def is_connected(self) -> bool:
        """Whether there is a connection, as far as it is known."""
        return self._opened is not None and not self._opened.closed

    def connection(self) -> "psycopg.Connection[Any]":
        """Return the connection; connect if there is none."""
        if self._opened is None or self._opened.closed:
            self._opened = self.connect()
            if self._connected is not None:
                try:
                    self._connected()
                except BaseException:
                    self.disconnect()
                    raise
        return self._opened

    def connect(self) -> "psycopg.Connection[Any]":
        """Return a new connection, which the caller closes."""
        given = psycopg.conninfo.conninfo_to_dict(self._url)
        options = {"target_session_attrs": "read-write", "application_name": "abound", **CONNECTION}
        chosen: dict[str, Any] = {name: value for name, value in options.items() if name not in given}
        connection = psycopg.connect(self._url, autocommit=True, **chosen)
        with connection.pipeline():
            for name, value in SESSION.items():
                if f"{name}=" not in str(given.get("options", "")):
                    connection.execute("SELECT set_config(%s, %s, false)", (name, value))
        return connection

    def disconnect(self) -> None:
        """Close the connection; the next use makes another one."""
        connection, self._opened = self._opened, None
        if connection is not None:
            with contextlib.suppress(psycopg.Error):
                connection.close()

    def fetch(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Run a query and return its rows."""
        return self.connection().execute(query, values).fetchall()

    def run(self, statement: str, values: Sequence[object] = ()) -> int:
        """Run a statement and return the number of rows that it concerned."""
        return self.connection().execute(statement, values).rowcount

    @contextlib.contextmanager
    def pipeline(self) -> Iterator[None]:
        """Send the statements of the block without waiting for each result; the block ends when all have been run."""
        with self.connection().pipeline():
            yield

    @contextlib.contextmanager
    def transaction(self) -> "Iterator[psycopg.Pipeline]":
        """Run the block as a transaction in a pipeline; it is committed when the block ends.

        Call `sync` of the pipeline before anything that may take time. Otherwise the database waits for more statements
        without a limit, and holds the transaction's locks.
        """
        with self.connection().pipeline() as pipeline, self.connection().transaction():
            yield pipeline

    def send(self, statement: str, values: Sequence[object] = ()) -> None:
        """Run a statement; in a pipeline, do not wait for its result."""
        self.connection().execute(statement, values)

    def ask(self, query: str, values: Sequence[object] = ()) -> Callable[[], list[tuple[Any, ...]]]:
        """Send a query in a pipeline; return a function that waits for its rows."""
        return self.connection().execute(query, values).fetchall

    def run_many(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        """Run a statement for many rows."""
        with self.connection().cursor() as cursor:
            cursor.executemany(statement, rows)

    def listen(self, channel: str) -> bool:
        """Listen to notifications from now on, in a connection of its own; return whether this is new."""
        if self._listening is not None and not self._listening.closed:
            return False
        try:
            self._listening = self.connect()
            self._listening.execute(f"LISTEN {channel}")
        except psycopg.Error as error:
            raise self.unavailable(error) from None
        return True

    def notices(self, seconds: float) -> Iterator[str]:
        """Yield the notifications of some seconds."""
        assert self._listening is not None
        try:
            for notice in self._listening.notifies(timeout=seconds):
                yield notice.payload
        except psycopg.Error as error:
            self._listening.close()
            raise self.unavailable(error) from None

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            self.disconnect()
        if self._listening is not None:
            self._listening.close()


def check_url(url: str) -> None:
    """Raise JournalError if this is not the URL of a database; the message has no password."""
    if urlsplit(url).netloc.count("@") > 1:
        raise JournalError("a password in the URL of a database must be encoded: write %40 for @")
    try:
        psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.Error as error:
        raise JournalError(f"{_without_password(url)} is not the URL of a database: {_one_line(error)}") from None


def _one_line(error: BaseException) -> str:
    r"""Return the message of an error in one line; of several hosts, that of the last one is enough.

    Examples
    --------
    >>> _one_line(OSError("connection failed:\n timeout\nMultiple connection attempts failed. All were: ..."))
    'connection failed: timeout'
    """
    message = " ".join(str(error).split())
    return message.partition(" Multiple connection attempts failed")[0] or type(error).__name__


def _without_password(url: str) -> str:
    """Return a URL as messages show it.

    Examples
    --------
    >>> _without_password("postgresql://abound:secret@db.example:5432/subjects?sslmode=require")
    'postgresql://db.example:5432/subjects'
    """
    parts = urlsplit(url)
    if parts.scheme not in ("postgresql", "postgres"):
        return "the database"  # a connection string of another form, which may have a password anywhere
    return f"postgresql://{parts.netloc.rpartition('@')[2]}{parts.path}"
