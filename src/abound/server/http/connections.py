"""How many connections a process keeps, in all and for one client: idle ones make room for new ones.

The HTTP server accepts and times connections itself, but counts them only in all. So a client that opens thousands
and sends nothing would keep everybody out until they time out. Their sockets are descriptors of this process, and are
looked through from here.
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
MAX_PER_CLIENT = 256  # if nothing else is said; a proxy is one client
MAX_KEPT = MAX_CONNECTIONS * 3 // 4  # idle ones are closed above, so that new ones find room
OTHER_FILES = 256  # descriptors that are no connections
LOOK_SECONDS = 0.25
NEW_SECONDS = 1.0  # for which a connection is not closed: its request may have come, and not have been read
FEW = 64  # descriptors among which nothing need be looked for
OWN_FILES = "/proc/self/fd"

Address = tuple[str, str]  # host and port, as the HTTP server names them


class Connection(NamedTuple):
    """A connection, and since when it is known."""

    since: float
    descriptor: int
    peer: Address


def max_connections() -> int:
    """Raise this process's limit of open files if it may be raised; return how many connections there is room for."""
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
    """Close the oldest idle connections of a client that has too many, and of all if they are too many.

    A connection is idle while no request of it is being answered: nothing was sent, or half a head, or half a body.

    Parameters
    ----------
    listener : socket
        Whose connections are counted.
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
        """Look again and again; does nothing where a process cannot list its own files."""
        while os.path.isdir(OWN_FILES):
            await asyncio.sleep(LOOK_SECONDS)
            self.look()

    def look(self) -> None:
        """Close what is too many."""
        files = os.listdir(OWN_FILES)
        if len(files) < FEW:
            self._known.clear()
            return
        found = self._connections(files)
        by_client: dict[str, list[Connection]] = {}
        for connection in found:
            by_client.setdefault(connection.peer[0], []).append(connection)
        excess = len(found) - MAX_KEPT
        for connections in sorted(by_client.values(), key=len, reverse=True):
            too_many = max(len(connections) - self._most, min(excess, len(connections)))
            if too_many <= 0:
                continue
            latest = time.monotonic() - NEW_SECONDS
            idle = sorted(one for one in connections if one.since < latest and one.peer not in self._busy)
            for connection in idle[:too_many]:
                _shut(connection)
            excess -= min(too_many, len(idle))

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
    """Return who is at the other end of a connection to our port; None for any other socket."""
    try:
        with socket.socket(fileno=os.dup(descriptor)) as end:
            if end.family not in (socket.AF_INET, socket.AF_INET6) or end.getsockname()[1] != port:
                return None
            host, number = end.getpeername()[:2]
            return host, str(number)
    except OSError:
        return None


def _shut(connection: Connection) -> None:
    """End a connection; whoever owns its socket sees that and closes it."""
    with contextlib.suppress(OSError), socket.socket(fileno=os.dup(connection.descriptor)) as end:
        host, number = end.getpeername()[:2]
        if (host, str(number)) == connection.peer:  # else the descriptor is another connection's by now
            end.shutdown(socket.SHUT_RDWR)
