"""The start of a server: answers while a home is being opened, and how to cancel the opening."""

import asyncio
import gc
import threading
from collections.abc import Callable, Iterable
from typing import Generic, Protocol, TypeVar

import msgspec

from abound.server.http.asgi import ASGIScope, Receive, Send
from abound.server.http.bodies import State
from abound.server.http.connections import Address
from abound.server.http.observing import Observer, Watch
from abound.server.http.problems import MEDIA_TYPE, Header, busy
from abound.server.replay import Progress
from abound.server.replica import Replica

GIVE_UP_SECONDS = 5.0  # for which a cancelled opening may continue


class Closable(Protocol):
    """Something that can be closed."""

    def close(self) -> None:
        """Close it."""


class Application(Protocol):
    """What answers requests when the server has started; see `App`."""

    under_way: int
    last_request: float

    def use(self, busy: set[Address]) -> None:
        """Note the peers of requests that are being answered in a set."""

    def drain(self) -> None:
        """Announce the end of each connection with its next answer."""

    async def __call__(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        """Answer one request."""


Opened = TypeVar("Opened", bound=Closable)


class Gate:
    """Report the progress of the start until the application can answer; every answer gets a request id.

    Parameters
    ----------
    observers : iterable of Observer
        They learn of every answered request.

    Attributes
    ----------
    applied, last : int
        The last applied record and the last record of the journal; 0 until they are known.
    busy : set of addresses
        The peers whose requests are being answered.
    """

    def __init__(self, observers: Iterable[Observer] = ()) -> None:
        self._watch = Watch(observers)
        self.applied = 0
        self.last = 0
        self.busy: set[Address] = set()
        self.draining = False
        self._app: Application | None = None

    def update(self, applied: int, last: int) -> None:
        """Update the progress of the start."""
        self.applied, self.last = applied, last

    def open(self, app: Application) -> None:
        """Pass all further requests to an application."""
        app.use(self.busy)
        self._app = app
        if self.draining:
            app.drain()

    def drain(self) -> None:
        """Announce the end of each connection with its next answer."""
        self.draining = True
        if self._app is not None:
            self._app.drain()

    def idle_since(self) -> float | None:
        """Return the time of the last request; None while one is being answered."""
        if self._app is None:
            return 0.0
        return None if self._app.under_way else self._app.last_request

    async def __call__(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "http":
            await self._watch.answer(self._answer if self._app is None else self._app, scope, receive, send)

    def close(self) -> None:
        """Finish the observers, after the last request."""
        self._watch.close()

    async def _answer(self, scope: ASGIScope, receive: Receive, send: Send) -> None:  # noqa: ARG002  ASGI's form
        """Answer one request while the server is starting."""
        headers: list[Header] = []
        if scope["path"] == "/healthz":  # only asks whether the process is alive
            status, media_type, body = 200, b"application/json", msgspec.json.encode(State("starting", self.applied))
        else:
            problem = busy(503, self._message())
            status, media_type, body = problem.status, MEDIA_TYPE, problem.body()
            headers += problem.headers
        headers += ((b"content-type", media_type), (b"content-length", b"%d" % len(body)), (b"connection", b"close"))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})

    def _message(self) -> str:
        if self.draining:
            return "the server is shutting down"
        if not self.last:
            return "the server is starting: the model is being loaded"
        return f"the server is starting: record {self.applied:,} of {self.last:,} is applied"


def warm(replica: Replica) -> None:
    """Prepare for the first request: build the label search, and exclude what was loaded from garbage collection.

    A full collection takes time in proportion to the objects that it looks at. It would add up to 0.1 s to a request.
    """
    replica.prepare_search()
    gc.collect()
    gc.freeze()


class _CancelledError(Exception):
    pass


class Opening(Generic[Opened]):
    """Open something in a separate thread, and report the progress.

    Parameters
    ----------
    open_ : callable
        Its argument is called for each record that is applied; if that raises, the opening ends.
    progress : callable
        Called with the progress, from that thread.
    """

    def __init__(self, open_: Callable[[Progress], Opened], progress: Progress) -> None:
        self._open = open_
        self._progress = progress
        self._is_cancelled = False
        self._loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Opened] = self._loop.create_future()
        self._thread = threading.Thread(target=self._run, name="abound-opening", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            opened = self._open(self._report)
        except BaseException as error:  # including a lack of memory: the waiting task must get it
            self._loop.call_soon_threadsafe(self._failed, error)
        else:
            self._loop.call_soon_threadsafe(self._done, opened)

    def _report(self, applied: int, last: int) -> None:
        if self._is_cancelled:
            raise _CancelledError
        self._progress(applied, last)

    def _done(self, opened: Opened) -> None:
        if not self.future.done():
            self.future.set_result(opened)

    def _failed(self, error: BaseException) -> None:
        if not self.future.done():
            self.future.set_exception(error)

    async def close(self) -> bool:
        """Close what was opened, or cancel the opening; return False if it continues, and only its process can end it.

        That loses nothing: nothing was acknowledged yet, and a journal stays intact when its process ends.
        """
        self._is_cancelled = True
        await asyncio.wait([self.future], timeout=GIVE_UP_SECONDS)
        if not self.future.done():
            return False
        if self.future.exception() is None:
            await asyncio.to_thread(self.future.result().close)
        return True
