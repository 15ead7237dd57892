"""The time by which idempotency keys live: it passes as it should, whatever the system's clock does.

A clock that runs ahead for a moment would end the life of every key, and what is tried again then would be learnt
twice. So a journal counts time for itself. While it is open, the system's monotonic counter says how much has passed.
From one opening to the next only the clock on the wall can, and it is believed within a limit: never backwards, and
forwards by an eighth of a key's life at the most. Keys may live longer than they were promised, and not shorter.
"""

import time

GAP_SHARE = 8  # of a key's life that may pass between two openings: one part in so many


class JournalClock:
    """Count microseconds.

    Parameters
    ----------
    counted, wall : int
        What this clock and the one on the wall said when the journal was last written.
    key_life : int
        In seconds.
    """

    def __init__(self, counted: int, wall: int, key_life: int) -> None:
        passed = min(max(0, wall_time() - wall), key_life * 1_000_000 // GAP_SHARE)
        self._start = counted + passed
        self._opened = time.monotonic_ns()

    def now(self) -> int:
        """Return what the clock says."""
        return self._start + (time.monotonic_ns() - self._opened) // 1000


def wall_time() -> int:
    """Return microseconds since 1970 as the system says."""
    return time.time_ns() // 1000
