"""The server's log: its fields, rotation, a full disk, and what must never be in it."""

import base64
import json
import logging
import os
import re
import resource
import signal
import subprocess
import sys
import time

import httpx
import pytest

from abound.server import Home
from abound.server.http import logs
from abound.server.http.access import PER_SECOND, AccessLog
from abound.server.http.allowances import Limits
from abound.server.http.keys import KeyFile
from abound.server.http.observing import Answered
from tests.server.http.running import ROOT, Running
from tests.server.streams import base

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="files of processes are looked up in /proc")
FIELDS = {"event", "request_id", "method", "path", "endpoint", "status", "seconds", "key", "reason", "client", "bytes"}
ALWAYS = {"time", "level", "logger", "message", "pid"}
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@pytest.fixture(scope="module")
def homes(tmp_path_factory):
    """Return a function that makes a home."""
    folder = tmp_path_factory.mktemp("homes")
    numbers = iter(range(100))
    return lambda: Home.create(folder / f"home{next(numbers)}", base()).path


def lines_of(path, event=None):
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [row for row in rows if event is None or row.get("event") == event]


def wait_for(find, seconds=20):
    ends = time.monotonic() + seconds
    while not (found := find()):
        assert time.monotonic() < ends
        time.sleep(0.02)
    return found


def until_file(path, event, number=1):
    def find():
        rows = lines_of(path, event) if path.exists() else []
        return rows if len(rows) >= number else None

    return wait_for(find)


class LoggingServer(Running):
    """A server that logs JSON to a file, where it also says on which port it listens."""

    def __init__(self, home, path, *arguments, limit=None):
        command = [sys.executable, "-m", "abound", "serve", home, "--port", 0, "--log-file", path, *arguments]
        self.process = subprocess.Popen(
            [*map(str, command), "--log-format", "json"],
            cwd=ROOT,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=limit,
        )
        self._path, self._reader = path, _Nothing()
        try:
            self.url = wait_for(self._find_url, 60)
        except BaseException:
            self.kill()
            raise

    def _find_url(self):
        assert self.process.poll() is None, self.process.stderr.read()
        found = re.search(r"on (http://[0-9.:]+)", self._path.read_text() if self._path.exists() else "")
        return found and found[1]


class _Nothing:
    def join(self, _):
        pass


@pytest.mark.parametrize("workers", [1, 2])
def test_each_request_is_one_line_of_json_with_all_fields(homes, tmp_path, workers):
    home, path = homes(), tmp_path / "log"
    key = KeyFile(home).add("the web shop", "learn")
    with LoggingServer(home, path, "--access-log", "--workers", workers) as server:
        headers = {"Authorization": f"Bearer {key}", "X-Request-Id": "mine-1"}
        answer = httpx.post(f"{server.url}/v1/rank?secret=1", json={"text": "apple"}, headers=headers)
        assert answer.status_code == 200
        assert answer.headers["x-request-id"] == "mine-1"
        row = wait_for(lambda: [row for row in lines_of(path) if row.get("request_id") == "mine-1"])[0]
        assert server.stop() == 0
    assert set(row) == ALWAYS | FIELDS
    assert TIME.fullmatch(row["time"])
    assert (row["level"], row["event"], row["method"], row["path"]) == ("info", "request", "POST", "/v1/rank")
    assert (row["endpoint"], row["status"], row["key"]) == ("POST /v1/rank", 200, "the web shop")
    assert (row["client"], row["bytes"]) == ("127.0.0.1", len(answer.content))
    assert row["pid"] == int(answer.headers["x-abound-worker"])
    assert 0 < row["seconds"] < 10
    assert path.stat().st_mode & 0o007 == 0  # it names keys and addresses
    announced = [row for row in lines_of(path) if "serving" in row["message"]]
    assert announced[0]["level"] == "info"
    assert set(announced[0]) == ALWAYS


def test_no_line_contains_a_key(homes, tmp_path):
    home, path = homes(), tmp_path / "log"
    key, foreign = KeyFile(home).add("reader", "read"), "abound_wrongwrongwrong"
    basic = base64.b64encode(f"x:{key}".encode()).decode()
    with LoggingServer(home, path, "--access-log", "--log-level", "debug") as server:
        for authorization in (f"Bearer {key}", f"Bearer {foreign}", f"Basic {basic}", f"Digest {key}", key):
            for request in ("/v1/rank", "/v1/learn", "/nowhere"):
                headers = {"Authorization": authorization}
                httpx.post(f"{server.url}{request}?key={key}", json={"text": "apple"}, headers=headers)
        until_file(path, "refused key", 8)
        assert server.stop() == 0
    written = path.read_bytes()
    for secret in (key, foreign, basic):
        assert secret.encode() not in written
    refused = {(row["status"], row["key"]) for row in lines_of(path, "refused key")}
    assert refused == {(401, None), (403, "reader")}
    assert {row["level"] for row in lines_of(path, "refused key")} == {"warning"}


def test_request_ids(homes, tmp_path):
    with Running(homes()) as server, httpx.Client(base_url=server.url) as client:
        for path in ("/healthz", "/", "/nowhere", "/static/main.js", "/v1/model"):
            assert client.get(path, headers={"X-Request-Id": "a" * 100}).headers["x-request-id"] == "a" * 100
        made = {client.get("/healthz").headers["x-request-id"] for _ in range(20)}
        assert len(made) == 20
        for bad in ("", "a b", "a" * 101, b"caf\xc3\xa9"):
            new = client.get("/healthz", headers={"X-Request-Id": bad}).headers["x-request-id"]
            assert re.fullmatch("[0-9a-f]{20}", new), bad


def test_a_renamed_or_removed_file_is_made_again(homes, tmp_path):
    path = tmp_path / "log"
    with LoggingServer(homes(), path, "--access-log", "--workers", 2) as server:
        for number in range(3):
            httpx.get(f"{server.url}/v1/model", headers={"X-Request-Id": f"before{number}"})
            wait_for(lambda number=number: f"before{number}" in path.read_text())
            path.rename(tmp_path / f"log.{number}") if number else path.unlink()
            httpx.get(f"{server.url}/v1/model", headers={"X-Request-Id": f"after{number}"})
            wait_for(lambda number=number: path.exists() and f"after{number}" in path.read_text())
        assert "before2" in (tmp_path / "log.2").read_text()
        assert "after2" not in (tmp_path / "log.2").read_text()


def test_sighup_opens_the_file_again_and_nothing_else(homes, tmp_path):
    path = tmp_path / "log"
    with LoggingServer(homes(), path) as server:
        path.rename(tmp_path / "log.1")
        server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: path.exists() and "opened again" in path.read_text())
        assert httpx.get(f"{server.url}/readyz").status_code == 200
        opened = os.listdir(f"/proc/{server.process.pid}/fd")
        names = {os.path.realpath(f"/proc/{server.process.pid}/fd/{number}") for number in opened}
        assert str(tmp_path / "log.1") not in names
        assert str(path) in names


def test_sighup_during_a_restart_does_not_end_the_server(homes, tmp_path):
    path = tmp_path / "log"
    with LoggingServer(homes(), path) as server:
        server.process.send_signal(signal.SIGUSR2)
        ends = time.monotonic() + 60
        while path.read_text().count("serving") < 2:
            server.process.send_signal(signal.SIGHUP)
            assert server.process.poll() is None
            assert time.monotonic() < ends
            time.sleep(0.02)
        assert server.stop() == 0


def test_a_limit_is_logged_with_the_name_of_the_key(homes, tmp_path):
    home, path = homes(), tmp_path / "log"
    key = KeyFile(home).add("busy", "read", limits=Limits(requests=2, memory=100))
    with LoggingServer(home, path) as server:
        headers = {"Authorization": f"Bearer {key}"}
        long = {"text": "apple " * 100}
        assert httpx.post(f"{server.url}/v1/rank", json=long, headers=headers).status_code == 413
        assert [httpx.get(f"{server.url}/v1/model", headers=headers).status_code for _ in range(3)] == [200, 200, 429]
        rows = until_file(path, "limit reached", 2)
    shown = [(row["level"], row["status"], row["key"], row["reason"]) for row in rows]
    assert shown == [("warning", 413, "busy", "memory"), ("warning", 429, "busy", "requests")]


def test_the_log_says_why_a_key_was_refused(homes, tmp_path):
    home, path = homes(), tmp_path / "log"
    old, low = (KeyFile(home).add(name, "read", expires) for name, expires in (("old", "2020-01-01"), ("low", None)))
    with LoggingServer(home, path) as server:
        for key in ("wrong", old, low):
            httpx.post(f"{server.url}/v1/learn", json={}, headers={"Authorization": f"Bearer {key}"})
        rows = until_file(path, "refused key", 3)
    shown = [(row["status"], row["key"], row["reason"]) for row in rows]
    assert shown == [(401, None, "unknown"), (401, "old", "expired"), (403, "low", "scope")]


def test_requests_of_a_library_have_their_whole_path(tmp_path):
    library, path = tmp_path / "library", tmp_path / "log"
    base().save(library / "subjects")
    key = KeyFile(library).add("me", "read")
    with LoggingServer(f"--library={library}", path, "--access-log") as server:
        headers = {"Authorization": f"Bearer {key}"}
        with httpx.Client(base_url=server.url, headers=headers, timeout=60) as client:
            assert client.post("/v1/models/subjects/rank", json={"text": "apple"}).status_code == 200
            assert client.put("/v1/models/subjects").status_code == 403
            assert client.get("/v1/models", headers={"X-Request-Id": "list"}).headers["x-request-id"] == "list"
        rank, put, listed = wait_for(lambda: rows if len(rows := lines_of(path)[1:]) == 3 else None)
    assert (rank["path"], rank["endpoint"], rank["key"]) == ("/v1/models/subjects/rank", "POST /v1/rank", "me")
    assert (put["event"], put["endpoint"], put["key"]) == ("refused key", "PUT /v1/models/{model}", "me")
    assert (listed["endpoint"], listed["status"], listed["request_id"]) == ("GET /v1/models", 200, "list")


def test_a_full_disk_stops_the_log_and_not_the_server(homes, tmp_path):
    path, home = tmp_path / "log", homes()
    path.write_text("x" * 3_900_000 + "\n")
    limit = 4_000_000  # bytes of every file that the server writes

    with LoggingServer(
        home, path, "--access-log", limit=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    ) as server:
        with httpx.Client(base_url=server.url) as client:
            for _ in range(600):  # of more than 200 bytes each
                assert client.post("/v1/rank", json={"text": "apple"}).status_code == 200
            assert path.stat().st_size == limit
            path.rename(tmp_path / "full")
            assert client.get("/v1/model").status_code == 200
        first, *_ = wait_for(lambda: lines_of(path) if path.exists() else [])
        assert re.fullmatch(r"[\d,]+ log lines could not be written", first["message"])
        assert first["level"] == "warning"
        assert server.stop() == 0


def test_a_line_that_was_cut_does_not_spoil_the_next(tmp_path, monkeypatch):
    lines = logs.LineFile(str(tmp_path / "log"))
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, raw: write(descriptor, raw[:3]))
    assert not lines.write(b"12345\n")
    monkeypatch.undo()
    assert lines.write(b"abcde\n")
    assert lines.n_dropped == 1
    assert (tmp_path / "log").read_text() == "123\nabcde\n"
    lines.close()


def test_stderr_may_be_full(homes):
    port = 20_000 + os.getpid() % 10_000
    command = [sys.executable, "-m", "abound", "serve", homes(), "--port", port, "--access-log"]
    with open("/dev/full", "wb") as full:
        process = subprocess.Popen(list(map(str, command)), cwd=ROOT, stderr=full)
    try:

        def is_ready():
            assert process.poll() is None
            try:
                return httpx.get(f"http://127.0.0.1:{port}/readyz").status_code == 200
            except httpx.HTTPError:
                return False

        wait_for(is_ready, 120)
    finally:
        process.terminate()
        assert process.wait(60) == 0


def test_slow_and_refused_requests_are_logged_without_an_access_log(homes):
    home = homes()
    KeyFile(home).add("reader", "read")
    with Running(home, "--slow-seconds", 0) as server:
        httpx.get(f"{server.url}/?x=1")
        httpx.get(f"{server.url}/v1/model%0Aabound: forged")
        wait_for(lambda: len(server.said) >= 3)
        httpx.get(f"{server.url}/v1/model")
        wait_for(lambda: any("refused key" in line for line in server.said))
        slow, forged = [line for line in server.said if "slow request" in line][:2]
        assert slow.startswith("abound: slow request: GET / 200 request_id=")
        assert "x=1" not in slow
        assert "client=127.0.0.1" in slow
        assert "/v1/model\\x0aabound: forged" in forged
    with Running(home) as server:
        httpx.get(f"{server.url}/healthz")
        server.stop()
        assert not any("request" in line for line in server.said)


def test_refusals_cannot_fill_the_disk(homes, tmp_path):
    home, path = homes(), tmp_path / "log"
    KeyFile(home).add("reader", "read")
    with LoggingServer(home, path) as server, httpx.Client(base_url=server.url) as client:
        began = time.monotonic()
        for _ in range(300):
            assert client.get("/v1/model").status_code == 401
        seconds = int(time.monotonic() - began) + 1
        wait_for(lambda: sum(row.get("suppressed", 0) for row in lines_of(path)))
        assert server.stop() == 0
    rows = lines_of(path, "refused key")
    single = [row for row in rows if "suppressed" not in row]
    assert PER_SECOND <= len(single) <= PER_SECOND * (seconds + 1)
    assert len(single) + sum(row.get("suppressed", 0) for row in rows) == 300


def request(**changes):
    given = {"method": "GET", "path": "/", "endpoint": "GET /", "status": 200, "seconds": 0.1, "caller": None}
    given |= {"client": "::1", "request_id": "r", "n_bytes": 1, "started": 0.0, "headers": ()}
    return Answered(**{**given, **changes})


def test_a_path_that_is_not_text_is_logged(tmp_path, monkeypatch):
    handler = logs.LogHandler(logs.LogSettings("json", file=str(tmp_path / "log")))
    logger = logging.getLogger("abound.server.http.access")
    monkeypatch.setattr(logger, "propagate", False)  # pytest-xdist cannot send such a text
    logger.addHandler(handler)
    try:
        AccessLog(logs.LogSettings(access=True)).observe(request(path="/\udc80" + "x" * 5000, caller="ä"))
    finally:
        logger.removeHandler(handler)
        handler.close()
    [row] = lines_of(tmp_path / "log")
    assert row["path"] == "/\udc80" + "x" * 998
    assert row["key"] == "ä"


@pytest.mark.parametrize(
    ("given", "words"), [({"format": "xml"}, "--log-format must be one of text, json"), ({"level": "x"}, "--log-level")]
)
def test_settings_are_checked(given, words):
    with pytest.raises(ValueError, match=words):
        logs.LogSettings(**given)


def test_a_log_file_that_cannot_be_opened_ends_the_command(homes, tmp_path):
    command = [sys.executable, "-m", "abound", "serve", homes(), "--port", "0", "--log-file", tmp_path / "no" / "log"]
    done = subprocess.run(list(map(str, command)), cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert f"there is no directory {tmp_path / 'no'}" in done.stderr


def test_a_log_in_a_missing_directory_names_the_directory(tmp_path):
    path = tmp_path / "no" / "log"
    with pytest.raises(FileNotFoundError) as caught:
        logs.LogHandler(logs.LogSettings("json", file=str(path)))
    assert str(caught.value) == f"the log {path} cannot be written: there is no directory {path.parent}"
