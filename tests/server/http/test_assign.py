"""Assigned labels over HTTP are those of `Tagger.assign`, with merged, renamed and retired labels as they are shown."""

import warnings

import pytest

from abound import Tagger
from abound.client import Client
from abound.errors import ServerError, UnreachablePrecision
from abound.server import Home
from abound.store.journal.records import MergeLabels, RenameLabel, RetireLabel
from tests.server.http.asgi import talk
from tests.server.http.running import Running
from tests.server.streams import base
from tests.test_tagger_bands import documents

TEXTS = ["apple pear plum", "race car goal", "lorry"]


@pytest.fixture(scope="module")
def tagger():
    return Tagger().fit(*documents(400))


def ask(home, body, *records):
    async def conversation(client):
        for record in records:
            client.writer.submit(record).result(30)
        return await client.post("/v1/assign", json=body)

    return talk(home, conversation)


def labels_of(rows):
    return [[entry["label"] for entry in row] for row in rows]


@pytest.mark.parametrize("how", [{}, {"threshold": 0.3}, {"precision": 0.9}])
def test_a_server_assigns_what_the_tagger_assigns(tmp_path, tagger, how):
    answer = ask(Home.create(tmp_path / "home", tagger), {"texts": TEXTS, **how}).json()
    wanted = tagger.assign_many(TEXTS, **how)
    assert any(wanted)
    assert [[(e["label"], e["probability"]) for e in row] for row in answer["results"]] == [
        [(entry.label, entry.probability) for entry in row] for row in wanted
    ]
    assert "note" not in answer


@pytest.mark.parametrize("repeats", [1, 20_000])
def test_a_ranking_marks_the_labels_to_apply_also_for_long_texts(tmp_path, tagger, repeats):
    text = " ".join([TEXTS[0]] * repeats)

    async def conversation(client):
        return await client.post("/v1/rank", json={"text": text, "k": 3, "assign": True})

    answer = talk(Home.create(tmp_path / "home", tagger), conversation).json()
    wanted = {entry.label for entry in tagger.assign(text)}
    assert {entry["label"] for entry in answer["labels"] if entry["assigned"]} == wanted
    assert len(answer["labels"]) <= 3


def test_labels_are_assigned_as_they_are_shown(tmp_path, tagger):
    edits = [MergeLabels("fruit", "vehicle"), RenameLabel("sport", "sports"), RetireLabel("chance")]
    answer = ask(Home.create(tmp_path / "home", tagger), {"texts": TEXTS}, *edits).json()
    first, second, third = labels_of(answer["results"])
    assert first[0] == third[0] == "vehicle"
    assert "sports" in second
    assert {*first, *second, *third} == {"sports", "vehicle"}


def test_a_precision_out_of_reach_is_told(tmp_path, tagger):
    answer = ask(Home.create(tmp_path / "home", tagger), {"text": TEXTS[0], "precision": 0.9999}).json()
    assert answer["results"] == [[]]
    assert answer["note"].startswith("a precision of 99.99% cannot be")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({}, "send either text or texts"),
        ({"text": "a", "texts": ["b"]}, "send either text or texts"),
        ({"text": "a", "threshold": 0.5, "precision": 0.5}, "either a threshold or a precision"),
        ({"text": "a", "threshold": 0}, "threshold"),
        ({"text": "a", "precision": 1.5}, "precision"),
    ],
)
def test_what_cannot_be_assigned_is_refused(tmp_path, tagger, body, words):
    answer = ask(Home.create(tmp_path / "home", tagger), body)
    assert answer.status_code == 422
    assert words in answer.json()["detail"]


def test_a_model_without_probabilities_is_told(tmp_path):
    answer = ask(Home.create(tmp_path / "home", base()), {"text": "a red apple"})
    assert answer.status_code == 409
    assert answer.json()["detail"].startswith("the model has no probabilities yet")


def test_the_client_assigns(tmp_path, tagger):
    home = Home.create(tmp_path / "home", tagger)
    with Running(home.path) as server, Client(server.url) as client:
        assert [entry.label for entry in client.assign(TEXTS[0])] == [e.label for e in tagger.assign(TEXTS[0])]
        assert [entry.label for entry in client.assign(TEXTS[0], threshold=0.01)] == [
            entry.label for entry in tagger.assign(TEXTS[0], threshold=0.01)
        ]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert client.assign_many([]) == []
        with pytest.warns(UnreachablePrecision, match="a precision of 99.99% cannot be"):
            assert client.assign(TEXTS[0], precision=0.9999) == []
        with pytest.raises(ServerError, match="either a threshold or a precision"):
            client.assign(TEXTS[0], precision=0.5, threshold=0.5)
