"""Endpoints that rank, and say why."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping

from msgspec import UNSET

from abound.server.asking import cut, rank_features, rank_pairs, rank_with_words
from abound.server.http.bodies import (
    BatchAsk,
    BatchRanked,
    ExplainAsk,
    Explained,
    RankAsk,
    Ranked,
    RankedLabel,
    WordVoted,
)
from abound.server.http.endpoints import Call, Endpoint
from abound.server.http.limits import BATCH_BYTES, EXPLAIN_BYTES
from abound.server.http.problems import Problem
from abound.store.names import Name
from abound.tagger import BandedEntry, Entry, WordVote
from abound.tagger.emptiness import why_empty

CHUNK_CHARACTERS = 20_000  # that are ranked between two looks at other requests
Names = Mapping[str, list[str]]


def rank(call: Call[RankAsk]) -> Ranked:
    """Rank the labels of a text, or of features."""
    with call.served.replica.reading() as sequence:  # one state for the labels and the sequence that is said
        ranked = _ranked(call)
        return Ranked(sequence, _above(ranked, call.ask.threshold), UNSET if ranked else _why_empty(call.ask, call))


def _ranked(call: Call[RankAsk]) -> list[RankedLabel]:
    ask, replica = call.ask, call.served.replica
    names = replica.tagger.label_names
    if isinstance(ask.text, str) and ask.features is UNSET:
        if ask.explain and len(ask.text.encode()) > EXPLAIN_BYTES:
            raise Problem(413, f"a text of at most {EXPLAIN_BYTES:,} bytes can be explained; leave explain out")
        if ask.bands:
            labels = _shown(_banded(call, [ask.text])[0], ask.k, names)
            if ask.explain:
                labels = [_explained(call, ask.text, label) for label in labels]
        elif ask.explain:
            found = rank_with_words(replica, ask.text, ask.k)
            labels = [_label(entry, names, _votes(words, spans=True), prior) for entry, words, prior in found]
        else:
            labels = _plain(rank_pairs(replica, ask.text, ask.k), names)
    elif isinstance(ask.features, dict) and ask.text is UNSET:
        if ask.bands or ask.explain:
            raise Problem(422, "bands and explain need a text, not features")
        labels = [_label(entry, names) for entry in rank_features(replica, ask.features, ask.k)]
    else:
        raise Problem(422, "give either text or features")
    return labels


def _why_empty(ask: RankAsk, call: Call[RankAsk]) -> str:
    if not isinstance(ask.text, str):
        return "no feature that was given is known and votes for a label"
    if ask.bands:
        return "no label is likely enough to be applied or suggested"
    return why_empty(call.served.replica.tagger, ask.text)


async def rank_batch(call: Call[BatchAsk]) -> BatchRanked:
    """Rank the labels of many texts; each at the sequence of the answer or after it."""
    ask, replica = call.ask, call.served.replica
    sequence, results = replica.sequence, []
    for texts in _chunks(ask.texts):
        names = replica.tagger.label_names
        if ask.bands:
            found = [_shown(entries, ask.k, names) for entries in _banded(call, texts)]
        else:
            found = [[_label(entry, names) for entry in entries] for entries in replica.rank_many(texts, ask.k)]
        results += [_above(labels, ask.threshold) for labels in found]
        await asyncio.sleep(0)
    return BatchRanked(sequence, results)


def explain(call: Call[ExplainAsk]) -> Explained:
    """Say which words of a text speak for a label."""
    replica = call.served.replica
    with replica.reading() as sequence:
        try:
            found = replica.explain(call.ask.text, call.ask.label)
        except ValueError as error:
            raise Problem(404, str(error)) from None
    return Explained(sequence, found.label, found.score, _votes(found.words, spans=True), found.prior)


def _chunks(texts: list[str]) -> Iterator[list[str]]:
    chunk, size = [], 0
    for text in texts:
        chunk.append(text)
        size += len(text)
        if size > CHUNK_CHARACTERS or len(chunk) >= 100:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _banded(call: Call[RankAsk] | Call[BatchAsk], texts: list[str]) -> list[list[BandedEntry]]:
    if call.served.replica.tagger.bands is None:
        raise Problem(409, "the model has no bands yet; they are taught with `abound feedback`")
    return cut(call.served.replica, texts)


def _shown(entries: Iterable[BandedEntry], k: int, names: Names) -> list[RankedLabel]:
    shown = [entry for entry in entries if entry.band != "hide"][:k]
    return [_label(entry, names) for entry in shown]


def _plain(pairs: list[tuple[Name, float]], names: Names) -> list[RankedLabel]:
    if not names:
        return [RankedLabel(label, score, place) for place, (label, score) in enumerate(pairs, 1)]
    called = [names.get(str(label)) for label, _ in pairs]
    return [
        RankedLabel(label, score, place, name[0] if name else UNSET)
        for place, ((label, score), name) in enumerate(zip(pairs, called, strict=True), 1)
    ]


def _label(
    entry: Entry | BandedEntry, names: Names, words: list[WordVoted] | None = None, prior: float = 0.0
) -> RankedLabel:
    known = names.get(str(entry.label)) if names else None
    name, said = known[0] if known else UNSET, UNSET if words is None else words
    if isinstance(entry, BandedEntry):
        return RankedLabel(entry.label, entry.score, entry.rank, name, entry.band, entry.probability, said)
    return RankedLabel(entry.label, entry.score, entry.rank, name, words=said, prior=prior or UNSET)


def _explained(call: Call[RankAsk], text: str, label: RankedLabel) -> RankedLabel:
    found = call.served.replica.explain(text, label.label)
    words, prior = _votes(found.words, spans=True), found.prior or UNSET
    return RankedLabel(label.label, label.score, label.rank, label.name, label.band, label.probability, words, prior)


def _votes(words: list[WordVote], *, spans: bool = False) -> list[WordVoted]:
    return [WordVoted(word.word, word.vote, word.spans if spans else UNSET) for word in words]


def _above(labels: list[RankedLabel], threshold: float | None) -> list[RankedLabel]:
    return labels if threshold is None else [label for label in labels if label.score >= threshold]


ENDPOINTS = (
    Endpoint("POST", "/v1/rank", rank, RankAsk, Ranked, "Rank the labels of a text", errors=(409,)),
    Endpoint(
        "POST",
        "/v1/rank/batch",
        rank_batch,
        BatchAsk,
        BatchRanked,
        "Rank the labels of many texts",
        limit=BATCH_BYTES,
        errors=(409,),
    ),
    Endpoint(
        "POST",
        "/v1/explain",
        explain,
        ExplainAsk,
        Explained,
        "Say why a text has a label",
        limit=EXPLAIN_BYTES,
        errors=(404,),
    ),
)
