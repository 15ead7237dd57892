"""The recent corrections of a replica: whether its ranking was right before, and the decisions on each label.

The history is in memory and not part of the state. A replica that is opened again restores what the journal still has:
the decisions and texts of its last records. Whether the first label was right takes the state before each record. It is
known for records after the snapshot; those before it are read from a file that is written with each snapshot.
"""

import json
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from abound.store.journal.records import Learn, Record
from abound.store.names import Name
from abound.tagger.examples import LONGEST, SHORTEST
from abound.texts import Text, joined, n_characters

REMEMBERED = 10_000  # records whose decisions are restored when a home is opened
WINDOW = 1000  # corrections whose outcome is kept
TOP_K = 5  # ranks within which a label counts as found
OFFERED = 10  # ranks within which a label counts as offered to the person
MIN_CORRECTIONS = 4  # of a label, before it has a trend
MAX_LABELS = 20_000  # labels whose examples are kept; the least recently corrected are dropped
MAX_EVALUATED = 1 << 16  # characters of a text that is ranked before it is learned; a longer one takes too much time
MAX_FOLLOWED = 100  # labels of a correction
EXAMPLES = 5  # of a label
LAST_TEXTS = 3
EXAMPLE_CHARACTERS = 300


class Outcome(NamedTuple):
    """How a text was ranked before its correction was learned.

    Attributes
    ----------
    sequence : int
        The record of the correction.
    right : bool
        Whether the first label was right.
    found : dict
        The right labels, and whether each was in the top 5.
    offered : dict
        The labels in the top 10, and whether each was right. If the text has only rejected labels, these alone.
    time : int
        Of the record, in microseconds since 1970; 0 if it is not known.
    """

    sequence: int
    right: bool
    found: dict[Name, bool]
    offered: dict[Name, bool]
    time: int = 0


class Example(NamedTuple):
    """A text that was learned for or against a label."""

    sequence: int
    text: str
    decision: str


class Trend(NamedTuple):
    """How often a label was in the top 5 before its older and its newer corrections."""

    label: Name
    before: float
    after: float


class Offers(NamedTuple):
    """How often a label was in the top 10 before a correction, and how often it was then rejected or not chosen."""

    offered: int
    refused: int


class LabelDecisions:
    """The decisions of people on a label."""

    __slots__ = ("accepted", "examples", "rejected", "time")

    def __init__(self) -> None:
        self.accepted = 0
        self.rejected = 0
        self.time = 0  # of the last one, in microseconds since 1970
        self.examples: deque[Example] = deque(maxlen=EXAMPLES)


class History:
    """Remember the last corrections."""

    def __init__(self) -> None:
        self.outcomes: deque[Outcome] = deque(maxlen=WINDOW)
        self.learned = 0
        self.last_time = 0  # of the last correction
        self.texts: deque[str] = deque(maxlen=LAST_TEXTS)  # the last short ones
        self.since = 0  # outcomes up to here are not kept: enough records follow to replace them
        self._decisions: OrderedDict[Name, LabelDecisions] = OrderedDict()
        self._offers: tuple[int, Mapping[Name, Offers]] = (-1, {})

    def evaluate(
        self, sequence: int, record: Record, rank: Callable[[Text, int], Sequence[Name]], time: int = 0
    ) -> None:
        """Note whether the model is right before it learns a record; `rank` returns the first labels of a text."""
        is_kept = sequence > self.since
        if not isinstance(record, Learn) or not is_kept or n_characters(record.text) > MAX_EVALUATED:
            return
        first = rank(record.text, OFFERED)
        right = dict.fromkeys((*record.accepted, *record.added))
        # If a text has only rejected labels, its first label is known to be wrong, or nothing is known about it.
        if right or (first and first[0] in record.rejected):
            found = {label: label in first[:TOP_K] for label in islice(right, MAX_FOLLOWED)}
            offered = {label: label in right for label in first if right or label in record.rejected}
            self.outcomes.append(Outcome(sequence, bool(first) and first[0] in right, found, offered, time))

    def note(self, sequence: int, record: Record, time: int = 0) -> None:
        """Note the decisions of a record on its labels."""
        if not isinstance(record, Learn):
            return
        self.learned += 1
        self.last_time = max(self.last_time, time)
        text = " ".join(joined(record.text).split()) if n_characters(record.text) <= 2 * LONGEST else ""
        if SHORTEST <= len(text) <= LONGEST and text not in self.texts:
            self.texts.append(text)
        for decision in ("accepted", "added", "rejected"):
            for label in getattr(record, decision):
                decisions = self._decisions.setdefault(label, LabelDecisions())
                self._decisions.move_to_end(label)
                decisions.accepted += decision != "rejected"
                decisions.rejected += decision == "rejected"
                decisions.time = time
                decisions.examples.append(Example(sequence, joined(record.text)[:EXAMPLE_CHARACTERS], decision))
        while len(self._decisions) > MAX_LABELS:
            self._decisions.popitem(last=False)

    def keep_outcomes(self, earlier: "History", excluded: Iterable[int]) -> None:
        """Add the outcomes of an earlier state, except those of records that do not count any more.

        They stay what they were: what the model ranked at that time.
        """
        known = {outcome.sequence: outcome for outcome in (*earlier.outcomes, *self.outcomes)}
        for sequence in excluded:
            known.pop(sequence, None)
        self.outcomes = deque((known[sequence] for sequence in sorted(known)), maxlen=WINDOW)

    def drop_labels(self, knows: Callable[[Name], bool]) -> None:
        """Drop labels that are not known any more from all outcomes: a forgotten record may have made them."""
        for outcome in self.outcomes:
            for labels in (outcome.found, outcome.offered):
                for label in [label for label in labels if not knows(label)]:
                    del labels[label]

    def encode_outcomes(self) -> bytes:
        """Return the outcomes as JSON; a label may be a number, so that pairs are kept instead of mappings."""
        rows = [[*one[:2], list(one.found.items()), list(one.offered.items()), one.time] for one in self.outcomes]
        return json.dumps(rows, separators=(",", ":")).encode()

    def restore_outcomes(self, raw: bytes, upto: int, excluded: Iterable[int]) -> None:
        """Restore the outcomes of records up to a sequence from `encode_outcomes`; ValueError if it is damaged."""
        earlier = History()
        try:
            for sequence, right, found, offered, time in json.loads(raw):
                if int(sequence) <= upto:
                    earlier.outcomes.append(Outcome(int(sequence), bool(right), dict(found), dict(offered), int(time)))
        except TypeError as error:
            raise ValueError(str(error)) from None
        self.keep_outcomes(earlier, excluded)

    # -- queries -------------------------------------------------------------------------------------

    def decisions(self, names: Iterable[Name]) -> tuple[int, int, list[Example]]:
        """Return how often a label was accepted and rejected, and its last texts, under all its names."""
        known = [self._decisions[name] for name in names if name in self._decisions]
        examples = sorted((example for decisions in known for example in decisions.examples), reverse=True)[:EXAMPLES]
        return sum(decisions.accepted for decisions in known), sum(decisions.rejected for decisions in known), examples

    def changed(self, names: Iterable[Name]) -> int:
        """Return the time of the last correction of a label, under all its names; 0 if it is not known."""
        return max((self._decisions[name].time for name in names if name in self._decisions), default=0)

    def recent(self) -> Iterator[Name]:
        """Yield the labels of the last corrections, the latest first."""
        return reversed(self._decisions)

    def offers(self, sequence: int, resolve: Callable[[Name], Name]) -> Mapping[Name, Offers]:
        """Return how often each label was offered before the last corrections.

        This is computed once for each sequence of the state. `resolve` returns the current name of a label.
        """
        if self._offers[0] == sequence:
            return self._offers[1]
        found: dict[Name, Offers] = {}
        for outcome in self.outcomes:
            for name, is_right in outcome.offered.items():
                label = resolve(name)
                offered, refused = found.get(label, Offers(0, 0))
                found[label] = Offers(offered + 1, refused + (not is_right))
        self._offers = (sequence, found)
        return found

    def trends(self, most: int = 8) -> tuple[list[Trend], list[Trend]]:
        """Return the labels that get better and those that get worse, the largest change first."""
        seen: dict[Name, list[bool]] = {}
        for outcome in self.outcomes:
            for label, is_found in outcome.found.items():
                seen.setdefault(label, []).append(is_found)
        trends = []
        for label, hits in seen.items():
            if len(hits) >= MIN_CORRECTIONS:
                half = len(hits) // 2
                trends.append(Trend(label, sum(hits[:half]) / half, sum(hits[half:]) / (len(hits) - half)))
        trends.sort(key=lambda trend: trend.before - trend.after)
        better = [trend for trend in trends if trend.after > trend.before][:most]
        worse = [trend for trend in reversed(trends) if trend.after < trend.before][:most]
        return better, worse


class NoHistory(History):
    """The history of a replica that nobody asks for one: it remembers nothing, which saves time at a replay."""

    def evaluate(
        self, sequence: int, record: Record, rank: Callable[[Text, int], Sequence[Name]], time: int = 0
    ) -> None:
        """Do nothing."""

    def note(self, sequence: int, record: Record, time: int = 0) -> None:
        """Do nothing."""
