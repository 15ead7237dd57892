"""Progress on stderr: a bar on a terminal, otherwise a line every few seconds."""

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from abound.cli.common import note

SECONDS_BETWEEN_LINES = 10.0


class Progress:
    """Show the progress of a command: rows, speed and time left.

    Parameters
    ----------
    title : str
        The current activity.
    share : callable
        Returns the share that is done, from 0 to 1, or None if unknown.
    """

    def __init__(self, title: str, share: Callable[[], float | None]) -> None:
        self._title = title
        self._share = share
        self._bar: Any = None
        self._task: Any = None
        self._started = self._last_line = self._first_row = time.monotonic()
        self._draws = sys.stderr.isatty()

    def __enter__(self) -> Self:
        if self._draws:
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as Bar

            columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[words]}"))
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task(self._title, total=None, words="")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._started

    def begin(self, step: str) -> None:
        """Report a step before the first row; the speed of the rows does not include it."""
        self._first_row = time.monotonic()
        self._show(step, None, self._first_row)

    def update(self, rows: int, more: str = "") -> None:
        """Report the number of rows done, and optionally more."""
        now, share = time.monotonic(), self._share()
        self._show(describe(rows, now - self._first_row, share, more), share, now)

    def _show(self, words: str, share: float | None, now: float) -> None:
        """Draw the bar, or print a line if the last one was printed some seconds ago."""
        if self._bar is not None:
            total = None if share is None else 1.0
            self._bar.update(self._task, completed=share or 0.0, total=total, words=words)
        elif now - self._last_line >= SECONDS_BETWEEN_LINES:
            note(f"{self._title}: {words}")
            self._last_line = now


def describe(rows: int, seconds: float, share: float | None, more: str = "") -> str:
    """Format the progress as text.

    Examples
    --------
    >>> describe(6000, 2.0, 0.25, "P@1 0.41")
    '6,000 rows, 3,000 rows/s, 25%, 0:06 left, P@1 0.41'
    """
    parts = [f"{rows:,} rows", f"{rows / max(seconds, 1e-9):,.0f} rows/s"]
    if share:
        minutes, left = divmod(round(seconds * (1 - share) / share), 60)
        hours, minutes = divmod(minutes, 60)
        parts += [f"{share:.0%}", f"{f'{hours}:{minutes:02}' if hours else minutes}:{left:02} left"]
    return ", ".join([*parts, *([more] if more else [])])
