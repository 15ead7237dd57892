"""Progress on stderr: a bar on a terminal, a line now and then elsewhere."""

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from abound.cli.common import note

SECONDS_BETWEEN_LINES = 10.0


class Progress:
    """How far a command is, how fast, and how long it still takes.

    Parameters
    ----------
    title : str
        What is being done.
    share : callable
        Gives how much is done, from 0 to 1, or None when nobody knows.
    """

    def __init__(self, title: str, share: Callable[[], float | None]) -> None:
        self._title = title
        self._share = share
        self._bar: Any = None
        self._task: Any = None
        self._started = self._told = time.monotonic()
        # A bar among a table of results on the same terminal is fine, as it goes away at the end.
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

    def update(self, rows: int, more: str = "") -> None:
        """Say that so many rows are done, and what else is known."""
        now = time.monotonic()
        if self._bar is None and now - self._told < SECONDS_BETWEEN_LINES:
            return
        share = self._share()
        words = describe(rows, now - self._started, share, more)
        if self._bar is not None:
            total = None if share is None else 1.0
            self._bar.update(self._task, completed=share or 0.0, total=total, words=words)
        else:
            note(f"{self._title}: {words}")
            self._told = now


def describe(rows: int, seconds: float, share: float | None, more: str = "") -> str:
    """Return progress in words.

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
