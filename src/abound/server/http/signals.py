"""The signals of a server: SIGTERM and SIGINT end it, SIGUSR2 starts it again in the same process."""

import asyncio
import logging
import signal
from collections.abc import Callable

from abound.server.http.service_manager import check_program, notify

LOG = logging.getLogger(__name__)


class Signals:
    """Handle the signals of this process from now on.

    Parameters
    ----------
    stop : callable
        Called for each of them; the second call stops the server immediately.
    report : callable
        Called with a message for the operator.

    Attributes
    ----------
    restarts : bool
        Whether the server is to start again when it has stopped.
    """

    def __init__(self, stop: Callable[[], None], report: Callable[[str], None]) -> None:
        self.restarts = False
        self._is_stopping = False
        self._checking: asyncio.Task[None] | None = None
        self._stop = stop
        self._report = report
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._end)
        if hasattr(signal, "SIGUSR2"):
            loop.add_signal_handler(signal.SIGUSR2, self._restart)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR2})

    def _end(self) -> None:
        self.restarts, self._is_stopping = False, True
        notify("STOPPING=1")
        self._stop()

    def _restart(self) -> None:
        if not self._is_stopping and self._checking is None:
            self._checking = asyncio.get_running_loop().create_task(self._check_and_restart())

    async def _check_and_restart(self) -> None:
        """Restart, unless the program would not start with its present options."""
        problem = await check_program()
        self._checking = None
        if self._is_stopping:
            return
        if problem is not None:
            LOG.error("the server is not restarted, and keeps its earlier options: %s", problem)
            return
        self.restarts = self._is_stopping = True
        # Until the new program handles them, these signals would end the process.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2, signal.SIGHUP})
        notify("RELOADING=1")
        self._report("restarting; new connections wait until the server is ready again")
        self._stop()
