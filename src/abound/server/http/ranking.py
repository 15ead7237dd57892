"""Endpoints that rank and explain.

Work that may take longer than one ranking is split into pieces; other requests and records are handled between them.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from abound.calibration import Decision
from abound.calibration.decisions import CONSIDERED, NO_PROBABILITIES
from abound.hierarchy.links import Chooser
from abound.server.http.bodies import (
    Assigned,
    AssignRequest,
    BatchRanked,
    BatchRequest,
    Explained,
    ExplainRequest,
    PathLabel,
    Ranked,
    RankedLabel,
    RankRequest,
    ShownLabel,
    SimilarRequest,
    SimilarText,
    SimilarTexts,
    WordVoted,
)
from abound.server.http.endpoints import Call, Encoded, Endpoint
from abound.server.http.limits import (
    ANSWER_BYTES,
    BATCH_BYTES,
    EXPLAIN_BYTES,
    LONG_TEXT,
    answer_too_large,
    check_explained,
    check_fields,
    check_ranked,
    check_text,
)
from abound.server.http.problems import Problem
from abound.server.queries import FeatureRow, Reasons, TextRow, cut, rank_and_assign, rank_plainly
from abound.server.queries import assign as assign_labels
from abound.server.queries import similar as similar_texts
from abound.store.names import Name
from abound.tagger import BandedEntry, Entry, TextExplanation, WordVote
from abound.tagger.emptiness import why_empty
from abound.texts import Text, joined, n_characters

# The size of a piece of work.
PIECE_CHARACTERS = 20_000
PIECE_TEXTS = 100
PIECE_LABELS = 5_000
PIECE_REASONS = 12_000
PIECE_FEATURES = 1_000
SHORT_TEXT = 10_000  # characters; a longer text is ranked in one piece and explained in others
N_SIMILAR = 3  # texts that explain a label
NO_BANDS = "bands cannot be combined with only, without or keep_parents"
Names = Mapping[str, list[str]]
_ENCODER = msgspec.json.Encoder()


def rank(call: Call[RankRequest]) -> Ranked | Coroutine[Any, Any, Ranked | Encoded]:
    """Rank the labels of a text, or of features."""
    request, replica = call.request, call.service.replica
    if request.bands and _chooses(request):
        raise Problem(422, NO_BANDS)
    if isinstance(request.text, str | dict) and request.features is UNSET:
        check_text(request.text)
        check_fields(replica.tagger, request.text)
        return _rank_prepared(call, request.text) if call.service.prepares else _rank_text(call, request.text)
    if isinstance(request.features, dict) and request.text is UNSET:
        if request.bands or request.explain or request.assign:
            raise Problem(422, "bands, assign and explain need a text, not features")
        return _rank_features(call, request.features)
    raise Problem(422, "send either text or features")


def _rank_text(call: Call[RankRequest], text: Text) -> Ranked | Coroutine[Any, Any, Ranked | Encoded]:
    if call.request.explain:
        return _rank_with_words(call, text)
    if n_characters(text) > LONG_TEXT and not call.request.bands:
        return _rank_long(call, text)
    with call.state([text]) as sequence:  # labels and sequence of one state
        return _answer(call, sequence, _ranked(call, text))


async def _rank_prepared(call: Call[RankRequest], text: Text) -> Ranked | Encoded:
    """Rank a text with its vector, and with what a service says about it."""
    await call.service.encode([text])
    await call.hear([text])
    answer = _rank_text(call, text)
    return answer if isinstance(answer, Ranked) else await answer


async def _rank_long(call: Call[RankRequest], text: Text) -> Ranked:
    with call.state([text]):
        row = TextRow(call.service.replica, text)
    await asyncio.sleep(0)
    return _rank_row(call, row)


def _ranked(call: Call[RankRequest], text: Text) -> list[RankedLabel]:
    request, replica = call.request, call.service.replica
    names = replica.tagger.label_names
    if request.bands:
        return _shown(_banded(call, [text])[0], request.k, names)
    chooser = _chooser(call)
    if request.assign:
        return _marked(call, lambda k: replica.rank_many([text], k, chooser)[0])
    if chooser is not None:
        return [_label(entry, names) for entry in replica.rank_many([text], request.k, chooser)[0]]
    return _plain(rank_plainly(replica, text, request.k), names)


def _chooses(request: RankRequest | BatchRequest | AssignRequest) -> bool:
    """Return whether some labels may not be ranked."""
    return request.only is not None or bool(request.without) or request.keep_parents is False


def _takes_long(call: Call[BatchRequest] | Call[AssignRequest]) -> bool:
    """Return whether each text is a piece of its own: it is compared with vectors, or many labels are ranked."""
    return call.service.replica.tagger.blends or _chooses(call.request)


def _chooser(call: Call[RankRequest] | Call[BatchRequest] | Call[AssignRequest]) -> Chooser | None:
    """Return what chooses the labels of an answer in the current state; None if all may be ranked."""
    request = call.request
    if not _chooses(request):
        return None
    keep = (
        isinstance(request, AssignRequest) or request.keep_parents is not False
    )  # assigned labels are sorted out later
    try:
        return call.service.replica.chooser(request.only, request.without, keep_parents=keep)
    except ValueError as error:
        raise Problem(422, str(error)) from None


def _marked(call: Call[RankRequest], ranked: Callable[[int], list[Entry]]) -> list[RankedLabel]:
    """Return ranked labels, and which of them to apply."""
    replica, names = call.service.replica, call.service.replica.tagger.label_names
    marked = rank_and_assign(replica, ranked, call.request.k, keep_parents=bool(call.request.keep_parents))
    return [_label(entry, names, assigned) for entry, assigned in marked]


def _answer(call: Call[RankRequest], sequence: int, labels: list[RankedLabel]) -> Ranked:
    shown = _with_paths(call, _above(labels, call.request.threshold))
    return Ranked(sequence, shown, UNSET if labels else _why_empty(call), _voters(call))


def _voters(call: Call[RankRequest]) -> list[str] | UnsetType:
    """Return who voted on the text of a request, if it is not the words alone."""
    text = call.request.text
    voters = [] if text is UNSET else call.voters(text)
    return voters if len(voters) > 1 else UNSET


def _with_paths(
    call: Call[RankRequest] | Call[BatchRequest] | Call[AssignRequest], labels: list[RankedLabel]
) -> list[RankedLabel]:
    """Add the paths from top concepts, if they were asked for."""
    tagger = call.service.replica.tagger
    if call.request.paths and tagger.hierarchy is not None:
        names = tagger.label_names
        for label in labels:
            if path := tagger.path_of(label.label):
                label.path = [PathLabel(one, _name(one, names)) for one in path[:-1]]
    return labels


def _why_empty(call: Call[RankRequest]) -> str:
    if call.request.text is UNSET:
        return "no feature of the request is known and votes for a label"
    if call.request.bands:
        return "no label is likely enough to be applied or suggested"
    if _chooses(call.request) and call.service.replica.rank_many([call.request.text], 1)[0]:
        return "none of the chosen labels has a vote"
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
    with call.state([] if call.request.text is UNSET else [call.request.text]) as sequence:
        chooser = _chooser(call)
        if call.request.assign:
            return _answer(call, sequence, _marked(call, lambda k: row.rank(k, chooser)))
        names = replica.tagger.label_names
        return _answer(call, sequence, [_label(entry, names) for entry in row.rank(call.request.k, chooser)])


def _rank_with_words(call: Call[RankRequest], text: Text) -> Ranked | Coroutine[Any, Any, Ranked | Encoded]:
    if len(joined(text).encode("utf-8", "surrogatepass")) > EXPLAIN_BYTES:
        raise Problem(413, f"only texts of at most {EXPLAIN_BYTES:,} bytes can be explained; leave out explain")
    with call.state([text]) as sequence:
        ranked = _ranked(call, text)
        if not ranked:
            return _answer(call, sequence, ranked)
        labels = _with_paths(call, _above(ranked, call.request.threshold))
        reasons = Reasons(call.service.replica, text, [label.label for label in labels], check_explained)
        if reasons.cost > PIECE_REASONS or n_characters(text) > SHORT_TEXT:
            return _rank_in_steps(labels, reasons, _voters(call))
        explained = [_with_words(*both) for both in zip(labels, reasons.explain(), strict=True)]
        return Ranked(sequence, explained, voters=_voters(call))


async def _rank_in_steps(labels: list[RankedLabel], reasons: Reasons, voters: list[str] | UnsetType) -> Encoded:
    """Return ranked labels with their explanations, which are computed in steps."""
    answer, ranked = _Answer(), iter(labels)
    note = b"" if voters is UNSET else b',"voters":%b' % _ENCODER.encode(voters)
    async for explanations in _interleaved(reasons):
        answer.add([_with_words(next(ranked), explanation) for explanation in explanations])
    return Encoded(reasons.sequence, answer.closed(b'{"sequence":%d,"labels":[' % reasons.sequence, b"]%b}" % note))


async def _interleaved(reasons: Reasons) -> AsyncIterator[list[TextExplanation]]:
    """Yield explanations step by step; other requests are handled before each step."""
    steps = reasons.steps(PIECE_REASONS)
    await asyncio.sleep(0)
    for explanations in steps:
        yield explanations
        await asyncio.sleep(0)


async def rank_batch(call: Call[BatchRequest]) -> Encoded:
    """Rank the labels of many texts; `sequences` has the sequence of each if records came in between."""
    request, replica = call.request, call.service.replica
    check_ranked(len(request.texts), request.k)
    if request.bands and _chooses(request):
        raise Problem(422, NO_BANDS)
    for text in request.texts:
        check_text(text)
        check_fields(replica.tagger, text)
    async with call.service.batches():
        await call.hear(request.texts)
        results = _Results(replica.sequence)
        for texts in _chunks(request.texts, PIECE_LABELS if _takes_long(call) else request.k):
            await asyncio.sleep(0)
            await call.service.encode(texts)
            row = None
            if n_characters(texts[0]) > LONG_TEXT and not request.bands:  # alone in its piece
                with call.state(texts):
                    row = TextRow(replica, texts[0])
                await asyncio.sleep(0)
            with call.state(texts) as sequence:
                results.add(sequence, _rank_piece(call, texts, row), map(call.voters, texts))
        return results.encoded()


def _rank_piece(call: Call[BatchRequest], texts: list[Text], row: TextRow | None) -> list[list[RankedLabel]]:
    """Rank the labels of some texts of a batch, or of the row of a long one, in the current state."""
    request, replica = call.request, call.service.replica
    names, chooser = replica.tagger.label_names, _chooser(call)
    if request.bands:
        ranked = [_shown(entries, request.k, names) for entries in _banded(call, texts)]
    else:
        rows = replica.rank_many(texts, request.k, chooser) if row is None else [row.rank(request.k, chooser)]
        ranked = [[_label(entry, names) for entry in entries] for entries in rows]
    return [_with_paths(call, _above(labels, request.threshold)) for labels in ranked]


async def assign(call: Call[AssignRequest]) -> Encoded:
    """Return the labels to apply to texts; `sequences` has the sequence of each if records came in between."""
    request, replica = call.request, call.service.replica
    texts = _texts(request)
    for text in texts:
        check_fields(replica.tagger, text)
    try:
        decision = Decision(request.threshold, request.precision)
    except ValueError as error:
        raise Problem(422, str(error)) from None
    async with call.service.batches():
        await call.hear(texts)
        results, note = _Results(replica.sequence), b""
        with replica.reading():
            calibration = replica.tagger.calibration
            if not calibration.is_ready:
                raise Problem(409, NO_PROBABILITIES)
            unreachable = decision.warning(calibration)
        if unreachable is not None:
            note = b',"note":%b' % _ENCODER.encode(unreachable)
        for part in _chunks(texts, PIECE_LABELS if _takes_long(call) else CONSIDERED):
            await asyncio.sleep(0)
            await call.service.encode(part)
            with call.state(part) as sequence:
                names, keep = replica.tagger.label_names, bool(request.keep_parents)
                rows = assign_labels(replica, part, decision, _chooser(call), keep_parents=keep)
                shown = [_with_paths(call, [_label(entry, names) for entry in row]) for row in rows]
                results.add(sequence, shown, map(call.voters, part))
        return results.encoded(note)


def _texts(request: AssignRequest) -> Sequence[Text]:
    """Return the texts of a request, after checking their sizes."""
    if isinstance(request.texts, list) and request.text is UNSET:
        texts = request.texts
    elif isinstance(request.text, str | dict) and request.texts is UNSET:
        texts = [request.text]
    else:
        raise Problem(422, "send either text or texts")
    check_ranked(len(texts), CONSIDERED)
    for text in texts:
        check_text(text)
    return texts


def explain(call: Call[ExplainRequest]) -> Explained | Coroutine[Any, Any, Explained]:
    """Return the words of a text that vote for a label, and similar texts that have it."""
    check_fields(call.service.replica.tagger, call.request.text)
    return _explain_prepared(call) if call.service.encodes_slowly else _explain(call)


async def _explain_prepared(call: Call[ExplainRequest]) -> Explained:
    await call.service.encode([call.request.text])
    answer = _explain(call)
    return answer if isinstance(answer, Explained) else await answer


def _explain(call: Call[ExplainRequest]) -> Explained | Coroutine[Any, Any, Explained]:
    replica, request = call.service.replica, call.request
    with replica.reading(), _not_found():
        reasons = Reasons(replica, request.text, [request.label], check_explained)
        if reasons.cost > PIECE_REASONS or n_characters(request.text) > SHORT_TEXT:
            return _explain_in_steps(call, reasons)
        return _explained(call, reasons.sequence, *reasons.explain())


async def _explain_in_steps(call: Call[ExplainRequest], reasons: Reasons) -> Explained:
    [explanation] = [explanation async for step in _interleaved(reasons) for explanation in step]
    return _explained(call, reasons.sequence, explanation)


def _explained(call: Call[ExplainRequest], sequence: int, explanation: TextExplanation) -> Explained:
    words = _votes(explanation.words, spans=True)
    found = _similar(call, N_SIMILAR, explanation.label) if call.service.replica.tagger.shows_similar else UNSET
    return Explained(sequence, explanation.label, explanation.score, words, explanation.prior, found)


async def similar(call: Call[SimilarRequest]) -> SimilarTexts:
    """Return the learned texts that are most similar to a text."""
    replica, text = call.service.replica, call.request.text
    check_fields(replica.tagger, text)
    await call.service.encode([text])
    with replica.reading() as sequence:
        if not replica.tagger.shows_similar:
            raise Problem(409, "the model has no similar texts; fit it with embeddings, such as `words`")
        return SimilarTexts(sequence, _similar(call, call.request.k))


def _similar(call: Call[ExplainRequest] | Call[SimilarRequest], k: int, label: Name | None = None) -> list[SimilarText]:
    replica = call.service.replica
    with replica.reading(), _not_found():
        names = replica.tagger.label_names
        return [
            SimilarText(one.text, [ShownLabel(own, _name(own, names)) for own in one.labels], one.similarity)
            for one in similar_texts(replica, call.request.text, k, label)
        ]


@contextmanager
def _not_found() -> Iterator[None]:
    """Answer with 404 if a label is unknown or retired."""
    try:
        yield
    except ValueError as error:
        raise Problem(404, str(error)) from None


class _Answer:
    """An answer that is encoded part by part, so that only the encoded bytes are in memory."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, items: list[Any]) -> None:
        """Add items to the list at the end of the answer."""
        if not items:
            return
        if self._parts:
            self._parts.append(b",")
        self._parts.append(_ENCODER.encode(items)[1:-1])
        self._size += len(self._parts[-1])
        if self._size > ANSWER_BYTES:
            raise answer_too_large()

    def closed(self, beginning: bytes, end: bytes) -> bytes:
        """Return the complete answer."""
        return b"".join([beginning, *self._parts, end])


class _Results:
    """The results of a batch, ranked piece by piece, each piece in one state.

    Parameters
    ----------
    sequence : int
        That of the answer if there are no texts.
    """

    def __init__(self, sequence: int) -> None:
        self._answer = _Answer()
        self._otherwise = sequence
        self._sequences: list[int] = []
        self._voters: list[list[str]] = []

    def add(self, sequence: int, rows: list[list[RankedLabel]], voters: Iterable[list[str]]) -> None:
        """Add the results of a piece, and who voted on each."""
        self._answer.add(rows)
        self._voters += voters
        self._sequences += [sequence] * len(rows)

    def encoded(self, note: bytes = b"") -> Encoded:
        """Return the answer, with the sequence of each result unless all are the same."""
        first = self._sequences[0] if self._sequences else self._otherwise
        if any(sequence != first for sequence in self._sequences):
            note += b',"sequences":%b' % _ENCODER.encode(self._sequences)
        if any(len(voters) > 1 for voters in self._voters):
            note += b',"voters":%b' % _ENCODER.encode(self._voters)
        return Encoded(first, self._answer.closed(b'{"sequence":%d,"results":[' % first, b"]%b}" % note))


def _chunks(texts: Sequence[Text], k: int) -> Iterator[list[Text]]:
    chunk: list[Text] = []
    size, most = 0, max(1, min(PIECE_TEXTS, PIECE_LABELS // k))
    for text in texts:
        if chunk and size + n_characters(text) > PIECE_CHARACTERS:
            yield chunk
            chunk, size = [], 0
        chunk.append(text)
        size += n_characters(text)
        if len(chunk) >= most:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _banded(call: Call[RankRequest] | Call[BatchRequest], texts: list[Text]) -> list[list[BandedEntry]]:
    if call.service.replica.tagger.bands is None:
        raise Problem(409, "the model has no bands yet; train them with `abound feedback`")
    return cut(call.service.replica, texts)


def _shown(entries: Iterable[BandedEntry], k: int, names: Names) -> list[RankedLabel]:
    shown = [entry for entry in entries if entry.band != "hide"][:k]
    return [_label(entry, names) for entry in shown]


def _plain(ranked: list[tuple[Name, float, float | None]], names: Names) -> list[RankedLabel]:
    return [
        RankedLabel(label, score, rank, _name(label, names), UNSET, UNSET if probability is None else probability)
        for rank, (label, score, probability) in enumerate(ranked, 1)
    ]


def _name(label: Name, names: Names) -> str | UnsetType:
    known = names.get(str(label)) if names else None
    return known[0] if known else UNSET


def _label(entry: Entry | BandedEntry, names: Names, assigned: bool | UnsetType = UNSET) -> RankedLabel:
    band = entry.band if isinstance(entry, BandedEntry) else UNSET
    probability = UNSET if entry.probability is None else entry.probability
    name = _name(entry.label, names)
    return RankedLabel(entry.label, entry.score, entry.rank, name, band, probability, assigned=assigned)


def _with_words(label: RankedLabel, explanation: TextExplanation) -> RankedLabel:
    """Return a ranked label with its explanation."""
    words, prior = _votes(explanation.words, spans=True), explanation.prior or UNSET
    return msgspec.structs.replace(label, words=words, prior=prior)


def _votes(words: list[WordVote], *, spans: bool = False) -> list[WordVoted]:
    if not spans:
        return [WordVoted(word.word, word.vote) for word in words]
    return [WordVoted(word.word, word.vote, [span[:2] for span in word.spans], word.fields or UNSET) for word in words]


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
        "/v1/assign",
        assign,
        AssignRequest,
        Assigned,
        "Assign labels to texts",
        limit=BATCH_BYTES,
        errors=(409,),
    ),
    Endpoint(
        "POST",
        "/v1/explain",
        explain,
        ExplainRequest,
        Explained,
        "Explain why a text has a label",
        limit=EXPLAIN_BYTES,
        errors=(404,),
    ),
    Endpoint(
        "POST",
        "/v1/similar",
        similar,
        SimilarRequest,
        SimilarTexts,
        "Find the learned texts that are most similar to a text",
        limit=EXPLAIN_BYTES,
        errors=(409,),
    ),
)
