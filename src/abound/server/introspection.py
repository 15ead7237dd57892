"""Look into a replica: the words that vote for a label, the labels it shares them with, what a word votes for.

A word's vote is taken as in a text of that word alone.
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

CHUNK = 1 << 16  # terms that are looked through while nobody may rank
MIN_CHUNK = 1 << 10  # for a label that is merged of very many
SHARED_WORDS = 20  # of a label, by which its rivals are found
RIVALS_PER_WORD = 6


class Rival(NamedTuple):
    """A label that the same words vote for."""

    label: Name
    words: list[str]


class Votes:
    """The terms that vote for a label, gathered a piece at a time, so that ranking never waits for long."""

    def __init__(self, replica: Replica, label: Name) -> None:
        self._replica = replica
        self._label = label
        self._terms: list[NDArray[np.int64]] = []
        self._votes: list[NDArray[np.float64]] = []

    def gather(self) -> Iterator[None]:
        """Look through all terms; others may rank and learn whenever this yields."""
        start = 0
        while start < self._replica.tagger.n_features:
            with self._replica.reading():
                parts = len(self._replica.labels.members(self._replica.labels.resolve(self._label)))
                stop = min(start + max(MIN_CHUNK, CHUNK // parts), self._replica.tagger.n_features)
                self._look_through(start, stop)
            start = stop
            yield

    def _look_through(self, start: int, stop: int) -> None:
        labels, tagger = self._replica.labels, self._replica.tagger
        row = _alone(np.arange(start, stop, dtype=np.int32))
        together = np.zeros(stop - start)
        for member in labels.members(labels.resolve(self._label)):
            if member in labels.book:
                terms, votes, _ = tagger.explain_row(row, labels.book.id_of(member))
                np.add.at(together, terms - start, np.maximum(votes, 0.0))
        found = np.flatnonzero(together > 0)
        self._terms.append(found + start)
        self._votes.append(together[found])

    def best(self, most: int) -> list[tuple[int, float]]:
        """Return the terms with the strongest votes; those of a single text come after all others."""
        if not self._terms:
            return []
        terms, votes = np.concatenate(self._terms), np.concatenate(self._votes)
        counts = self._replica.tagger.encoder.vocabulary.counts()[terms]
        order = np.lexsort((terms, -votes, counts < 2))[:most]
        return list(zip(terms[order].tolist(), votes[order].tolist(), strict=True))


def rivals(replica: Replica, label: Name, words: list[tuple[int, float]], most: int = 8) -> list[Rival]:
    """Return the labels that share most of the votes of a label's words."""
    shared: dict[Name, dict[int, float]] = {}
    tagger, labels = replica.tagger, replica.labels
    for term, vote in words[:SHARED_WORDS]:
        found = tagger.rank_rows(_alone(np.array([term], np.int32)), RIVALS_PER_WORD)
        for number, score in zip(found.indices[0].tolist(), found.scores[0].tolist(), strict=True):
            other = labels.resolve(labels.book.names[number]) if number >= 0 else label
            if other != label and other not in labels.retired and score > 0:
                both = shared.setdefault(other, {})
                both[term] = max(both.get(term, 0.0), min(vote, score))
    ranked = sorted(shared.items(), key=lambda pair: -sum(pair[1].values()))[:most]
    name = tagger.encoder.name
    return [Rival(other, [name(term) for term in sorted(both, key=lambda t: -both[t])[:4]]) for other, both in ranked]


def find_label(replica: Replica, name: str) -> Name | None:
    """Return the label that a name in an address means; a number may be one of text."""
    for parse in (str, int, float):
        try:
            found = replica.labels.resolve(parse(name))
        except (ValueError, OverflowError):
            continue
        if found in replica.labels.book:
            return found
    return None


def word_votes(replica: Replica, word: str, most: int) -> tuple[int, list[Entry]] | None:
    """Return how many texts have a word or a run of words, and what it votes for; None if it is not known."""
    with replica.reading():
        spans = [span for span in replica.tagger.encoder.spans(word) if (span.start, span.stop) == (0, len(word))]
        if not spans:
            return None
        count = int(replica.tagger.encoder.vocabulary.counts()[spans[-1].term])
    return count, [entry for entry in rank_features(replica, {word: 1.0}, most) if entry.score > 0]


def _alone(terms: NDArray[np.int32]) -> Rows:
    """Return a row in which each term is as heavy as in a text of its own."""
    return Rows(np.array([0, len(terms)], np.int64), terms, np.ones(len(terms)))
