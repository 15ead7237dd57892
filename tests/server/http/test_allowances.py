"""Limits, expiry and last use of keys, in servers with one and several workers."""

import asyncio
import errno
import json
import os
import random
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import httpx
import pytest

from abound.errors import JournalError
from abound.server import Home
from abound.server.http import allowances, windows
from abound.server.http.allowances import Limits
from abound.server.http.endpoints import Scope
from abound.server.http.keys import Key, KeyAuthenticator, KeyFile
from abound.server.http.problems import Problem
from tests.server.http.asgi import talk
from tests.server.http.running import Running
from tests.server.http.test_windows import most_in_a_minute
from tests.server.streams import base

THREADS = 16


@pytest.fixture
def home(tmp_path):
    return Home.create(tmp_path / "home", base())


def bearer(key):
    return {"Authorization": f"Bearer {key}"}


class Pressure:
    """Threads that teach as fast as they can, and note when they are answered."""

    def __init__(self, server, key):
        self.acknowledged, self.statuses, self.details, self.waits = [], {}, set(), []
        self._stop = threading.Event()
        self._server, self._headers = server, bearer(key)
        self._threads = [threading.Thread(target=self._run, args=(number,)) for number in range(THREADS)]

    def _run(self, number):
        client, count = None, 0
        while not self._stop.is_set():
            client = client or httpx.Client(base_url=self._server.url, headers=self._headers, timeout=120)
            count += 1
            try:
                answer = client.post("/v1/learn", json={"text": f"apple {number} {count}", "added": ["fruit"]})
            except httpx.HTTPError:  # a worker was killed
                client.close()
                client = None
                continue
            self.statuses[answer.status_code] = self.statuses.get(answer.status_code, 0) + 1
            if answer.status_code == 200:
                self.acknowledged.append(time.monotonic_ns())
            elif answer.status_code == 429:
                self.details.add(answer.json()["detail"].partition(";")[0])
                self.waits.append(int(answer.headers["retry-after"]))
                time.sleep(random.random() * 0.05)
        if client is not None:
            client.close()

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        for thread in self._threads:
            thread.join()


@pytest.mark.parametrize("workers", [1, 3])
def test_a_key_teaches_no_more_than_it_may(home, workers):
    key = KeyFile(home.path).add("shop", "learn", limits=Limits(learns=100))
    with Running(home.path, "--workers", workers) as server:
        with Pressure(server, key) as pressure:
            time.sleep(4)
            if workers > 1:
                os.kill(server.workers()[0], signal.SIGKILL)
            time.sleep(4)
        # A worker that was killed may have taught records that it did not acknowledge.
        assert 100 - (THREADS if workers > 1 else 0) <= len(pressure.acknowledged) <= 100
        assert pressure.details == {"the key 'shop' may teach 100 records in a minute"}
        assert all(40 <= seconds <= 61 for seconds in pressure.waits)
        assert server.stop() == 0
    with Running(home.path, "--workers", workers) as server:  # the limit outlives the server
        first = httpx.post(f"{server.url}/v1/learn", headers=bearer(key), json={"text": "pear", "added": ["fruit"]})
        assert first.status_code == 429
        ranked = httpx.post(f"{server.url}/v1/rank", headers=bearer(key), json={"text": "pear"})
        assert ranked.status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2, 4])
def test_a_key_teaches_no_more_than_it_may_for_ten_minutes(home, workers):
    seconds = float(os.environ.get("ABOUND_LIMIT_SECONDS", "600"))
    key = KeyFile(home.path).add("shop", "learn", limits=Limits(learns=100))
    with Running(home.path, "--workers", workers) as server:
        with Pressure(server, key) as pressure:
            ends = time.monotonic() + seconds
            while time.monotonic() < ends:
                time.sleep(min(seconds / 5, 97))
                if workers > 1:
                    os.kill(server.workers()[0], signal.SIGKILL)
        most = most_in_a_minute(pressure.acknowledged)
        print(
            f"{workers} workers: at most {most} acknowledged in any 60 s, {len(pressure.acknowledged)} in {seconds} s"
        )
        print(pressure.statuses)
        assert most <= 100
        assert len(pressure.acknowledged) > 80 * seconds / 60


@pytest.mark.parametrize("workers", [1, 2])
def test_requests_are_limited_and_refusals_are_counted(home, workers):
    file = KeyFile(home.path)
    key, boss = file.add("shop", "learn", limits=Limits(requests=10)), file.add("boss", "admin")
    with Running(home.path, "--workers", workers) as server, ThreadPoolExecutor(8) as pool:

        def rank(_):
            return httpx.post(f"{server.url}/v1/rank", headers=bearer(key), json={"text": "apple"}, timeout=60)

        answers = list(pool.map(rank, range(30)))
        assert sorted(answer.status_code for answer in answers) == [200] * 10 + [429] * 20
        refused = next(answer for answer in answers if answer.status_code == 429)
        assert "the key 'shop' may send 10 requests in a minute; try again in" in refused.json()["detail"]
        assert 1 <= int(refused.headers["retry-after"]) <= 61
        assert httpx.get(f"{server.url}/v1/model", headers=bearer("abound_x")).status_code == 401
        assert httpx.get(f"{server.url}/v1/model", headers=bearer(boss)).status_code == 200
        time.sleep(1.5)
        figures = httpx.get(f"{server.url}/metrics", headers=bearer(boss)).text
        assert 'abound_key_refusals_total{reason="requests"} 20.0' in figures
        assert 'abound_key_refusals_total{reason="unknown"} 1.0' in figures
        assert 'abound_key_refusals_total{reason="memory"} 0.0' in figures


def test_bytes_in_progress_are_limited_over_all_workers(home):
    file = KeyFile(home.path)
    key = file.add("shop", "learn", limits=Limits(memory=100_000))
    with Running(home.path, "--workers", 2) as server:
        ends = threading.Event()

        def slow():
            yield b'{"text": "apple", "k": 1'
            ends.wait(20)
            yield b"}" + b" " * (80_000 - 25)

        headers = {**bearer(key), "Content-Type": "application/json"}
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(
                httpx.post,
                f"{server.url}/v1/rank",
                headers={**headers, "Content-Length": "80000"},
                content=slow(),
                timeout=60,
            )
            time.sleep(1.5)
            body = json.dumps({"text": "apple " * 5000}).encode()
            for _ in range(12):  # new connections, which both workers get
                refused = httpx.post(f"{server.url}/v1/rank", headers=headers, content=body)
                assert refused.status_code == 429
                assert "100,000 bytes in requests at a time" in refused.json()["detail"]
                assert refused.headers["retry-after"] == "1"
                assert httpx.post(f"{server.url}/v1/rank", headers=headers, content=b'{"text": "a"}').status_code == 200
            ends.set()
            assert waiting.result().status_code == 200
        for _ in range(6):
            assert httpx.post(f"{server.url}/v1/rank", headers=headers, content=body).status_code == 200
        large = httpx.post(f"{server.url}/v1/rank", headers=headers, content=b" " * 100_001)
        assert large.status_code == 413
        assert "may send 100,000 bytes at a time" in large.json()["detail"]


def _check(door, key, scope=Scope.READ):
    return door.check({b"authorization": f"Bearer {key}".encode()}, scope)


def test_an_expired_key_is_refused_with_the_time(home, monkeypatch):
    file = KeyFile(home.path)
    key = file.add("guest", "read", expires="2027-01-31T00:00:00Z")
    door, now = KeyAuthenticator(file), datetime(2027, 1, 30, 23, 59, 59, tzinfo=UTC).timestamp()
    monkeypatch.setattr("abound.server.http.keys.time.time", lambda: now)
    assert _check(door, key).who == "guest"
    now += 1
    with pytest.raises(Problem, match="the key 'guest' expired at 2027-01-31T00:00:00Z") as refused:
        _check(door, key)
    assert (refused.value.status, refused.value.reason) == (401, "expired")


def test_a_new_key_is_accepted_at_once_and_a_changed_one_within_a_second(home, monkeypatch):
    file = KeyFile(home.path)
    file.add("first", "read")
    door = KeyAuthenticator(file)
    for number in range(5):
        assert _check(door, file.add(f"new {number}", "read")).who == f"new {number}"
    key = file.add("shop", "read", limits=Limits(requests=3))
    assert _check(door, key).allowance.limits.requests == 3
    file.set("shop", requests=5, scope="learn")
    monkeypatch.setattr("abound.server.http.keys.RECHECK_SECONDS", 0.0)
    caller = _check(door, key, Scope.LEARN)
    assert caller.allowance.limits.requests == 5


def test_the_last_use_is_stored_once_a_minute(home, monkeypatch):
    file = KeyFile(home.path)
    key = file.add("shop", "read")
    [stored] = file.read()
    assert file.allowance(stored).last_use() is None
    door = KeyAuthenticator(file)
    with pytest.raises(Problem):
        _check(door, key, Scope.ADMIN)
    assert file.allowance(stored).last_use() is None
    _check(door, key)
    first = file.allowance(stored).last_use()
    assert abs(datetime.fromisoformat(first).timestamp() - time.time()) < 10
    monkeypatch.setattr(allowances, "TIME", "2999-01-01T00:00:00Z")
    _check(door, key)
    assert file.allowance(stored).last_use() == first
    monkeypatch.setattr(allowances, "NOTED_SECONDS", 0.0)
    _check(door, key)
    assert file.allowance(stored).last_use() == "2999-01-01T00:00:00Z"
    folder = home.path / "key-uses"
    assert {oct(path.stat().st_mode)[-3:] for path in folder.iterdir()} == {"600"}
    assert oct(folder.stat().st_mode)[-3:] == "700"
    for path in home.path.rglob("*"):
        assert path.is_dir() or key.encode() not in path.read_bytes()
    file.remove("shop")
    assert list(folder.iterdir()) == []


def test_old_files_are_read_and_unknown_fields_are_named(home):
    file = KeyFile(home.path)
    file.add("plain", "read")
    entries = json.loads(file.path.read_text())
    assert list(entries[0]) == ["name", "scope", "sha256", "created"]  # as earlier versions wrote it
    assert file.read()[0] == Key(**entries[0])
    for changed, message in (
        ({"colour": "red"}, "does not know the field 'colour'"),
        ({"scope": "all"}, "a scope must be one of"),
        ({"requests": 0}, "requests must be a number per minute from 1 to 100,000"),
        ({"learns": "many"}, "learns must be a number per minute"),
        ({"memory": -1}, "memory must be a number of bytes"),
        ({"expires": "soon"}, "a time must be like"),
        ({"expires": 2999}, "expires must be a time in quotes"),
    ):
        file.path.write_text(json.dumps([{**entries[0], **changed}]))
        with pytest.raises(JournalError, match=message):
            file.read()


def test_every_record_counts_and_a_refused_one_does_not(home):
    file = KeyFile(home.path)
    key = file.add("shop", "admin", limits=Limits(learns=6))

    async def conversation(client):
        async def learn(text="apple", **more):
            return await client.post("/v1/learn", json={"text": text, "added": ["fruit"], **more})

        assert (await learn()).status_code == 200
        for _ in range(10):
            assert (await client.post("/v1/learn", json={"text": "apple"})).status_code == 422
        many = [{"text": f"pear {i}", "subjects": [{"uri": "fruit"}]} for i in range(7)]
        refused = await client.post(f"/v1/projects/{client.app.service.name}/learn", json=many)
        assert refused.status_code == 413
        assert "may teach 6 records in a minute, and this request has 7" in refused.json()["detail"]
        refused = await client.post(f"/v1/projects/{client.app.service.name}/learn", json=many[:6])
        assert refused.status_code == 429
        learned = await client.post(f"/v1/projects/{client.app.service.name}/learn", json=many[:3])
        assert learned.status_code == 204
        assert client.app.service.replica.sequence == 4
        assert (await client.patch("/v1/labels", json={"add": {"label": "toy"}})).status_code == 200
        assert (await client.post("/v1/undo", json={"records": [1]})).status_code == 200
        for answer in (
            await learn(),
            await client.post("/v1/undo", json={"records": [2]}),
            await client.patch("/v1/labels", json={"add": {"label": "tool"}}),
        ):
            assert answer.status_code == 429
            assert "may teach 6 records in a minute; try again in" in answer.json()["detail"]
        assert client.app.service.counts.refusals == {"learns": 5}

    talk(home, conversation, authenticator=KeyAuthenticator(file), headers=bearer(key))


def test_a_decision_of_a_queue_is_refused_before_it_is_stored(home):
    file = KeyFile(home.path)
    boss, key = file.add("boss", "admin"), file.add("shop", "learn", limits=Limits(learns=1))

    async def conversation(client):
        texts = [{"text": "apple one"}, {"text": "apple two"}, {"text": "apple three"}]
        made = await client.post("/v1/queues", json={"name": "q", "texts": texts}, headers=bearer(boss))
        assert made.status_code == 200
        statuses = []
        for content in ({"skip": True}, {"added": ["fruit"]}, {"added": ["fruit"]}):
            asked = {"name": "q", "holder": "me"}
            item = (await client.post("/v1/queue/next", json=asked)).json()["item"]["item"]
            decided = await client.post("/v1/queue/decide", json={**asked, "item": item, **content})
            statuses.append(decided.status_code)
        assert statuses == [200, 200, 429]
        listed = (await client.get("/v1/queue", params={"name": "q"})).json()["items"]
        assert sorted(item["state"] for item in listed) == ["done", "leased", "skipped"]
        assert client.app.service.replica.sequence == 1

    talk(home, conversation, authenticator=KeyAuthenticator(file), headers=bearer(key))


def test_limits_that_cannot_be_checked_refuse(home, monkeypatch):
    file = KeyFile(home.path)
    key, free = file.add("shop", "read", limits=Limits(requests=5)), file.add("free", "read")

    async def conversation(client):
        assert (await client.get("/v1/model")).status_code == 200

        def full(*_):
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(windows.os, "write", full)
        refused = await client.get("/v1/model")
        assert refused.status_code == 503
        assert refused.headers["retry-after"] == "5"
        assert "the limits of the key 'shop' cannot be checked: No space left on device" in refused.json()["detail"]
        assert (await client.get("/v1/model", headers=bearer(free))).status_code == 200
        monkeypatch.undo()
        assert (await client.get("/v1/model")).status_code == 200

    talk(home, conversation, authenticator=KeyAuthenticator(file), headers=bearer(key))


def test_requests_that_are_under_way_together_are_limited(home):
    file = KeyFile(home.path)
    key = file.add("shop", "read", limits=Limits(requests=4))

    async def conversation(client):
        asked = [client.post("/v1/rank", json={"text": "apple"}) for _ in range(9)]
        answers = await asyncio.gather(*asked)
        assert sorted(answer.status_code for answer in answers) == [200] * 4 + [429] * 5

    talk(home, conversation, authenticator=KeyAuthenticator(file), headers=bearer(key))


def test_a_library_has_the_limits_of_its_keys_over_all_models(tmp_path):
    library = tmp_path / "library"
    for name in ("m0", "m1"):
        base().save(library / name)
    file = KeyFile(library)
    key, boss = file.add("shop", "learn", limits=Limits(learns=3, requests=8)), file.add("boss", "admin")
    with Running(f"--library={library}") as server:
        statuses = [
            httpx.post(
                f"{server.url}/v1/models/m{number % 2}/learn",
                headers=bearer(key),
                json={"text": "apple", "added": ["fruit"]},
                timeout=60,
            ).status_code
            for number in range(5)
        ]
        assert statuses == [200, 200, 200, 429, 429]
        listed = [httpx.get(f"{server.url}/v1/models", headers=bearer(key)).status_code for _ in range(6)]
        assert listed == [200] * 5 + [429]
        figures = httpx.get(f"{server.url}/metrics", headers=bearer(boss)).text
        assert 'abound_key_refusals_total{model="m1",reason="learns"} 1.0' in figures
        assert 'abound_key_refusals_total{model="",reason="requests"} 1.0' in figures


def test_a_library_counts_the_bytes_that_are_sent_and_no_probes(tmp_path):
    library = tmp_path / "library"
    base().save(library / "m0")
    key = KeyFile(library).add("shop", "read", limits=Limits(requests=2, memory=1000))
    with Running(f"--library={library}") as server:
        for path in ("/startupz", "/readyz", "/healthz"):
            assert httpx.get(server.url + path, headers=bearer(key)).status_code == 200
        body = {"text": "apples and pears are fruits", "languages": ["en"]}
        detected = httpx.post(server.url + "/v1/detect-language", headers=bearer(key), json=body, timeout=60)
        assert detected.status_code == 200, detected.text
        body["text"] *= 50
        detected = httpx.post(server.url + "/v1/detect-language", headers=bearer(key), json=body, timeout=60)
        assert (detected.status_code, detected.headers["x-abound-limit"]) == (413, "1000")
        statuses = [httpx.get(server.url + "/v1/models", headers=bearer(key)).status_code for _ in range(2)]
        assert statuses == [200, 429]
