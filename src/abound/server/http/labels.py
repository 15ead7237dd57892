"""Endpoints of the labels: find them, add, rename, merge and retire them without retraining."""

import asyncio
from collections.abc import Iterable

import numpy as np
from msgspec import UNSET

from abound.server.http.bodies import (
    AddRequest,
    Changed,
    Changes,
    FoundLabel,
    FoundLabels,
    LabelEditRequest,
    LabelsRequest,
    MergeRequest,
    RenameRequest,
    RetireRequest,
)
from abound.server.http.endpoints import Call, Endpoint, Scope
from abound.server.http.problems import Problem
from abound.server.replica import Replica
from abound.store.journal.records import AddLabel, LabelEdit, MergeLabels, RenameLabel, RetireLabel
from abound.store.names import Name

PIECE = 1 << 15  # features that are looked through while nobody may learn


def search(call: Call[LabelsRequest]) -> FoundLabels:
    """Find labels by the beginning of a word of their names."""
    replica = call.service.replica
    with replica.reading():
        total, found = replica.search.find(call.request.prefix, call.request.limit)
        labels = [FoundLabel(label, count, UNSET if name is None else name) for label, name, count in found]
        return FoundLabels(replica.sequence, labels, total)


async def change(call: Call[LabelEditRequest]) -> Changed:
    """Make one change of the labels, or only say what it would concern."""
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
    given: list[LabelEdit] = []
    if isinstance(request.add, AddRequest):
        given.append(AddLabel(request.add.label, request.add.names))
    if isinstance(request.rename, RenameRequest):
        given.append(RenameLabel(request.rename.label, request.rename.to))
    if isinstance(request.merge, MergeRequest):
        given.append(MergeLabels(request.merge.label, request.merge.into))
    if isinstance(request.retire, RetireRequest):
        given.append(RetireLabel(request.retire.label))
    if len(given) == 1:
        return given[0]
    raise Problem(422, "give one of add, rename, merge and retire")


async def _changes(replica: Replica, labels: Iterable[Name]) -> Changes:
    """Count the texts of labels, and the words that vote for them, a piece at a time: an index may be large."""
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
            found = replica.tagger.ranker.count_edges(wanted, start, start + PIECE)
        if found is None:
            break
        words, start = words + found, start + PIECE
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
