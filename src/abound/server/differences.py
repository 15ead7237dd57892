"""Compare the states of a home at two records: labels and words whose votes changed, label edits, and who taught.

Only words of the texts that were taught in between, or that were undone or forgotten in between, and labels of these
texts are compared. The vote of a word is its vote in a text that consists of that word only. One state is in memory at
a time.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from abound.components.rows import Rows
from abound.errors import JournalError, ModelError
from abound.server.home import Home
from abound.server.listing import excluded_records
from abound.server.replay import follow
from abound.server.replica import Replica
from abound.store.journal import Journal, Lineage
from abound.store.journal.records import LABEL_EDITS, EditLabels, Forget, Learn, Record, Undo, describe
from abound.store.names import Name
from abound.texts import Text

MAX_CELLS = 4_000_000  # votes of one state
MAX_LABELS = 2000
MAX_CHARACTERS = 20_000_000  # of the texts that are kept; words of further texts are not compared
RANKED = 5  # first labels of a text that are compared beside those that it was taught
CHUNK = 256  # texts that are ranked together
SHOWN = 5  # parts of a change


class Vote(NamedTuple):
    """The vote of a word for a label, in both states."""

    name: Name
    before: float
    after: float

    @property
    def change(self) -> float:
        """How much was added."""
        return self.after - self.before


class Change(NamedTuple):
    """A label with the words whose votes for it changed, or a word with the labels.

    Attributes
    ----------
    name : name
        The label or the word.
    amount : float
        The sum of all changes, each as a positive number.
    votes : list of Vote
        The largest changes, the largest first.
    """

    name: Name
    amount: float
    votes: list[Vote]


@dataclass
class Difference:
    """What changed between two records.

    Attributes
    ----------
    labels, words : list of Change
        Those that changed most, the largest first.
    added : list of names
        Labels that are shown after, but were not known before under any name.
    edits : list of dict
        Label edits that count.
    corrections : Counter
        The number of corrections that count, by who sent them.
    texts : dict
        The number of texts of the changed labels before and after.
    n_compared : tuple of int
        How many labels and words were compared.
    is_partial : bool
        Whether there were more labels, words or texts than can be compared.
    """

    labels: list[Change] = field(default_factory=list)
    words: list[Change] = field(default_factory=list)
    added: list[Name] = field(default_factory=list)
    edits: list[dict[str, Any]] = field(default_factory=list)
    corrections: Counter[str | None] = field(default_factory=Counter)
    texts: dict[Name, tuple[int, int]] = field(default_factory=dict)
    n_compared: tuple[int, int] = (0, 0)
    is_partial: bool = False


@dataclass
class _Taught:
    """What the records between two states say."""

    texts: list[Text] = field(default_factory=list)
    labels: Counter[Name] = field(default_factory=Counter)
    is_partial: bool = False

    def add(self, record: Record) -> None:
        """Add the text and the labels of a record."""
        text = getattr(record, "text", None)
        if text is not None:
            self.texts.append(text)
        for name in ("label", "to", "into"):
            if (label := getattr(record, name, None)) is not None:
                self.labels[label] += 1
        if isinstance(record, Learn):
            self.labels.update((*record.accepted, *record.rejected, *record.added))


def compare_states(home: Home, first: int, second: int, *, most: int = 20) -> Difference:
    """Compare the states at two records.

    Parameters
    ----------
    home : Home
    first, second : int
        Sequences; 0 is the state before the first record.
    most : int
        Maximum number of labels and of words to return.

    Raises
    ------
    JournalError
        If the journal does not have these records, or one of the states cannot be built.
    """
    with Journal(home.journal_path) as journal:
        if not 0 <= first < second <= journal.last:
            raise JournalError(
                f"two records of the journal must be given, the earlier one first; it ends at record {journal.last}, "
                f"got {first} and {second}"
            )
        found = Difference()
        taught = _read(journal, first, second, found)
        after = _State(state_at(home, journal, second), taught)
        later = after.votes
        known = after.names()
        after.release()
        before = _State(state_at(home, journal, first), taught, after)
        found.is_partial = taught.is_partial or after.is_partial
        found.n_compared = len(after.labels), len({*after.words, *before.words})
        found.added = [label for label in known if not before.has(label)]
        found.labels, found.words = _changes(before, after, before.votes, later, most)
        found.texts = {one.name: (before.count(one.name), after.count(one.name)) for one in found.labels}
        return found


def state_at(home: Home, journal: Journal, sequence: int) -> Replica:
    """Build the state that a home had at a record; what was forgotten later is left out, because it is gone."""
    then = journal.lineage(sequence)
    forgotten = {number for number, status in excluded_records(journal).items() if status.status == "forgotten"}
    lineage = then._replace(excluded=tuple(sorted({*then.excluded, *forgotten}))).upto(sequence)
    replica = _nearest(home, journal, lineage, sequence)
    follow(replica, journal, sequence, lineage=lineage)
    return replica


def _nearest(home: Home, journal: Journal, lineage: Lineage, sequence: int) -> Replica:
    """Load the newest intact snapshot of a lineage up to a record, or its base model."""
    snapshots = home.snapshots()
    for snapshot in reversed([one for one in snapshots if journal.start <= one <= sequence]):
        try:
            replica = Replica.load(home.snapshot_path(snapshot))
        except (ModelError, OSError):
            continue
        known = (replica.journal, replica.sequence, replica.lineage)
        if known == (journal.id, snapshot, lineage.upto(snapshot)):
            return replica
    if lineage.base and not journal.start:
        replica = Replica.load(home.base_path(lineage.base))
        replica.journal, replica.lineage = journal.id, Lineage(lineage.base)
        return replica
    raise JournalError(
        f"the state at record {sequence} cannot be built: the journal has the records after {journal.start}, and there "
        f"is no intact snapshot of these before it; there are snapshots of {', '.join(map(str, snapshots)) or 'none'}"
    )


def _read(journal: Journal, first: int, second: int, found: Difference) -> _Taught:
    """Read the records between two states, and those that were excluded in between."""
    taught, size, excluded = _Taught(), 0, excluded_records(journal)
    concerned: set[int] = set()
    for stored in journal.read(first):
        if stored.sequence > second:
            break
        record = stored.record
        counts = stored.sequence not in excluded
        if isinstance(record, Undo | Forget):
            concerned.update(number for number in record.records if number <= first)
        if counts and isinstance(record, (*LABEL_EDITS, EditLabels)):
            found.edits.append({"sequence": stored.sequence, **describe(record)})
        if counts and isinstance(record, Learn):
            found.corrections[stored.who] += 1
        size = _keep(taught, record, size)
    for stored in journal.read(min(concerned) - 1) if concerned else ():
        if stored.sequence in concerned:
            size = _keep(taught, stored.record, size)
        if stored.sequence >= first:
            break
    return taught


def _keep(taught: _Taught, record: Record, size: int) -> int:
    size += len(str(getattr(record, "text", "")))
    if size > MAX_CHARACTERS:
        taught.is_partial = True
        return size
    for part in record.edits if isinstance(record, EditLabels) else (record,):
        taught.add(part)
    return size


class _State:
    """One of the two states: the words of the taught texts, and their votes for the compared labels.

    Parameters
    ----------
    replica : Replica
    taught : _Taught
    later : _State, optional
        The other state, whose labels and words are compared; words that it does not know are added.
    """

    def __init__(self, replica: Replica, taught: _Taught, later: "_State | None" = None) -> None:
        self._replica: Replica | None = replica
        self._table = replica.labels
        self._later = later
        counts, best = self._scan(replica, taught.texts)
        self.is_partial = False
        if later is None:
            labels = Counter({self._table.resolve(label): n for label, n in taught.labels.items()}) + best
            shown = [label for label, _ in labels.most_common() if label in self._table.book]
            self.labels = shown[:MAX_LABELS]
            self.is_partial = len(shown) > MAX_LABELS
        else:
            self.labels = later.labels
        self.words = self._choose(counts)
        self._texts = {label: self._count(label) for label in self.labels}
        self.votes = self._measure(replica)

    def _scan(self, replica: Replica, texts: Sequence[Text]) -> tuple[Counter[int], Counter[Name]]:
        """Count the texts of each term, and the first labels."""
        counts: Counter[int] = Counter()
        best: Counter[Name] = Counter()
        for start in range(0, len(texts), CHUNK):
            chunk = texts[start : start + CHUNK]
            counts.update(replica.tagger.rows_of(chunk).indices.tolist())
            for entries in replica.rank_many(chunk, RANKED):
                best.update(entry.label for entry in entries)
        name = replica.tagger.encoder.name
        self._terms = {name(term, unique=True): term for term in counts}
        return counts, best

    def _choose(self, counts: Counter[int]) -> list[str]:
        """Return the words to compare: the most frequent ones, as many as fit."""
        room = MAX_CELLS // max(1, len(self.labels))
        if self._later is not None:
            own = [word for word in self._terms if word not in self._later.terms]
            return [*self._later.words, *sorted(own, key=lambda word: (-counts[self._terms[word]], word))[:room]]
        ordered = sorted(self._terms, key=lambda word: (-counts[self._terms[word]], word))
        self.is_partial = self.is_partial or len(ordered) > room
        return ordered[:room]

    @property
    def terms(self) -> dict[str, int]:
        """The known words of the texts, with their numbers."""
        return self._terms

    def names(self) -> list[Name]:
        """Return the labels that are shown."""
        table = self._table
        return [name for name in table.book.names if name not in table.aliases and name not in table.retired]

    def _parts(self, label: Name) -> list[Name]:
        """Return the labels of this state's model whose votes count for a label of the later state."""
        names = {label: None}
        if self._later is not None:
            names |= dict.fromkeys(alias for alias, target in self._later.aliases.items() if target == label)
        shown = dict.fromkeys(self._table.resolve(name) for name in names)
        members = dict.fromkeys(member for name in shown for member in self._table.members(name))
        return [member for member in members if member in self._table.book]

    @property
    def aliases(self) -> dict[Name, Name]:
        """Other names of labels."""
        return self._table.aliases

    def has(self, label: Name) -> bool:
        """Return whether the state knows a label of the later state."""
        return bool(self._parts(label))

    def _count(self, label: Name) -> int:
        book = self._table.book
        return sum(int(book.counts[book.id_of(part)]) for part in self._parts(label))

    def count(self, label: Name) -> int:
        """Return the number of texts of a label."""
        return self._texts[label]

    def _measure(self, replica: Replica) -> NDArray[np.float32]:
        """Return the votes: one row per label, one column per word; 0 for what is not known."""
        votes = np.zeros((len(self.labels), len(self.words)), np.float32)
        columns = np.array([i for i, word in enumerate(self.words) if word in self._terms], np.int64)
        terms = np.array([self._terms[self.words[i]] for i in columns], np.int32)
        order = np.argsort(terms)
        terms, columns = terms[order], columns[order]
        row = Rows(np.array([0, len(terms)], np.int64), terms, np.ones(len(terms)))
        for i, label in enumerate(self.labels if len(terms) else ()):
            parts = self._parts(label)
            for part in parts:
                voting, amounts, _ = replica.tagger.explain_row(row, self._table.book.id_of(part))
                counted = amounts if len(parts) == 1 else np.maximum(amounts, 0.0)  # as merged labels are ranked
                np.add.at(votes[i], columns[np.searchsorted(terms, voting)], counted)
        return votes

    def release(self) -> None:
        """Free the memory of the model; the labels and votes stay."""
        self._replica = None


def _changes(
    before: _State, after: _State, earlier: NDArray[np.float32], later: NDArray[np.float32], most: int
) -> tuple[list[Change], list[Change]]:
    """Return the labels and the words whose votes changed most."""
    width = len(before.words)  # those of the later state come first
    second = np.zeros((len(after.labels), width), np.float32)
    second[:, : later.shape[1]] = later
    change = second - earlier
    labels = _largest(after.labels, before.words, earlier, second, change, most)
    return labels, _largest(before.words, after.labels, earlier.T, second.T, change.T, most)


def _largest(
    rows: Sequence[Name],
    columns: Sequence[Name],
    earlier: NDArray[np.float32],
    later: NDArray[np.float32],
    change: NDArray[np.float32],
    most: int,
) -> list[Change]:
    amounts = np.abs(change).sum(axis=1, dtype=np.float64)
    found = []
    for i in _first(amounts, most):
        votes = [Vote(columns[j], float(earlier[i, j]), float(later[i, j])) for j in _first(np.abs(change[i]), SHOWN)]
        found.append(Change(rows[i], float(amounts[i]), votes))
    return found


def _first(values: NDArray[Any], most: int) -> Iterator[int]:
    """Yield the positions of the largest values above 0."""
    order: Iterable[int] = np.argsort(-values, kind="stable")[:most].tolist()
    return (i for i in order if values[i] > 0)
