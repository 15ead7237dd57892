"""The rows of a journal's tables with their checksums.

The checksum of a record's row covers the checksum of the row before it, the row's number and time, and the digest of
its content. The digest is salted. If a record is forgotten, its content and the salt are removed; the digest stays, so
that the chain can still be verified, but nobody can test whether a text was the content.
"""

import json
import secrets
import struct
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from abound.errors import DamagedJournal, JournalError, RefusedRecord
from abound.store.journal.checksums import DIGEST_BYTES, digest_of
from abound.store.journal.records import Record
from abound.store.names import Name

FORMAT, VERSION = "abound journal", 6
VERSIONS = (1, 2, 3, 4, 5, VERSION)  # that can be read; see `old_rows.py`
TABLES_VERSION = 5  # the first one with the current tables and rows
OLD_VERSION = 1  # has no skips, and its keys expire by the wall clock
MAX_KEY_BYTES = 200
MAX_ORIGIN = 200  # characters of a name
SALT_BYTES = 16
FORGOTTEN_DIGEST = bytes(DIGEST_BYTES)  # of a key whose record was forgotten


class Origin(NamedTuple):
    """Who sent a record, and from where, such as "page", "api" or "command line"; None if it is not known."""

    who: str | None = None
    source: str | None = None

    def encode(self) -> bytes | None:
        """Return the bytes of an origin; None if nothing is known."""
        for name, value in self._asdict().items():
            if value is not None and (not isinstance(value, str) or not 1 <= len(value) <= MAX_ORIGIN):
                raise RefusedRecord(f"{name} must be a name of 1 to {MAX_ORIGIN} characters, got {value!r}")
        known = {name: value for name, value in self._asdict().items() if value is not None}
        return json.dumps(known, sort_keys=True).encode("ascii") if known else None

    @classmethod
    def decode(cls, raw: bytes | None) -> "Origin":
        """Decode the output of `encode`; raise ValueError for other bytes."""
        if raw is None:
            return cls()
        try:
            return cls(**json.loads(raw))
        except TypeError as error:
            raise ValueError(f"its origin cannot be read: {error}") from None


class Entry(NamedTuple):
    """A record to be written.

    Attributes
    ----------
    record : Record
    key : str or None
        Its idempotency key.
    origin : Origin
    sent : Record or None
        The record as it was sent, if it was changed before it is written; a repeated key must come with the same one.
    """

    record: Record
    key: str | None = None
    origin: Origin = Origin()
    sent: Record | None = None


class Receipt(NamedTuple):
    """The sequence of a record, and whether it had already been written under the same key.

    `new_labels` are the labels that it made, and `resolved` the labels that were given by their names, if a writer has
    applied it.
    """

    sequence: int
    repeated: bool
    new_labels: tuple[Name, ...] = ()
    resolved: Mapping[str, Name] = MappingProxyType({})

    def __repr__(self) -> str:
        return f"Receipt(sequence={self.sequence}, repeated={self.repeated})"


class StoredRecord(NamedTuple):
    """A record in the journal; `time` is in microseconds since 1970."""

    sequence: int
    time: int
    key: str | None
    record: Record
    who: str | None = None
    source: str | None = None


class Row(NamedTuple):
    """A record's row, not yet validated; `key`, `origin`, `payload` and `salt` are None if it was forgotten."""

    sequence: int
    time: int
    key: bytes | None
    origin: bytes | None
    payload: bytes | None
    salt: bytes | None
    digest: bytes
    checksum: bytes

    @classmethod
    def of(cls, sequence: int, time: int, key: bytes | None, origin: bytes | None, payload: bytes) -> "Row":
        """Return the row of a new record, without its checksum."""
        row = cls(sequence, time, key, origin, payload, secrets.token_bytes(SALT_BYTES), b"", b"")
        return row._replace(digest=row.content_digest())

    @property
    def is_forgotten(self) -> bool:
        """Whether the content was removed."""
        return self.payload is None

    def forgotten(self) -> "Row":
        """Return the row without its content."""
        return self._replace(key=None, origin=None, payload=None, salt=None)

    def content_digest(self) -> bytes:
        """Return the digest of the content."""
        parts = (self.salt, self.key, self.origin, self.payload)
        sizes = struct.pack("<4q", *(-1 if part is None else len(part) for part in parts))
        return digest_of(sizes, *(part or b"" for part in parts))

    def expected(self, previous: bytes) -> bytes | None:
        """Return the checksum that the row must have after the previous row; None if its types are invalid."""
        types = (type(previous), type(self.sequence), type(self.time), type(self.digest))
        if types != (bytes, int, int, bytes):
            return None
        return digest_of(previous, struct.pack("<qq", self.sequence, self.time), self.digest)

    def is_intact(self, previous: bytes) -> bool:
        """Return whether the row matches its checksum, given the previous row's, and its content its digest."""
        expected = self.expected(previous)
        content = (self.key, self.origin, self.payload, self.salt)
        if expected is None or expected != self.checksum or not all(isinstance(part, bytes | None) for part in content):
            return False
        return content == (None,) * 4 if self.is_forgotten else self.content_digest() == self.digest

    def with_checksum(self, previous: bytes) -> "Row":
        """Return the row with its checksum."""
        checksum = self.expected(previous)
        assert checksum is not None
        return self._replace(checksum=checksum)


class KeyRow(NamedTuple):
    """An idempotency key's row, not yet validated: its record's sequence and the digest of its record's content."""

    key: bytes
    sequence: int
    time: int
    digest: bytes
    checksum: bytes

    @classmethod
    def of(cls, key: bytes, sequence: int, time: int, digest: bytes) -> "KeyRow":
        """Return a row with its checksum."""
        return cls(key, sequence, time, digest, _key_checksum(key, sequence, time, digest))

    def is_intact(self) -> bool:
        """Return whether the row matches its checksum."""
        types = tuple(map(type, self))
        return types == (bytes, int, int, bytes, bytes) and self.checksum == _key_checksum(*self[:4])


class SkipRow(NamedTuple):
    """A skipped record's row, not yet validated; `record` is the checksum of the skipped record."""

    sequence: int
    time: int
    record: bytes
    reason: bytes
    checksum: bytes

    def expected(self, journal: str) -> bytes | None:
        """Return the checksum that the row must have in a journal."""
        if tuple(map(type, self[:4])) != (int, int, bytes, bytes):
            return None
        head = struct.pack("<qqi", self.sequence, self.time, len(self.record))
        return digest_of(journal.encode(), head, self.record, self.reason)

    def is_intact(self, journal: str) -> bool:
        """Return whether the row matches its checksum."""
        expected = self.expected(journal)
        return expected is not None and expected == self.checksum

    def with_checksum(self, journal: str) -> "SkipRow":
        """Return the row with its checksum."""
        checksum = self.expected(journal)
        assert checksum is not None
        return self._replace(checksum=checksum)


class ControlRow(NamedTuple):
    """A copy of a record about other records, which is kept when the record is archived; not yet validated."""

    sequence: int
    payload: bytes
    checksum: bytes

    @classmethod
    def of(cls, journal: str, sequence: int, payload: bytes) -> "ControlRow":
        """Return a row with its checksum."""
        return cls(sequence, payload, digest_of(journal.encode(), struct.pack("<q", sequence), payload))

    def is_intact(self, journal: str) -> bool:
        """Return whether the row matches its checksum."""
        types = tuple(map(type, self))
        return types == (int, bytes, bytes) and self == ControlRow.of(journal, self.sequence, self.payload)


class Skip(NamedTuple):
    """A record that no replica applies, with the time and the reason of the skip."""

    sequence: int
    time: int
    reason: str


class Meta(NamedTuple):
    """A journal's description. Its file has the records after `base`, whose checksum is `base_checksum`.

    `clock` and `wall` are the times of the journal's clock and of the wall clock at the last commit. The keys of
    records up to `keys_base` may be removed, because they expired. The archive has the records after `archive_base` up
    to `base`. `timeline` changes when the journal is restored from a backup, after which its sequences mean other
    records. The content of all records that were forgotten by the record `erased` or before is also removed from the
    archive.
    """

    id: str
    key_life: int
    base: int
    base_checksum: bytes
    clock: int = 0
    wall: int = 0
    keys_base: int = 0
    archive_base: int = 0
    erased: int = 0
    timeline: str = ""
    version: int = VERSION

    def encode(self) -> tuple[bytes, bytes]:
        """Return the content and its checksum, in the current version."""
        fields = {**self._asdict(), "format": FORMAT, "version": VERSION, "base_checksum": self.base_checksum.hex()}
        content = json.dumps(fields, sort_keys=True).encode()
        return content, digest_of(content)

    @classmethod
    def decode(cls, content: bytes, checksum: bytes) -> "Meta":
        """Decode the output of `encode`."""
        if not isinstance(content, bytes) or digest_of(content) != checksum:
            raise DamagedJournal("the journal's description does not match its checksum")
        try:
            fields: dict[str, Any] = json.loads(content)
            if fields.pop("format") != FORMAT or fields["version"] not in VERSIONS:
                raise JournalError(f"the journal's format is not {FORMAT!r}, version 1 to {VERSION}")
            version, base = fields["version"], fields["base"]
            defaults: dict[str, Any] = {"clock": 0, "wall": 0, "keys_base": 0} if version == OLD_VERSION else {}
            if version < TABLES_VERSION:  # what was compacted is lost
                defaults |= {"archive_base": base, "erased": 0, "timeline": ""}
            meta = cls(**{**defaults, **fields, "base_checksum": bytes.fromhex(fields["base_checksum"])})
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise DamagedJournal(f"the journal's description cannot be read: {error!r}") from None
        numbers = (meta.key_life, meta.base, meta.keys_base, meta.archive_base, meta.erased)
        in_range = all(type(n) is int and 0 <= n < 1 << 40 for n in numbers) and meta.archive_base <= meta.base
        in_range = in_range and all(type(n) is int and 0 <= n < 1 << 62 for n in (meta.clock, meta.wall))
        are_texts = type(meta.id) is str and type(meta.timeline) is str
        if not are_texts or not in_range or len(meta.base_checksum) != DIGEST_BYTES:
            raise DamagedJournal("the journal's description has invalid values")
        return meta


def _key_checksum(key: bytes, sequence: int, written: int, digest: bytes) -> bytes:
    return digest_of(struct.pack("<qqi", sequence, written, len(key)), key, digest)


def encode_key(key: str | None) -> bytes | None:
    """Return the bytes of an idempotency key, or raise RefusedRecord."""
    if key is None:
        return None
    raw = key.encode("utf-8", "surrogatepass") if isinstance(key, str) else b""
    if not 1 <= len(raw) <= MAX_KEY_BYTES:
        raise RefusedRecord(f"an idempotency key must be a string of 1 to {MAX_KEY_BYTES} bytes, got {key!r}")
    return raw
