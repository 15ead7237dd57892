"""Undo and forget over HTTP: other requests go on, and the state is that of a journal without the records."""

import asyncio
import threading
import time

import httpx
import pytest

from abound.errors import ServerError
from abound.server import Home
from abound.server.http import service
from abound.server.http.keys import KeyFile
from abound.store.journal import Journal
from abound.store.journal.records import Learn
from tests.server.http.asgi import talk
from tests.server.http.running import Running
from tests.server.streams import base, trained

PRIVATE = "an unspeakable xylophone"
LESSONS = [
    Learn(f"{word} pie", added=[label]) for word, label in (("pear", "fruit"), ("old", "age"), ("red", "colour"))
]


@pytest.fixture
def home(tmp_path):
    return Home.create(tmp_path / "home", base())


def rank_until(done, url, failures, answers):
    with httpx.Client(base_url=url, timeout=120) as client:
        while not done.is_set():
            answer = client.post("/v1/rank", json={"text": "a red apple pie"})
            answers.append(int(answer.headers["x-abound-sequence"]))
            if answer.status_code != 200 or not answer.json()["labels"]:
                failures.append(answer.text)


def states(server, sequence):
    """Return the state hashes of all workers at a sequence."""
    found, ends = {}, time.monotonic() + 180
    while set(found) != set(server.workers() or [server.process.pid]):
        assert time.monotonic() < ends
        headers = {"X-Abound-Sequence": str(sequence)}
        answer = httpx.get(server.url + "/v1/model?hash=1", headers=headers, timeout=120)
        if answer.status_code == 200 and answer.json()["sequence"] == sequence:
            found[int(answer.headers["x-abound-worker"])] = answer.json()["state_hash"]
    return set(found.values())


@pytest.mark.parametrize("workers", [1, 3])
def test_an_undo_switches_all_workers_while_others_rank(home, workers):
    failures, answers, done = [], [], threading.Event()
    with Running(home.path, "--workers", workers) as server, server.client() as client:
        for number in range(20):
            client.learn(f"text {number} pie", added=[f"label {number % 5}"])
        client.learn(PRIVATE, added=["fruit"])
        for lesson in LESSONS:
            client.learn(lesson.text, added=lesson.added)
        whole = states(server, 24)
        threads = [threading.Thread(target=rank_until, args=(done, server.url, failures, answers)) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            undone = client.undo([21, 3], "a mistake", key="undo")
            again = client.undo([21, 3], "a mistake", key="undo")
            assert [(one.sequence, one.repeated) for one in (undone, again)] == [(25, False), (25, True)]
            without = states(server, 25)
            assert not any(one.label == "fruit" and one.score > 0 for one in client.rank("xylophone"))
            assert client.undo([25]).sequence == 26
            redone = states(server, 26)
            forgotten = client.forget([21], "asked by letter")
            gone = states(server, 27)
        finally:
            done.set()
            for thread in threads:
                thread.join()
        listed = {one.sequence: (one.kind, one.status, one.by) for one in client.records()}
        assert server.stop() == 0
    assert (failures, forgotten.sequence) == ([], 27)
    assert len(set(answers)) >= 3  # they ranked in between
    with Journal(home.journal_path) as journal:
        records = {stored.sequence: stored.record for stored in journal.read(0)}
    secret = Learn(PRIVATE, added=["fruit"])
    taught = {**{number: records[number] for number in range(1, 25)}, 21: secret}
    assert whole == redone == {trained(taught.values()).state_hash()}
    assert without == {trained(record for number, record in taught.items() if number not in (21, 3)).state_hash()}
    assert gone == {trained(record for number, record in taught.items() if number != 21).state_hash()}
    assert (listed[21], listed[3], listed[25]) == (
        ("forgotten", "forgotten", 27),
        ("learn", "live", None),
        ("undo", "undone", 26),
    )
    for path in home.path.rglob("*"):
        assert not path.is_file() or b"xylophone" not in path.read_bytes(), path


def test_a_key_of_scope_learn_undoes_its_own_records(home):
    file = KeyFile(home.path)
    keys = {name: file.add(name, scope) for name, scope in (("ann", "learn"), ("bob", "learn"), ("boss", "admin"))}
    with Running(home.path, "--workers", 2) as server:
        clients = {name: server.client(key=key) for name, key in keys.items()}
        assert clients["ann"].learn("apple pie", added=["dessert"]).sequence == 1
        assert clients["bob"].learn("apple juice", added=["drink"]).sequence == 2
        clients["bob"].rank("wait for record 2")
        for records in ([1], [2, 1]):
            with pytest.raises(ServerError, match="403: record 1 is not yours"):
                clients["bob"].undo(records)
        with pytest.raises(ServerError, match=r"403.*scope admin"):
            clients["ann"].forget([1])
        assert clients["ann"].undo([1]).sequence == 3
        assert clients["boss"].undo([2]).sequence == 4
        with pytest.raises(ServerError, match="not yours"):  # the boss undid it
            clients["bob"].undo([4])
        with pytest.raises(ServerError, match="422: record 2 does not count already; record 4 undid it"):
            clients["bob"].undo([2])
        for client in clients.values():
            client.close()
    with Journal(home.journal_path) as journal:
        assert [(one.record.kind, one.who) for one in journal.read(2)] == [("undo", "ann"), ("undo", "boss")]


def test_what_cannot_be_undone_is_refused(home):
    async def conversation(client):
        await client.post("/v1/learn", json={"text": "a", "added": ["b"]})
        bodies = (
            {"records": []},
            {"records": [0]},
            {"records": [2]},
            {"records": "x"},
            {"records": [1], "reason": "x" * 1001},
        )
        return [await client.post(f"/v1/{path}", json=body) for path in ("undo", "forget") for body in bodies]

    answers = talk(home, conversation)
    assert [answer.status_code for answer in answers] == [422] * len(answers)
    assert "there is no record 2" in answers[2].json()["detail"]


def test_a_long_rebuild_goes_on_and_is_waited_for_with_the_same_key(home, monkeypatch):
    from abound.server import rebuilds

    rebuild, go = rebuilds.Rebuilds._rebuild, threading.Event()

    def slow(*arguments):
        go.wait(60)
        return rebuild(*arguments)

    monkeypatch.setattr(rebuilds.Rebuilds, "_rebuild", slow)
    monkeypatch.setattr(service, "MAX_CHANGE_SECONDS", 0.3)

    async def conversation(client):
        await client.post("/v1/learn", json={"text": "a pear", "added": ["fruit"]})
        await client.post("/v1/learn", json={"text": "a plum", "added": ["fruit"]})

        async def undo(number):
            headers = {"Idempotency-Key": f"undo {number}"}
            return await client.post("/v1/undo", json={"records": [number]}, headers=headers)

        early = await undo(1)
        monkeypatch.setattr(service, "MAX_CHANGE_SECONDS", 60.0)
        waiting = []
        for number in (1, 2, 2):  # in this order; they wait until the first is done
            waiting.append(asyncio.ensure_future(undo(number)))
            await asyncio.sleep(0.3)
        go.set()
        return early, await asyncio.gather(*waiting), client.writer.replica.state_hash()

    early, late, state = talk(home, conversation)
    assert (early.status_code, "same request and key" in early.json()["detail"]) == (503, True)
    assert int(early.headers["retry-after"]) >= 1
    receipts = [(answer.json()["sequence"], answer.json()["repeated"]) for answer in late]
    assert receipts == [(3, True), (4, False), (4, True)]
    assert state == trained([]).state_hash()
