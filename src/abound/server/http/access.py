"""Log requests: all of them, or only slow and refused ones."""

import asyncio
import logging
from typing import Any

from abound.server.http.logs import EVENT, LogSettings
from abound.server.http.observing import Answered

LOG = logging.getLogger(__name__)
PER_SECOND = 10  # warnings of each kind, so that nobody can fill the disk
MAX_PATH = 1000  # characters of a path that are logged
REFUSED, LIMITED, SLOW, ANY = "refused key", "limit reached", "slow request", "request"
KINDS = {401: REFUSED, 403: REFUSED, 429: LIMITED}
OF_LIMITS = {"requests", "learns", "memory"}  # reasons that are limits of a key, one of `metrics.REASONS`


class WarningRate:
    """Let at most some events of a kind pass in a second, and log the number of the others when it is over.

    Parameters
    ----------
    event : str
    per_second : int
    """

    def __init__(self, event: str, per_second: int = PER_SECOND) -> None:
        self._event = event
        self._per_second = per_second
        self._passed = 0
        self.n_suppressed = 0
        self._timer: asyncio.TimerHandle | None = None

    def admits(self) -> bool:
        """Return whether another event may be logged now."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(1.0, self.end)
        self._passed += 1
        if self._passed > self._per_second:
            self.n_suppressed += 1
            return False
        return True

    def end(self) -> None:
        """End the second."""
        if self._timer is not None:
            self._timer.cancel()
        number, self._timer, self._passed, self.n_suppressed = self.n_suppressed, None, 0, 0
        if number:
            words = f"{number:,} more warnings about requests were suppressed within a second"
            fields = {"event": self._event, "suppressed": number}
            LOG.warning(words, extra={EVENT: fields})


class AccessLog:
    """Log requests; see `LogSettings`.

    Parameters
    ----------
    settings : LogSettings
    """

    def __init__(self, settings: LogSettings) -> None:
        self._all = settings.access
        self._warns = settings.level != "error"
        self._slow_seconds = settings.slow_seconds
        self._rates = {event: WarningRate(event) for event in (REFUSED, LIMITED, SLOW)}

    def observe(self, answered: Answered) -> None:
        """Log one request if it is refused or slow, or if all are logged."""
        event = LIMITED if answered.reason in OF_LIMITS else KINDS.get(answered.status)
        if event is None and answered.seconds > self._slow_seconds:
            event = SLOW
        if event is not None and self._warns and self._rates[event].admits():
            _log(logging.WARNING, event, answered)
        elif self._all:
            _log(logging.INFO, ANY, answered)

    def close(self) -> None:
        """Log the number of warnings that were suppressed."""
        for rate in self._rates.values():
            rate.end()


def _log(level: int, event: str, answered: Answered) -> None:
    path = answered.path[:MAX_PATH]
    fields: dict[str, Any] = {
        "event": event,
        "request_id": answered.request_id,
        "method": answered.method,
        "path": path,
        "endpoint": answered.endpoint,
        "status": answered.status,
        "seconds": round(answered.seconds, 6),
        "key": answered.caller,
        "reason": answered.reason,
        "client": answered.client,
        "bytes": answered.n_bytes,
    }
    record = logging.LogRecord(LOG.name, level, __file__, 0, "%s %s %d", (answered.method, path, answered.status), None)
    setattr(record, EVENT, fields)
    LOG.handle(record)  # `--access-log` also counts at the level warning
