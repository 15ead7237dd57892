"""Endpoints that rank, and say why.

What may take longer than a ranking is done a piece at a time, and other requests and records get their turn after each.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec
from msgspec import UNSET

from abound.server.http.bodies import (
    BatchRanked,
    BatchRequest,
    Explained,
    ExplainRequest,
    Ranked,
    RankedLabel,
    RankRequest,
    WordVoted,
)
from abound.server.http.endpoints import Call, Encoded, Endpoint
from abound.server.http.limits import (
    ANSWER_BYTES,
    BATCH_BYTES,
    EXPLAIN_BYTES,
    answer_too_large,
    check_explained,
    check_ranked,
    check_text,
)
from abound.server.http.problems import Problem
from abound.server.queries import FeatureRow, Reasons, TextRow, cut, rank_pairs
from abound.store.names import Name
from abound.tagger import BandedEntry, Entry, TextExplanation, WordVote
from abound.tagger.emptiness import why_empty

# What is done between two looks at other requests.
PIECE_CHARACTERS = 20_000
PIECE_TEXTS = 100
PIECE_LABELS = 5_000
PIECE_REASONS = 12_000
PIECE_FEATURES = 1_000
LONG_TEXT = 100_000  # characters of a text that is cut into words in one piece and ranked in the next
SHORT_TEXT = 10_000  # characters of a text whose places are told in the same piece in which it is ranked
Names = Mapping[str, list[str]]
_ENCODER = msgspec.json.Encoder()


def rank(call: Call[RankRequest]) -> Ranked | Coroutine[Any, Any, Ranked | Encoded]:
    """Rank the labels of a text, or of features."""
    request, replica = call.request, call.service.replica
    if isinstance(request.text, str) and request.features is UNSET:
        check_text(request.text)
        if request.explain:
            return _rank_with_words(call, request.text)
        if len(request.text) > LONG_TEXT and not request.bands:
            return _rank_long(call, request.text)
        with replica.reading() as sequence:  # one state for the labels and the sequence that is said
            return _answer(call, sequence, _ranked(call, request.text))
    if isinstance(request.features, dict) and request.text is UNSET:
        if request.bands or request.explain:
            raise Problem(422, "bands and explain need a text, not features")
        return _rank_features(call, request.features)
    raise Problem(422, "give either text or features")


async def _rank_long(call: Call[RankRequest], text: str) -> Ranked:
    row = TextRow(call.service.replica, text)
    await asyncio.sleep(0)
    return _rank_row(call, row)


def _ranked(call: Call[RankRequest], text: str) -> list[RankedLabel]:
    request, replica = call.request, call.service.replica
    names = replica.tagger.label_names
    if request.bands:
        return _shown(_banded(call, [text])[0], request.k, names)
    return _plain(rank_pairs(replica, text, request.k), names)


def _answer(call: Call[RankRequest], sequence: int, labels: list[RankedLabel]) -> Ranked:
    return Ranked(sequence, _above(labels, call.request.threshold), UNSET if labels else _why_empty(call))


def _why_empty(call: Call[RankRequest]) -> str:
    if not isinstance(call.request.text, str):
        return "no feature that was given is known and votes for a label"
    if call.request.bands:
        return "no label is likely enough to be applied or suggested"
    return why_empty(call.service.replica.tagger, call.request.text)


def _rank_features(
    call: Call[RankRequest], features: dict[str, float]
) -> Ranked | Coroutine[Any, Any, Ranked | Encoded]:
    row, items = FeatureRow(call.service.replica), list(features.items())
    if len(items) > PIECE_FEATURES:
        return _rank_many_features(call, row, items)
    with call.service.replica.reading():
        row.add(items)
        return _rank_row(call, row)


async def _rank_many_features(call: Call[RankRequest], row: FeatureRow, items: list[tuple[str, float]]) -> Ranked:
    for start in range(0, len(items), PIECE_FEATURES):
        row.add(items[start : start + PIECE_FEATURES])
        await asyncio.sleep(0)
    return _rank_row(call, row)


def _rank_row(call: Call[RankRequest], row: FeatureRow | TextRow) -> Ranked:
    replica = call.service.replica
    with replica.reading() as sequence:
        names = replica.tagger.label_names
        return _answer(call, sequence, [_label(entry, names) for entry in row.rank(call.request.k)])


def _rank_with_words(call: Call[RankRequest], text: str) -> Ranked | Coroutine[Any, Any, Ranked | Encoded]:
    if len(text.encode("utf-8", "surrogatepass")) > EXPLAIN_BYTES:
        raise Problem(413, f"a text of at most {EXPLAIN_BYTES:,} bytes can be explained; leave explain out")
    with call.service.replica.reading() as sequence:
        ranked = _ranked(call, text)
        if not ranked:
            return _answer(call, sequence, ranked)
        labels = _above(ranked, call.request.threshold)
        reasons = Reasons(call.service.replica, text, [label.label for label in labels], check_explained)
        if reasons.cost > PIECE_REASONS or len(text) > SHORT_TEXT:
            return _rank_in_steps(labels, reasons)
        return Ranked(sequence, [_with_words(*both) for both in zip(labels, reasons.explain(), strict=True)])


async def _rank_in_steps(labels: list[RankedLabel], reasons: Reasons) -> Encoded:
    """Answer with ranked labels and their reasons, which are looked up in steps."""
    answer, ranked = _Answer(b'{"sequence":%d,"labels":[' % reasons.sequence), iter(labels)
    async for explanations in _in_turn(reasons):
        answer.add([_with_words(next(ranked), explanation) for explanation in explanations])
    return Encoded(reasons.sequence, answer.closed(b"]}"))


async def _in_turn(reasons: Reasons) -> AsyncIterator[list[TextExplanation]]:
    """Yield explanations step by step; other requests get their turn before each step."""
    steps = reasons.steps(PIECE_REASONS)
    await asyncio.sleep(0)
    for explanations in steps:
        yield explanations
        await asyncio.sleep(0)


async def rank_batch(call: Call[BatchRequest]) -> Encoded:
    """Rank the labels of many texts; each at the sequence of the answer or after it."""
    request, replica = call.request, call.service.replica
    check_ranked(len(request.texts), request.k)
    for text in request.texts:
        check_text(text)
    async with call.service.batches():
        sequence = replica.sequence
        answer = _Answer(b'{"sequence":%d,"results":[' % sequence)
        for texts in _chunks(request.texts, request.k):
            await asyncio.sleep(0)
            names = replica.tagger.label_names
            if request.bands:
                found = [_shown(entries, request.k, names) for entries in _banded(call, texts)]
            elif len(texts[0]) > LONG_TEXT:  # alone in its piece
                row = TextRow(replica, texts[0])
                await asyncio.sleep(0)
                found = [[_label(entry, names) for entry in row.rank(request.k)]]
            else:
                found = [[_label(entry, names) for entry in entries] for entries in replica.rank_many(texts, request.k)]
            answer.add([_above(labels, request.threshold) for labels in found])
        return Encoded(sequence, answer.closed(b"]}"))


def explain(call: Call[ExplainRequest]) -> Explained | Coroutine[Any, Any, Explained]:
    """Say which words of a text vote for a label."""
    replica, request = call.service.replica, call.request
    with replica.reading(), _not_found():
        reasons = Reasons(replica, request.text, [request.label], check_explained)
        if reasons.cost > PIECE_REASONS or len(request.text) > SHORT_TEXT:
            return _explain_in_steps(reasons)
        return _told(reasons.sequence, *reasons.explain())


async def _explain_in_steps(reasons: Reasons) -> Explained:
    [explanation] = [explanation async for step in _in_turn(reasons) for explanation in step]
    return _told(reasons.sequence, explanation)


def _told(sequence: int, found: TextExplanation) -> Explained:
    return Explained(sequence, found.label, found.score, _votes(found.words, spans=True), found.prior)


@contextmanager
def _not_found() -> Iterator[None]:
    """Answer with 404 to a label that is not known or retired."""
    try:
        yield
    except ValueError as error:
        raise Problem(404, str(error)) from None


class _Answer:
    """An answer that is encoded as its parts come, so that neither they nor their number are held in memory."""

    def __init__(self, beginning: bytes) -> None:
        self._parts = [beginning]
        self._size = len(beginning)

    def add(self, items: list[Any]) -> None:
        """Add items of the list with which the answer ends."""
        if not items:
            return
        if len(self._parts) > 1:
            self._parts.append(b",")
        self._parts.append(_ENCODER.encode(items)[1:-1])
        self._size += len(self._parts[-1])
        if self._size > ANSWER_BYTES:
            raise answer_too_large()

    def closed(self, end: bytes) -> bytes:
        """Return the whole."""
        return b"".join([*self._parts, end])


def _chunks(texts: list[str], k: int) -> Iterator[list[str]]:
    chunk: list[str] = []
    size, most = 0, max(1, min(PIECE_TEXTS, PIECE_LABELS // k))
    for text in texts:
        if chunk and size + len(text) > PIECE_CHARACTERS:
            yield chunk
            chunk, size = [], 0
        chunk.append(text)
        size += len(text)
        if len(chunk) >= most:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _banded(call: Call[RankRequest] | Call[BatchRequest], texts: list[str]) -> list[list[BandedEntry]]:
    if call.service.replica.tagger.bands is None:
        raise Problem(409, "the model has no bands yet; they are taught with `abound feedback`")
    return cut(call.service.replica, texts)


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


def _label(entry: Entry | BandedEntry, names: Names) -> RankedLabel:
    known = names.get(str(entry.label)) if names else None
    name = known[0] if known else UNSET
    if isinstance(entry, BandedEntry):
        return RankedLabel(entry.label, entry.score, entry.rank, name, entry.band, entry.probability)
    return RankedLabel(entry.label, entry.score, entry.rank, name)


def _with_words(label: RankedLabel, found: TextExplanation) -> RankedLabel:
    """Return a ranked label with its reasons."""
    words, prior = _votes(found.words, spans=True), found.prior or UNSET
    return RankedLabel(label.label, label.score, label.rank, label.name, label.band, label.probability, words, prior)


def _votes(words: list[WordVote], *, spans: bool = False) -> list[WordVoted]:
    return [WordVoted(word.word, word.vote, word.spans if spans else UNSET) for word in words]


def _above(labels: list[RankedLabel], threshold: float | None) -> list[RankedLabel]:
    return labels if threshold is None else [label for label in labels if label.score >= threshold]


ENDPOINTS = (
    Endpoint("POST", "/v1/rank", rank, RankRequest, Ranked, "Rank the labels of a text", errors=(409,)),
    Endpoint(
        "POST",
        "/v1/rank/batch",
        rank_batch,
        BatchRequest,
        BatchRanked,
        "Rank the labels of many texts",
        limit=BATCH_BYTES,
        errors=(409,),
    ),
    Endpoint(
        "POST",
        "/v1/explain",
        explain,
        ExplainRequest,
        Explained,
        "Say why a text has a label",
        limit=EXPLAIN_BYTES,
        errors=(404,),
    ),
)
