"""While a home is opened, each request is answered; hung processes are noticed; only requests that need a lock wait."""

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time

import httpx
import pytest

from abound.server import Home, Writer
from abound.store.journal import Journal
from tests.server.http.asgi import talk
from tests.server.http.running import Running
from tests.server.http.spawner import free_port
from tests.server.streams import base, lesson

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
NOTICED = 30.0  # seconds within which a hung process is noticed


def ask(port, path, timeout=120.0):
    """Return status, headers and body; None if nobody listens."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)) as connection:
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.headers, json.loads(answer.read())
        except ConnectionError:
            return None


class Beginning(threading.Thread):
    """Start a server in the background; `server` is there when it answers."""

    def __init__(self, *arguments, **options):
        super().__init__(daemon=True)
        self._arguments, self._options = arguments, options
        self.server = None
        self.start()

    def run(self):
        self.server = Running(*self._arguments, **self._options)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_server_that_replays_says_how_far_it_has_come(tmp_path, workers):
    home = Home.create(tmp_path / "home", base())
    n_records = 1500
    with Journal(home.journal_path, write=True) as journal:
        for start in range(0, n_records, 500):
            journal.append([(lesson(number), None) for number in range(start, start + 500)])
    port = free_port()
    beginning = Beginning(home.path, "--workers", workers, "--snapshot-every", 10 * n_records, port=port)
    answers = {path: [] for path in ("/healthz", "/readyz", "/v1/model")}
    ends = time.monotonic() + 120
    while beginning.server is None:
        assert time.monotonic() < ends
        for path, found in answers.items():
            answer = ask(port, path)
            if answer is not None:
                found.append(answer)
        time.sleep(0.01)
    with beginning.server as server:
        assert {status for status, _, _ in answers["/healthz"]} == {200}
        assert "starting" in {body["status"] for _, _, body in answers["/healthz"]}
        for path in ("/readyz", "/v1/model"):
            refused = [(headers, body) for status, headers, body in answers[path] if status == 503]
            assert refused, answers[path]
            assert all(int(headers["retry-after"]) >= 1 for headers, _ in refused)
            assert any(f"of {n_records:,} is applied" in body["detail"] for _, body in refused), refused
        assert ask(port, "/readyz")[0] == 200
        assert httpx.get(server.url + "/v1/model", timeout=120).json()["sequence"] == n_records
        assert server.stop() == 0


def test_a_worker_that_hangs_is_replaced(tmp_path):
    home = Home.create(tmp_path / "home", base())
    with Running(home.path, "--workers", 3) as server:
        before = set(server.workers())
        hung = min(before)
        os.kill(hung, signal.SIGSTOP)
        started = time.monotonic()
        while hung in server.workers():
            assert time.monotonic() - started < NOTICED
            time.sleep(0.1)
        ends = time.monotonic() + 180
        while len(server.workers()) < 3 or not _all_answer(server.port, 24):
            assert time.monotonic() < ends
            time.sleep(0.1)
        assert "has not answered for" in "".join(server.said)
        assert server.stop() == 0


def _all_answer(port, n_connections):
    with contextlib.suppress(OSError):
        return all(ask(port, "/readyz", timeout=2)[0] == 200 for _ in range(n_connections))
    return False


def test_a_writer_that_hangs_is_not_ready_and_does_not_learn(tmp_path):
    home = Home.create(tmp_path / "home", base())
    with Running(home.path, "--workers", 2) as server:
        assert ask(server.port, "/readyz")[0] == 200
        os.kill(server.process.pid, signal.SIGSTOP)
        try:
            started = time.monotonic()
            while (answer := ask(server.port, "/readyz"))[0] != 503:
                assert time.monotonic() - started < NOTICED
                time.sleep(0.1)
            assert "has not answered" in answer[2]["detail"]
            while {ask(server.port, "/readyz")[0] for _ in range(20)} != {503}:  # both workers have noticed it
                assert time.monotonic() - started < 2 * NOTICED
            assert ask(server.port, "/healthz")[0] == 200
            lesson = {"text": "apple pie", "added": ["dessert"]}
            refused = httpx.post(server.url + "/v1/learn", json=lesson, timeout=NOTICED)
            assert refused.status_code == 503
            ranked = httpx.post(server.url + "/v1/rank", json={"text": "red apple"}, timeout=NOTICED)
            assert ranked.status_code == 200
        finally:
            os.kill(server.process.pid, signal.SIGCONT)
        ends = time.monotonic() + NOTICED
        while ask(server.port, "/readyz")[0] != 200:
            assert time.monotonic() < ends
            time.sleep(0.1)
        assert httpx.post(server.url + "/v1/learn", json=lesson, timeout=120).status_code == 200
        assert server.stop() == 0


def test_health_does_not_wait_for_the_model(tmp_path):
    is_held, is_over = threading.Event(), threading.Event()

    def hold(replica):
        with replica.reading():
            is_held.set()
            is_over.wait(5)

    async def conversation(client):
        holder = threading.Thread(target=hold, args=(client.writer.replica,))
        holder.start()
        is_held.wait()
        answers = [await client.get(path) for path in ("/healthz", "/readyz")]
        assert holder.is_alive(), "they waited for the lock"
        is_over.set()
        holder.join()
        return answers

    answers = talk(Home.create(tmp_path / "home", base()), conversation)
    assert [answer.status_code for answer in answers] == [200, 200]


def test_counts_do_not_fall_when_a_worker_dies(tmp_path):
    home = Home.create(tmp_path / "home", base())
    with Running(home.path, "--workers", 2) as server:
        for _ in range(40):
            assert httpx.get(server.url + "/v1/model", timeout=120).status_code == 200
        time.sleep(1.5)  # workers report their counts every second
        before = counted(server.url)
        assert before >= 40
        [victim, *_] = server.workers()
        os.kill(victim, signal.SIGKILL)
        ends = time.monotonic() + 180
        while victim in server.workers() or len(server.workers()) < 2:
            with contextlib.suppress(httpx.TransportError):
                assert counted(server.url) >= before
            assert time.monotonic() < ends
            time.sleep(0.02)
        assert counted(server.url) >= before
        assert server.stop() == 0


def counted(url):
    lines = httpx.get(url + "/metrics", timeout=120).text.splitlines()
    return sum(
        float(line.rpartition(" ")[2])
        for line in lines
        if line.startswith('abound_requests_total{endpoint="GET /v1/model"')
    )


@pytest.mark.parametrize("workers", [1, 2])
def test_an_opening_that_fails_is_said(tmp_path, workers):
    home = Home.create(tmp_path / "home", base())
    with Writer(home):
        command = [sys.executable, "-m", "abound", "serve", str(home.path), "--port", "0", "--workers", str(workers)]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 1
    assert "already has a writer" in ended.stderr
    assert "Traceback" not in ended.stderr
