"""Endpoints of the labels: find them, add, rename, merge and retire them without retraining."""

import asyncio
from collections.abc import Iterable

import numpy as np
from msgspec import UNSET

from abound.server.http.bodies import (
    AddAsk,
    Changed,
    Changes,
    FoundLabel,
    FoundLabels,
    LabelsAsk,
    MergeAsk,
    RenameAsk,
    RetireAsk,
    SurgeryAsk,
)
from abound.server.http.endpoints import Call, Endpoint, Scope
from abound.server.http.problems import Problem
from abound.server.replica import Replica
from abound.store.journal.records import AddLabel, MergeLabels, RenameLabel, RetireLabel, Surgery
from abound.store.names import Name

PIECE = 1 << 15  # features that are looked through while nobody may learn


def search(call: Call[LabelsAsk]) -> FoundLabels:
    """Find labels by the beginning of a word of their names."""
    replica = call.served.replica
    with replica.reading():
        total, found = replica.search.find(call.ask.prefix, call.ask.limit)
        labels = [FoundLabel(label, count, UNSET if name is None else name) for label, name, count in found]
        return FoundLabels(replica.sequence, labels, total)


async def change(call: Call[SurgeryAsk]) -> Changed:
    """Make one change of the labels, or only say what it would concern."""
    record = _record(call.ask)
    replica = call.served.replica
    if call.ask.dry_run:
        with replica.reading():
            replica.check(record)
    changes = await _changes(replica, {record.label, *([record.into] if isinstance(record, MergeLabels) else [])})
    if call.ask.dry_run:
        return Changed(changes)
    receipt = await call.served.learn(record, call.key or call.ask.key)
    return Changed(changes, receipt.sequence)


def _record(ask: SurgeryAsk) -> Surgery:
    given: list[Surgery] = []
    if isinstance(ask.add, AddAsk):
        given.append(AddLabel(ask.add.label, ask.add.names))
    if isinstance(ask.rename, RenameAsk):
        given.append(RenameLabel(ask.rename.label, ask.rename.to))
    if isinstance(ask.merge, MergeAsk):
        given.append(MergeLabels(ask.merge.label, ask.merge.into))
    if isinstance(ask.retire, RetireAsk):
        given.append(RetireLabel(ask.retire.label))
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
    Endpoint("GET", "/v1/labels", search, LabelsAsk, FoundLabels, "Find labels by the beginning of a word"),
    Endpoint(
        "PATCH",
        "/v1/labels",
        change,
        SurgeryAsk,
        Changed,
        "Add, rename, merge or retire a label",
        Scope.ADMIN,
        keyed=True,
    ),
)
