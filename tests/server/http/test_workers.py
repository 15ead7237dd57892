"""Several processes: equal states, own writes read anywhere, keys, and a worker's death."""

import os
import signal
import sys
import threading
import time
from contextlib import ExitStack

import httpx
import pytest

from abound.client import Client
from abound.errors import ServerError
from abound.server import Home
from abound.server.http.endpoints import Scope
from abound.server.http.keys import KeyFile, LoopbackAuthenticator
from abound.store.journal import Journal
from tests.server.http.running import Running
from tests.server.streams import base, trained

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
WORKERS = 4


def ask_each_worker(url, pids, path, sequence=0):
    """Ask every worker the same, over as many connections as it takes; return the answers by process id."""
    answers, headers = {}, {"X-Abound-Sequence": str(sequence)}
    for _ in range(2000):
        with httpx.Client(base_url=url, timeout=120) as client:
            answer = client.get(path, headers=headers)
        assert answer.status_code == 200, answer.text
        answers[int(answer.headers["x-abound-worker"])] = answer
        if set(answers) == set(pids):
            return answers
    raise AssertionError(f"only {set(answers)} of {pids} answered")


def mixed_load(url, n_clients, n_lessons, seed):
    """Let clients learn and rank at once, each over new connections; each must know what it taught."""
    problems = []

    def run(number):
        try:
            sequence = 0
            for i in range(n_lessons):
                with Client(url) as client:  # a new connection: perhaps another worker
                    client.sequence = sequence
                    label, text = f"mine {seed} {number} {i}", f"unheard{number}x{i}x{seed} words"
                    client.learn(text, added=[label])
                    sequence = client.sequence
                with Client(url) as client:
                    client.sequence = sequence
                    best = client.rank(text, k=1)
                    if [entry.label for entry in best] != [label]:
                        problems.append((number, i, best))
        except Exception as error:
            problems.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(n_clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return problems


def test_workers_are_equal_at_equal_sequences_and_know_what_a_client_taught(tmp_path):
    home = Home.create(tmp_path / "home", base())
    hashes = []
    for seed in (1, 2):  # the second server begins with the snapshot and the journal of the first
        with Running(home.path, "--workers", WORKERS) as server:
            assert mixed_load(server.url, 4, 5, seed) == []
            last = seed * 20
            answers = ask_each_worker(server.url, server.workers(), "/v1/model?hash=1", last)
            hashes.append({answer.json()["state_hash"] for answer in answers.values()})
            assert {answer.json()["sequence"] for answer in answers.values()} == {last}
            assert server.stop() == 0
    with Journal(home.journal_path) as journal:
        records = [stored.record for stored in journal.read(0)]
    assert hashes == [{trained(records[:20]).state_hash()}, {trained(records).state_hash()}]


def test_a_worker_that_dies_is_replaced_and_the_others_go_on(tmp_path):
    home = Home.create(tmp_path / "home", base())
    with Running(home.path, "--workers", 2) as server, server.client() as client:
        before = server.workers()
        os.kill(before[0], signal.SIGKILL)
        assert client.learn("apple pie", added=["dessert"]).sequence == 1
        ends = time.monotonic() + 180
        while len(server.workers()) < 2 or set(server.workers()) == set(before):
            assert time.monotonic() < ends
            time.sleep(0.05)
        answers = ask_each_worker(server.url, server.workers(), "/v1/model?hash=1", 1)
        assert len({answer.json()["state_hash"] for answer in answers.values()}) == 1
        os.kill(server.process.pid, signal.SIGKILL)  # without the writer, no worker continues
        server.process.wait(10)
        ends = time.monotonic() + 180
        while any(os.path.exists(f"/proc/{pid}") and _lives(pid) for pid in answers):
            assert time.monotonic() < ends
            time.sleep(0.05)


def _lives(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_keys_and_figures_with_workers(tmp_path):
    home = Home.create(tmp_path / "home", base())
    file = KeyFile(home.path)
    keys = {scope: file.add(f"my {scope}", scope) for scope in ("read", "learn", "admin")}
    with ExitStack() as stack:
        server = stack.enter_context(Running(home.path, "--workers", 2))
        clients = {scope: stack.enter_context(server.client(key=key)) for scope, key in keys.items()}
        for wrong in (None, keys["read"][:-1], "", "ü"):
            with server.client(key=wrong) as client, pytest.raises(ServerError, match=r"401.*send a key"):
                client.rank("apple")
        assert clients["read"].rank("apple")[0].label == "fruit"
        with pytest.raises(ServerError, match=r"403.*scope learn"):
            clients["read"].learn("apple pie", added=["dessert"])
        assert clients["learn"].learn("apple pie", added=["dessert"]).sequence == 1
        with pytest.raises(ServerError, match=r"403.*scope admin"):
            clients["learn"].retire_label("fruit")
        assert clients["admin"].retire_label("fruit").sequence == 2
        assert [found.label for found in clients["admin"].labels("")] == ["vehicle", "sport", "dessert"]
        file.remove("my read")
        time.sleep(1.5)  # the key file is read again, and workers have reported their counts
        with pytest.raises(ServerError, match="401"):
            clients["read"].rank("apple")
        authorized = {"Authorization": f"Bearer {keys['admin']}"}
        figures = httpx.get(server.url + "/metrics", headers=authorized, timeout=120).text
        assert 'abound_requests_total{endpoint="POST /v1/learn",status="403"} 1.0' in figures
        assert figures.count("abound_worker_sequence{") == 2
        assert "abound_journal_sequence 2.0" in figures
        assert httpx.get(server.url + "/metrics", timeout=120).status_code == 401
        assert httpx.get(server.url + "/healthz", timeout=120).status_code == 200


def test_a_server_without_keys_answers_to_this_machine_only(tmp_path):
    home = Home.create(tmp_path / "home", base())
    with Running(home.path) as server:
        foreign = httpx.get(server.url + "/v1/model", headers={"Host": "evil.example"}, timeout=120)
        assert foreign.status_code == 403
        assert httpx.get(server.url + "/v1/model", timeout=120).status_code == 200
        with server.client() as client:
            assert client.learn("apple pie", added=["dessert"]).sequence == 1
        assert server.stop() == 0


@pytest.mark.parametrize("host", ["LOCALHOST", "LocalHost.", "localhost.:8000", "127.0.0.1", "[::1]:80"])
def test_every_way_to_write_this_machine_is_its_name(host):
    LoopbackAuthenticator().check({b"host": host.encode()}, Scope.ADMIN)


FORWARDED = ["X-Forwarded-For", "x-forwarded-host", "X-Forwarded-Anything", "Forwarded", "Via", "X-Real-IP"]


def test_a_server_without_keys_refuses_what_a_proxy_forwards(tmp_path):
    home = Home.create(tmp_path / "home", base())
    with Running(home.path) as server, httpx.Client(base_url=server.url, timeout=120) as client:
        for header in FORWARDED:
            answer = client.get("/v1/model", headers={header: "192.0.2.7"})
            assert answer.status_code == 403, header
            assert "--trust-proxy" in answer.json()["detail"]
        assert client.get("/healthz", headers={"X-Forwarded-For": "192.0.2.7"}).status_code == 200
        assert client.get("/v1/model", headers={"Host": "LOCALHOST"}).status_code == 200
    with Running(home.path, "--trust-proxy") as server, httpx.Client(base_url=server.url, timeout=120) as client:
        forwarded = {"X-Forwarded-For": "192.0.2.7"}
        assert client.get("/v1/model", headers=forwarded).status_code == 200
        assert client.get("/v1/model", headers={**forwarded, "Host": "evil.example"}).status_code == 403
    key = KeyFile(home.path).add("me", "read")
    with Running(home.path) as server, httpx.Client(base_url=server.url, timeout=120) as client:
        forwarded["Authorization"] = f"Bearer {key}"
        assert client.get("/v1/model", headers=forwarded).status_code == 200
