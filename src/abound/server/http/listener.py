"""The listening socket: bound once, shared by all workers, and drained without dropping connections."""

import asyncio
import contextlib
import ctypes
import os
import socket
import struct
import sys
import time
from typing import Any

from granian import _granian  # the holder of an existing socket is not exported
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.server.embed import Server

from abound.server.http.connections import ConnectionLimiter, max_connections
from abound.server.http.starting import Gate

BACKLOG = 1024
HEADER_SECONDS = 15  # for the head of a request to arrive, also for the next one on a kept-alive connection
BIND_SECONDS = 10.0  # for which workers of a killed server may still have the port
START_SECONDS = 0.05
_SO_ATTACH_FILTER = 26
_DROP_ALL = struct.pack("HBBI", 6, 0, 0, 0)  # one instruction of a packet filter: return 0 bytes


def listen(host: str, port: int, n: int = 1) -> list[socket.socket]:
    """Return `n` listening sockets, one per worker; the system distributes connections evenly.

    The process that starts the workers keeps all of them open. If a worker dies, its replacement accepts the
    connections that are waiting.
    """
    ends = time.monotonic() + BIND_SECONDS
    while True:
        try:
            first = _bound(host, port, False)  # not shared, to make sure that no other process listens there
            if n == 1:
                return [first]
            port = first.getsockname()[1]
            first.close()
            return [_bound(host, port, True) for _ in range(n)]
        except OSError as error:
            if time.monotonic() > ends:
                raise OSError(error.errno, f"cannot listen on {host}:{port}: {error.strerror}") from None
            time.sleep(0.05)


def _bound(host: str, port: int, shared: bool) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=BACKLOG, reuse_port=shared)


def refuse_connections(listener: socket.socket) -> None:
    """Refuse new connections, while waiting ones are still accepted.

    Closing the socket immediately would reset the waiting connections. A packet filter drops new packets instead; a
    client's system then retries automatically a second later, when the next server may be running. Without such a
    filter, connections are accepted until the end.
    """
    if sys.platform != "linux":
        return
    program = ctypes.create_string_buffer(_DROP_ALL)
    with contextlib.suppress(OSError):  # the system may forbid it
        value = struct.pack("HP", 1, ctypes.addressof(program))
        listener.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, value)


class HttpServer(Server):
    """granian in this process's event loop, on a bound socket."""

    def __init__(self, gate: Gate, listener: socket.socket, client_connections: int) -> None:
        super().__init__(
            gate,
            interface=Interfaces.ASGINL,
            log_enabled=False,
            backlog=BACKLOG,
            backpressure=max_connections(),
            websockets=False,
            http=HTTPModes.http1,  # in mixed mode, a connection has no timeout before its first request
            http1_settings=HTTP1Settings(header_read_timeout=HEADER_SECONDS * 1000),
        )
        self._listener = listener
        self._limiter = ConnectionLimiter(listener, gate.busy, client_connections)
        self._has_begun = self._is_stopped = False

    async def serve(self, *arguments: Any) -> None:
        """Serve until `stop`."""
        watching = asyncio.get_running_loop().create_task(self._limiter.watch())
        try:
            await super().serve(*arguments)
        finally:
            watching.cancel()

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

    def begin(self) -> None:
        """Start the drain; a second call stops the server immediately."""
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
