"""The listening socket: bound once, shared by all workers, and let go of without cutting anybody off."""

import asyncio
import contextlib
import ctypes
import os
import socket
import struct
import sys
import time
from typing import Any

from granian import _granian  # the holder of a socket that exists already is not exported
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.server.embed import Server

from abound.server.http.connections import ConnectionLimiter, max_connections
from abound.server.http.starting import Gate

BACKLOG = 1024
HEADER_SECONDS = 15  # within which the head of a request has to come, on a kept connection the next one's too
BIND_SECONDS = 10.0  # for which the port may still belong to workers of a server that was killed
START_SECONDS = 0.05
_SO_ATTACH_FILTER = 26
_DROP_ALL = struct.pack("HBBI", 6, 0, 0, 0)  # one instruction of a packet filter: return 0 bytes


def listen(host: str, port: int, n: int = 1) -> list[socket.socket]:
    """Return listening sockets for so many workers; the system spreads connections over them evenly.

    All of them stay with the process that starts workers, so that a connection that waits for a worker that died is
    accepted by the one that takes its place.
    """
    ends = time.monotonic() + BIND_SECONDS
    while True:
        try:
            first = _bound(host, port, False)  # not shared: nobody else may listen there
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
    """Let no new connection begin, while those that wait are still accepted.

    Closing the socket at once would reset them. With a filter that drops what comes, a client that connects now tries
    again by itself a second later, when the next server may be there. Where there is no such filter, connections
    go on to be accepted until the end.
    """
    if sys.platform != "linux":
        return
    program = ctypes.create_string_buffer(_DROP_ALL)
    with contextlib.suppress(OSError):  # a system that forbids it
        value = struct.pack("HP", 1, ctypes.addressof(program))
        listener.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, value)


class HttpServer(Server):
    """granian in this process's event loop, on a socket that is already bound."""

    def __init__(self, gate: Gate, listener: socket.socket, client_connections: int) -> None:
        super().__init__(
            gate,
            interface=Interfaces.ASGINL,
            log_enabled=False,
            backlog=BACKLOG,
            backpressure=max_connections(),
            websockets=False,
            http=HTTPModes.http1,  # a connection that may be of either kind has no timeout before its first request
            http1_settings=HTTP1Settings(header_read_timeout=HEADER_SECONDS * 1000),
        )
        self._listener = listener
        self._warden = ConnectionLimiter(listener, gate.busy, client_connections)
        self._has_begun = self._is_unwanted = False

    async def serve(self, *arguments: Any) -> None:
        """Serve until `stop`."""
        watching = asyncio.get_running_loop().create_task(self._warden.watch())
        try:
            await super().serve(*arguments)
        finally:
            watching.cancel()

    def _init_shared_socket(self) -> None:
        holder: Any = _granian.SocketHolder
        self._shd = holder(os.dup(self._listener.fileno()), False, BACKLOG)
        self._ssp = None

    def startup(self, *arguments: Any) -> None:
        """Begin to serve."""
        super().startup(*arguments)  # type: ignore[no-untyped-call]
        # Its own task does not hear of a stop that comes before it has begun, and would go on for ever.
        asyncio.get_running_loop().call_later(START_SECONDS, self._begin)

    def _begin(self) -> None:
        self._has_begun = True
        if self._is_unwanted:
            self.stop()

    def stop(self) -> None:
        """Let requests under way end, close what is idle, and return from `serve`."""
        self._is_unwanted = True
        if self._has_begun:
            super().stop()  # type: ignore[no-untyped-call]


class Drain:
    """Stop a server in the order in which nobody is cut off.

    No new connections; answers say that their connection ends with them; and only when no request has come for a
    while, the server is stopped, which closes the connections that were idle all along.
    """

    QUIET = 0.25  # seconds without a request
    LONGEST = 10.0

    def __init__(self, gate: Gate, server: HttpServer, listener: socket.socket) -> None:
        self._gate = gate
        self._server = server
        self._listener = listener
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Begin, as a signal does; the second time, end at once."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())
        else:
            self._server.stop()

    async def _run(self) -> None:
        refuse_connections(self._listener)
        self._gate.drain()
        began = time.monotonic()
        while time.monotonic() - began < self.LONGEST:
            await asyncio.sleep(self.QUIET / 5)
            idle_since = self._gate.idle_since()
            if idle_since is not None and time.monotonic() - max(began, idle_since) > self.QUIET:
                break
        self._server.stop()
