"""What a replica was taught lately: was it right before, and what did people say of each label.

It is kept in memory beside the state, of which it is no part. A replica that is opened anew has what the journal still
holds: decisions and texts of all its records, and whether the first label was right for those after the snapshot, since
that takes the state of their time.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from abound.store.journal.records import Learn, Record
from abound.store.names import Name

WINDOW = 1000  # lessons whose outcome is kept
SMOOTHED = 50  # lessons that a point of the curve is the mean of
FEW_LESSONS = 10  # at the beginning of the curve
MAX_POINTS = 200
NEAR = 5  # places among which a label counts as found
MIN_LESSONS = 4  # of a label, before it is said to get better or worse
MAX_LABELS = 20_000  # whose examples are kept, the least lately taught ones go
MAX_EVALUATED = 1 << 16  # characters of a text that is ranked before it is learnt; a long one would take twice the time
MAX_FOLLOWED = 100  # labels of a lesson
EXAMPLES = 5  # of a label
EXAMPLE_CHARACTERS = 300


class Outcome(NamedTuple):
    """A lesson: whether the first label was right before it was learnt, and which of its labels stood near the top."""

    sequence: int
    right: bool
    found: dict[Name, bool]


class Example(NamedTuple):
    """A text that was learnt for or against a label."""

    sequence: int
    text: str
    decision: str


class Trend(NamedTuple):
    """How often a label stood near the top before its older and its newer lessons."""

    label: Name
    before: float
    after: float


class LabelDecisions:
    """What people said of a label."""

    __slots__ = ("accepted", "examples", "rejected")

    def __init__(self) -> None:
        self.accepted = 0
        self.rejected = 0
        self.examples: deque[Example] = deque(maxlen=EXAMPLES)


class History:
    """Remember the last lessons."""

    def __init__(self) -> None:
        self.outcomes: deque[Outcome] = deque(maxlen=WINDOW)
        self.learnt = 0
        self.since = 0  # up to here outcomes are not kept: so many records follow that they would be gone again
        self._decisions: OrderedDict[Name, LabelDecisions] = OrderedDict()

    def evaluate(self, sequence: int, record: Record, rank: Callable[[str, int], Sequence[Name]]) -> None:
        """Note whether the model is right before it learns a record; `rank` gives the first labels of a text."""
        is_kept = sequence > self.since
        if not isinstance(record, Learn) or not is_kept or len(record.text) > MAX_EVALUATED:
            return
        first = rank(record.text, NEAR)
        right = dict.fromkeys((*record.accepted, *record.added))
        # Of a text that is only told what it is not, the first label is known to be wrong, or nothing is known.
        if right or (first and first[0] in record.rejected):
            found = {label: label in first for label in islice(right, MAX_FOLLOWED)}
            self.outcomes.append(Outcome(sequence, bool(first) and first[0] in right, found))

    def note(self, sequence: int, record: Record) -> None:
        """Note what a record says of its labels."""
        if not isinstance(record, Learn):
            return
        self.learnt += 1
        for decision in ("accepted", "added", "rejected"):
            for label in getattr(record, decision):
                decisions = self._decisions.setdefault(label, LabelDecisions())
                self._decisions.move_to_end(label)
                decisions.accepted += decision != "rejected"
                decisions.rejected += decision == "rejected"
                decisions.examples.append(Example(sequence, record.text[:EXAMPLE_CHARACTERS], decision))
        while len(self._decisions) > MAX_LABELS:
            self._decisions.popitem(last=False)

    # -- asking --------------------------------------------------------------------------------------

    def decisions(self, names: Iterable[Name]) -> tuple[int, int, list[Example]]:
        """Return how often a label was accepted and rejected, and its last texts, under all the names that it had."""
        found = [self._decisions[name] for name in names if name in self._decisions]
        examples = sorted((example for decisions in found for example in decisions.examples), reverse=True)[:EXAMPLES]
        return sum(decisions.accepted for decisions in found), sum(decisions.rejected for decisions in found), examples

    def curve(self) -> list[tuple[int, float]]:
        """Return sequences, and the share of first labels that were right in the lessons up to each."""
        outcomes, points, right = list(self.outcomes), [], 0
        for place, outcome in enumerate(outcomes):
            right += outcome.right
            if place >= SMOOTHED:
                right -= outcomes[place - SMOOTHED].right
            points.append((outcome.sequence, right / min(place + 1, SMOOTHED)))
        points = points[min(len(points) // 2, FEW_LESSONS) :]  # the mean of a few lessons says little
        step = -(-len(points) // MAX_POINTS) or 1
        return points[::-1][::step][::-1]  # thinned from the end, so that the last lesson stays

    def trends(self, most: int = 8) -> tuple[list[Trend], list[Trend]]:
        """Return the labels that get better and those that get worse, most of all first."""
        seen: dict[Name, list[bool]] = {}
        for outcome in self.outcomes:
            for label, is_near in outcome.found.items():
                seen.setdefault(label, []).append(is_near)
        trends = []
        for label, found in seen.items():
            if len(found) >= MIN_LESSONS:
                half = len(found) // 2
                trends.append(Trend(label, sum(found[:half]) / half, sum(found[half:]) / (len(found) - half)))
        trends.sort(key=lambda trend: trend.before - trend.after)
        better = [trend for trend in trends if trend.after > trend.before][:most]
        worse = [trend for trend in reversed(trends) if trend.after < trend.before][:most]
        return better, worse
