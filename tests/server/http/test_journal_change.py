"""A live client continues when its server has another journal, or an earlier state of its journal."""

import shutil
import warnings

import httpx
import pytest

from abound.errors import JournalWarning
from abound.server import Home
from tests.server.http.asgi import talk
from tests.server.http.running import Running
from tests.server.streams import base


def teach(client, n):
    for number in range(n):
        client.learn(f"text {number}", added=[f"label {number}"])


def continues(client):
    """Check that a client warns once, then knows what it teaches."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert client.rank("a red apple")[0].label == "fruit"
        learned = client.learn("a new text", added=["new"])
        assert client.rank("a new text")[0].label == "new"
    assert client.sequence == learned.sequence
    assert [one.category for one in caught] == [JournalWarning]
    return str(caught[0].message)


def test_a_client_meets_another_home(tmp_path):
    homes = [Home.create(tmp_path / name, base()) for name in ("one", "two")]
    with Running(homes[0].path) as server, server.client() as client:
        teach(client, 6)
        before, port = client.journal, server.port
        assert server.stop() == 0
        with Running(homes[1].path, port=port):
            assert "now serves another journal" in continues(client)
        assert client.sequence == 1
        assert None not in (before, client.journal)
        assert client.journal != before


def test_a_client_meets_another_home_while_it_learns(tmp_path):
    homes = [Home.create(tmp_path / name, base()) for name in ("one", "two")]
    with Running(homes[0].path) as server, server.client() as client:
        teach(client, 3)
        port = server.port
        assert server.stop() == 0
        with Running(homes[1].path, port=port), pytest.warns(JournalWarning, match="another journal"):
            assert client.learn("a new text", added=["new"]).sequence == 1


@pytest.mark.parametrize("retries", [0, 8])
def test_a_client_meets_an_earlier_state_of_its_journal(tmp_path, retries):
    home = Home.create(tmp_path / "home", base())
    with Running(home.path) as server, server.client(retries=retries) as client:
        teach(client, 2)
        shutil.copytree(home.path, tmp_path / "copy")
        teach(client, 4)
        port = server.port
        assert server.stop() == 0
        shutil.rmtree(home.path)
        (tmp_path / "copy").rename(home.path)
        client.close()
        with Running(home.path, port=port):
            assert "ends before record 6, so it was restored from a copy" in continues(client)
        assert client.sequence == 3


def test_a_sequence_of_another_journal_is_not_waited_for(tmp_path):
    home = Home.create(tmp_path / "home", base())

    async def conversation(client):
        first = await client.post("/v1/rank", json={"text": "apple"})
        journal = first.headers["x-abound-journal"]
        answers = []
        for known in (journal, "another"):
            headers = {"X-Abound-Sequence": "7", "X-Abound-Journal": known}
            answers.append(await client.post("/v1/rank", json={"text": "apple"}, headers=headers))
        refused = await client.get("/v1/nothing")
        return journal, answers, refused

    journal, (same, another), refused = talk(home, conversation)
    assert (same.status_code, another.status_code) == (412, 200)
    assert (another.json()["sequence"], another.headers["x-abound-sequence"]) == (0, "0")
    assert {answer.headers["x-abound-journal"] for answer in (same, another, refused)} == {journal}


def test_all_workers_name_the_same_journal(tmp_path):
    home = Home.create(tmp_path / "home", base())
    with Running(home.path, "--workers", 2) as server:
        answers = [httpx.get(server.url + "/v1/model", timeout=120) for _ in range(20)]
    assert len({answer.headers["x-abound-journal"] for answer in answers}) == 1
