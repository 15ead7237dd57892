"""Clients that connect and send nothing, or an incomplete request, do not block others."""

import contextlib
import http.client
import socket
import sys
import time

import pytest

from abound.server import Home
from abound.server.http.connections import MAX_PER_CLIENT
from tests.server.http.running import Running
from tests.server.streams import base

resource = pytest.importorskip("resource")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a process lists its own sockets in /proc")
IDLE = 4200
SECONDS = 8.0  # within which other clients are served, on a busy machine
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HALF = b"POST /v1/rank HTTP/1.1\r\nHost: localhost\r\n"
HALF_BODY = HALF + b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"


@pytest.fixture(autouse=True)
def many_files():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < IDLE + 500:
        pytest.skip("this process may not open as many sockets")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, IDLE + 500), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def is_open(connection):
    """Tell whether the other end has not closed a connection."""
    try:
        while connection.recv(1000):
            pass
    except BlockingIOError:
        return True
    except ConnectionError:
        pass
    return False


def ask(port, method="GET", path="/v1/model"):
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)) as connection:
        connection.request(method, path)
        return connection.getresponse().status


@pytest.mark.parametrize("sent", [PREFACE, b"", HALF, HALF_BODY], ids=["HTTP/2", "nothing", "half", "half a body"])
def test_thousands_of_idle_connections_keep_nobody_out(tmp_path, sent):
    home = Home.create(tmp_path / "home", base())
    with Running(home.path) as server, contextlib.ExitStack() as stack:
        idle = []
        for _ in range(IDLE):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS))
            with contextlib.suppress(ConnectionError):
                connection.sendall(sent)
            connection.setblocking(False)
            idle.append(connection)
        started = time.monotonic()
        assert ask(server.port) == 200
        assert time.monotonic() - started < SECONDS
        ends = time.monotonic() + SECONDS
        while (n_open := sum(map(is_open, idle))) > MAX_PER_CLIENT:
            assert time.monotonic() < ends, n_open
            time.sleep(0.1)
        assert ask(server.port) == 200
        stack.close()
        assert server.stop() == 0


def test_connections_with_a_request_under_way_are_not_closed(tmp_path):
    home = Home.create(tmp_path / "home", base())
    with Running(home.path, "--workers", 2) as server, contextlib.ExitStack() as stack:
        kept = []
        for _ in range(4):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=120))
            kept.append(connection)
        for number, connection in enumerate(kept):
            body = b'{"text": "word%d", "added": ["b"]}' % number
            head = HALF.replace(b"rank", b"learn") + b"Content-Type: application/json\r\n"
            connection.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        for _ in range(2 * MAX_PER_CLIENT + 100):
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=120))
        for connection in kept:
            assert connection.recv(1000).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("workers", [1, 2])
def test_a_proxy_may_keep_as_many_connections_as_it_is_allowed(tmp_path, workers):
    home = Home.create(tmp_path / "home", base())
    n, allowed = 400, 350
    with (
        Running(home.path, "--workers", workers, "--client-connections", allowed) as server,
        contextlib.ExitStack() as stack,
    ):
        kept = [
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS)) for _ in range(n)
        ]
        time.sleep(3)
        for connection in kept:
            connection.setblocking(False)
        n_open = sum(map(is_open, kept))
        assert n_open == n if workers == 2 else n_open == allowed  # each worker has so many
