"""The listening sockets: bound once, shared by all workers, and kept open over a restart."""

import contextlib
import ctypes
import socket
import struct
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple

from abound.server.http.service_manager import pass_sockets, passed_sockets

BACKLOG = 1024
BIND_SECONDS = 10.0  # for which workers of a killed server may still have the port
OWN = "abound"  # the name of sockets that this server has bound and passes to itself over a restart
_SO_ATTACH_FILTER = 26
_SO_DETACH_FILTER = 27
_DROP_ALL = struct.pack("HBBI", 6, 0, 0, 0)  # one instruction of a packet filter: return 0 bytes


class Listeners(NamedTuple):
    """The listening sockets of a server.

    Attributes
    ----------
    sockets : list of sockets
        One per worker; several may be the same.
    host, port : str, int
        Their address.
    were_waiting : bool
        Whether they were open before this process used them, so that clients may be waiting already.
    manager_name : str or None
        The name that the service manager gave them; None if this server has bound them.
    """

    sockets: list[socket.socket]
    host: str
    port: int
    were_waiting: bool = False
    manager_name: str | None = None

    @property
    def is_managed(self) -> bool:
        """Whether they stay open in the service manager when this process ends."""
        return self.manager_name is not None

    def accept_connections(self) -> None:
        """Let clients wait again for a process that accepts their connections."""
        for listener in self.sockets:
            accept_connections(listener)

    def pass_on(self) -> None:
        """Leave the sockets to the program that replaces this one in its process."""
        pass_sockets(_unique(self.sockets), self.manager_name or OWN)

    def close(self) -> None:
        """Close all sockets."""
        for listener in self.sockets:
            listener.close()


def open_listeners(host: str, port: int, n: int = 1) -> Listeners:
    """Return `n` listening sockets, one per worker; the system distributes connections evenly.

    Sockets of a service manager are used whatever their address. Sockets of this server before its restart are used if
    they have the right address. Otherwise, sockets are bound.
    """
    passed, name = passed_sockets()
    for listener in passed:
        if listener.family not in (socket.AF_INET, socket.AF_INET6) or listener.type != socket.SOCK_STREAM:
            raise ValueError("the service manager must pass TCP sockets, such as ListenStream=127.0.0.1:8000")
    manager_name = None if name == OWN else name
    if passed and (manager_name is not None or _fits(passed[0], host, port)):
        host, port = passed[0].getsockname()[:2]
        return Listeners(_shared_by(passed, n), host, port, were_waiting=True, manager_name=manager_name)
    for listener in passed:
        listener.close()
    sockets = _listen(host, port, n)
    return Listeners(sockets, *sockets[0].getsockname()[:2])


def _fits(listener: socket.socket, host: str, port: int) -> bool:
    bound_host, bound_port = listener.getsockname()[:2]
    with contextlib.suppress(OSError):
        return port in (0, bound_port) and bound_host in {info[4][0] for info in socket.getaddrinfo(host, port)}
    return False


def _shared_by(passed: list[socket.socket], n: int) -> list[socket.socket]:
    """Return a socket for each of `n` workers; if there are more, close them, and if there are fewer, share them."""
    for listener in passed[n:]:
        listener.close()
    for listener in passed[:n]:
        accept_connections(listener)
    return [passed[slot % len(passed)] for slot in range(n)]


def _listen(host: str, port: int, n: int) -> list[socket.socket]:
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


def _unique(sockets: Sequence[socket.socket]) -> list[socket.socket]:
    return list({listener.fileno(): listener for listener in sockets}.values())


def refuse_connections(listener: socket.socket) -> None:
    """Refuse new connections, while waiting ones are still accepted.

    Closing the socket immediately would reset the waiting connections. A packet filter drops new packets instead; a
    client's system then retries automatically a second later, when the next server may be running. Without such a
    filter, connections are accepted until the end.
    """
    program = ctypes.create_string_buffer(_DROP_ALL)
    _set_filter(listener, _SO_ATTACH_FILTER, struct.pack("HP", 1, ctypes.addressof(program)))


def accept_connections(listener: socket.socket) -> None:
    """Undo `refuse_connections`. The system then lets clients wait until a process accepts their connections."""
    _set_filter(listener, _SO_DETACH_FILTER, struct.pack("i", 0))


def _set_filter(listener: socket.socket, option: int, value: bytes) -> None:
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # there is no filter, or the system forbids it
            listener.setsockopt(socket.SOL_SOCKET, option, value)
