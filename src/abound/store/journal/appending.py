"""How entries become rows: sequences, checksums and idempotency keys, the same for every kind of journal."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from abound.errors import DamagedJournal, ReusedKey
from abound.store.journal.checksums import digest_of
from abound.store.journal.records import encode_record
from abound.store.journal.rows import FORGOTTEN_DIGEST, Entry, KeyRow, Receipt, Row, encode_key


class End(NamedTuple):
    """The end of a journal: the sequence and the checksum of its last record."""

    sequence: int
    checksum: bytes


class Group(NamedTuple):
    """The rows of new records and of their keys, and the receipts of all entries."""

    rows: list[Row]
    keys: dict[bytes, KeyRow]
    receipts: list[Receipt]


def make_group(
    entries: Sequence[Entry], end: End, now: int, wall: int, find: Callable[[bytes, bytes], int | None]
) -> Group:
    """Return what is to be written for entries; an entry whose key is known is not written again.

    Parameters
    ----------
    entries : sequence of Entry
    end : End
        The end of the journal.
    now, wall : int
        The times of the journal's clock and of the wall clock.
    find : callable
        Returns the sequence of the record with a key and a digest, or None.
    """
    group = Group([], {}, [])
    previous = end.checksum
    for record, given, origin, sent in entries:
        key, payload = encode_key(given), encode_record(record)
        digest = digest_of(payload if sent is None else encode_record(sent))
        if key is not None:
            known = group.keys.get(key)
            if known is not None and known.digest != digest:
                raise ReusedKey(f"the idempotency key {given!r} was used for two records")
            existing = find(key, digest) if known is None else known.sequence
            if existing is not None:
                group.receipts.append(Receipt(existing, True))
                continue
        sequence = end.sequence + len(group.rows) + 1
        row = Row.of(sequence, wall, key, origin.encode(), payload).with_checksum(previous)
        group.rows.append(row)
        if key is not None:
            group.keys[key] = KeyRow.of(key, sequence, now, digest)
        group.receipts.append(Receipt(sequence, False))
        previous = row.checksum
    return group


def known_sequence(row: KeyRow, digest: bytes, oldest: int, journal: object) -> int | None:
    """Return the sequence of a key's record; None if the key has expired.

    Parameters
    ----------
    row : KeyRow
        Not yet validated.
    digest : bytes
        That of the record that comes with the key.
    oldest : int
        The time before which keys have expired.
    journal : object
        What messages call the journal.
    """
    if not row.is_intact():
        raise DamagedJournal(f"the idempotency key {row.key!r} of {journal} does not match its checksum")
    if row.time < oldest:
        return None
    if row.digest == FORGOTTEN_DIGEST:
        raise ReusedKey(f"the idempotency key belongs to record {row.sequence}, which was forgotten")
    if row.digest != digest:
        raise ReusedKey(
            f"the idempotency key {row.key.decode(errors='replace')!r} belongs to record {row.sequence}, "
            "which has other content; use a new key for a new record"
        )
    return row.sequence
