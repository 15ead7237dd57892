"""One of several models of a process: open while it is used, and closed within a memory budget."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import NamedTuple

from abound.server.http.app import App, Authenticator
from abound.server.http.metrics import Counts
from abound.server.http.problems import busy, unknown_model
from abound.server.http.service import LocalJournalClient, Service
from abound.server.writer import Writer

OPEN_SECONDS = 20.0  # for which a request waits for its model
RETRY_SECONDS = 5.0  # after which a model that cannot be opened is tried again


class _Opened(NamedTuple):
    writer: Writer
    app: App


class Hosted:
    """A model of a library, which may be open.

    A change opens or closes the model, or both. Requests wait while one is under way.

    Parameters
    ----------
    name : str
    open_writer : callable
        Open the model; it is called in another thread.
    authenticator : callable
        Return the authenticator of the model, from its current keys.

    Attributes
    ----------
    used : float
        The time of the last request, by the monotonic clock.
    cost : int
        The private bytes that the model took when it was opened last; 0 if it never was.
    counts : Counts
        The requests of the model.
    """

    def __init__(
        self, name: str, open_writer: Callable[[], Writer], authenticator: Callable[[], Authenticator]
    ) -> None:
        self.name = name
        self.authenticator = authenticator()
        self.used = 0.0
        self.cost = 0
        self.counts = Counts()
        self.is_removed = False
        self._make_authenticator = authenticator
        self._open_writer = open_writer
        self._opened: _Opened | None = None
        self._change: asyncio.Task[None] | None = None
        self._failure: tuple[float, str] | None = None
        self._users = 0
        self._unused = asyncio.Event()
        self._unused.set()

    @property
    def service(self) -> Service | None:
        """The service of an open model, or None."""
        return None if self._opened is None else self._opened.app.service

    @property
    def is_idle(self) -> bool:
        """Whether the model is open and nobody uses it."""
        opened = self._opened
        is_free = opened is not None and not opened.app.service.settler.is_busy
        return is_free and not self._users and self._change is None

    @asynccontextmanager
    async def using(self, open_: Callable[["Hosted"], "asyncio.Task[None]"]) -> AsyncIterator[App]:
        """Give the application of the model, which stays open meanwhile.

        Parameters
        ----------
        open_ : callable
            Begins to open the model.
        """
        self.used = time.monotonic()
        if self._opened is None or self._change is not None:
            await self._wait(open_)
        opened = self._opened
        assert opened is not None
        self._users += 1
        self._unused.clear()
        try:
            yield opened.app
        finally:
            self._users -= 1
            if not self._users:
                self._unused.set()

    async def _wait(self, open_: Callable[["Hosted"], "asyncio.Task[None]"]) -> None:
        ends = time.monotonic() + OPEN_SECONDS
        while self._opened is None or self._change is not None:
            if self.is_removed:
                raise unknown_model(self.name)
            if self._failure is not None and self._change is None and time.monotonic() < self._failure[0]:
                raise busy(503, f"the model {self.name!r} cannot be opened: {self._failure[1]}")
            change = self._change or open_(self)
            await asyncio.wait([change], timeout=max(0.0, ends - time.monotonic()))
            if not change.done():
                raise busy(503, f"the model {self.name!r} is being opened; try again")

    def begin(self, change: "asyncio.Task[None]") -> "asyncio.Task[None]":
        """Let requests wait for a change."""
        self._change = change
        change.add_done_callback(self._changed)
        return change

    def _changed(self, change: "asyncio.Task[None]") -> None:
        if self._change is change:
            self._change = None
        error = None if change.cancelled() else change.exception()
        if error is not None:
            self._failure = (time.monotonic() + RETRY_SECONDS, str(error))

    @property
    def change(self) -> "asyncio.Task[None] | None":
        """The change that is under way."""
        return self._change

    async def open(self, prepare: Callable[[App], None], origins: Iterable[str] = ()) -> None:
        """Open the model; `prepare` receives its application, with `origins`, before the first request."""
        self.authenticator = self._make_authenticator()
        writer = await asyncio.to_thread(self._open_writer)
        service = Service(writer.replica, LocalJournalClient(writer), self.name, self.counts)
        app = App(service, self.authenticator, origins=origins)
        prepare(app)
        self._opened, self._failure = _Opened(writer, app), None

    async def close(self) -> None:
        """Close the model when its requests are answered."""
        await self._unused.wait()
        opened, self._opened = self._opened, None
        if opened is not None:
            await opened.app.service.close()
            await asyncio.to_thread(opened.writer.close)
            opened.writer.replica.release_state()
