"""The rows of a journal's tables with their checksums."""

import hashlib
import json
import struct
from typing import NamedTuple

from abound.errors import DamagedJournal, JournalError, RefusedRecord
from abound.store.journal.records import Record

FORMAT, VERSION = "abound journal", 4
VERSIONS = (1, 2, 3, VERSION)  # that can be read; 2 has no texts in feedback on bands, 3 no texts with fields
OLD_VERSION = 1  # has no skips, and its keys expire by the wall clock; the first write upgrades it
MAX_KEY_BYTES = 200
DIGEST_BYTES = 16


class Receipt(NamedTuple):
    """The sequence of a record, and whether it had already been written under the same key."""

    sequence: int
    repeated: bool


class StoredRecord(NamedTuple):
    """A record in the journal; `time` is in microseconds since 1970."""

    sequence: int
    time: int
    key: str | None
    record: Record


class Row(NamedTuple):
    """A record's row, not yet validated."""

    sequence: int
    time: int
    key: bytes | None
    payload: bytes
    checksum: bytes

    def expected(self, previous: bytes) -> bytes | None:
        """Return the checksum that the row must have after the previous row; None if its types are invalid."""
        types = (type(previous), type(self.time), type(self.payload))
        if types != (bytes, int, bytes) or not isinstance(self.key, bytes | None):
            return None
        head = struct.pack("<qqi", self.sequence, self.time, -1 if self.key is None else len(self.key))
        return digest_of(previous, head, self.key or b"", self.payload)

    def is_intact(self, previous: bytes) -> bool:
        """Return whether the row matches its checksum, given the previous row's."""
        expected = self.expected(previous)
        return expected is not None and expected == self.checksum

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

    def is_intact(self) -> bool:
        """Return whether the row matches its checksum."""
        types = tuple(map(type, self))
        return types == (bytes, int, int, bytes, bytes) and self.checksum == key_checksum(*self[:4])


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


class Skip(NamedTuple):
    """A record that no replica applies, with the time and the reason of the skip."""

    sequence: int
    time: int
    reason: str


class Meta(NamedTuple):
    """A journal's description. Its records begin after `base`, whose checksum is `base_checksum`.

    `clock` and `wall` are the times of the journal's clock and of the wall clock at the last commit. The keys of
    records up to `keys_base` may be removed, because they expired.
    """

    id: str
    key_life: int
    base: int
    base_checksum: bytes
    clock: int = 0
    wall: int = 0
    keys_base: int = 0
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
            fields = json.loads(content)
            kind, version = fields.pop("format"), fields.pop("version")
            if kind != FORMAT or version not in VERSIONS:
                raise JournalError(f"the journal's format is not {FORMAT!r}, version 1 to {VERSION}")
            clock, wall, keys_base = (
                (0, 0, 0) if version == OLD_VERSION else (fields["clock"], fields["wall"], fields["keys_base"])
            )
            base_checksum = bytes.fromhex(fields["base_checksum"])
            meta = cls(fields["id"], fields["key_life"], fields["base"], base_checksum, clock, wall, keys_base, version)
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise DamagedJournal(f"the journal's description cannot be read: {error!r}") from None
        in_range = all(type(n) is int and 0 <= n < 1 << 40 for n in (meta.key_life, meta.base, meta.keys_base))
        in_range = in_range and all(type(n) is int and 0 <= n < 1 << 62 for n in (meta.clock, meta.wall))
        if type(meta.id) is not str or not in_range or len(meta.base_checksum) != DIGEST_BYTES:
            raise DamagedJournal("the journal's description has invalid values")
        return meta


def digest_of(*parts: bytes) -> bytes:
    """Return the digest of the concatenated parts."""
    digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for part in parts:
        digest.update(part)
    return digest.digest()


def key_checksum(key: bytes, sequence: int, written: int, digest: bytes) -> bytes:
    """Return the checksum of a key's row."""
    return digest_of(struct.pack("<qqi", sequence, written, len(key)), key, digest)


def encode_key(key: str | None) -> bytes | None:
    """Return the bytes of an idempotency key, or raise RefusedRecord."""
    if key is None:
        return None
    raw = key.encode("utf-8", "surrogatepass") if isinstance(key, str) else b""
    if not 1 <= len(raw) <= MAX_KEY_BYTES:
        raise RefusedRecord(f"an idempotency key must be a string of 1 to {MAX_KEY_BYTES} bytes, got {key!r}")
    return raw
