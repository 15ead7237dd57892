"""Inspect a replica: the words that vote for a label, the labels that share them, and what a word votes for.

A word's vote is its vote in a text that consists of that word only.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from abound.components.rows import Rows
from abound.server.queries import rank_features
from abound.server.replica import Replica
from abound.store.names import Name
from abound.tagger import Entry

CHUNK = 1 << 16  # terms that are scanned under one lock
MIN_CHUNK = 1 << 10  # for a label with very many parts
SHARED_WORDS = 20  # words of a label that are used to find its rivals
RIVALS_PER_WORD = 6


class Rival(NamedTuple):
    """A label that shares words with another one."""

    label: Name
    words: list[str]


class Votes:
    """The terms that vote for a label, collected in chunks, so that ranking never waits long."""

    def __init__(self, replica: Replica, label: Name) -> None:
        self._replica = replica
        self._label = label
        self._terms: list[NDArray[np.int64]] = []
        self._votes: list[NDArray[np.float64]] = []

    @property
    def in_one_piece(self) -> bool:
        """Whether all terms are scanned in one step."""
        return self._replica.tagger.n_features <= self._chunk()

    def _chunk(self) -> int:
        parts = len(self._replica.labels.members(self._replica.labels.resolve(self._label)))
        return max(MIN_CHUNK, CHUNK // parts)

    def gather(self) -> Iterator[None]:
        """Scan all terms; the lock is free whenever this yields."""
        start = 0
        while start < self._replica.tagger.n_features:
            with self._replica.reading():
                stop = min(start + self._chunk(), self._replica.tagger.n_features)
                self._scan(start, stop)
            start = stop
            yield

    def _scan(self, start: int, stop: int) -> None:
        labels, tagger = self._replica.labels, self._replica.tagger
        row = _row_of_ones(np.arange(start, stop, dtype=np.int32))
        total = np.zeros(stop - start)
        for member in labels.members(labels.resolve(self._label)):
            if member in labels.book:
                terms, votes, _ = tagger.explain_row(row, labels.book.id_of(member))
                np.add.at(total, terms - start, np.maximum(votes, 0.0))
        voting = np.flatnonzero(total > 0)
        self._terms.append(voting + start)
        self._votes.append(total[voting])

    def best(self, most: int) -> list[tuple[int, float]]:
        """Return the terms with the strongest votes; terms that occur in one text only come last."""
        if not self._terms:
            return []
        terms, votes = np.concatenate(self._terms), np.concatenate(self._votes)
        counts = self._replica.tagger.encoder.vocabulary.counts()[terms]
        order = np.lexsort((terms, -votes, counts < 2))[:most]
        return list(zip(terms[order].tolist(), votes[order].tolist(), strict=True))


def rivals(replica: Replica, label: Name, words: list[tuple[int, float]], most: int = 8) -> list[Rival]:
    """Return the labels that share the most votes with a label's words."""
    shared: dict[Name, dict[int, float]] = {}
    tagger, labels = replica.tagger, replica.labels
    for term, vote in words[:SHARED_WORDS]:
        ranking = tagger.rank_rows(_row_of_ones(np.array([term], np.int32)), RIVALS_PER_WORD)
        for number, score in zip(ranking.indices[0].tolist(), ranking.scores[0].tolist(), strict=True):
            other = labels.resolve(labels.book.names[number]) if number >= 0 else label
            if other != label and other not in labels.retired and score > 0:
                both = shared.setdefault(other, {})
                both[term] = max(both.get(term, 0.0), min(vote, score))
    ranked = sorted(shared.items(), key=lambda pair: -sum(pair[1].values()))[:most]
    name = tagger.encoder.name
    return [Rival(other, [name(term) for term in sorted(both, key=lambda t: -both[t])[:4]]) for other, both in ranked]


def find_label(replica: Replica, name: str) -> Name | None:
    """Return the label for an id or a name in a URL; digits may be a string or a number.

    A name that several labels have returns None.
    """
    for parse in (str, int, float):
        try:
            label = replica.labels.resolve(parse(name))
        except (ValueError, OverflowError):
            continue
        if label in replica.labels.book:
            return label
    named = replica.names.find(name)
    return named[0] if len(named) == 1 and named[0] in replica.labels.book else None


def word_votes(replica: Replica, word: str, most: int) -> tuple[int, list[Entry]] | None:
    """Return how many texts have a word or a sequence of words, and its votes; None if it is unknown."""
    with replica.reading():
        spans = [span for span in replica.tagger.encoder.spans(word) if (span.start, span.stop) == (0, len(word))]
        if not spans:
            return None
        count = int(replica.tagger.encoder.vocabulary.counts()[spans[-1].term])
    return count, [entry for entry in rank_features(replica, {word: 1.0}, most) if entry.score > 0]


def _row_of_ones(terms: NDArray[np.int32]) -> Rows:
    """Return a row in which each term has the weight 1, as in a text that consists of this term only."""
    return Rows(np.array([0, len(terms)], np.int64), terms, np.ones(len(terms)))
