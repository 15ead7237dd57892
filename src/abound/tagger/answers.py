"""The results that a tagger returns."""

from dataclasses import dataclass
from typing import NamedTuple

from abound.rankers.ranking import Ranking
from abound.store.names import Name
from abound.texts import FieldSpan, Text


@dataclass(slots=True)
class Entry:
    """One label of a ranking. It is a JSON object for msgspec, pydantic and `dataclasses.asdict`.

    Attributes
    ----------
    label : name
    score : float
        The higher, the better; its unit depends on the model.
    rank : int
        1 is best.
    probability : float or None
        How likely the label is to be right; None if the model is not calibrated.
    """

    label: Name
    score: float
    rank: int
    probability: float | None = None


@dataclass(slots=True)
class BandedEntry(Entry):
    """One label of a ranking with its band: "apply", "suggest" or "hide"."""

    band: str = "hide"


class Precedent(NamedTuple):
    """A learned text that is similar to another one: its beginning, its labels, and the similarity, at most 1."""

    text: str
    labels: list[Name]
    similarity: float


class WordVote(NamedTuple):
    """A word, a word n-gram or a part of a word, with its vote and its positions in the text.

    If the text has fields, a position has a third element: its field.
    """

    word: str
    vote: float
    spans: list[tuple[int, int]] | list[FieldSpan]

    @property
    def fields(self) -> list[str]:
        """The field of each position; empty if the text has no fields."""
        return [span.field for span in self.spans if isinstance(span, FieldSpan)]


class TextExplanation(NamedTuple):
    """Why a text has a label: its bias (`prior`) and the votes, in the order in which they add up to the score."""

    label: Name
    score: float
    words: list[WordVote]
    prior: float = 0.0


def in_joined_text(explanation: TextExplanation, text: Text) -> TextExplanation:
    """Return an explanation of a text with fields, with positions in the text whose fields are joined by line breaks.

    See `abound.texts.joined`.
    """
    if isinstance(text, str):
        return explanation
    starts, at = {}, 0
    for name, value in text.items():
        starts[name] = at
        at += len(value) + 1
    words = []
    for word in explanation.words:
        moved: list[tuple[int, int]] = []
        for span in word.spans:
            by = starts[span.field] if isinstance(span, FieldSpan) else 0
            moved.append((span[0] + by, span[1] + by))
        words.append(word._replace(spans=moved))
    return explanation._replace(words=words)


def entries_of(ranking: Ranking) -> list[list[Entry]]:
    """Return the entries of each row of a ranking, best first."""
    names, k = ranking.names, ranking.indices.shape[1]
    ranks = range(1, k + 1)
    likely = [[None] * k] * len(ranking) if ranking.probabilities is None else ranking.probabilities.tolist()
    rows = zip(ranking.indices.tolist(), ranking.scores.tolist(), likely, strict=True)
    return [
        [
            Entry(names[label], score, rank, probability)
            for label, score, rank, probability in zip(labels, scores, ranks, probabilities, strict=True)
            if label >= 0
        ]
        for labels, scores, probabilities in rows
    ]
