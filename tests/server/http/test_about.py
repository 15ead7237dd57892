"""What `/v1/model` tells a visitor: name, dates, examples, and the longest text that is explained."""

import os
import time
from datetime import UTC, datetime, timedelta

import pytest

from abound import Tagger
from abound.server import Home
from abound.store.directory import MANIFEST
from tests.server.http.asgi import talk
from tests.server.http.running import Running

TEXTS = [f"a text about the number {number}" for number in range(10)]


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_visitor_learns_which_model_it_is(tmp_path, workers):
    Tagger().fit(TEXTS, [["n"]] * len(TEXTS)).save(tmp_path / "subjects")
    fitted = time.time() - 86_400
    os.utime(tmp_path / "subjects" / MANIFEST, (fitted, fitted))
    arguments = ("--workers", workers, "--state", tmp_path / "state")
    with Running(tmp_path / "subjects", *arguments) as server, server.client() as client:
        found = client.model()
        assert found["name"] == "subjects"
        assert abs(datetime.fromisoformat(found["fitted"]).timestamp() - fitted) < 1
        assert len(found["examples"]) == 3
        assert set(found["examples"]) <= set(TEXTS)
        assert found["explained_bytes"] == 65_536
        assert "last_correction" not in found
        client.learn("one more text of some length", added=["n"])
        last = datetime.fromisoformat(client.model()["last_correction"])
        assert abs(last - datetime.now(UTC)) < timedelta(minutes=5)
    with Running(tmp_path / "state", "--workers", workers, "--name", "Library") as server, server.client() as client:
        found = client.model()
        assert (found["name"], datetime.fromisoformat(found["last_correction"])) == ("Library", last)
        assert abs(datetime.fromisoformat(found["fitted"]).timestamp() - fitted) < 1


def test_a_model_without_examples_shows_the_last_corrections(tmp_path):
    async def run(client):
        await client.post("/v1/learn", json={"text": "short", "added": ["n"]})
        for number in range(5):
            text = f"correction number {number} of a person"
            learned = await client.post("/v1/learn", json={"text": text, "added": ["n"]})
        before = (await client.get("/v1/model")).json()
        await client.post("/v1/forget", json={"records": [learned.json()["sequence"]]})
        return before, (await client.get("/v1/model")).json()

    home = Home.create(tmp_path / "subjects.served", Tagger())
    before, after = talk(home, run)
    assert before["name"] == "subjects"
    assert before["examples"] == [f"correction number {number} of a person" for number in (2, 3, 4)]
    assert after["examples"] == [f"correction number {number} of a person" for number in (1, 2, 3)]
    assert abs(datetime.fromisoformat(before["fitted"]) - datetime.now(UTC)) < timedelta(minutes=5)
