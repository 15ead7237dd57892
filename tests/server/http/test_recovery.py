"""A process whose replica failed, for example for lack of memory, recovers without an operator."""

import sys
import time

import httpx
import pytest

from abound.server import Home
from abound.store.journal import Journal
from abound.store.journal.records import Learn
from tests.server.http.running import Running
from tests.server.streams import base, lesson, trained

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
# Imported by every process at its start. Each file `apply...` or `load...` makes one call fail.
FAULTS = """
import os, sys
from pathlib import Path

folder = Path(os.environ["FAULTS"])
is_worker = "abound.server.http.worker" in sys.orig_argv
if is_worker == (os.environ["FAULTY"] == "worker") and "abound.server.snapshotter" not in sys.orig_argv:
    import abound.server.follower
    from abound.server import Home, Replica

    abound.server.follower.RESTART_SECONDS = 0.0

    def failing(owner, name, prefix):
        call = getattr(owner, name)

        def instead(*arguments, **options):
            for path in folder.glob(f"{prefix}*"):
                try:
                    path.unlink()
                except FileNotFoundError:  # another process failed instead
                    continue
                raise MemoryError
            return call(*arguments, **options)

        setattr(owner, name, instead)

    failing(Replica, "_apply", "apply")
    failing(Home, "load_replica", "load")
    failing(Home, "_switch", "switch")
"""


class Faulty(Running):
    """A server of which the writer or the workers fail on demand."""

    def __init__(self, tmp_path, home, which, *arguments):
        (tmp_path / "code").mkdir()
        (tmp_path / "code" / "sitecustomize.py").write_text(FAULTS)
        self._faults = tmp_path / "faults"
        self._faults.mkdir()
        env = {"PYTHONPATH": str(tmp_path / "code"), "FAULTS": str(self._faults), "FAULTY": which}
        super().__init__(home.path, *arguments, env=env)

    def fail(self, *names):
        for name in names:
            (self._faults / name).touch()

    @property
    def faults_left(self):
        return sorted(path.name for path in self._faults.iterdir())


def learn(url, number):
    record = lesson(number)
    body = {"text": record.text, "accepted": record.accepted, "rejected": record.rejected, "added": record.added}
    return httpx.post(url + "/v1/learn", json=body, headers={"Idempotency-Key": f"key {number}"}, timeout=120)


def until(condition, seconds=60):
    ends = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < ends
        time.sleep(0.05)
    return found


def test_a_single_process_loads_its_state_again(tmp_path):
    home = Home.create(tmp_path / "home", base())
    with Faulty(tmp_path, home, "server") as server:
        assert learn(server.url, 1).json()["sequence"] == 1
        server.fail("apply", "load 1", "load 2")
        assert learn(server.url, 2).status_code == 503
        seen = []

        def recovered():
            seen.append(httpx.post(server.url + "/v1/rank", json={"text": "a red apple"}, timeout=120))
            return seen[-1].status_code == 200

        until(recovered)
        assert {answer.status_code for answer in seen[:-1]} == {503}
        assert all(int(answer.headers["retry-after"]) >= 1 for answer in seen[:-1])
        assert seen[-1].json()["sequence"] == 2  # the record was on disk before it failed
        assert learn(server.url, 2).json() == {"sequence": 2, "repeated": True}
        assert learn(server.url, 3).json()["sequence"] == 3
        assert httpx.get(server.url + "/readyz", timeout=120).json() == {"status": "ready", "sequence": 3}
        state = httpx.get(server.url + "/v1/model?hash=1", timeout=120).json()["state_hash"]
        assert (server.faults_left, server.stop()) == ([], 0)
    assert state == trained([lesson(number) for number in (1, 2, 3)]).state_hash()
    assert any("next attempt in 2 s: MemoryError" in line for line in server.said)
    assert any("was loaded again, and is at record 2" in line for line in server.said)


@pytest.mark.parametrize("faults", [["apply"], ["apply", "load"]], ids=["stuck", "broken"])
def test_a_worker_that_failed_is_replaced(tmp_path, faults):
    home = Home.create(tmp_path / "home", base())
    with Faulty(tmp_path, home, "worker", "--workers", 2) as server, server.client() as client:
        client.learn("apple pie", added=["dessert"])
        before = server.workers()
        seen = set()

        def both_have_applied_it():
            answer = httpx.get(server.url + "/v1/model", headers={"X-Abound-Sequence": "1"}, timeout=120)
            seen.add(int(answer.headers.get("x-abound-worker", 0)))
            return seen >= set(before)

        until(both_have_applied_it)  # else the fault may hit record 1 in a slow worker
        server.fail(*faults)
        client.learn("apple juice", added=["drink"])
        until(lambda: server.faults_left == [] and len(set(server.workers()) - set(before)) == 1)
        replacement = (set(server.workers()) - set(before)).pop()
        answers = {}

        def both_have_answered():
            answer = httpx.get(server.url + "/v1/model?hash=1", headers={"X-Abound-Sequence": "2"}, timeout=120)
            answers[int(answer.headers.get("x-abound-worker", 0))] = answer
            return replacement in answers and len(answers.keys() & set(server.workers())) == 2

        until(both_have_answered)
        assert client.learn("apple cake", added=["dessert"]).sequence == 3
        states = {answers[pid].json()["state_hash"] for pid in server.workers()}
        assert len(server.workers()) == 2
        assert server.stop() == 0
    with Journal(home.journal_path) as journal:
        records = [stored.record for stored in journal.read(0)]
    assert states == {trained(records[:2]).state_hash()}
    assert any("failed after record 1, and ends" in line for line in server.said)


def test_a_worker_that_has_no_memory_for_two_states_is_replaced(tmp_path):
    home = Home.create(tmp_path / "home", base())
    with Faulty(tmp_path, home, "worker", "--workers", 2) as server, server.client() as client:
        for number in (1, 2, 3):
            client.learn(f"text {number}", added=[f"label {number}"])
        before = set(server.workers())
        server.fail(*(f"switch {number}" for number in range(100)))
        assert client.undo([2]).sequence == 4
        until(lambda: len(server.workers()) == 2 and not before & set(server.workers()))
        states = {}

        def both_have_answered():
            answer = httpx.get(server.url + "/v1/model?hash=1", headers={"X-Abound-Sequence": "4"}, timeout=120)
            if answer.status_code == 200:
                states[int(answer.headers["x-abound-worker"])] = answer.json()["state_hash"]
            return set(states) == set(server.workers())

        until(both_have_answered)
        assert server.stop() == 0
    lessons = [Learn(f"text {number}", added=[f"label {number}"]) for number in (1, 3)]
    assert set(states.values()) == {trained(lessons).state_hash()}
