"""The recent corrections of a replica: whether its ranking was right before, and the decisions on each label.

The history is in memory and not part of the state. A replica that is opened again restores what the journal still has:
the decisions and texts of its last records. Whether the first label was right is known only for records after the
snapshot, since it takes the state before each record.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from abound.store.journal.records import Learn, Record
from abound.store.names import Name
from abound.texts import Text, joined, n_characters

REMEMBERED = 10_000  # records whose decisions are restored when a home is opened
WINDOW = 1000  # corrections whose outcome is kept
SMOOTHED = 50  # corrections that are averaged in a point of the curve
WARM_UP = 10  # corrections at the beginning of the curve that are not shown
MAX_POINTS = 200
TOP_K = 5  # ranks within which a label counts as found
MIN_CORRECTIONS = 4  # of a label, before it has a trend
MAX_LABELS = 20_000  # labels whose examples are kept; the least recently corrected are dropped
MAX_EVALUATED = 1 << 16  # characters of a text that is ranked before it is learned; a longer one takes too much time
MAX_FOLLOWED = 100  # labels of a correction
EXAMPLES = 5  # of a label
EXAMPLE_CHARACTERS = 300


class Outcome(NamedTuple):
    """Whether the first label was right before a correction was learned, and which right labels were in the top 5."""

    sequence: int
    right: bool
    found: dict[Name, bool]


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


class LabelDecisions:
    """The decisions of people on a label."""

    __slots__ = ("accepted", "examples", "rejected")

    def __init__(self) -> None:
        self.accepted = 0
        self.rejected = 0
        self.examples: deque[Example] = deque(maxlen=EXAMPLES)


class History:
    """Remember the last corrections."""

    def __init__(self) -> None:
        self.outcomes: deque[Outcome] = deque(maxlen=WINDOW)
        self.learned = 0
        self.since = 0  # outcomes up to here are not kept: enough records follow to replace them
        self._decisions: OrderedDict[Name, LabelDecisions] = OrderedDict()

    def evaluate(self, sequence: int, record: Record, rank: Callable[[Text, int], Sequence[Name]]) -> None:
        """Note whether the model is right before it learns a record; `rank` returns the first labels of a text."""
        is_kept = sequence > self.since
        if not isinstance(record, Learn) or not is_kept or n_characters(record.text) > MAX_EVALUATED:
            return
        first = rank(record.text, TOP_K)
        right = dict.fromkeys((*record.accepted, *record.added))
        # If a text has only rejected labels, its first label is known to be wrong, or nothing is known about it.
        if right or (first and first[0] in record.rejected):
            found = {label: label in first for label in islice(right, MAX_FOLLOWED)}
            self.outcomes.append(Outcome(sequence, bool(first) and first[0] in right, found))

    def note(self, sequence: int, record: Record) -> None:
        """Note the decisions of a record on its labels."""
        if not isinstance(record, Learn):
            return
        self.learned += 1
        for decision in ("accepted", "added", "rejected"):
            for label in getattr(record, decision):
                decisions = self._decisions.setdefault(label, LabelDecisions())
                self._decisions.move_to_end(label)
                decisions.accepted += decision != "rejected"
                decisions.rejected += decision == "rejected"
                decisions.examples.append(Example(sequence, joined(record.text)[:EXAMPLE_CHARACTERS], decision))
        while len(self._decisions) > MAX_LABELS:
            self._decisions.popitem(last=False)

    # -- queries -------------------------------------------------------------------------------------

    def decisions(self, names: Iterable[Name]) -> tuple[int, int, list[Example]]:
        """Return how often a label was accepted and rejected, and its last texts, under all its names."""
        known = [self._decisions[name] for name in names if name in self._decisions]
        examples = sorted((example for decisions in known for example in decisions.examples), reverse=True)[:EXAMPLES]
        return sum(decisions.accepted for decisions in known), sum(decisions.rejected for decisions in known), examples

    def curve(self) -> list[tuple[int, float]]:
        """Return sequences with the share of first labels that were right in the corrections up to each."""
        outcomes, points, right = list(self.outcomes), [], 0
        for index, outcome in enumerate(outcomes):
            right += outcome.right
            if index >= SMOOTHED:
                right -= outcomes[index - SMOOTHED].right
            points.append((outcome.sequence, right / min(index + 1, SMOOTHED)))
        points = points[min(len(points) // 2, WARM_UP) :]  # the mean of a few corrections is noise
        step = -(-len(points) // MAX_POINTS) or 1
        return points[::-1][::step][::-1]  # thinned from the end, so that the last correction stays

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

    def evaluate(self, sequence: int, record: Record, rank: Callable[[Text, int], Sequence[Name]]) -> None:
        """Do nothing."""

    def note(self, sequence: int, record: Record) -> None:
        """Do nothing."""
