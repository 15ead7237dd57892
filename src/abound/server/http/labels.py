"""Endpoints of labels: find, add, rename, merge and retire labels without retraining."""

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
    Quality,
    RenameRequest,
    RetireRequest,
)
from abound.server.http.endpoints import Call, Endpoint, Scope
from abound.server.http.problems import Problem
from abound.server.replica import Replica
from abound.store.journal.records import AddLabel, LabelEdit, MergeLabels, RenameLabel, RetireLabel
from abound.store.names import Name
from abound.tagger import LabelQuality

CHUNK = 1 << 15  # features that are scanned under one lock


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
    """Apply one label edit, or only report what it would affect."""
    record = _record(call.request)
    replica = call.service.replica
    if call.request.dry_run:
        with replica.reading():
            replica.check(record)
    changes = await _changes(replica, {record.label, *([record.into] if isinstance(record, MergeLabels) else [])})
    if call.request.dry_run:
        return Changed(changes)
    receipt = await call.service.learn(record, call.key or call.request.key)
    return Changed(changes, receipt.sequence)


def _record(request: LabelEditRequest) -> LabelEdit:
    edits: list[LabelEdit] = []
    if isinstance(request.add, AddRequest):
        edits.append(AddLabel(request.add.label, request.add.names))
    if isinstance(request.rename, RenameRequest):
        edits.append(RenameLabel(request.rename.label, request.rename.to))
    if isinstance(request.merge, MergeRequest):
        edits.append(MergeLabels(request.merge.label, request.merge.into))
    if isinstance(request.retire, RetireRequest):
        edits.append(RetireLabel(request.retire.label))
    if len(edits) == 1:
        return edits[0]
    raise Problem(422, "send exactly one of add, rename, merge and retire")


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
        "Add, rename, merge or retire a label",
        Scope.ADMIN,
        keyed=True,
    ),
)
