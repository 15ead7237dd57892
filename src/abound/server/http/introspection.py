"""Endpoints that inspect the model: a label, a word, and the quality over time."""

import asyncio
from datetime import UTC, datetime
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from abound.server.history import WINDOW, Trend
from abound.server.http.bodies import PathLabel
from abound.server.http.endpoints import Call, Endpoint
from abound.server.http.problems import Problem
from abound.server.introspection import Votes, find_label, rivals, word_votes
from abound.server.listing import iso_time
from abound.server.progress import SMOOTHED, Verdict, curve, sentence, verdict
from abound.server.progress import Point as Measured
from abound.server.replica import Replica
from abound.store.names import Name

MAX_WORDS = 20
AnyName = str | int | float


class LabelRequest(Struct, forbid_unknown_fields=True):
    """A label, under any of its names."""

    name: Annotated[str, Meta(min_length=1, max_length=1000)]


class Voter(Struct):
    """A word and its vote in a text that consists of that word only."""

    word: str
    vote: float


class RivalLabel(Struct, omit_defaults=True):
    """A label that shares words with another one."""

    label: AnyName
    words: list[str]
    name: str | UnsetType = UNSET


class TaughtText(Struct):
    """A text that was learned for or against a label."""

    sequence: int
    text: str
    decision: str


class LabelDetails(Struct):
    """The details of a label; decisions are counted from the first record that the journal still has."""

    sequence: int
    label: AnyName
    names: list[str]
    aliases: list[AnyName]
    former: Annotated[list[str], Meta(description="Names that find it but are not displayed: former and merged ones.")]
    count: int
    accepted: int
    rejected: int
    words: list[Voter]
    rivals: list[RivalLabel]
    examples: list[TaughtText]
    path: Annotated[list[PathLabel], Meta(description="From the top concept to the label's parent.")]


class WordRequest(Struct, forbid_unknown_fields=True):
    """A word or a sequence of words."""

    word: Annotated[str, Meta(min_length=1, max_length=1000)]


class VotedLabel(Struct, omit_defaults=True):
    """A label that a word votes for."""

    label: AnyName
    vote: float
    name: str | UnsetType = UNSET


class WordDetails(Struct):
    """How many texts have a word, and what it votes for."""

    sequence: int
    word: str
    count: int
    labels: list[VotedLabel]


class ProgressRequest(Struct, forbid_unknown_fields=True):
    """No parameters."""


class Point(Struct, omit_defaults=True):
    """A correction: whether the first label was right before it was learned, and the mean of the last corrections.

    `p1` is the share of first labels that were right in the last `smoothed` corrections up to this one, and `low` and
    `high` are its 95% interval (Wilson).
    """

    sequence: int
    p1: float
    low: float
    high: float
    right: bool = False
    time: str | UnsetType = UNSET


class Judgement(Struct, omit_defaults=True):
    """Whether the model gets better: the last corrections compared with as many before them.

    `share` is that of the last window, and `margin` half of its 95% interval. `direction` is the result of a two-sided
    test of two proportions at 5%, `unknown` if there are too few corrections. `since` is the beginning of the last
    window if it is better or worse, and of both windows if it is unchanged.
    """

    share: float
    margin: float
    direction: Literal["better", "worse", "unchanged", "unknown"]
    sentence: Annotated[str, Meta(description='Such as "31% ± 3, unchanged since Monday".')]
    corrections: Annotated[int, Meta(description="In the last window.")]
    before: Annotated[float, Meta(description="The share of the window before.")] | UnsetType = UNSET
    since: str | UnsetType = UNSET


class TrendLabel(Struct, omit_defaults=True):
    """How often a label was in the top 5 before its older and before its newer corrections."""

    label: AnyName
    before: float
    after: float
    name: str | UnsetType = UNSET


class WorkerPosition(Struct):
    """A process and the last record that it has applied."""

    pid: int
    sequence: int


class Progress(Struct):
    """How well the model ranked before it learned each of the last corrections; `last` is the journal's last record.

    There is one point for each correction after which the first label is known to be right or wrong.
    """

    sequence: int
    last: int
    window: int
    measured: int
    smoothed: int
    verdict: Judgement
    points: list[Point]
    improving: list[TrendLabel]
    worsening: list[TrendLabel]
    rows: int
    labels: int
    learnt: int
    workers: list[WorkerPosition]


async def label(call: Call[LabelRequest]) -> LabelDetails:
    """Return the words that vote for a label, the labels that share them, and the decisions on it."""
    replica = call.service.replica
    with replica.reading() as sequence:
        resolved = find_label(replica, call.request.name)
        if resolved is None or resolved in replica.labels.retired:
            raise Problem(404, f"label {call.request.name!r} is {'not known' if resolved is None else 'retired'}")
        votes = Votes(replica, resolved)
        steps = votes.gather()
        if votes.in_one_piece:
            next(steps, None)
            return _details(replica, resolved, votes, sequence)
    for _ in steps:
        await asyncio.sleep(0)
    with replica.reading():
        return _details(replica, resolved, votes, sequence)


def _details(replica: Replica, resolved: Name, votes: Votes, sequence: int) -> LabelDetails:
    labels, name = replica.labels, replica.tagger.encoder.name
    words = votes.best(MAX_WORDS)
    aliases = sorted(labels.aliases_of(resolved), key=str)
    accepted, rejected, examples = replica.history.decisions([resolved, *aliases])
    return LabelDetails(
        sequence=sequence,
        label=resolved,
        names=replica.tagger.label_names.get(str(resolved), []),
        aliases=aliases,
        former=replica.names.hidden(resolved),
        count=sum(int(labels.book.counts[labels.book.id_of(member)]) for member in labels.members(resolved)),
        accepted=accepted,
        rejected=rejected,
        words=[Voter(name(term), vote) for term, vote in words],
        rivals=[
            RivalLabel(other.label, other.words, _name(replica, other.label))
            for other in rivals(replica, resolved, words)
        ],
        examples=[TaughtText(*example) for example in examples],
        path=[PathLabel(above, _name(replica, above)) for above in replica.tagger.path_of(resolved)[:-1]],
    )


def word(call: Call[WordRequest]) -> WordDetails:
    """Return the labels that a word votes for."""
    replica, term = call.service.replica, call.request.word
    with replica.reading() as sequence:
        votes = word_votes(replica, term, MAX_WORDS)
        if votes is None:
            raise Problem(404, f"the word {term!r} is not known")
        count, entries = votes
        labels = [VotedLabel(entry.label, entry.score, _name(replica, entry.label)) for entry in entries]
    return WordDetails(sequence, term, count, labels)


async def progress(call: Call[ProgressRequest]) -> Progress:
    """Return how often the first label was right before the correction was learned."""
    replica = call.service.replica
    facts = await call.service.facts()
    with replica.reading() as sequence:
        history, tagger = replica.history, replica.tagger
        better, worse = history.trends()
        outcomes = list(history.outcomes)
        return Progress(
            sequence=sequence,
            last=max(facts.last, sequence),
            window=WINDOW,
            measured=len(history.outcomes),
            smoothed=SMOOTHED,
            verdict=_judgement(verdict(outcomes)),
            points=[_point(point) for point in curve(outcomes)],
            improving=[_trend(replica, trend) for trend in better],
            worsening=[_trend(replica, trend) for trend in worse],
            rows=tagger.n_rows,
            labels=tagger.n_labels - replica.labels.n_hidden,
            learnt=history.learned,
            workers=[WorkerPosition(worker.pid, worker.sequence) for worker in facts.workers],
        )


def _point(point: Measured) -> Point:
    _, low, high = point.mean
    time = iso_time(point.time) if point.time else UNSET
    return Point(point.sequence, point.mean.share, low, high, point.right, time)


def _judgement(found: Verdict) -> Judgement:
    return Judgement(
        found.now.share,
        found.now.margin,
        found.direction,
        sentence(found, datetime.now(UTC)),
        found.corrections,
        UNSET if found.before is None else found.before.share,
        UNSET if found.since is None else iso_time(found.since),
    )


def _trend(replica: Replica, trend: Trend) -> TrendLabel:
    return TrendLabel(trend.label, trend.before, trend.after, _name(replica, trend.label))


def _name(replica: Replica, label: Name) -> str | UnsetType:
    names = replica.tagger.label_names.get(str(label))
    return names[0] if names else UNSET


ENDPOINTS = (
    Endpoint("GET", "/v1/label", label, LabelRequest, LabelDetails, "Describe a label", errors=(404,)),
    Endpoint("GET", "/v1/word", word, WordRequest, WordDetails, "List the labels that a word votes for", errors=(404,)),
    Endpoint("GET", "/v1/progress", progress, ProgressRequest, Progress, "Report the model's quality over time"),
)
