"""Endpoints of shared queues: several people decide texts, each text once, or once more by a reviewer."""

import asyncio
import csv
import io
import json
import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, ParamSpec, TypeVar

from msgspec import UNSET, UnsetType, to_builtins

from abound.errors import AboundError, RefusedRecord
from abound.server.http.endpoints import JSONL, Call, Encoded, Endpoint, Scope
from abound.server.http.limits import BATCH_BYTES, check_fields, check_text
from abound.server.http.problems import Problem
from abound.server.http.queue_bodies import (
    Agreement,
    Counts,
    Decided,
    DecideRequest,
    ExportRequest,
    ForgetQueuedRequest,
    ForgottenTexts,
    HeldRequest,
    ItemsRequest,
    NamedLabel,
    NamedQueue,
    NextRequest,
    NextText,
    NoQueue,
    Queue,
    QueueAdded,
    QueueDecision,
    QueueItem,
    QueueItems,
    QueueList,
    QueueRemoved,
    QueueRequest,
    Released,
)
from abound.server.http.service import Service
from abound.server.listing import iso_time
from abound.server.queues import Content, Decision, Holder, Item, Lesson, NewText, QueueProblem, Summary, agreement_of
from abound.server.replica import Replica
from abound.spreadsheets import guarded
from abound.store.journal import Origin, Receipt
from abound.store.journal.records import Learn
from abound.store.names import Name
from abound.texts import joined

LOG = logging.getLogger(__name__)
STATUS = {"unknown": 404, "lost": 409, "invalid": 422}
COLUMNS = ("item", "id", "source", "text", "state", "labels", "names", "none_fits", "who", "time", "agreement")
EXPORTED = 500  # texts that are read at once
CSV = b"text/csv; charset=utf-8"
P = ParamSpec("P")
R = TypeVar("R")


async def _used(service: Service, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call a function of the queues in a thread, because it waits for the disk."""
    async with service.queueing:
        try:
            return await asyncio.to_thread(function, *args, **kwargs)
        except QueueProblem as problem:
            raise Problem(STATUS[problem.kind], str(problem)) from None


# -- queues ------------------------------------------------------------------------------------------


async def create(call: Call[QueueRequest]) -> QueueAdded:
    """Create a queue, or append texts to it."""
    asked, service = call.request, call.service
    for one in asked.texts:
        check_text(one.text)
        check_fields(service.replica.tagger, one.text)
    texts = [NewText(one.text, one.id, one.source) for one in asked.texts]
    total, added = await _used(
        service, service.queues.add, asked.name, texts, asked.guidelines, asked.reviews, call.key
    )
    return QueueAdded(service.replica.sequence, asked.name, total, added)


async def remove(call: Call[NamedQueue]) -> QueueRemoved:
    """Remove a queue with its texts and decisions; what was learned stays."""
    removed = await _used(call.service, call.service.queues.remove, call.request.name)
    return QueueRemoved(call.service.replica.sequence, call.request.name, removed)


async def queue_list(call: Call[NoQueue]) -> QueueList:
    """List the queues with the number of their texts by state, and the agreement of two people."""
    await _complete_pending(call.service)
    found = await _used(call.service, call.service.queues.summaries)
    return QueueList(call.service.replica.sequence, [_queue(one) for one in found])


def _queue(one: Summary) -> Queue:
    agreement = Agreement(one.agreed, one.agreement, one.equal) if one.agreed else UNSET
    return Queue(one.name, one.guidelines, one.reviews, iso_time(one.created), Counts(**one.counts), agreement)


async def items(call: Call[ItemsRequest]) -> QueueItems:
    """List the texts of a queue."""
    asked, service = call.request, call.service
    total, found = await _used(
        service, service.queues.items, asked.name, asked.state, asked.search, asked.offset, asked.limit
    )
    with service.replica.reading() as sequence:
        return QueueItems(sequence, total, [_item(service.replica, item) for item in found])


def _item(replica: Replica, item: Item) -> QueueItem:
    """Return a text as it is shown; the decision of the first person is hidden until the second one has decided."""
    decisions = [_decision(replica, one) for one in item.decisions] if item.state == "done" else []
    return QueueItem(
        item.id,
        dict(item.text) if not isinstance(item.text, str) else item.text,
        item.state,  # type: ignore[arg-type]  # one of the states
        item.given,
        item.source,
        item.holder.who if item.holder is not None and item.state == "leased" else None,
        iso_time(item.until) if item.state == "leased" else UNSET,
        item.round == 1 and item.state != "done",
        item.agreement,
        decisions,
    )


def _decision(replica: Replica, one: Decision) -> QueueDecision:
    content = one.content
    return QueueDecision(
        iso_time(one.time),
        _named(replica, content.labels),
        _named(replica, content.rejected),
        one.round == 1,
        content.none_fits,
        content.skip,
        one.holder.who,
        one.record,
    )


def _named(replica: Replica, labels: Iterable[Name]) -> list[NamedLabel]:
    return [NamedLabel(label, _name(replica, label)) for label in dict.fromkeys(_current(replica, labels))]


def _name(replica: Replica, label: Name) -> str | UnsetType:
    names = replica.names.shown(label)
    return names[0] if names else UNSET


def _current(replica: Replica, labels: Iterable[Name]) -> list[Name]:
    """Return labels as they are shown now; one that cannot be resolved stays as it was given."""
    found: list[Name] = []
    for label in labels:
        try:
            found.append(replica.names.resolve(label))
        except ValueError:
            found.append(label)
    return found


# -- leases ------------------------------------------------------------------------------------------


async def next_text(call: Call[NextRequest]) -> NextText:
    """Lease the next text that needs a decision."""
    asked, service = call.request, call.service
    holder = Holder(asked.holder, call.caller.who)
    await _complete_pending(service)
    if asked.item is not None:
        item: Item | None = await _used(service, service.queues.lease_item, asked.name, asked.item, holder)
    else:
        item = await _used(service, service.queues.lease, asked.name, holder, asked.after or 0)
    [summary] = await _used(service, service.queues.summaries, asked.name)
    counts = Counts(**summary.counts)
    with service.replica.reading() as sequence:
        if item is not None:
            return NextText(sequence, counts, _item(service.replica, item))
        return NextText(sequence, counts, UNSET, _why_none(counts))


def _why_none(counts: Counts) -> str:
    if not counts.total:
        return "the queue has no texts"
    if counts.leased:
        return f"all other texts are decided, and {counts.leased} are being decided by others"
    if counts.review:
        return f"you have decided all texts, and {counts.review} wait for another person's review"
    return f"all texts are decided, {counts.skipped} of them skipped" if counts.skipped else "all texts are decided"


async def release(call: Call[HeldRequest]) -> Released:
    """Give up a text, so that others get it."""
    asked, service = call.request, call.service
    holder = Holder(asked.holder, call.caller.who)
    released = await _used(service, service.queues.release, asked.name, asked.item, holder)
    return Released(service.replica.sequence, released)


async def reopen(call: Call[HeldRequest]) -> NextText:
    """Lease a decided text again, to decide it otherwise; its earlier corrections are undone by `/v1/undo`."""
    asked, service = call.request, call.service
    holder, is_admin = Holder(asked.holder, call.caller.who), call.caller.scope >= Scope.ADMIN and call.caller.who
    item = await _used(service, service.queues.reopen, asked.name, asked.item, holder, any_holder=bool(is_admin))
    [summary] = await _used(service, service.queues.summaries, asked.name)
    with service.replica.reading() as sequence:
        return NextText(sequence, Counts(**summary.counts), _item(service.replica, item))


# -- decisions ---------------------------------------------------------------------------------------


async def decide(call: Call[DecideRequest]) -> Decided:
    """Teach the decisions on a text once, and mark it as done."""
    asked = call.request
    content = Content(asked.accepted, asked.rejected, asked.added, asked.skip, asked.none_fits)
    _check(content)
    # Before the decision is stored: it would be taught later if it were only refused afterwards.
    with call.learning(0 if asked.skip else 1) as learning:
        decided = await _decide(call, content)
        if learning is not None and (decided.record is None or decided.repeated):
            learning.give_back()
    return decided


async def _decide(call: Call[DecideRequest], content: Content) -> Decided:
    asked, service = call.request, call.service
    holder = Holder(asked.holder, call.caller.who)
    teaches = partial(_lesson, service.replica)
    item, decision = await _used(
        service, service.queues.begin, asked.name, asked.item, holder, content, call.source, teaches
    )
    if not decision.is_pending:
        state = item.state if item.state in ("done", "review", "skipped") else "done"
        return Decided(service.replica.sequence, item.id, state, decision.record, True)  # type: ignore[arg-type]
    state, receipt = await _teach(service, item, decision)
    if receipt is None:
        return Decided(service.replica.sequence, item.id, state)  # type: ignore[arg-type]
    made = list(receipt.new_labels)
    return Decided(receipt.sequence, item.id, state, receipt.sequence, receipt.repeated, made)  # type: ignore[arg-type]


def _check(content: Content) -> None:
    """Raise Problem if a decision says nothing, or contradicts itself."""
    if content.skip and (content.labels or content.rejected or content.none_fits):
        raise Problem(422, "a text is either skipped or decided; send skip without labels")
    if content.none_fits and content.labels:
        raise Problem(422, "none_fits means that no label is right; leave out accepted and added")
    if not any(content):
        raise Problem(422, "send accepted, rejected or added labels, or skip, or none_fits")


async def _teach(service: Service, item: Item, decision: Decision) -> tuple[str, Receipt | None]:
    """Teach a pending decision under its key, and mark it as taught; return the state of its text and the receipt."""
    lesson, receipt = decision.lesson.content, None
    if lesson is not None:
        key = await _used(service, service.queues.key_of, decision)
        record = Learn(item.text, lesson.accepted, lesson.rejected, lesson.added)
        try:
            receipt = await service.learn(record, key, Origin(decision.holder.who, decision.source))
        except RefusedRecord:
            await _used(service, service.queues.withdraw, decision)
            raise
    return await _used(service, service.queues.finish, decision, None if receipt is None else receipt.sequence), receipt


def _lesson(replica: Replica, item: Item, content: Content) -> Lesson:
    """Return what a decision teaches: the first one all, the second one only where it differs."""
    if item.round == 0:
        return Lesson(content if content.labels or content.rejected else None)
    if content.skip:
        return Lesson(None)
    with replica.reading():
        first, second = (_current(replica, one.labels) for one in (item.decisions[0].content, content))
    agreement = agreement_of(first, second)
    removed = tuple(label for label in first if label not in second)
    return Lesson(None if agreement == 1.0 else content._replace(rejected=removed), agreement)


async def _complete_pending(service: Service) -> None:
    """Teach the decisions that a process which has ended left; their keys prevent that one is taught twice."""
    for item, decision in await _used(service, service.queues.pending):
        try:
            await _teach(service, item, decision)
        except (AboundError, Problem) as error:  # if it was refused, its holder gets the text again; or later
            LOG.warning("the decision on text %d of queue %r is not taught: %s", item.id, item.queue, error)


# -- export and forgetting ---------------------------------------------------------------------------


async def export(call: Call[ExportRequest]) -> Encoded:
    """Return all texts of a queue with the decisions and the names of labels."""
    return await _used(call.service, _export, call)


def _export(call: Call[ExportRequest]) -> Encoded:
    replica, asked = call.service.replica, call.request
    output, at = io.StringIO(newline=""), 0
    writer = csv.DictWriter(output, COLUMNS)
    if asked.format == "csv":
        writer.writeheader()
    while True:
        _, found = call.service.queues.items(asked.name, offset=at, limit=EXPORTED)
        with replica.reading() as sequence:
            rows = [_item(replica, item) for item in found]
        for row in rows:
            if asked.format == "csv":
                writer.writerow(_columns(row))
            else:
                output.write(json.dumps(to_builtins(row)) + "\n")
        at += len(found)
        if len(found) < EXPORTED:
            break
    body = output.getvalue().encode("utf-8", "replace")
    return Encoded(sequence, body, CSV if asked.format == "csv" else JSONL)


def _columns(row: QueueItem) -> dict[str, Any]:
    """Return the row of a table: the last decision counts. No cell is a formula."""
    last = row.decisions[-1] if row.decisions else None
    labels = [] if last is None else last.labels
    cells = {
        "item": row.item,
        "id": row.id,
        "source": row.source,
        "text": joined(row.text),
        "state": row.state,
        "labels": "; ".join(str(one.label) for one in labels),
        "names": "; ".join(str(one.label if isinstance(one.name, UnsetType) else one.name) for one in labels),
        "none_fits": "" if last is None or not last.none_fits else "true",
        "who": None if last is None else last.who,
        "time": None if last is None else last.time,
        "agreement": row.agreement,
    }
    return {name: guarded(cell) if isinstance(cell, str) else cell for name, cell in cells.items()}


async def forget_queued(call: Call[ForgetQueuedRequest]) -> ForgottenTexts:
    """Remove texts of all queues for ever, or count them."""
    asked, service = call.request, call.service
    if asked.who is None and asked.text is None:
        raise Problem(422, "send who or text: which texts to forget")
    forget = partial(service.queues.forget_matching, dry_run=asked.dry_run)
    matching = await _used(service, forget, asked.who, asked.text)
    return ForgottenTexts(service.replica.sequence, 0 if asked.dry_run else matching, matching)


ENDPOINTS = (
    Endpoint("GET", "/v1/queues", queue_list, NoQueue, QueueList, "List the shared queues", Scope.LEARN),
    Endpoint(
        "POST",
        "/v1/queues",
        create,
        QueueRequest,
        QueueAdded,
        "Create a shared queue, or append texts to it",
        Scope.ADMIN,
        BATCH_BYTES,
        keyed=True,
    ),
    Endpoint("DELETE", "/v1/queues", remove, NamedQueue, QueueRemoved, "Remove a queue", Scope.ADMIN, errors=(404,)),
    Endpoint("GET", "/v1/queue", items, ItemsRequest, QueueItems, "List the texts", Scope.LEARN, errors=(404,)),
    Endpoint(
        "POST",
        "/v1/queue/next",
        next_text,
        NextRequest,
        NextText,
        "Get a text to decide",
        Scope.LEARN,
        errors=(404, 409),
    ),
    Endpoint("POST", "/v1/queue/release", release, HeldRequest, Released, "Give up a text", Scope.LEARN, errors=(404,)),
    Endpoint(
        "POST", "/v1/queue/reopen", reopen, HeldRequest, NextText, "Decide a text again", Scope.LEARN, errors=(404, 409)
    ),
    Endpoint(
        "POST", "/v1/queue/decide", decide, DecideRequest, Decided, "Decide a text", Scope.LEARN, errors=(404, 409)
    ),
    Endpoint(
        "GET",
        "/v1/queue/export",
        export,
        ExportRequest,
        bytes,
        "Export a queue with its decisions",
        Scope.LEARN,
        media_type=JSONL.decode(),
        other_media_types=(CSV.decode(),),
        errors=(404,),
    ),
    Endpoint(
        "POST", "/v1/queues/forget", forget_queued, ForgetQueuedRequest, ForgottenTexts, "Forget texts", Scope.ADMIN
    ),
)
