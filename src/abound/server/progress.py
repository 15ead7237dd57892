"""Is the model getting better? The share of first labels that were right before each correction, with its interval."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal, NamedTuple

from abound.server.history import Outcome

SMOOTHED = 50  # corrections that are averaged in a point of the curve
COMPARED = 500  # corrections of a window that is compared with the one before it
MIN_COMPARED = 20  # corrections of each of the two windows; fewer tell nothing
Z = 1.959964  # two-sided, 95%
Direction = Literal["better", "worse", "unchanged", "unknown"]


class Interval(NamedTuple):
    """A share with its 95% interval."""

    share: float
    low: float
    high: float

    @property
    def margin(self) -> float:
        """Half of the interval's width."""
        return (self.high - self.low) / 2


def wilson(right: int, n: int) -> Interval:
    """Return a share with Wilson's 95% interval, which is also valid for few cases and for shares near 0 and 1.

    Examples
    --------
    >>> [round(value, 3) for value in wilson(31, 100)]
    [0.31, 0.228, 0.406]
    >>> wilson(0, 0)
    Interval(share=0.0, low=0.0, high=1.0)
    """
    if n == 0:
        return Interval(0.0, 0.0, 1.0)
    share, spread = right / n, Z * Z / n
    centre = (share + spread / 2) / (1 + spread)
    margin = Z * math.sqrt(share * (1 - share) / n + spread / (4 * n)) / (1 + spread)
    return Interval(share, max(0.0, centre - margin), min(1.0, centre + margin))


class Point(NamedTuple):
    """A correction, whether its first label was right, and the share in the last corrections up to it."""

    sequence: int
    time: int
    right: bool
    mean: Interval


class Verdict(NamedTuple):
    """Whether the last window of corrections differs from the one before.

    Attributes
    ----------
    now : Interval
        Of the last window.
    before : Interval or None
        Of the window before it.
    direction : {"better", "worse", "unchanged", "unknown"}
        The result of a two-sided test of two proportions at 5%; unknown if there are too few corrections.
    since : int or None
        Of "better" and "worse", when the last window began; of "unchanged", when the window before it began. Time in
        microseconds since 1970.
    corrections : int
        In the last window.
    """

    now: Interval
    before: Interval | None
    direction: Direction
    since: int | None
    corrections: int


def curve(outcomes: Sequence[Outcome]) -> list[Point]:
    """Return one point for each correction."""
    points: list[Point] = []
    right = 0
    for index, outcome in enumerate(outcomes):
        right += outcome.right
        if index >= SMOOTHED:
            right -= outcomes[index - SMOOTHED].right
        mean = wilson(right, min(index + 1, SMOOTHED))
        points.append(Point(outcome.sequence, outcome.time, outcome.right, mean))
    return points


def verdict(outcomes: Sequence[Outcome]) -> Verdict:
    """Compare the last corrections with as many before them."""
    n = min(COMPARED, len(outcomes) // 2)
    if n < MIN_COMPARED:
        now = wilson(_right(outcomes), len(outcomes))
        return Verdict(now, None, "unknown", None, len(outcomes))
    last, before = outcomes[-n:], outcomes[-2 * n : -n]
    new, old = _right(last), _right(before)
    direction: Direction = "unchanged"
    if _differ(new, old, n):
        direction = "better" if new > old else "worse"
    first = before[0] if direction == "unchanged" else last[0]
    return Verdict(wilson(new, n), wilson(old, n), direction, first.time or None, n)


def _right(outcomes: Sequence[Outcome]) -> int:
    return sum(outcome.right for outcome in outcomes)


def _differ(a: int, b: int, n: int) -> bool:
    """Return whether two shares of n differ, by the test of two proportions with a pooled variance."""
    pooled = (a + b) / (2 * n)
    error = math.sqrt(pooled * (1 - pooled) * 2 / n)
    return error > 0 and abs(a - b) / n / error > Z


def sentence(found: Verdict, now: datetime) -> str:
    """Return a verdict in words, such as "31% ± 3, unchanged since Monday".

    Examples
    --------
    >>> monday = datetime(2026, 3, 2, 9, tzinfo=UTC)
    >>> since = round(monday.timestamp() * 1e6)
    >>> sentence(Verdict(wilson(310, 1000), wilson(300, 1000), "unchanged", since, 1000), monday + timedelta(days=3))
    '31% ± 3, unchanged since Monday'
    >>> sentence(Verdict(wilson(310, 1000), wilson(240, 1000), "better", since, 1000), monday + timedelta(days=30))
    '31% ± 3, better since 2 March 2026 (24% ± 3 before)'
    """
    if not found.corrections:
        return "no text was corrected yet"
    share = _percent(found.now)
    if found.before is None:
        return f"{share}, too few texts to see a change: {found.corrections} of {2 * MIN_COMPARED}"
    since = "" if found.since is None else f" {_since(found.since, now)}"
    if found.direction == "unchanged":
        return f"{share}, unchanged{since}"
    return f"{share}, {found.direction}{since} ({_percent(found.before)} before)"


def _percent(interval: Interval) -> str:
    return f"{interval.share:.0%} ± {100 * interval.margin:.0f}"


def _since(time: int, now: datetime) -> str:
    moment = datetime.fromtimestamp(time / 1e6, UTC)
    days = (now.astimezone(UTC).date() - moment.date()) / timedelta(days=1)
    if 0 <= days < 2:
        return "since yesterday" if days else "today"
    return f"since {moment:%A}" if 0 <= days < 7 else f"since {moment.day} {moment:%B %Y}"
