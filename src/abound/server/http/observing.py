"""Request ids, and what observers learn about each answered request."""

import itertools
import logging
import os
import re
import time
from collections.abc import Awaitable, Iterable, MutableMapping
from typing import Any, Protocol

import msgspec

from abound.server.http.asgi import CALLER, ENDPOINT, REASON, ASGIApp, ASGIScope, Receive, Send
from abound.server.http.problems import Header

LOG = logging.getLogger(__name__)
UNKNOWN = "unknown"
HEADER = b"x-request-id"
REQUEST_ID = re.compile(rb"[\x21-\x7e]{1,100}")


class Answered(msgspec.Struct, frozen=True, gc=False):
    """A request that was answered.

    Attributes
    ----------
    endpoint : str
        The method and the path of the table, such as "POST /v1/rank", or "unknown".
    caller : str or None
        The name of the key or of the person.
    client : str
        The address of the peer.
    n_bytes : int
        The length of the body of the answer.
    started : float
        In seconds since 1970.
    reason : str or None
        Why the key was refused, one of `metrics.REASONS`.
    headers : iterable
        Those of the request. They contain the key, so they are never written anywhere.
    """

    method: str
    path: str
    endpoint: str
    status: int
    seconds: float
    caller: str | None
    client: str
    request_id: str
    n_bytes: int
    started: float
    headers: Iterable[Header]
    reason: str | None = None


class Observer(Protocol):
    """Notes each answered request."""

    def observe(self, answered: Answered) -> None:
        """Note one request. It is called in the event loop, so it must not wait."""

    def close(self) -> None:
        """Finish, for example send what was collected."""


class Watch:
    """Give every answer a request id, and report it to observers.

    Without observers, a request only gets its id.

    Parameters
    ----------
    observers : iterable of Observer
    """

    def __init__(self, observers: Iterable[Observer] = ()) -> None:
        self._observers = tuple(observers)
        self._prefix = os.urandom(6).hex().encode()  # of this process
        self._numbers = itertools.count()

    def close(self) -> None:
        """Finish all observers."""
        for observer in self._observers:
            observer.close()

    async def answer(
        self,
        app: ASGIApp,
        scope: ASGIScope,
        receive: Receive,
        send: Send,
    ) -> None:
        """Let an application answer a request."""
        request_id = self._id_of(scope["headers"])
        status, n_bytes = 500, 0  # the HTTP server sends this status if an application fails

        def send_with_id(message: MutableMapping[str, Any]) -> Awaitable[None]:
            nonlocal status, n_bytes
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (HEADER, request_id)]
            else:
                n_bytes += len(message.get("body", b""))
            return send(message)  # not awaited here, to avoid another coroutine

        if not self._observers:
            await app(scope, receive, send_with_id)
            return
        path = scope["path"]  # before an application changes it
        began, started = time.perf_counter(), time.time()
        try:
            await app(scope, receive, send_with_id)
        finally:
            answered = Answered(
                scope["method"],
                path,
                scope.get(ENDPOINT, UNKNOWN),
                status,
                time.perf_counter() - began,
                scope.get(CALLER),
                scope["client"][0] if scope.get("client") else "",
                request_id.decode("ascii"),
                n_bytes,
                started,
                scope["headers"],
                scope.get(REASON),
            )
            self._report(answered)

    def _report(self, answered: Answered) -> None:
        for observer in self._observers:
            try:
                observer.observe(answered)
            except Exception:  # the request has been answered
                LOG.exception("a request cannot be observed")

    def _id_of(self, headers: Iterable[Header]) -> bytes:
        """Return the client's id of a request if it is valid, otherwise a new one."""
        for name, value in headers:
            if name == HEADER and REQUEST_ID.fullmatch(value):
                return bytes(value)
        return b"%s%08x" % (self._prefix, next(self._numbers))
