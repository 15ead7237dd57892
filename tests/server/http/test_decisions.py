"""Decisions sent over HTTP teach probabilities and bands, which survive a kill and are equal in all workers."""

import sys

import httpx
import pytest

from abound.server import Home
from tests.server.http.running import Running
from tests.server.http.test_workers import ask_each_worker
from tests.server.test_judging import banded
from tests.test_tagger_bands import documents

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
TEXTS = ["apple pear plum", "race car", "lorry bus goal"]


def correct(client, url):
    """Send 30 corrections and one feedback; return the last sequence."""
    for text, right in zip(*documents(30, seed=3), strict=True):
        ranked = [entry.label for entry in client.rank(text, bands=True)]
        client.learn(
            text,
            accepted=[label for label in ranked if label in right],
            rejected=[label for label in ranked if label not in right],
            added=[label for label in right if label not in ranked],
        )
    feedback = {"label": "fruit", "score": 1.5, "shown": "suggest", "wanted": "apply", "text": TEXTS[0]}
    answer = httpx.post(f"{url}/v1/feedback", json=feedback, timeout=120)
    assert answer.status_code == 200, answer.text
    return answer.json()["sequence"]


def seen(client):
    return client.model(state_hash=True)["state_hash"], client.rank_many(TEXTS), client.rank_many(TEXTS, bands=True)


def test_what_decisions_taught_survives_a_kill(tmp_path):
    home = Home.create(tmp_path / "home", banded().tagger)
    with Running(home.path) as server, server.client() as client:
        untaught = seen(client)
        assert correct(client, server.url) == 31
        taught = seen(client)
        server.kill()
    with Running(home.path) as server, server.client() as client:
        assert client.model()["sequence"] == 31
        assert seen(client) == taught
    likely = [[[entry.probability for entry in row] for row in found[1]] for found in (untaught, taught)]
    assert likely[0] != likely[1]


def test_workers_learn_the_same_probabilities_and_bands(tmp_path):
    home = Home.create(tmp_path / "home", banded().tagger)
    with Running(home.path, "--workers", 2) as server, server.client() as client:
        last = correct(client, server.url)
        answers = ask_each_worker(server.url, server.workers(), "/v1/model?hash=1", last)
    assert len(answers) == 2
    assert len({answer.json()["state_hash"] for answer in answers.values()}) == 1
