"""A journal in PostgreSQL, to which several servers append.

The tables are those of the SQLite file, with the same rows and checksums. The one row of `meta` is locked by each
transaction that appends. The order of the records is therefore the order of the commits, and no reader ever sees a
record before the one in front of it.
"""

import contextlib
import secrets
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, Self

from abound.errors import JournalError, JournalMoved, JournalUnavailable
from abound.store.journal.appending import End, Group, known_sequence, make_group
from abound.store.journal.checksums import digest_of
from abound.store.journal.clock import JournalClock, wall_time
from abound.store.journal.database import Database
from abound.store.journal.journal import KEY_LIFE
from abound.store.journal.postgres_reading import News, PostgresReader
from abound.store.journal.reading import CopySource
from abound.store.journal.records import MAX_REASON, Forget, Record, control_of, encode_record
from abound.store.journal.rows import (
    FORGOTTEN_DIGEST,
    ControlRow,
    Entry,
    KeyRow,
    Meta,
    Receipt,
    Row,
    SkipRow,
    encode_key,
)
from abound.store.journal.statements import (
    BEGIN_TURN,
    CHANNEL,
    END,
    END_TURN,
    FIND_KEYS,
    INSERT_KEYS,
    INSERT_RECORDS,
    KEYS,
    META,
    PAGE_RECORDS,
    SCHEMA,
)


class Appended(NamedTuple):
    """The rows that were appended, and the journal's description afterwards."""

    group: Group
    meta: Meta


class PostgresJournal(PostgresReader):
    """Append records and read them in order, together with other processes.

    Parameters
    ----------
    url : str
        Where the database is, as in `postgresql://user@host/database`. It may name several hosts, of which the one that
        can be written is used. `PostgresJournal.create` makes the tables.
    marker : path, optional
        A file of this machine that remembers the last record which was acknowledged here, to notice its loss.

    Attributes
    ----------
    id : str
        The unique identifier of this journal.
    key_life : int
        The minimum life of an idempotency key in seconds.
    """

    @classmethod
    def create(
        cls,
        url: str,
        *,
        key_life: int = KEY_LIFE,
        meta: Meta | None = None,
        rows: Iterable[Row] = (),
        source: CopySource | None = None,
    ) -> Self:
        """Create a journal in one transaction, and open it.

        By default, it is empty. `meta` is the description of another journal, `rows` its verified records, and `source`
        that journal with its other tables.
        """
        now = wall_time()
        identity = secrets.token_hex(8)
        new = Meta(identity, int(key_life), 0, digest_of(identity.encode()), now, now, timeline=secrets.token_hex(4))
        with Database(url) as database, database.using(), database.connection().transaction():
            for statement in SCHEMA:
                database.run(statement)
            described = new if meta is None else meta
            database.run("INSERT INTO meta VALUES (1, %s, %s)", described.encode())
            _fill(database, described.base, rows, source)
        return cls(url)

    @staticmethod
    def exists(url: str) -> bool:
        """Return whether a database has a journal."""
        with Database(url) as database, database.using():
            return bool(database.fetch("SELECT to_regclass('record') IS NOT NULL")[0][0])

    @contextlib.contextmanager
    def _writing(self) -> Iterator[Meta]:
        """Write in one transaction, alone among all processes."""
        with self._database.connection().transaction():
            yield self._decode_meta(self._database.fetch(f"{META} FOR UPDATE"))

    def _write_meta(self, meta: Meta) -> None:
        self._database.send("UPDATE meta SET content = %s, checksum = %s", meta.encode())

    # -- appending -----------------------------------------------------------------------------------

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Keep the turns of all other processes waiting.

        The database ends the turn of a process that does nothing for five seconds. Nothing is appended in the middle of
        another turn then, if `append` is called with `after`.
        """
        with self._ending_turn():
            with self._database.using():
                self._database.run(BEGIN_TURN, (self._number,))
            yield

    @contextlib.contextmanager
    def turn_after(self, after: int) -> Iterator[News]:
        """Take a turn, and yield what was written after a record; both take one round trip."""
        with self._ending_turn():
            yield self._news(after, BEGIN_TURN, (self._number,))

    def check_turn(self) -> None:
        """Continue a turn in which nothing is written; JournalUnavailable if the database has ended it."""
        with self._database.using():
            if not self._database.is_connected:
                raise JournalUnavailable(f"{self.name} has ended the turn")
            self._database.fetch("SELECT 1")

    @contextlib.contextmanager
    def _ending_turn(self) -> Iterator[None]:
        try:
            yield
        finally:
            with contextlib.suppress(JournalUnavailable), self._database.using():
                if self._database.is_connected:  # otherwise the turn has ended
                    self._database.run(END_TURN, (self._number,))

    @property
    def _number(self) -> int:
        """The number of the lock that a turn has."""
        return int.from_bytes(bytes.fromhex(self.id), "big", signed=True)

    def find(self, record: Record, key: str | None) -> int | None:
        """Return the sequence of the record with an idempotency key; None if the key is unknown or expired."""
        raw, digest = encode_key(key), digest_of(encode_record(record))
        if raw is None:
            return None
        with self._database.using():
            return self._find(raw, digest, _now(self._read_meta()))

    def _find(self, key: bytes, digest: bytes, now: int) -> int | None:
        return self._known(self._database.fetch(f"{KEYS} WHERE key = %s", (key,)), digest, now)

    def _known(self, rows: "Sequence[tuple[Any, ...]]", digest: bytes, now: int) -> int | None:
        return known_sequence(KeyRow(*rows[0]), digest, now - self.key_life * 1_000_000, self.name) if rows else None

    def append(
        self, entries: "Sequence[Entry | tuple[Record, str | None]]", *, after: int | None = None
    ) -> list[Receipt]:
        """Append records in one transaction; they are committed when this returns.

        Parameters
        ----------
        entries : sequence of Entry
            A pair of a record and an idempotency key or None is an entry, too.
        after : int, optional
            The last record that the caller has seen. If there is a later one, nothing is written.

        Raises
        ------
        JournalMoved
            If there are records after `after`.
        JournalUnavailable
            If the database cannot be reached. The records may have been written, so the same entries may only be sent
            again with their keys.
        """
        return self.append_group(entries, after=after).group.receipts

    def append_group(
        self,
        entries: "Sequence[Entry | tuple[Record, str | None]]",
        *,
        after: int | None = None,
        forgotten: Iterable[int] = (),
    ) -> Appended:
        """Append records as `append` does; return the rows, too. The content of forgotten records is removed."""
        given = [Entry(*entry) for entry in entries]
        keys, numbers = [encode_key(entry.key) for entry in given if entry.key is not None], list(forgotten)
        with self._database.using():
            with self._database.transaction() as pipeline:
                locked = self._database.ask(f"{META} FOR UPDATE")
                last = self._database.ask(END)  # read after the lock was given
                found = self._database.ask(FIND_KEYS, (keys,)) if keys else list
                removed = self._database.ask(f"{KEYS} WHERE sequence = ANY(%s)", (numbers,)) if numbers else list
                pipeline.sync()  # one round trip until here, and one for all that is written
                meta = self._decode_meta(locked())
                end = next((End(*row) for row in last()), End(meta.base, meta.base_checksum))
                if after is not None and end.sequence != after:
                    raise JournalMoved(f"{self.name} is at record {end.sequence}, and not at {after}")
                now, wall = _now(meta), wall_time()
                known = {row[0]: row for row in found()}
                group = make_group(
                    given,
                    end,
                    now,
                    wall,
                    lambda key, digest: self._known([known[key]] if key in known else [], digest, now),
                )
                if group.rows:
                    meta = meta._replace(clock=now, wall=max(wall, meta.wall))
                    self._insert(group)
                    self._remove_content(numbers, removed())
                    self._write_meta(meta)
                    self._database.send("SELECT pg_notify(%s, %s)", (CHANNEL, f"{self.id} {group.rows[-1].sequence}"))
            if group.rows:
                self._note(End(group.rows[-1].sequence, group.rows[-1].checksum))
        return Appended(group, meta)

    def _insert(self, group: Group) -> None:
        self._database.send(INSERT_RECORDS, _columns(group.rows))
        if group.keys:
            self._database.send(INSERT_KEYS, _columns(group.keys.values()))
        for row in group.rows:
            if row.payload is not None and control_of(row.payload) is not None:
                copy = ControlRow.of(self.id, row.sequence, row.payload)
                self._database.send("INSERT INTO control VALUES (%s, %s, %s)", copy)

    def skip(self, sequence: int, reason: str = "") -> None:
        """Mark a record as skipped, so that no replica applies it."""
        why = reason[:MAX_REASON].encode("utf-8", "replace")
        with self._database.using(), self._writing() as meta:
            last = self._end(meta).sequence
            found = self._database.fetch("SELECT checksum FROM record WHERE sequence = %s", (sequence,))
            if not found:
                kept = f"records {meta.base + 1} to {last} are kept" if last > meta.base else "no record is kept"
                raise JournalError(f"record {sequence} cannot be skipped: {kept}")
            if self._database.fetch("SELECT 1 FROM skip WHERE sequence = %s", (sequence,)):
                raise JournalError(f"record {sequence} is already skipped")
            row = SkipRow(sequence, wall_time(), found[0][0], why, b"").with_checksum(self.id)
            self._database.run("INSERT INTO skip VALUES (%s, %s, %s, %s, %s)", row)

    # -- what several machines agree on --------------------------------------------------------------

    def hold(self, name: str, holder: str, seconds: float) -> bool:
        """Take a lease, or extend it; return whether this succeeded.

        Parameters
        ----------
        name : str
            What is leased.
        holder : str
            Who wants it. Nobody else gets it before it expires or is released.
        seconds : float
            How long it lasts from now on, by the clock of the database.
        """
        take = (
            "INSERT INTO lease VALUES (%s, %s, clock_timestamp() + make_interval(secs => %s)) ON CONFLICT (name)"
            " DO UPDATE SET holder = excluded.holder, until = excluded.until"
            " WHERE lease.holder = excluded.holder OR lease.until <= clock_timestamp()"
        )
        with self._database.using():
            return self._database.run(take, (name, holder, seconds)) == 1

    def release(self, name: str, holder: str) -> None:
        """End a lease early; nothing happens if somebody else has it."""
        with self._database.using():
            self._database.run("DELETE FROM lease WHERE name = %s AND holder = %s", (name, holder))

    def note_base(self, name: str, state_hash: str) -> None:
        """Remember the state hash of a model that records are based on; a second time, it must be the same.

        Parameters
        ----------
        name : str
            That of a refit; "" is the model before the first record.
        state_hash : str
        """
        with self._database.using():
            self._database.run("INSERT INTO base VALUES (%s, %s) ON CONFLICT (name) DO NOTHING", (name, state_hash))
            known = self.base_hash(name)
        if known != state_hash:
            what = f"model {name!r}" if name else "first model"
            raise JournalError(f"the {what} of {self.name} has the state hash {known}, and not {state_hash}")

    def base_hash(self, name: str) -> str | None:
        """Return the state hash of a model that was noted; None if it was not."""
        with self._database.using():
            found = self._database.fetch("SELECT state_hash FROM base WHERE name = %s", (name,))
        return str(found[0][0]) if found else None

    # -- removing ------------------------------------------------------------------------------------

    def compact(self, upto: int) -> int:
        """Remove expired keys of the records up to a sequence; return how many. The records stay, see `retain`."""
        with self._database.using(), self._writing() as meta:
            now = _now(meta)
            limit = (now - self.key_life * 1_000_000, upto)
            delete = "DELETE FROM key WHERE time < %s AND sequence <= %s RETURNING sequence"
            removed = self._database.fetch(delete, limit)
            keys_base = max([meta.keys_base, *(sequence for (sequence,) in removed)])
            self._write_meta(meta._replace(clock=now, wall=max(wall_time(), meta.wall), keys_base=keys_base))
        return len(removed)

    def retain(self, after: int) -> int:
        """Remove the records up to a sequence for ever; return how many were removed."""
        with self._database.using(), self._writing() as meta:
            found = self._database.fetch("SELECT checksum FROM record WHERE sequence = %s", (after,))
            if not found:
                return 0
            removed = self._database.run("DELETE FROM record WHERE sequence <= %s", (after,))
            self._write_meta(meta._replace(base=after, base_checksum=found[0][0], archive_base=after))
        return removed

    def forget(self, entry: Entry, *, after: int | None = None) -> Receipt:
        """Write a `Forget` record and remove the content of its records, in one transaction; see `append`."""
        if not isinstance(entry.record, Forget):
            raise TypeError(f"a Forget record is needed, got {entry.record!r}")
        return self.append_group([entry], after=after, forgotten=entry.record.records).group.receipts[0]

    def _remove_content(self, records: Sequence[int], keys: "Iterable[tuple[Any, ...]]") -> None:
        """Remove the content of records, and the digests of their keys."""
        if not records:
            return
        remove = "UPDATE record SET key = NULL, origin = NULL, payload = NULL, salt = NULL WHERE sequence = ANY(%s)"
        self._database.send(remove, (list(records),))
        for key in map(KeyRow._make, keys):
            erased = KeyRow.of(key.key, key.sequence, key.time, FORGOTTEN_DIGEST)
            self._database.send(
                "UPDATE key SET digest = %s, checksum = %s WHERE key = %s", (erased.digest, erased.checksum, key.key)
            )

    def erase(self) -> None:
        """Write the tables again without forgotten content. The database's own backups and logs may still have it."""
        with self._database.using():
            [(limit,)] = self._database.fetch("SHOW statement_timeout")
            self._database.run("SET statement_timeout = 0")  # many records take longer
            for table in ("record", "key"):
                self._database.run(f"VACUUM FULL {table}")
            self._database.run("SELECT set_config('statement_timeout', %s, false)", (limit,))
            with self._writing() as meta:
                self._write_meta(meta._replace(erased=self._end(meta).sequence))

    def start_timeline(self) -> None:
        """Begin a new timeline, after which clients do not rely on earlier sequences."""
        with self._database.using(), self._writing() as meta:
            self.timeline = secrets.token_hex(4)
            self._write_meta(meta._replace(timeline=self.timeline))


def _fill(database: Database, base: int, rows: Iterable[Row], source: CopySource | None) -> None:
    """Write the rows of another journal after its base to empty tables, and its other tables."""
    last, rows = base, iter(rows)
    while group := list(islice(rows, PAGE_RECORDS)):
        database.run_many("INSERT INTO record VALUES (%s, %s, %s, %s, %s, %s, %s, %s)", group)
        last = group[-1].sequence
    if source is not None:
        for table, copies in (
            ("key VALUES (%s, %s, %s, %s, %s)", source.intact_keys(last)),
            ("skip VALUES (%s, %s, %s, %s, %s)", source.intact_skips(last)),
            ("control VALUES (%s, %s, %s)", source.intact_controls(last)),
        ):
            database.run_many(f"INSERT INTO {table}", list(copies))


def _now(meta: Meta) -> int:
    """Return the time of the journal's clock; several machines share it, so it never runs backwards."""
    return JournalClock(meta.clock, meta.wall, meta.key_life).now()


def _columns(rows: "Iterable[tuple[object, ...]]") -> list[list[object]]:
    return [list(column) for column in zip(*rows, strict=True)]
