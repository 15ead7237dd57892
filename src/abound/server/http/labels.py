"""Endpoints of labels: find, add, name, rename, merge, retire and move labels without retraining."""

import asyncio
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import UNSET, UnsetType

from abound.server.http.bodies import (
    AddRequest,
    Changed,
    Changes,
    CompletionRequest,
    FoundLabel,
    FoundLabels,
    LabelEditRequest,
    LabelsRequest,
    MergeRequest,
    MoveRequest,
    NameRequest,
    OneEdit,
    Quality,
    RenameRequest,
    RetireRequest,
)
from abound.server.http.endpoints import Call, Endpoint, Scope
from abound.server.http.limits import EDITS_BYTES, LONG_TEXT, check_fields, check_text
from abound.server.http.problems import Problem
from abound.server.label_rows import LabelRow, find_labels, shown_by_another
from abound.server.label_rows import complete as complete_labels
from abound.server.listing import iso_time
from abound.server.queries import TextRow
from abound.server.replica import Replica
from abound.store.journal.records import (
    AddLabel,
    EditLabels,
    LabelEdit,
    MergeLabels,
    MoveLabel,
    NameLabel,
    RenameLabel,
    RetireLabel,
    edits_of,
)
from abound.store.names import Name
from abound.tagger import LabelQuality
from abound.texts import n_characters

CHUNK = 1 << 15  # features that are scanned under one lock
KINDS = "add, name, rename, merge, retire and move"


def search(call: Call[LabelsRequest]) -> FoundLabels:
    """Find labels by the beginnings of words in their names."""
    replica, asked = call.service.replica, call.request
    sort = "worst" if asked.worst_first else asked.sort
    with replica.reading() as sequence:
        if sort in ("worst", "best") and not replica.search.is_rated:
            raise Problem(422, "the quality of labels is not known; start the server with --quality FILE")
        total, rows = find_labels(replica, asked.query or asked.prefix, sort, asked.offset, asked.limit)
        return _found(replica, sequence, total, rows)


def complete(call: Call[CompletionRequest]) -> FoundLabels | Coroutine[Any, Any, FoundLabels]:
    """Find labels for a text, those with the best scores first."""
    replica, text = call.service.replica, call.request.text
    check_text(text)
    check_fields(replica.tagger, text)
    if n_characters(text) > LONG_TEXT:
        return _complete_long(call)
    with replica.reading():
        return _completed(call, TextRow(replica, text))


async def _complete_long(call: Call[CompletionRequest]) -> FoundLabels:
    row = TextRow(call.service.replica, call.request.text)
    await asyncio.sleep(0)
    return _completed(call, row)


def _completed(call: Call[CompletionRequest], row: TextRow) -> FoundLabels:
    replica, asked = call.service.replica, call.request
    with replica.reading() as sequence:
        total, rows = complete_labels(replica, row.rows(), asked.query, asked.limit)
        return _found(replica, sequence, total, rows)


def _found(replica: Replica, sequence: int, total: int, rows: Iterable[LabelRow]) -> FoundLabels:
    names = replica.tagger.label_names
    return FoundLabels(sequence, [_label(row, names) for row in rows], total, replica.search.is_rated)


def _label(row: LabelRow, label_names: Mapping[str, Sequence[str]]) -> FoundLabel:
    match, offers = row.match, row.offers
    return FoundLabel(
        match.label,
        match.texts,
        UNSET if match.name is None else match.name,
        UNSET if match.quality is None else _quality(match.quality, label_names),
        UNSET if match.found_by is None else match.found_by,
        UNSET if offers is None else offers.refused / offers.offered,
        UNSET if offers is None else offers.offered,
        iso_time(row.changed) if row.changed else UNSET,
        _set(row.score),
    )


def _quality(row: LabelQuality, label_names: Mapping[str, Sequence[str]]) -> Quality:
    other = UNSET if row.confused_with is None else str(row.confused_with)
    names = None if isinstance(other, UnsetType) else label_names.get(other)
    return Quality(
        row.support,
        row.assigned,
        row.f1,
        precision=_set(row.precision),
        recall=_set(row.recall),
        average_precision=_set(row.average_precision),
        confused_with=other,
        confused_name=names[0] if names else UNSET,
        confused_rows=row.confused_rows,
    )


def _set(value: float | None) -> float | UnsetType:
    return UNSET if value is None else value


async def change(call: Call[LabelEditRequest]) -> Changed:
    """Apply one label edit, or several as one record, or only report what they would affect."""
    record = record_of(call.request)
    replica = call.service.replica
    _check_name(replica, record)
    if call.request.dry_run:
        with replica.reading():
            replica.check(record)
    counted = (AddLabel, RenameLabel, MergeLabels, RetireLabel)
    affected = {label for edit in edits_of(record) if isinstance(edit, counted) for label in _labels_of(edit)}
    changes = await _changes(replica, affected)
    if call.request.dry_run:
        return Changed(changes, names=_names(replica, record))
    receipt = await call.learn(record, call.key or call.request.key)
    return Changed(changes, receipt.sequence, _names(replica, record))


def _check_name(replica: Replica, record: LabelEdit | EditLabels) -> None:
    """Raise Problem if a single edit would show a label under the name of another one.

    Several edits as one record are not checked: a vocabulary may have concepts with the same name.
    """
    if isinstance(record, RenameLabel):
        name: Name | None = record.to
    elif isinstance(record, NameLabel | AddLabel):
        name = record.names[0] if record.names else None
    else:
        return
    if not isinstance(name, str):
        return
    other = shown_by_another(replica, record.label, name)
    if other is not None:
        which = "" if other == name else f", which is label {other!r}"
        raise Problem(409, f"{name!r} is the name of another label{which}; merge the two labels, or use another name")


def _labels_of(edit: LabelEdit) -> list[Name]:
    return [edit.label, edit.into] if isinstance(edit, MergeLabels) else [edit.label]


def _names(replica: Replica, record: LabelEdit | EditLabels) -> list[str] | UnsetType:
    """Return the names of the label of a single edit, as they are after it."""
    if isinstance(record, EditLabels):
        return UNSET
    if isinstance(record, AddLabel | NameLabel) and record.names:
        return list(record.names)
    with replica.reading():
        label = record.into if isinstance(record, MergeLabels) else record.label
        return list(replica.names.shown(replica.labels.resolve(label))) or UNSET


def record_of(request: LabelEditRequest) -> LabelEdit | EditLabels:
    """Return the record of a request; Problem if it has no label edit, or several in the place of one."""
    single = _edits(request)
    if isinstance(request.edits, list):
        several: list[LabelEdit] = []
        for number, given in enumerate(request.edits, 1):
            found = _edits(given)
            if len(found) != 1:
                raise Problem(422, f"edit {number} must have exactly one of {KINDS}")
            several += found
        if single:
            raise Problem(422, "send either one label edit, or several as edits")
        return EditLabels(tuple(several))
    if len(single) == 1:
        return single[0]
    raise Problem(422, f"send exactly one of {KINDS}, or several as edits")


def _edits(request: OneEdit) -> list[LabelEdit]:
    edits: list[LabelEdit] = []
    if isinstance(request.add, AddRequest):
        edits.append(AddLabel(request.add.label, request.add.names))
    if isinstance(request.name, NameRequest):
        edits.append(NameLabel(request.name.label, request.name.names, request.name.former))
    if isinstance(request.rename, RenameRequest):
        edits.append(RenameLabel(request.rename.label, request.rename.to))
    if isinstance(request.merge, MergeRequest):
        edits.append(MergeLabels(request.merge.label, request.merge.into))
    if isinstance(request.retire, RetireRequest):
        edits.append(RetireLabel(request.retire.label))
    if isinstance(request.move, MoveRequest):
        schemes = None if isinstance(request.move.schemes, UnsetType) else request.move.schemes
        edits.append(MoveLabel(request.move.label, request.move.broader, schemes))
    return edits


async def _changes(replica: Replica, labels: Iterable[Name]) -> Changes:
    """Count the texts of labels and the words that vote for them, in chunks, because an index may be large."""
    with replica.reading():
        book = replica.labels.book
        members = {
            book.id_of(member)
            for label in labels
            for member in replica.labels.members(replica.labels.resolve(label))
            if member in book
        }
        texts = sum(int(book.counts[member]) for member in members)
    wanted, start, words = np.array(sorted(members), np.int32), 0, 0
    while len(wanted):
        with replica.reading():
            edges = replica.tagger.ranker.count_edges(wanted, start, start + CHUNK)
        if edges is None:
            break
        words, start = words + edges, start + CHUNK
        await asyncio.sleep(0)
    return Changes(texts, words)


ENDPOINTS = (
    Endpoint("GET", "/v1/labels", search, LabelsRequest, FoundLabels, "List labels, and find them by their names"),
    Endpoint("POST", "/v1/labels", complete, CompletionRequest, FoundLabels, "Find labels for a text by their names"),
    Endpoint(
        "PATCH",
        "/v1/labels",
        change,
        LabelEditRequest,
        Changed,
        "Add, name, rename, merge, retire or move labels",
        Scope.ADMIN,
        EDITS_BYTES,
        keyed=True,
        errors=(409,),
    ),
)
