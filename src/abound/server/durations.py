"""How long something took: counts of durations by size, which processes add up."""

from bisect import bisect_left

import msgspec

BOUNDS = (0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0, 5.0)  # seconds


def _empty() -> list[int]:
    return [0] * (len(BOUNDS) + 1)


class Durations(msgspec.Struct):
    """A histogram of durations.

    Attributes
    ----------
    counts : list of int
        One per bound, of durations up to it and above the bound before, and one of those above the last bound.
    seconds : float
        The sum of all durations.

    Examples
    --------
    >>> commits = Durations()
    >>> commits.add(0.0004)
    >>> commits.add(7.0)
    >>> commits.cumulative()[1], commits.cumulative()[-1], commits.seconds
    (('0.0005', 1), ('+Inf', 2), 7.0004)
    """

    counts: list[int] = msgspec.field(default_factory=_empty)
    seconds: float = 0.0

    def add(self, seconds: float) -> None:
        """Count one duration."""
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.seconds += seconds

    def add_all(self, other: "Durations") -> None:
        """Add the durations of another process."""
        self.counts = [mine + theirs for mine, theirs in zip(self.counts, other.counts, strict=True)]
        self.seconds += other.seconds

    def cumulative(self) -> list[tuple[str, int]]:
        """Return each bound with the number of durations up to it, as Prometheus wants them."""
        total, found = 0, []
        for bound, count in zip((*map(str, BOUNDS), "+Inf"), self.counts, strict=True):
            total += count
            found.append((bound, total))
        return found
