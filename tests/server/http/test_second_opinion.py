"""A server with embeddings: its processes, and machines that share a journal, have the same state."""

import httpx
import pytest

from abound import Tagger
from abound.server import Follower, Home
from benchmarks.served_vectors import FITTED, fitted, from_scratch, label_of, text_of, write_table
from tests.server.http.running import Running
from tests.store.conftest import cluster, database  # noqa: F401  fixtures


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    fitted(write_table(folder / "table")).save(folder / "model")
    return folder / "model"


def learn(server, text, label):
    answer = httpx.post(f"{server.url}/v1/learn", json={"text": text, "added": [label]}, timeout=60)
    assert answer.status_code == 200, answer.text
    return answer.json()["sequence"]


def ask(server, sequence, method, path, **body):
    """Ask a server at least at this record; each request may reach another of its processes."""
    headers = {"X-Abound-Sequence": str(sequence)}
    answer = httpx.request(method, f"{server.url}{path}", headers=headers, timeout=60, **body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def first_label(server, text, sequence):
    return ask(server, sequence, "POST", "/v1/rank", json={"text": text})["labels"][0]["label"]


def hashes(server, sequence, times=1):
    return {ask(server, sequence, "GET", "/v1/model?hash=1")["state_hash"] for _ in range(times)}


def test_all_processes_of_a_server_have_the_same_state_and_so_has_a_replay(model, tmp_path):
    home = Home.create(tmp_path / "home", Tagger.load(model))
    with Running(home.path, "--workers", 2) as server:
        for number in range(FITTED, FITTED + 20):
            learn(server, text_of(number), label_of(number))
        corrected = learn(server, text_of(7), "corrected")
        assert {first_label(server, text_of(7), corrected) for _ in range(10)} == {"corrected"}
        shown = ask(server, corrected, "GET", "/v1/records")["records"][0]
        assert (shown["text"], "vector" in shown) == (text_of(7), False)
        answer = httpx.post(f"{server.url}/v1/undo", json={"records": [corrected]}, timeout=60)
        assert answer.status_code == 200, answer.text
        assert {first_label(server, text_of(7), corrected + 1) for _ in range(10)} == {"topic 7"}
        (found,) = hashes(server, corrected + 1, 10)
        assert server.stop() == 0
    with Follower(home) as follower:
        assert follower.replica.state_hash() == found
    assert from_scratch(home).state_hash() == found


def test_machines_that_share_a_journal_have_the_same_state(model, database, tmp_path):  # noqa: F811
    pytest.importorskip("psycopg")
    options = [["--state", tmp_path / name, "--journal", database.url] for name in ("a", "b")]
    with Running(model, *options[0]) as a, Running(model, *options[1], "--workers", 2) as b:
        for number in range(20):
            one, other = (a, b) if number % 2 else (b, a)
            sequence = learn(one, text_of(FITTED + number), f"label {number}")
            assert first_label(other, text_of(FITTED + number), sequence) == f"label {number}"
        (found,) = hashes(a, sequence) | hashes(b, sequence, 6)
    assert from_scratch(Home(tmp_path / "a")).state_hash() == found
