"""The HTTP server on a listening socket, and how it is drained without dropping requests."""

import asyncio
import logging
import os
import socket
import time
from typing import Any

from granian import _granian  # the holder of an existing socket is not exported
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.server.embed import Server

from abound.server.http.connections import ConnectionLimiter, max_connections
from abound.server.http.sockets import BACKLOG, refuse_connections
from abound.server.http.starting import Gate

LOG = logging.getLogger(__name__)
HEADER_SECONDS = 15  # for the head of a request to arrive, also for the next one on a kept-alive connection
START_SECONDS = 0.05
# After a stop, for which requests may be completed and answered. A client that stops in the middle of a body, or does
# not read its answer, would otherwise keep the server from ending for ever.
CUT_SECONDS = 8.0


class HttpServer(Server):
    """granian in this process's event loop, on a bound socket."""

    def __init__(self, gate: Gate, listener: socket.socket, client_connections: int) -> None:
        super().__init__(
            gate,
            interface=Interfaces.ASGINL,
            log_enabled=False,
            log_dictconfig={"incremental": True, "handlers": {}, "root": {}},  # keep the handlers of this process
            backlog=BACKLOG,
            backpressure=max_connections(),
            websockets=False,
            http=HTTPModes.http1,  # in mixed mode, a connection has no timeout before its first request
            http1_settings=HTTP1Settings(header_read_timeout=HEADER_SECONDS * 1000),
        )
        self._listener = listener
        self._limiter = ConnectionLimiter(listener, gate.busy, client_connections)
        self._has_begun = self._is_stopped = False
        self._cutting: asyncio.TimerHandle | None = None

    async def serve(self, *arguments: Any) -> None:
        """Serve until `stop`."""
        watching = asyncio.get_running_loop().create_task(self._limiter.watch())
        try:
            await super().serve(*arguments)
        finally:
            watching.cancel()
            if self._cutting is not None:
                self._cutting.cancel()

    def _init_shared_socket(self) -> None:
        holder: Any = _granian.SocketHolder
        self._shd = holder(os.dup(self._listener.fileno()), False, BACKLOG)
        self._ssp = None

    def startup(self, *arguments: Any) -> None:
        """Start to serve."""
        super().startup(*arguments)  # type: ignore[no-untyped-call]
        # granian's task ignores a stop that comes before it has started, and would run forever.
        asyncio.get_running_loop().call_later(START_SECONDS, self._begin)

    def _begin(self) -> None:
        self._has_begun = True
        if self._is_stopped:
            self.stop()

    def stop(self) -> None:
        """Finish the current requests, close idle connections, and return from `serve`."""
        self._is_stopped = True
        if self._has_begun:
            super().stop()  # type: ignore[no-untyped-call]
        if self._cutting is None:
            self._cutting = asyncio.get_running_loop().call_later(CUT_SECONDS, self._cut)

    def _cut(self) -> None:
        """Close the connections whose requests have not ended."""
        n = self._limiter.close_all()
        if n:
            connections = "1 connection is" if n == 1 else f"{n:,} connections are"
            LOG.warning("%s cut off, because requests have not ended since the server was stopped", connections)
        self._cutting = asyncio.get_running_loop().call_later(1.0, self._cut)


class Drain:
    """Stop a server without dropping requests.

    First, new connections are refused, and answers announce the end of their connections. When no request has come for
    a while, the server is stopped, which closes the idle connections.
    """

    QUIET_SECONDS = 0.25  # without a request
    MAX_SECONDS = 10.0

    def __init__(self, gate: Gate, server: HttpServer, listener: socket.socket) -> None:
        self._gate = gate
        self._server = server
        self._listener = listener
        self._task: asyncio.Task[None] | None = None
        self.begun = asyncio.Event()

    def begin(self) -> None:
        """Start the drain; a second call stops the server immediately."""
        self.begun.set()
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())
        else:
            self._server.stop()

    async def _run(self) -> None:
        refuse_connections(self._listener)
        self._gate.drain()
        began = time.monotonic()
        while time.monotonic() - began < self.MAX_SECONDS:
            await asyncio.sleep(self.QUIET_SECONDS / 5)
            idle_since = self._gate.idle_since()
            if idle_since is not None and time.monotonic() - max(began, idle_since) > self.QUIET_SECONDS:
                break
        self._server.stop()

    async def let_wait(self, opened: "asyncio.Future[Any]", seconds: float) -> None:
        """Let clients wait in the listening socket until something is opened, for at most some seconds."""
        beginning = asyncio.get_running_loop().create_task(self.begun.wait())
        await asyncio.wait([opened, beginning], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        beginning.cancel()
