"""A server that is restarted refuses nobody, and works with sockets and notifications of a service manager."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import httpx
import pytest

from abound.server import Home
from abound.server.http import sockets
from abound.server.http.keys import KeyFile
from tests.server.http.running import ROOT, Running
from tests.server.streams import base

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="packet filters are a matter of Linux")
# The protocol wants the process's own number, which only the process itself knows.
PASSING = (
    "import os, sys; os.environ |= {'LISTEN_FDS': '1', 'LISTEN_PID': str(os.getpid())}; "
    "os.dup2(int(sys.argv[1]), 3); os.execv(sys.executable, [sys.executable, *sys.argv[2:]])"
)


class Asking(threading.Thread):
    """Ask over new connections and over one that is kept, until `end`; `statuses` are what came."""

    def __init__(self, url, **options):
        super().__init__(daemon=True)
        self._url, self._options = url, options
        self._ends = threading.Event()
        self.statuses, self.pids, self.problems = [], set(), []
        self.start()

    def run(self):
        with httpx.Client(base_url=self._url, timeout=60, **self._options) as kept:
            while not self._ends.is_set():
                try:
                    for ask in (kept.get, lambda path: httpx.get(self._url + path, timeout=60, **self._options)):
                        answer = ask("/v1/model")
                        self.statuses.append(answer.status_code)
                        self.pids.add(answer.headers["x-abound-worker"])
                except httpx.HTTPError as error:
                    self.problems.append(repr(error))

    def end(self):
        self._ends.set()
        self.join(120)
        return self.problems, set(self.statuses)


def is_ready(server):
    return httpx.get(server.url + "/readyz", timeout=60).status_code == 200


def wait_for(condition, seconds=60):
    ends = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.02)


def n_said(server):
    return sum("serving " in line for line in server.said)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_restart_in_place_refuses_nobody_and_keeps_the_process(tmp_path, workers):
    home = Home.create(tmp_path / "home", base())
    with Running(home.path, "--workers", workers) as server, server.client() as client:
        asking = [Asking(server.url) for _ in range(4)]
        client.learn("apple pie", added=["dessert"])
        for restart in (1, 2):
            server.process.send_signal(signal.SIGUSR2)
            server.process.send_signal(signal.SIGUSR2)  # a second one changes nothing
            wait_for(lambda restart=restart: n_said(server) > restart)
        for one in asking:
            assert one.end() == ([], {200})
        assert len(set().union(*(one.pids for one in asking))) >= (1 if workers == 1 else 4)
        assert client.learn("apple pie", added=["cake"]).sequence == 2
        assert "restarting" in "".join(server.said)
        assert server.stop() == 0


def test_a_restart_takes_over_what_changed(tmp_path):
    home = Home.create(tmp_path / "home", base())
    with Running(home.path) as server:
        assert httpx.get(server.url + "/v1/model").status_code == 200
        KeyFile(home.path).add("someone", "read")  # a server without keys needs a restart to require them
        server.process.send_signal(signal.SIGUSR2)
        wait_for(lambda: n_said(server) == 2)
        assert httpx.get(server.url + "/v1/model").status_code == 401


STALLED = b"POST /v1/rank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"


def test_a_client_that_stops_in_its_body_does_not_prevent_a_restart(tmp_path):
    home = Home.create(tmp_path / "home", base())
    with Running(home.path) as server, socket.create_connection(("127.0.0.1", server.port)) as stalled:
        stalled.sendall(STALLED)
        time.sleep(0.5)
        server.process.send_signal(signal.SIGUSR2)
        wait_for(lambda: n_said(server) == 2, 40)
        assert is_ready(server)
        assert "1 connection is cut off" in "".join(server.said)


# Opening the home takes long the first time, in one piece.
SLOW = """
import os, sys, time
from abound.cli import main
from abound.server.http import serve

def warm(replica):
    if not os.path.exists(sys.argv[2] + "/began"):
        open(sys.argv[2] + "/began", "w").close()
        time.sleep(60)

serve.warm = warm
main()
"""


@pytest.mark.parametrize("workers", [1, 2])
def test_a_restart_during_a_long_start_starts_again(tmp_path, workers):
    home = Home.create(tmp_path / "home", base())
    command = [sys.executable, "-c", SLOW, "serve", str(home.path), "--port", "0", "--workers", str(workers)]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        wait_for((home.path / "began").exists)
        process.send_signal(signal.SIGUSR2)
        said = [process.stderr.readline(), process.stderr.readline()]
        process.terminate()
    assert ["restarting" in said[0], "serving" in said[1]] == [True, True], said
    assert process.returncode == 0


def test_sigterm_during_a_restart_ends_the_server(tmp_path):
    home = Home.create(tmp_path / "home", base())
    with Running(home.path, "--workers", 2) as server:
        server.process.send_signal(signal.SIGUSR2)
        wait_for(lambda: "restarting" in "".join(server.said))
        assert server.stop() == 0


@pytest.mark.parametrize("workers", [1, 2])
def test_a_passed_socket_keeps_clients_waiting_between_two_servers(tmp_path, workers):
    home = Home.create(tmp_path / "home", base())
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        asking = [Asking(url) for _ in range(4)]  # before anybody answers
        for _ in range(2):
            with passed(home, listener, "--workers", workers) as server:
                assert server.url == url  # and not the port of the option
                time.sleep(1)
                assert server.stop() == 0
        with passed(home, listener, "--workers", workers) as server:
            for one in asking:
                assert one.end() == ([], {200})
            assert server.stop() == 0


def passed(home, listener, *arguments):
    """Start a server that inherits a listening socket."""
    program = ("-c", PASSING, str(listener.fileno()), "-m", "abound", "serve")
    return Running(home.path, *arguments, program=program, pass_fds=(listener.fileno(),))


def refusal(home, listener):
    """Return why a server does not start with a socket."""
    command = [sys.executable, "-c", PASSING, str(listener.fileno()), "-m", "abound", "serve", str(home.path)]
    found = subprocess.run(
        command, check=False, cwd=ROOT, capture_output=True, text=True, timeout=120, pass_fds=(listener.fileno(),)
    )
    assert found.returncode == 1
    return found.stderr


def test_a_passed_socket_of_other_machines_needs_keys(tmp_path):
    home = Home.create(tmp_path / "home", base())
    with socket.create_server(("0.0.0.0", 0)) as listener:  # noqa: S104  nobody is answered
        assert "a server on 0.0.0.0 needs keys" in refusal(home, listener)


def test_a_passed_socket_must_be_tcp(tmp_path):
    home = Home.create(tmp_path / "home", base())
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        listener.listen()
        assert "must pass TCP sockets" in refusal(home, listener)


def test_variables_of_another_process_are_ignored(tmp_path):
    home = Home.create(tmp_path / "home", base())
    with Running(home.path, env={"LISTEN_FDS": "1", "LISTEN_PID": "1"}) as server:
        assert is_ready(server)


@pytest.mark.parametrize("workers", [1, 2])
def test_the_service_manager_is_notified(tmp_path, workers):
    home = Home.create(tmp_path / "home", base())
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.bind(str(tmp_path / "notify"))
        channel.settimeout(60)
        with Running(home.path, "--workers", workers, env={"NOTIFY_SOCKET": str(tmp_path / "notify")}) as server:
            assert channel.recv(1000) == b"READY=1"
            server.process.send_signal(signal.SIGUSR2)
            reloading, clock = channel.recv(1000).split(b"\n")
            assert reloading == b"RELOADING=1"
            assert 0 < int(clock.removeprefix(b"MONOTONIC_USEC=")) <= time.monotonic_ns() // 1000
            assert channel.recv(1000) == b"READY=1"
            assert server.stop() == 0
            assert channel.recv(1000) == b"STOPPING=1"


def test_a_worker_that_an_operator_ends_is_replaced_and_its_socket_accepts_again(tmp_path):
    home = Home.create(tmp_path / "home", base())
    with Running(home.path, "--workers", 2) as server:
        before = server.workers()
        for pid in before:
            os.kill(pid, signal.SIGTERM)
        wait_for(lambda: len(server.workers()) == 2 and not set(server.workers()) & set(before))
        begun = time.monotonic()
        for _ in range(30):  # with the filter of one worker, half of them would wait
            httpx.get(server.url + "/healthz", timeout=60)
        assert time.monotonic() - begun < 30
        assert "abound_worker_restarts_total 2.0" in httpx.get(server.url + "/metrics").text


def test_a_stopped_worker_makes_the_server_unready_and_is_replaced(tmp_path):
    home = Home.create(tmp_path / "home", base())
    with Running(home.path, "--workers", 2) as server:
        stopped = server.workers()[0]
        os.kill(stopped, signal.SIGSTOP)
        begun, failed = time.monotonic(), None
        while failed is None:
            assert time.monotonic() - begun < 10
            with contextlib.suppress(httpx.TimeoutException):  # the stopped worker has the connection
                answer = httpx.get(server.url + "/readyz", timeout=0.5)
                if answer.status_code == 503:
                    failed = answer.json()["detail"]
        assert f"worker {stopped} has not answered for" in failed
        wait_for(lambda: stopped not in server.workers() and len(server.workers()) == 2)
        wait_for(lambda: is_ready(server))


def test_the_start_is_complete_for_every_kind_of_server(tmp_path):
    first = Home.create(tmp_path / "first.served", base())
    second = Home.create(tmp_path / "second.served", base())
    with Running(first.path, second.path) as server:
        assert httpx.get(server.url + "/startupz").json()["status"] == "started"
    with Running(first.path) as server:
        assert httpx.get(server.url + "/startupz").json()["status"] == "started"


def test_sockets_of_an_earlier_start_are_used_only_for_the_same_address(monkeypatch):
    def found(name):
        return lambda: ([socket.create_server(("127.0.0.1", 0)) for _ in range(2)], name)

    monkeypatch.setattr(sockets, "passed_sockets", found(sockets.OWN))
    with contextlib.closing(sockets.open_listeners("127.0.0.1", 0, 2)) as listeners:
        assert listeners.were_waiting
        assert not listeners.is_managed
        assert len({one.fileno() for one in listeners.sockets}) == 2
    with contextlib.closing(sockets.open_listeners("127.0.0.1", 0, 3)) as listeners:
        assert len(listeners.sockets) == 3
        assert len({one.fileno() for one in listeners.sockets}) == 2
    with contextlib.closing(sockets.open_listeners("127.0.0.1", 0, 1)) as listeners:
        assert len(listeners.sockets) == 1
    with socket.create_server(("127.0.0.1", 0)) as one:
        port = one.getsockname()[1]
    with contextlib.closing(sockets.open_listeners("127.0.0.1", port)) as listeners:
        assert not listeners.were_waiting
        assert listeners.port == port
    monkeypatch.setattr(sockets, "passed_sockets", found("web"))
    with contextlib.closing(sockets.open_listeners("127.0.0.1", port)) as listeners:
        assert listeners.is_managed
        assert listeners.port != port


def test_a_server_whose_new_options_are_wrong_is_not_restarted(tmp_path):
    home = Home.create(tmp_path / "home", base())
    config = tmp_path / "abound.toml"
    config.write_text("workers = 2\n")
    with Running(home.path, "--config", config) as server:
        config.write_text("worker = 2\n")
        server.process.send_signal(signal.SIGUSR2)
        wait_for(lambda: "is not restarted" in "".join(server.said))
        assert "there is no option 'worker'; did you mean workers?" in "".join(server.said)
        assert is_ready(server)
        config.write_text("workers = 1\n")
        server.process.send_signal(signal.SIGUSR2)
        wait_for(lambda: n_said(server) == 2)
        assert server.workers() == []


def test_options_are_checked_without_a_server(tmp_path):
    command = [sys.executable, "-m", "abound", "serve", "--check"]
    home = Home.create(tmp_path / "home", base())
    for arguments, code, message in (
        ((home.path,), 0, ""),
        ((tmp_path / "missing",), 1, "there is no model"),
        ((home.path, "--host", "0.0.0.0"), 1, "needs keys"),  # noqa: S104
        ((home.path, home.path, "--workers", "2"), 1, "--workers needs a server with one model"),
    ):
        found = subprocess.run(
            [*command, *map(str, arguments)], check=False, cwd=ROOT, capture_output=True, text=True, timeout=120
        )
        assert (found.returncode, message in found.stderr) == (code, True), found.stderr
    assert not (tmp_path / "home.served").exists()
