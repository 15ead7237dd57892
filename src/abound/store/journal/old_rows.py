"""Journals of earlier versions: their tables, their rows, and the conversion to the current version.

Version 1 has no skips. Version 2 has no texts in feedback on bands, and version 3 no texts with fields. Up to version
4, a record has no origin, its checksum covers its content directly, so that nothing can be forgotten, and compaction
removes records instead of archiving them. Version 5 has the current tables, but no vectors and opinions in records.
"""

import struct
from collections.abc import Iterator
from sqlite3 import Connection
from typing import NamedTuple

from abound.store.journal.checksums import digest_of
from abound.store.journal.rows import Row, SkipRow

META = "CREATE TABLE meta (one INTEGER PRIMARY KEY CHECK (one = 1), content BLOB NOT NULL, checksum BLOB NOT NULL)"
KEYS = (
    "CREATE TABLE key (key BLOB PRIMARY KEY, sequence INTEGER NOT NULL, time INTEGER NOT NULL, digest BLOB NOT NULL,"
    " checksum BLOB NOT NULL) WITHOUT ROWID"
)
SKIPS = (
    "CREATE TABLE skip (sequence INTEGER PRIMARY KEY, time INTEGER NOT NULL, record BLOB NOT NULL,"
    " reason BLOB NOT NULL, checksum BLOB NOT NULL)"
)
OLD_RECORDS = (
    "CREATE TABLE record (sequence INTEGER PRIMARY KEY, time INTEGER NOT NULL, key BLOB, payload BLOB NOT NULL,"
    " checksum BLOB NOT NULL)"
)
RECORDS = (
    "CREATE TABLE record (sequence INTEGER PRIMARY KEY, time INTEGER NOT NULL, key BLOB, origin BLOB, payload BLOB,"
    " salt BLOB, digest BLOB NOT NULL, checksum BLOB NOT NULL)"
)
CONTROLS = "CREATE TABLE control (sequence INTEGER PRIMARY KEY, payload BLOB NOT NULL, checksum BLOB NOT NULL)"
SCHEMA = (META, RECORDS, KEYS, SKIPS, CONTROLS)
OLD_SCHEMAS = ((META, OLD_RECORDS, KEYS), (META, OLD_RECORDS, KEYS, SKIPS))
COLUMNS = "sequence, time, key, origin, payload, salt, digest, checksum"
OLD_COLUMNS = "sequence, time, key, payload, checksum"


class OldRow(NamedTuple):
    """A record's row up to version 4, not yet validated."""

    sequence: int
    time: int
    key: bytes | None
    payload: bytes
    checksum: bytes

    @property
    def origin(self) -> None:
        """It is not known."""

    @property
    def is_forgotten(self) -> bool:
        """Nothing can be forgotten in these versions."""
        return False

    def is_intact(self, previous: bytes) -> bool:
        """Return whether the row matches its checksum, given the previous row's."""
        types = (type(previous), type(self.time), type(self.payload))
        if types != (bytes, int, bytes) or not isinstance(self.key, bytes | None):
            return False
        head = struct.pack("<qqi", self.sequence, self.time, -1 if self.key is None else len(self.key))
        return digest_of(previous, head, self.key or b"", self.payload) == self.checksum


def convert_rows(connection: Connection, journal: str, previous: bytes) -> bytes:
    """Convert the verified records of an older version, in the current transaction; return the last checksum.

    `previous` is the checksum before the first record.
    """
    connection.execute("ALTER TABLE record RENAME TO old_record")
    connection.execute(RECORDS)
    connection.execute(CONTROLS)
    names = {bytes(name) for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
    if b"skip" not in names:
        connection.execute(SKIPS)
    skips = {row[0]: SkipRow(*row) for row in connection.execute("SELECT * FROM skip")}
    for old in map(OldRow._make, _old_rows(connection)):
        row = Row.of(old.sequence, old.time, old.key, None, old.payload).with_checksum(previous)
        connection.execute("INSERT INTO record VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        skip = skips.get(old.sequence)
        if skip is not None:
            skip = skip._replace(record=row.checksum).with_checksum(journal)
            connection.execute("REPLACE INTO skip VALUES (?, ?, ?, ?, ?)", skip)
        previous = row.checksum
    connection.execute("DROP TABLE old_record")
    return previous


def _old_rows(connection: Connection) -> Iterator[tuple[object, ...]]:
    yield from connection.execute(f"SELECT {OLD_COLUMNS} FROM old_record ORDER BY sequence")  # noqa: S608
