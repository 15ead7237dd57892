"""What a tagger answers with."""

from typing import NamedTuple

from abound.rankers.ranking import Ranking
from abound.store.names import Name


class Entry(NamedTuple):
    """One label of a ranking; rank 1 is best."""

    label: Name
    score: float
    rank: int


class BandedEntry(NamedTuple):
    """One label of a ranking with its band, "apply", "suggest" or "hide", and how likely it is to be accepted."""

    label: Name
    score: float
    rank: int
    band: str
    probability: float


class WordVote(NamedTuple):
    """A word, a run of words or a part of one, its vote, and where it stands in the text."""

    word: str
    vote: float
    spans: list[tuple[int, int]]


class TextExplanation(NamedTuple):
    """Why a text has a label: what any text has for it, and votes in the order in which they sum to the score."""

    label: Name
    score: float
    words: list[WordVote]
    prior: float = 0.0


def entries_of(ranking: Ranking) -> list[list[Entry]]:
    """Return the entries of each row of a ranking, best first."""
    names = ranking.names
    return [
        [
            Entry(names[label], score, place)
            for place, (label, score) in enumerate(zip(labels, scores, strict=True), 1)
            if label >= 0
        ]
        for labels, scores in zip(ranking.indices.tolist(), ranking.scores.tolist(), strict=True)
    ]
