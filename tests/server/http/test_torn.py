"""The content and the sequence of an answer belong to one state, however fast the model learns."""

import asyncio
import sys
import threading
from pathlib import Path

import pytest

from abound.server import Home
from abound.server.http import about, introspection, ranking
from abound.server.http.bodies import ExplainRequest, ModelRequest, RankRequest
from abound.server.http.endpoints import Call
from abound.server.http.introspection import WordRequest
from abound.server.http.service import Service
from abound.server.queries import TextRow, rank_features
from abound.server.replica import Replica
from abound.store.journal.records import Learn, MergeLabels
from tests.server.http.asgi import talk
from tests.server.streams import base

ASKED = 1500


class _Alone:
    closed = False
    token = ""
    path = Path("home") / "journal.sqlite"


@pytest.fixture
def learning():
    """Return a replica that learns record after record; record n makes "<n>" the first label of "pear"."""
    replica, stop, before = Replica(base()), threading.Event(), sys.getswitchinterval()

    def learn():
        while not stop.is_set():
            number = replica.sequence + 1
            replica.apply(number, Learn("pear", added=[str(number)], rejected=[str(number - 1)] if number > 1 else ()))

    replica.apply(1, Learn("pear", added=["1"]))
    thread = threading.Thread(target=learn)
    sys.setswitchinterval(1e-6)
    thread.start()
    yield replica
    stop.set()
    thread.join()
    sys.setswitchinterval(before)


def test_a_ranking_is_of_the_sequence_that_it_says(learning):
    async def run():
        service = Service(learning, _Alone())
        for explain in (False, True):
            for _ in range(ASKED):
                found = ranking.rank(Call(service, RankRequest(text="pear", k=1, explain=explain), None, ()))
                assert found.labels[0].label == str(found.sequence)
        for _ in range(ASKED):
            found = ranking.rank(Call(service, RankRequest(features={"pear": 1.0}, k=1), None, ()))
            assert found.labels[0].label == str(found.sequence)

    asyncio.run(run())


def test_reasons_are_of_the_sequence_that_they_say(learning):
    async def run():
        service = Service(learning, _Alone())
        for _ in range(ASKED):
            label = str(learning.sequence)
            found = ranking.explain(Call(service, ExplainRequest("pear", label), None, ()))
            with learning.reading():
                now, after = learning.sequence, learning.explain("pear", label)
            assert found.score == after.score or found.sequence != now

    asyncio.run(run())


def test_a_word_and_the_model_are_of_the_sequence_that_they_say(learning, tmp_path):
    journal_client = _Alone()
    journal_client.path = Home.create(tmp_path / "home", base()).journal_path

    async def run():
        service = Service(learning, journal_client)
        for _ in range(ASKED):
            found = introspection.word(Call(service, WordRequest("pear"), None, ()))
            assert found.labels[0].label == str(found.sequence)
        with learning.reading():
            rows = learning.tagger.n_rows - learning.sequence
        for _ in range(ASKED):
            found = await about.model(Call(service, ModelRequest(), None, ()))
            assert found.rows == found.sequence + rows
        for _ in range(20):
            found = await about.model(Call(service, ModelRequest(hash=True), None, ()))
            assert found.rows == found.sequence + rows

    asyncio.run(run())


def test_scores_of_features_are_finite(tmp_path):
    home = Home.create(tmp_path / "home", base())

    async def conversation(client):
        body = {"features": {"apple": 1e308, "red": 1e308}}
        refused = await client.post("/v1/rank", json=body)
        most = await client.post("/v1/rank", json={"features": {"apple": 1e9, "red": 1e9, "fast": -1e9}})
        return refused, most

    refused, most = talk(home, conversation)
    assert refused.status_code == 422
    assert "<= 1000000000.0" in refused.json()["detail"]
    assert all(isinstance(label["score"], float) for label in most.json()["labels"])
    assert rank_features(Replica(base()), {"apple": 1e9}, 3)[0].label == "fruit"


def test_the_row_of_a_long_text_is_of_the_state_that_ranks_it():
    """Its words are weighed by document frequencies, which a record between the two pieces changes."""
    replica, text = Replica(base()), "pear apple train"
    row = TextRow(replica, text)
    replica.apply(1, Learn("train train timetable", added=["1"]))
    assert row.rank(3) == replica.rank_many([text], 3)[0]


def test_reasons_of_a_merged_label_in_pieces_are_of_one_state(monkeypatch):
    monkeypatch.setattr(ranking, "SHORT_TEXT", 0)
    monkeypatch.setattr(ranking, "PIECE_REASONS", 1)
    replica = Replica(base())
    for number, label in enumerate(("one", "two"), 1):
        replica.apply(number, Learn("pear", added=[label]))
    replica.apply(3, MergeLabels("two", "one"))

    async def run():
        service = Service(replica, _Alone())
        asked = asyncio.ensure_future(ranking.explain(Call(service, ExplainRequest("pear", "one"), None, ())))
        for number in range(4, 12):  # a record between any two pieces
            await asyncio.sleep(0)
            replica.apply(number, Learn("pear", added=["one"]))
        found = await asked
        assert found.score == sum(word.vote for word in found.words) + (found.prior or 0.0)
        return found

    found = asyncio.run(run())
    fresh = Replica(base())
    for number, record in enumerate(
        [Learn("pear", added=["one"]), Learn("pear", added=["two"]), MergeLabels("two", "one")]
        + [Learn("pear", added=["one"])] * (found.sequence - 3),
        1,
    ):
        fresh.apply(number, record)
    assert found.score == pytest.approx(fresh.explain("pear", "one").score, rel=1e-12)
