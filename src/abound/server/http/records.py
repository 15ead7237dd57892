"""Endpoints of the journal's records: list, undo and forget them."""

import asyncio
import json
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from abound.errors import JournalError
from abound.server.http.bodies import Learned
from abound.server.http.endpoints import JSONL, Call, Encoded, Endpoint, Scope
from abound.server.http.limits import ANSWER_BYTES
from abound.server.http.problems import Problem
from abound.server.introspection import find_label
from abound.server.listing import Filter, Page, find_records, labels_of, microseconds
from abound.server.replica import Replica
from abound.store.journal import Journal
from abound.store.journal.records import KINDS, MAX_REASON, Forget, Undo

MAX_LIMIT = 1000
Words = Annotated[str, Meta(min_length=1, max_length=1000)]
Moment = Annotated[
    str, Meta(min_length=1, max_length=40, description="Such as `2026-03-01` or `2026-03-01T12:00:00Z`.")
]


class RecordsRequest(Struct, forbid_unknown_fields=True):
    """Which records to return; all conditions must hold."""

    after: Annotated[int, Meta(ge=0, le=1 << 60, description="Only records after this one.")] = 0
    before: Annotated[int, Meta(ge=1, le=1 << 60, description="Only records before this one.")] | None = None
    limit: Annotated[int, Meta(ge=1, le=MAX_LIMIT)] = 50
    oldest_first: bool = False
    who: Annotated[Words, Meta(description="Who taught it; a key of scope learn sees its own records only.")] | None = (
        None
    )
    source: (
        Annotated[
            Words,
            Meta(description="From where it was sent: `page`, `client`, `command line`, `label studio` or `api`."),
        ]
        | None
    ) = None
    kind: Annotated[str, Meta(max_length=100, description=f"One of {', '.join(KINDS)}.")] | None = None
    label: Annotated[Words, Meta(description="A label that the record names, under any of its names.")] | None = None
    text: Annotated[Words, Meta(description="A part of the record's text.")] | None = None
    since: Moment | None = None
    until: Moment | None = None
    format: Annotated[
        Literal["json", "jsonl"],
        Meta(
            description="With `jsonl`, all these records are returned, one per line, without `limit`, and labels have "
            "their displayed names in `names`."
        ),
    ] = "json"


class TaughtRecord(Struct, omit_defaults=True):
    """A record: when, by whom and from where it was sent, whether it counts, and its content by its kind."""

    sequence: int
    time: str
    kind: str
    status: Annotated[str, Meta(description="live, undone, forgotten or skipped.")]
    by: Annotated[int, Meta(description="The record that undid or forgot it.")] | UnsetType = UNSET
    who: str | None = None
    source: str | None = None
    key: Annotated[str, Meta(description="Its idempotency key.")] | None = None
    text: str | dict[str, str] | UnsetType = UNSET
    accepted: list[str | int | float] | UnsetType = UNSET
    rejected: list[str | int | float] | UnsetType = UNSET
    added: list[str | int | float] | UnsetType = UNSET
    label: str | int | float | UnsetType = UNSET


class Records(Struct, omit_defaults=True):
    """Records, and where the next request continues, unless all were read.

    A request reads a limited number of records, so that a page may have fewer of them than asked for, or none.
    """

    sequence: Annotated[int, Meta(ge=0)]
    records: list[TaughtRecord]
    names: Annotated[dict[str, str], Meta(description="The displayed names of the records' labels that have names.")]
    next: (
        Annotated[int, Meta(description="The next request's `before`, or its `after` with `oldest_first`.")] | UnsetType
    ) = UNSET


class ExcludeRequest(Struct, forbid_unknown_fields=True):
    """The numbers of records, and why they are undone or forgotten."""

    records: Annotated[tuple[Annotated[int, Meta(ge=1, le=1 << 60)], ...], Meta(min_length=1, max_length=1000)]
    reason: Annotated[str, Meta(max_length=MAX_REASON)] = ""
    key: Annotated[str, Meta(min_length=1, max_length=200, description="As the header Idempotency-Key.")] | None = None


async def undo(call: Call[ExcludeRequest]) -> Learned:
    """Undo records: the state becomes that of a journal without them. Undoing an undo makes them count again."""
    if call.caller.scope < Scope.ADMIN:
        async with call.service.listings:
            await asyncio.to_thread(_check_own, call)
    return await _exclude(call, Undo(call.request.records, call.request.reason))


async def forget(call: Call[ExcludeRequest]) -> Learned:
    """Forget records: as `undo`, and their content is removed from all files for ever."""
    return await _exclude(call, Forget(call.request.records, reason=call.request.reason))


async def _exclude(call: Call[ExcludeRequest], record: Undo | Forget) -> Learned:
    try:
        receipt = await call.change(record, call.key or call.request.key)
    except JournalError as error:
        if type(error) is JournalError:  # such as a record that is no longer kept
            raise Problem(422, str(error)) from None
        raise
    return Learned(receipt.sequence, receipt.repeated)


def _check_own(call: Call[ExcludeRequest]) -> None:
    """Raise Problem if a record was taught by somebody else."""
    with Journal(call.service.journal_client.path) as journal:
        for number in call.request.records:
            if journal.start < number <= journal.last:
                stored = next(journal.read(number - 1))
                if call.caller.who is None or stored.who != call.caller.who:
                    message = f"record {number} is not yours; to undo records of others, use a key of scope admin"
                    raise Problem(403, message)


async def records(call: Call[RecordsRequest]) -> Encoded:
    """Return records of the journal, the newest first."""
    replica = call.service.replica
    with replica.reading() as sequence:
        wanted = _filter(call, replica)
    async with call.service.listings:
        if call.request.format == "jsonl":
            return await asyncio.to_thread(_export, call, wanted, sequence)
        page = await asyncio.to_thread(_find, call, wanted)
        with replica.reading():
            names = _shown_names(replica, page)
        return await asyncio.to_thread(_encode, page, names, sequence)


def _filter(call: Call[RecordsRequest], replica: Replica) -> Filter:
    request = call.request
    who = request.who
    if call.caller.scope < Scope.ADMIN:
        if call.caller.who is None or who not in (None, call.caller.who):
            raise Problem(403, "the records of others need a key of scope admin; this key has scope learn")
        who = call.caller.who
    if request.kind is not None and request.kind not in KINDS:
        raise Problem(422, f"kind must be one of {', '.join(KINDS)}, got {request.kind!r}")
    labels = None if request.label is None else _all_names(replica, request.label)
    try:
        since, until = (None if one is None else microseconds(one) for one in (request.since, request.until))
    except (ValueError, OverflowError) as error:
        raise Problem(422, str(error)) from None
    return Filter(who, request.source, request.kind, labels, request.text, since, until)


def _all_names(replica: Replica, name: str) -> frozenset[str]:
    """Return the names under which a label may have been taught: its own, former ones and those merged into it."""
    label, table = find_label(replica, name), replica.labels
    former = () if label is None else (alias for alias in table.aliases if table.resolve(alias) == label)
    return frozenset({name, *([] if label is None else [str(label)]), *map(str, former)})


def _find(call: Call[RecordsRequest], wanted: Filter) -> Page:
    """Read a page of records, in a thread."""
    request = call.request
    with Journal(call.service.journal_client.path) as journal:
        return _page(journal, request, wanted, request.after, request.before, request.limit)


def _page(
    journal: Journal, request: RecordsRequest, wanted: Filter, after: int, before: int | None, limit: int
) -> Page:
    return find_records(journal, wanted, after=after, before=before, limit=limit, oldest_first=request.oldest_first)


def _export(call: Call[RecordsRequest], wanted: Filter, sequence: int) -> Encoded:
    """Return all records as JSON lines, in a thread."""
    request, replica = call.request, call.service.replica
    after, before, size = request.after, request.before, 0
    lines: list[bytes] = []
    with Journal(call.service.journal_client.path) as journal:
        while True:
            page = _page(journal, request, wanted, after, before, MAX_LIMIT)
            with replica.reading():
                names = [_shown_names(replica, page._replace(records=[one])) for one in page.records]
            for one, shown in zip(page.records, names, strict=True):
                described = {**one.describe(), **({"names": shown} if shown else {})}
                lines.append(json.dumps(described, separators=(",", ":")).encode() + b"\n")
                size += len(lines[-1])
            if size > ANSWER_BYTES:
                raise Problem(
                    413, f"these records have more than {ANSWER_BYTES:,} bytes; ask for fewer by since and until"
                )
            if page.next is None:
                return Encoded(sequence, b"".join(lines), JSONL)
            after, before = (page.next, before) if request.oldest_first else (after, page.next)


def _shown_names(replica: Replica, page: Page) -> dict[str, str]:
    """Return the displayed names of all labels that records name, by the labels as they were taught."""
    labels = {label for one in page.records for label in labels_of(one.stored.record)}
    shown = {str(label): replica.names.shown(replica.labels.resolve(label)) for label in labels}
    return {label: names[0] for label, names in shown.items() if names}


def _encode(page: Page, names: dict[str, str], sequence: int) -> Encoded:
    """Encode a page, in a thread; the standard library's JSON can represent lone surrogates."""
    following = {} if page.next is None else {"next": page.next}
    described = [one.describe() for one in page.records]
    found = {"sequence": sequence, "records": described, "names": names, **following}
    return Encoded(sequence, json.dumps(found, separators=(",", ":")).encode())


ENDPOINTS = (
    Endpoint(
        "GET",
        "/v1/records",
        records,
        RecordsRequest,
        Records,
        "List the records of the journal",
        Scope.LEARN,
        other_media_types=(JSONL.decode(),),
    ),
    Endpoint("POST", "/v1/undo", undo, ExcludeRequest, Learned, "Undo records", Scope.LEARN, keyed=True),
    Endpoint("POST", "/v1/forget", forget, ExcludeRequest, Learned, "Forget records", Scope.ADMIN, keyed=True),
)
