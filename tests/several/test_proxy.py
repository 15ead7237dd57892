"""The proxy that cuts servers from their database."""

import contextlib
import socket
import threading

import pytest

from tests.several.proxy import Proxies


@pytest.fixture
def echo():
    """The port of a server that answers with what it gets."""

    def serve(connection):
        with connection, contextlib.suppress(OSError):
            while chunk := connection.recv(1000):
                connection.sendall(chunk)

    def accept():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(10)


@pytest.fixture
def proxies():
    with Proxies() as running:
        yield running


def connected(port):
    return socket.create_connection(("127.0.0.1", port), timeout=10)


def says(connection, words):
    connection.sendall(words)
    return connection.recv(1000)


def test_each_port_is_forwarded(proxies, echo):
    proxy = proxies.new([echo, echo])
    for port in proxy.ports:
        with connected(port) as connection:
            assert says(connection, b"one") == b"one"
            assert says(connection, b"x" * 900) == b"x" * 900


def test_a_reset_ends_connections_and_refuses_new_ones(proxies, echo):
    proxy, other = proxies.new([echo]), proxies.new([echo])
    with connected(proxy.ports[0]) as old, connected(other.ports[0]) as beside:
        assert says(old, b"one") == b"one"
        assert says(beside, b"one") == b"one"
        proxy.cut("reset")
        with pytest.raises(ConnectionResetError):
            old.recv(1000)
        with pytest.raises(ConnectionResetError), connected(proxy.ports[0]) as new:
            new.recv(1000)
        assert says(beside, b"two") == b"two"
        proxy.heal()
        with connected(proxy.ports[0]) as new:
            assert says(new, b"three") == b"three"


def test_swallowed_connections_are_silent_until_they_heal(proxies, echo):
    outcomes = set()
    proxy = proxies.new([echo])
    while outcomes != {"continued", "reset"}:
        with connected(proxy.ports[0]) as old:
            assert says(old, b"one") == b"one"
            proxy.cut("swallow")
            with connected(proxy.ports[0]) as new:
                for connection in (old, new):
                    connection.sendall(b"two")
                    connection.settimeout(0.3)
                    with pytest.raises(TimeoutError):
                        connection.recv(1000)
                    connection.settimeout(10)
                outcome = proxy.heal()
                outcomes.add(outcome)
                for connection in (old, new):
                    if outcome == "continued":
                        assert connection.recv(1000) == b"two"
                    else:
                        with pytest.raises(ConnectionResetError):
                            connection.recv(1000)


def test_an_upstream_that_is_away_is_refused(proxies, echo):
    with socket.create_server(("127.0.0.1", 0)) as one:
        away = one.getsockname()[1]
    proxy = proxies.new([away])
    with pytest.raises(ConnectionResetError), connected(proxy.ports[0]) as connection:
        connection.recv(1000)
