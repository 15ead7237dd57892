"""Queries of a replica beyond a plain ranking: with explanations, in bands, by features."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import repeat

import numpy as np

from abound.calibration import Decision
from abound.calibration.decisions import CONSIDERED
from abound.components.rows import Rows
from abound.hierarchy.links import Chooser, without_parents
from abound.server.merged import rank_rows
from abound.server.replica import Replica, merge_explanations
from abound.store.names import Name
from abound.tagger import BandedEntry, Entry, TextExplanation
from abound.tagger.answers import Precedent
from abound.texts import Text


def rank_plainly(replica: Replica, text: Text, k: int) -> list[tuple[Name, float, float | None]]:
    """Rank the labels of a text as label, score and probability: the fast path for the most frequent request."""
    with replica.reading():
        if replica.labels.n_hidden:
            return [(entry.label, entry.score, entry.probability) for entry in replica.rank_many([text], k)[0]]
        ranking = replica.tagger.rank_arrays([text], k)
        names = ranking.names
        likely = ranking.probabilities
        ps = repeat(None) if likely is None else likely[0].tolist()
        ranked = zip(ranking.indices[0].tolist(), ranking.scores[0].tolist(), ps, strict=False)
        return [(names[label], score, p) for label, score, p in ranked if label >= 0]


class Reasons:
    """The votes of a text for some labels, computed in one state; their words are looked up in steps.

    Parameters
    ----------
    replica : Replica
    text : str or mapping from field to str
    labels : sequence of names
        ValueError if one is unknown or retired.
    check : callable
        Called before any vote is computed, with the number of positions of known words and the number of labels to
        explain, including the parts of merged labels. It may raise to refuse the work.

    Attributes
    ----------
    sequence : int
        The last record of the state.
    cost : int
        Positions of known words times labels to explain.
    """

    def __init__(self, replica: Replica, text: Text, labels: Sequence[Name], check: Callable[[int, int], None]) -> None:
        self._replica = replica
        with replica.reading() as self.sequence:
            self._names = replica.resolve_labels(labels)
            self._groups = replica.voted_parts(text, self._names)
            self._positions = replica.tagger.encoder.count_spans(text)
            members = [member for members in self._groups for member in members]
            check(self._positions, len(members))
            self.cost = self._positions * len(members)
            self._votes = replica.tagger.votes(text, members)

    def explain(self) -> list[TextExplanation]:
        """Explain all labels."""
        return [explanation for step in self.steps(max(1, self.cost)) for explanation in step]

    def steps(self, most: int) -> Iterator[list[TextExplanation]]:
        """Yield the explanations of each step, in order; a step costs at most `most`, or is one label.

        A step may yield an empty list: the first step locates the words in the text, and a merged label may take
        several steps.
        """
        with self._replica.reading():
            self._votes.locate()
        yield []
        size, at = max(1, most // max(1, self._positions)), 0
        parts: list[TextExplanation] = []
        groups = deque(zip(self._names, self._groups, strict=True))
        while groups:
            with self._replica.reading():
                parts += self._votes.explanations(at, at + size)
            at += size
            done = []
            while groups and len(parts) >= len(groups[0][1]):
                name, members = groups.popleft()
                done.append(merge_explanations(name, parts[: len(members)]))
                del parts[: len(members)]
            yield done


def similar(replica: Replica, text: Text, k: int, label: Name | None = None) -> list[Precedent]:
    """Return the learned texts that are most similar to a text, with labels as they are shown.

    Texts whose labels are all retired are left out. With a label, only texts that have it are returned; ValueError if
    it is retired.
    """
    with replica.reading():
        labels, book = replica.labels, replica.labels.book
        if label is None:
            wanted: Callable[[int], bool] | None = None
            if labels.n_hidden:
                wanted = lambda number: labels.resolve(book.names[number]) not in labels.retired  # noqa: E731
        else:
            [name] = replica.resolve_labels([label])
            wanted = {book.id_of(member) for member in labels.members(name) if member in book}.__contains__
        found = []
        for one in replica.tagger.similar_texts(text, k, wanted):
            names = labels.resolve_all(book.names[number] for number in one.labels)
            shown = [name for name in names if name not in labels.retired]
            found.append(Precedent(one.text, shown, one.similarity))
        return found


def assign(
    replica: Replica,
    texts: Sequence[Text],
    decision: Decision,
    chooser: Chooser | None = None,
    *,
    keep_parents: bool = False,
) -> list[list[Entry]]:
    """Return the labels to apply to texts, as they are shown; NotCalibrated if there are no probabilities."""
    with replica.reading():
        rankings = replica.rank_many(texts, CONSIDERED, chooser)
        chosen = _assigned(replica, rankings, decision, keep_parents=keep_parents)
        return [
            [entry for entry, is_chosen in zip(entries, row, strict=False) if is_chosen]
            for entries, row in zip(rankings, chosen, strict=True)
        ]


def rank_and_assign(
    replica: Replica, ranked: Callable[[int], list[Entry]], k: int, *, keep_parents: bool = False
) -> list[tuple[Entry, bool]]:
    """Rank labels and tell which to apply for the best expected F1: none without probabilities."""
    with replica.reading():
        entries = ranked(max(k, CONSIDERED))
        chosen = [False] * len(entries)
        if replica.tagger.calibration.is_ready:
            chosen[:CONSIDERED] = _assigned(replica, [entries[:CONSIDERED]], Decision(), keep_parents=keep_parents)[0]
        return list(zip(entries[:k], chosen, strict=False))


def _assigned(
    replica: Replica, rankings: list[list[Entry]], decision: Decision, *, keep_parents: bool
) -> list[list[bool]]:
    """Return which of the first ranked labels are assigned."""
    likely, numbers = np.zeros((len(rankings), CONSIDERED)), np.full((len(rankings), CONSIDERED), -1, np.int32)
    for row, entries in enumerate(rankings):
        likely[row, : len(entries)] = [entry.probability or 0.0 for entry in entries]
        numbers[row, : len(entries)] = [replica.labels.book.id_of(entry.label) for entry in entries]
    assigned = decision.assigned(likely, replica.tagger.calibration)
    if not keep_parents:
        assigned = without_parents(numbers, assigned, replica.tagger.links)
    chosen: list[list[bool]] = assigned.tolist()
    return chosen


def cut(replica: Replica, texts: Sequence[Text]) -> list[list[BandedEntry]]:
    """Rank the labels of texts in bands; a merged label has the band of its best part."""
    with replica.reading():
        labels, banded = replica.labels, []
        for entries in replica.tagger.rank_with_bands_many(texts):
            kept: dict[Name, BandedEntry] = {}
            for entry in entries:
                label = labels.resolve(entry.label)
                if label not in labels.retired and label not in kept:
                    kept[label] = replace(entry, label=label, rank=len(kept) + 1)
            banded.append(list(kept.values()))
        return banded


def rank_features(replica: Replica, features: Mapping[str, float], k: int) -> list[Entry]:
    """Rank the labels of a row given as terms and weights; unknown terms are ignored."""
    with replica.reading():
        row = FeatureRow(replica)
        row.add(features.items())
        return row.rank(k)


class FeatureRow:
    """A row given as terms and weights, built in pieces, because looking up many terms takes long.

    Parameters
    ----------
    replica : Replica
    """

    def __init__(self, replica: Replica) -> None:
        self._replica = replica
        self._weights: dict[int, float] = {}

    def add(self, features: Iterable[tuple[str, float]]) -> None:
        """Add terms with their weights."""
        with self._replica.reading():
            encoder, weights = self._replica.tagger.encoder, self._weights
            for name, value in features:
                spans = [span for span in encoder.spans(name) if span.start == 0 and span.stop == len(name)]
                if spans and value:
                    weights[spans[-1].term] = weights.get(spans[-1].term, 0.0) + value

    def rank(self, k: int, chooser: Chooser | None = None) -> list[Entry]:
        """Rank the labels of the row."""
        with self._replica.reading():
            tagger = self._replica.tagger
            terms = sorted(term for term in self._weights if term < tagger.n_features)
            data = np.array([self._weights[term] for term in terms], np.float64)
            rows = Rows(np.array([0, len(terms)], np.int64), np.array(terms, np.int32), data)
            return rank_rows(tagger, self._replica.labels, rows, k, chooser)[0]


class TextRow:
    """The row of a long text, which is tokenized in one step and ranked in another.

    Parameters
    ----------
    replica : Replica
    text : str or mapping from field to str
    """

    def __init__(self, replica: Replica, text: Text) -> None:
        self._replica, self._text = replica, text
        with replica.reading() as self._sequence:
            self._rows = replica.tagger.rows_of([text])

    def rank(self, k: int, chooser: Chooser | None = None) -> list[Entry]:
        """Rank the labels of the row."""
        with self._replica.reading():
            return rank_rows(self._replica.tagger, self._replica.labels, self.rows(), k, chooser)[0]

    def rows(self) -> Rows:
        """Return the row in the current state; if a record was applied in between, it is computed again."""
        with self._replica.reading() as now:
            return self._rows if now == self._sequence else self._replica.tagger.rows_of([self._text])
