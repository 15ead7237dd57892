"""Endpoints of labels: find, add, name, rename, merge, retire and move labels without retraining."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from msgspec import UNSET, UnsetType

from abound.server.http.bodies import (
    AddRequest,
    Changed,
    Changes,
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
from abound.server.http.limits import EDITS_BYTES
from abound.server.http.problems import Problem
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

CHUNK = 1 << 15  # features that are scanned under one lock
KINDS = "add, name, rename, merge, retire and move"


def search(call: Call[LabelsRequest]) -> FoundLabels:
    """Find labels by the beginning of a word of their names."""
    replica, asked = call.service.replica, call.request
    with replica.reading():
        if asked.worst_first and not replica.search.is_rated:
            raise Problem(422, "the quality of labels is not known; start the server with --quality FILE")
        total, matches = replica.search.find(asked.prefix, asked.limit, worst_first=asked.worst_first)
        labels = [
            FoundLabel(
                found.label,
                found.texts,
                UNSET if found.name is None else found.name,
                UNSET if found.quality is None else _quality(found.quality, replica.tagger.label_names),
            )
            for found in matches
        ]
        return FoundLabels(replica.sequence, labels, total, replica.search.is_rated)


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
    if call.request.dry_run:
        with replica.reading():
            replica.check(record)
    counted = (AddLabel, RenameLabel, MergeLabels, RetireLabel)
    affected = {label for edit in edits_of(record) if isinstance(edit, counted) for label in _labels_of(edit)}
    changes = await _changes(replica, affected)
    if call.request.dry_run:
        return Changed(changes, names=_names(replica, record))
    receipt = await call.service.learn(record, call.key or call.request.key, call.origin)
    return Changed(changes, receipt.sequence, _names(replica, record))


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
    Endpoint("GET", "/v1/labels", search, LabelsRequest, FoundLabels, "Find labels by the beginning of a word"),
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
    ),
)
