"""Limit the connections of a process, in total and per client, by closing idle ones.

The HTTP server limits only the total number of connections. A client that opens thousands and sends nothing would
therefore block all others until its connections time out. Their sockets are file descriptors of this process, so they
can be inspected here.
"""

import asyncio
import contextlib
import os
import socket
import stat
import time
from collections.abc import Container
from typing import NamedTuple

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

MAX_CONNECTIONS = 4096  # of one process; more wait in the backlog
MAX_PER_CLIENT = 256  # by default; a proxy counts as one client
MAX_KEPT = MAX_CONNECTIONS * 3 // 4  # above this, idle connections are closed in favour of new ones
OTHER_FILES = 256  # descriptors that are not connections
CHECK_SECONDS = 0.25
NEW_SECONDS = 1.0  # for which a connection is not closed: its request may have arrived without being read yet
FEW = 64  # descriptors; below this, nothing is checked
OWN_FILES = "/proc/self/fd"

Address = tuple[str, str]  # host and port, as the HTTP server names them


class Connection(NamedTuple):
    """A connection and the time at which it was first seen."""

    since: float
    descriptor: int
    peer: Address


def max_connections() -> int:
    """Raise this process's limit of open files if possible; return the maximum number of connections."""
    if resource is None:
        return MAX_CONNECTIONS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_CONNECTIONS + OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if soft == resource.RLIM_INFINITY:
        return MAX_CONNECTIONS
    return max(16, min(MAX_CONNECTIONS, soft - OTHER_FILES))


class ConnectionLimiter:
    """Close the oldest idle connections of a client that has too many, and of all clients if there are too many.

    A connection is idle while none of its requests is being answered: nothing was sent, or an incomplete head or body.

    Parameters
    ----------
    listener : socket
        The socket whose connections are counted.
    busy : container of addresses
        The peers whose requests are being answered.
    most : int
        Connections of one client above which its idle ones are closed.
    """

    def __init__(self, listener: socket.socket, busy: Container[Address], most: int = MAX_PER_CLIENT) -> None:
        self._most = most
        self._port = listener.getsockname()[1]
        self._busy = busy
        self._known: dict[int, Connection | None] = {}  # by the socket's number; None for other sockets

    async def watch(self) -> None:
        """Check periodically; this does nothing if a process cannot list its open files."""
        while os.path.isdir(OWN_FILES):
            await asyncio.sleep(CHECK_SECONDS)
            self.check()

    def check(self) -> None:
        """Close the connections above the limits."""
        files = os.listdir(OWN_FILES)
        if len(files) < FEW:
            self._known.clear()
            return
        all_connections = self._connections(files)
        by_client: dict[str, list[Connection]] = {}
        for connection in all_connections:
            by_client.setdefault(connection.peer[0], []).append(connection)
        excess = len(all_connections) - MAX_KEPT
        for connections in sorted(by_client.values(), key=len, reverse=True):
            too_many = max(len(connections) - self._most, min(excess, len(connections)))
            if too_many <= 0:
                continue
            latest = time.monotonic() - NEW_SECONDS
            idle = sorted(one for one in connections if one.since < latest and one.peer not in self._busy)
            for connection in idle[:too_many]:
                _shut(connection)
            excess -= min(too_many, len(idle))

    def close_all(self) -> int:
        """Close all connections, also those whose requests are being answered; return how many there were."""
        connections = self._connections(os.listdir(OWN_FILES)) if os.path.isdir(OWN_FILES) else []
        for connection in connections:
            _shut(connection)
        return len(connections)

    def _connections(self, files: list[str]) -> list[Connection]:
        known: dict[int, Connection | None] = {}
        now = time.monotonic()
        for name in files:
            descriptor = int(name)
            try:
                status = os.fstat(descriptor)
            except OSError:  # closed meanwhile
                continue
            if stat.S_ISSOCK(status.st_mode):
                number = status.st_ino
                if number in self._known:
                    known[number] = self._known[number]
                else:
                    peer = _peer(descriptor, self._port)
                    known[number] = None if peer is None else Connection(now, descriptor, peer)
        self._known = known
        return [connection for connection in known.values() if connection is not None]


def _peer(descriptor: int, port: int) -> Address | None:
    """Return the peer of a connection to our port; None for any other socket."""
    try:
        with socket.socket(fileno=os.dup(descriptor)) as end:
            if end.family not in (socket.AF_INET, socket.AF_INET6) or end.getsockname()[1] != port:
                return None
            host, number = end.getpeername()[:2]
            return host, str(number)
    except OSError:
        return None


def _shut(connection: Connection) -> None:
    """Shut a connection down; the owner of its socket notices that and closes it."""
    with contextlib.suppress(OSError), socket.socket(fileno=os.dup(connection.descriptor)) as end:
        host, number = end.getpeername()[:2]
        if (host, str(number)) == connection.peer:  # otherwise the descriptor now belongs to another connection
            end.shutdown(socket.SHUT_RDWR)
