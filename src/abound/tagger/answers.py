"""The results that a tagger returns."""

from typing import NamedTuple

from abound.rankers.ranking import Ranking
from abound.store.names import Name


class Entry(NamedTuple):
    """One label of a ranking. Rank 1 is the best."""

    label: Name
    score: float
    rank: int


class BandedEntry(NamedTuple):
    """One label of a ranking with its band ("apply", "suggest" or "hide") and the probability that it is accepted."""

    label: Name
    score: float
    rank: int
    band: str
    probability: float


class WordVote(NamedTuple):
    """A word, a word n-gram or a part of a word, with its vote and its positions in the text."""

    word: str
    vote: float
    spans: list[tuple[int, int]]


class TextExplanation(NamedTuple):
    """Why a text has a label: its bias (`prior`) and the votes, in the order in which they add up to the score."""

    label: Name
    score: float
    words: list[WordVote]
    prior: float = 0.0


def entries_of(ranking: Ranking) -> list[list[Entry]]:
    """Return the entries of each row of a ranking, best first."""
    names = ranking.names
    return [
        [
            Entry(names[label], score, rank)
            for rank, (label, score) in enumerate(zip(labels, scores, strict=True), 1)
            if label >= 0
        ]
        for labels, scores in zip(ranking.indices.tolist(), ranking.scores.tolist(), strict=True)
    ]
