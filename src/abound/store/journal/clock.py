"""A clock for the expiry of idempotency keys that does not depend on changes of the system's clock.

If the system's clock ran ahead for a moment, all keys would expire, and a retried request would be learned twice. A
journal therefore counts time itself. While it is open, it uses the system's monotonic clock. Between two openings, only
the wall clock is available. It is trusted within limits: never backwards, and forwards by at most an eighth of a key's
life. Keys may live longer than promised, but not shorter.
"""

import time

GAP_SHARE = 8  # at most 1/8 of a key's life passes between two openings


class JournalClock:
    """Count microseconds.

    Parameters
    ----------
    counted, wall : int
        The values of this clock and of the wall clock when the journal was last written.
    key_life : int
        Life of a key in seconds.
    """

    def __init__(self, counted: int, wall: int, key_life: int) -> None:
        passed = min(max(0, wall_time() - wall), key_life * 1_000_000 // GAP_SHARE)
        self._start = counted + passed
        self._opened = time.monotonic_ns()

    def now(self) -> int:
        """Return the current time."""
        return self._start + (time.monotonic_ns() - self._opened) // 1000


def wall_time() -> int:
    """Return the system's time in microseconds since 1970."""
    return time.time_ns() // 1000
