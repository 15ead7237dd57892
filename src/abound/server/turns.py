"""Threads that the models of a process share: a model takes turns in them, and has none of its own."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from abound.closing import Closing

WRITING_THREADS = 2
SNAPSHOT_THREADS = 1
ENCODING_THREADS = 1


class Threads(Closing):
    """The threads that write, that wait for snapshots and that encode texts, for any number of models."""

    def __init__(
        self, writing: int = WRITING_THREADS, snapshots: int = SNAPSHOT_THREADS, encoding: int = ENCODING_THREADS
    ) -> None:
        self.writing = ThreadPoolExecutor(writing, "abound-writer")
        self.snapshots = ThreadPoolExecutor(snapshots, "abound-snapshots")
        self.encoding = ThreadPoolExecutor(encoding, "abound-encoder")

    def close(self) -> None:
        """End the threads; all turns must be closed before."""
        self.encoding.shutdown()
        self.writing.shutdown()
        self.snapshots.shutdown()


def _nothing() -> None:
    pass


class Turns(Closing):
    """Run a function in a pool of threads, never twice at the same time.

    Parameters
    ----------
    pool : ThreadPoolExecutor
    function : callable
        Must not raise. It may call `ask` to get another turn, after those of others that wait for the pool.

    Examples
    --------
    >>> seen = []
    >>> with Threads() as threads, Turns(threads.writing, lambda: seen.append("a turn")) as turns:
    ...     turns.ask()
    >>> seen
    ['a turn']
    """

    def __init__(self, pool: ThreadPoolExecutor, function: Callable[[], None]) -> None:
        self._pool = pool
        self._function = function
        self._changed = threading.Condition()
        self._waiting: Future[None] | None = None  # the turn that has not begun
        self._is_running = False
        self._is_asked = False  # for another turn after the one that is running
        self._is_closed = False
        self._timer: threading.Timer | None = None

    @property
    def is_idle(self) -> bool:
        """Whether no turn is running or waiting."""
        return self._waiting is None and not self._is_running

    def ask(self) -> None:
        """Ask for a turn that begins after this call; one turn may be the answer to several calls."""
        with self._changed:
            if self._is_closed and not self._is_running:
                return
            if self._is_running:
                self._is_asked = True
            elif self._waiting is None:
                self._waiting = self._pool.submit(self._run)

    def ask_after(self, seconds: float) -> None:
        """Ask for a turn after a pause; a later call replaces an earlier one."""
        with self._changed:
            if self._timer is not None:
                self._timer.cancel()
            if not self._is_closed:
                self._timer = threading.Timer(seconds, self.ask)
                self._timer.daemon = True
                self._timer.start()

    def _run(self) -> None:
        with self._changed:
            self._waiting, self._is_running, self._is_asked = None, True, False
        try:
            self._function()
        finally:
            with self._changed:
                self._is_running = False
                if self._is_asked:
                    self._waiting = self._pool.submit(self._run)
                self._changed.notify_all()

    def cancel(self) -> None:
        """Drop a turn that has not begun, and wait for the end of the one that is running."""
        with self._changed:
            if self._waiting is not None and self._waiting.cancel():
                self._waiting = None
            self._changed.wait_for(lambda: self.is_idle)

    def close(self) -> None:
        """Wait until no turn is running or asked for; later calls of `ask` do nothing."""
        with self._changed:
            self._is_closed = True
            if self._timer is not None:
                self._timer.cancel()
            self._changed.wait_for(lambda: self.is_idle)
            self._function = _nothing  # so that its owner, which has this object, is freed at once
