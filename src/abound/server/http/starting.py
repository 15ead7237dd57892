"""From the first moment on: what is answered while a home is opened, and how that is given up."""

import asyncio
import gc
import os
import threading
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

import msgspec

from abound.server.http.app import App, ASGIScope, Receive, Send
from abound.server.http.bodies import State
from abound.server.http.connections import Address
from abound.server.http.problems import MEDIA_TYPE, Header, busy
from abound.server.replay import Progress
from abound.server.replica import Replica

GIVE_UP_SECONDS = 5.0  # for which an opening that nobody wants any more may still go on


class Closable(Protocol):
    """What can be let go of."""

    def close(self) -> None:
        """Let go."""


Opened = TypeVar("Opened", bound=Closable)


class Gate:
    """Say how far the start has come, until there is an application that answers.

    Attributes
    ----------
    applied, last : int
        The record that was applied last, and the last one that there is; 0 as long as that is not known.
    busy : set of addresses
        Whose requests are being answered.
    """

    def __init__(self) -> None:
        self.applied = 0
        self.last = 0
        self.busy: set[Address] = set()
        self.draining = False
        self._app: App | None = None

    def tell(self, applied: int, last: int) -> None:
        """Take note of how far the start has come."""
        self.applied, self.last = applied, last

    def open(self, app: App) -> None:
        """Let an application answer from now on."""
        app.busy = self.busy
        app.service.draining = self.draining
        self._app = app

    def drain(self) -> None:
        """Have answers say that their connections end."""
        self.draining = True
        if self._app is not None:
            self._app.service.draining = True

    def idle_since(self) -> float | None:
        """Return when the last request came; None while one is being answered."""
        if self._app is None:
            return 0.0
        return None if self._app.under_way else self._app.last_request

    async def __call__(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if self._app is not None:
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers: list[Header] = []
        if scope["path"] == "/healthz":  # the process lives; only that is asked
            status, media_type, body = 200, b"application/json", msgspec.json.encode(State("starting", self.applied))
        else:
            problem = busy(503, self._words())
            status, media_type, body = problem.status, MEDIA_TYPE, problem.body()
            headers += problem.headers
        headers += ((b"content-type", media_type), (b"content-length", b"%d" % len(body)), (b"connection", b"close"))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})

    def _words(self) -> str:
        if self.draining:
            return "the server is about to stop"
        if not self.last:
            return "the server is starting: the model is being loaded"
        return f"the server is starting: record {self.applied:,} of {self.last:,} is applied"


def warm(replica: Replica) -> None:
    """Prepare for the first request: build the label search, and exclude what was loaded from garbage collection.

    A full collection takes time in proportion to the objects that it looks at. It would add up to 0.1 s to a request.
    """
    replica.search.find("", 1)
    gc.collect()
    gc.freeze()


class _GivenUpError(Exception):
    pass


class Opening(Generic[Opened]):
    """Open something in a thread of its own, and tell how far that has come.

    Parameters
    ----------
    open_ : callable
        Takes a function to be told of each record that is applied; what that function raises ends the opening.
    tell : callable
        Told the same, from that thread.
    """

    def __init__(self, open_: Callable[[Progress], Opened], tell: Progress) -> None:
        self._open = open_
        self._tell = tell
        self._is_unwanted = False
        self._loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Opened] = self._loop.create_future()
        self._thread = threading.Thread(target=self._run, name="abound-opening", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            opened = self._open(self._told)
        except BaseException as error:  # whoever waits is told, also of a lack of memory
            self._loop.call_soon_threadsafe(self._failed, error)
        else:
            self._loop.call_soon_threadsafe(self._done, opened)

    def _told(self, applied: int, last: int) -> None:
        if self._is_unwanted:
            raise _GivenUpError
        self._tell(applied, last)

    def _done(self, opened: Opened) -> None:
        if not self.future.done():
            self.future.set_result(opened)

    def _failed(self, error: BaseException) -> None:
        if not self.future.done():
            self.future.set_exception(error)

    async def close(self) -> None:
        """Close what was opened; an opening that is under way is given up."""
        self._is_unwanted = True
        await asyncio.wait([self.future], timeout=GIVE_UP_SECONDS)
        if not self.future.done():
            os._exit(0)  # nothing was promised yet, and a journal is whole whenever its process ends
        if self.future.exception() is None:
            await asyncio.to_thread(self.future.result().close)
