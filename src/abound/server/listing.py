"""Find records of a journal, the newest or the oldest first; each call reads a bounded number of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import takewhile
from typing import Any, NamedTuple

from abound.store.journal import Journal, StoredRecord
from abound.store.journal.records import EditLabels, Forget, Record, Undo, describe
from abound.store.names import Name
from abound.texts import joined

MAX_SCANNED = 2000  # records that one call reads
MAX_SCANNED_CHARACTERS = 8_000_000  # of their texts
MAX_FOUND_CHARACTERS = 2_000_000  # of the texts that one call returns, unless a single one is longer
STEP, FILTERED_STEP = 100, 500  # records that are first read before their order is reversed
LABEL_FIELDS = ("label", "to", "into", "broader", "accepted", "rejected", "added")


@dataclass(frozen=True)
class Filter:
    """What a record must have to be found; None accepts all.

    Attributes
    ----------
    who, source : str, optional
        Who sent the record, and from where.
    kind : str, optional
        Such as "learn"; see `records.py`.
    labels : frozenset of str, optional
        The record names one of these labels.
    text : str, optional
        A part of the record's text; upper and lower case are the same.
    since, until : int, optional
        Microseconds since 1970; the record was written at that time or later, or before that time.
    """

    who: str | None = None
    source: str | None = None
    kind: str | None = None
    labels: frozenset[str] | None = None
    text: str | None = None
    since: int | None = None
    until: int | None = None

    def accepts(self, stored: StoredRecord) -> bool:
        """Return whether a record has all that is asked for."""
        return (
            (self.who is None or stored.who == self.who)
            and (self.source is None or stored.source == self.source)
            and (self.kind is None or stored.record.kind == self.kind)
            and (self.since is None or stored.time >= self.since)
            and (self.until is None or stored.time < self.until)
            and (self.labels is None or not self.labels.isdisjoint(map(str, labels_of(stored.record))))
            and (self.text is None or self.text.casefold() in _text_of(stored).casefold())
        )


class Status(NamedTuple):
    """Whether a record counts: "live", "undone", "forgotten" or "skipped"; `by` is the record that excluded it."""

    status: str
    by: int | None = None


LIVE = Status("live")


class Listed(NamedTuple):
    """A record with its status."""

    stored: StoredRecord
    status: Status

    def describe(self) -> dict[str, Any]:
        """Return the record as JSON types."""
        given = {name: value for name, value in self.status._asdict().items() if value is not None}
        return {**describe_stored(self.stored), **given}


class Page(NamedTuple):
    """The records that one call found, and where the next call continues; None at the end."""

    records: list[Listed]
    next: int | None


def find_records(
    journal: Journal,
    wanted: Filter,
    *,
    after: int = 0,
    before: int | None = None,
    limit: int = 50,
    oldest_first: bool = False,
    most: int = MAX_SCANNED,
) -> Page:
    """Return the records between two sequences that a filter accepts.

    Parameters
    ----------
    journal : Journal
    wanted : Filter
    after, before : int
        Only records with a sequence above `after` and below `before`.
    limit : int
        Maximum number of records.
    oldest_first : bool
        Whether `next` is the next call's `after`, otherwise it is its `before`.
    most : int
        Maximum number of records to read.
    """
    first, last = max(after, journal.start) + 1, journal.last if before is None else min(before - 1, journal.last)
    statuses = excluded_records(journal)
    found: list[Listed] = []
    scanned = characters = returned = 0
    step = STEP if wanted == Filter() else FILTERED_STEP
    for stored in _forwards(journal, first, last) if oldest_first else _backwards(journal, first, last, step):
        scanned, size = scanned + 1, len(_text_of(stored))
        characters += size
        if wanted.accepts(stored):
            if found and returned + size > MAX_FOUND_CHARACTERS:  # the next call returns it
                return Page(found, stored.sequence - 1 if oldest_first else stored.sequence + 1)
            found.append(Listed(stored, statuses.get(stored.sequence, LIVE)))
            returned += size
        is_last = stored.sequence == (last if oldest_first else first)
        if not is_last and (len(found) >= limit or scanned >= most or characters >= MAX_SCANNED_CHARACTERS):
            return Page(found, stored.sequence)
    return Page(found, None)


def excluded_records(journal: Journal) -> dict[int, Status]:
    """Return the records that do not count, and why."""
    found = {sequence: Status("skipped") for sequence in journal.skips()}
    controls = journal.controls()
    for sequence in sorted(controls, reverse=True):
        record = controls[sequence]
        if isinstance(record, Forget):
            found.update(dict.fromkeys(record.records, Status("forgotten", sequence)))
        elif isinstance(record, Undo) and found.get(sequence, LIVE).status != "undone":
            known = {number for number in record.records if found.get(number, LIVE).status in ("undone", "forgotten")}
            found.update(dict.fromkeys({*record.records} - known, Status("undone", sequence)))
    return found


def _forwards(journal: Journal, first: int, last: int) -> Iterator[StoredRecord]:
    if first > last:
        return iter(())
    return takewhile(lambda stored: stored.sequence <= last, journal.read(first - 1))


def _backwards(journal: Journal, first: int, last: int, step: int) -> Iterator[StoredRecord]:
    """Yield records in reverse order, in growing steps: each step into the archive reads a segment again."""
    while last >= first:
        start = max(first, last - step + 1)
        stored = list(_forwards(journal, start, last))
        yield from reversed(stored)
        last = start - 1
        if 2 * sum(len(_text_of(one)) for one in stored) <= MAX_SCANNED_CHARACTERS:
            step = min(2 * step, MAX_SCANNED)


def _text_of(stored: StoredRecord) -> str:
    text = getattr(stored.record, "text", None)
    return "" if text is None else joined(text)


def labels_of(record: Record) -> Iterator[Name]:
    """Yield the labels that a record names."""
    for part in record.edits if isinstance(record, EditLabels) else (record,):
        for field in LABEL_FIELDS:
            value = getattr(part, field, ())
            yield from value if isinstance(value, tuple) else (value,)


def describe_stored(stored: StoredRecord) -> dict[str, Any]:
    """Return a record of the journal as JSON types, without the vector of its text, which only replicas need."""
    origin = {"who": stored.who, "source": stored.source, "key": stored.key}
    content = {name: value for name, value in describe(stored.record).items() if name != "vector"}
    return {"sequence": stored.sequence, "time": written_at(stored), **origin, **content}


def written_at(stored: StoredRecord) -> str:
    """Return the time of a record, in ISO 8601."""
    return iso_time(stored.time)


def iso_time(time: int) -> str:
    """Return a time in microseconds since 1970 in ISO 8601.

    Examples
    --------
    >>> iso_time(86_400_000_000)
    '1970-01-02T00:00:00.000+00:00'
    """
    return datetime.fromtimestamp(time / 1e6, UTC).isoformat(timespec="milliseconds")


def microseconds(moment: str) -> int:
    """Return the microseconds since 1970 of a date or a time in ISO 8601, UTC unless it names another zone.

    Examples
    --------
    >>> microseconds("1970-01-02") == microseconds("1970-01-02T01:00+01:00") == 86_400_000_000
    True
    """
    try:
        parsed = datetime.fromisoformat(moment)
    except ValueError:
        raise ValueError(f"a time must be like 2026-03-01 or 2026-03-01T12:00:00Z, got {moment!r}") from None
    aware = parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=UTC)
    return round(aware.timestamp() * 1_000_000)
