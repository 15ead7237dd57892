"""Label edits over HTTP: names for people, and several edits as one record."""

import pytest

from abound import Tagger
from abound.errors import ServerError
from abound.server import Home
from abound.store.journal import Journal
from abound.store.journal.records import EditLabels
from tests.server.http.asgi import talk
from tests.server.http.running import Running

NAMES = {"u1": ["skis"], "u2": ["skiing", "ski sport"], "u3": ["snow"]}
EDITS = [
    {"add": {"label": "u4", "names": ["alpine skiing"]}},
    {"move": {"label": "u4", "broader": ["u2"]}},
    {"rename": {"label": "u1", "to": "v1"}},
    {"name": {"label": "v1", "names": ["boards"]}},
    {"merge": {"label": "u3", "into": "u2"}},
]


@pytest.fixture
def home(tmp_path):
    tagger = Tagger().fit(["long skis", "skiing race", "white snow"], [["u1"], ["u2"], ["u3"]], label_names=NAMES)
    return Home.create(tmp_path / "home", tagger)


def asked(home, *requests):
    async def conversation(client):
        answers = [await client.request(method, path, json=body) for method, path, body in requests]
        return [(answer.status_code, answer.json()) for answer in answers]

    return talk(home, conversation)


def edit(body):
    return ("PATCH", "/v1/labels", body)


def search(prefix):
    return ("GET", f"/v1/labels?prefix={prefix}", None)


def test_several_edits_are_one_record(home):
    *_, tried, done, model, boards, snow = asked(
        home,
        edit({"edits": EDITS, "dry_run": True}),
        edit({"edits": EDITS}),
        ("GET", "/v1/model", None),
        search("skis"),
        search("snow"),
    )
    assert tried == (200, {"changes": {"texts": 3, "words": tried[1]["changes"]["words"]}})
    assert done[0] == 200
    assert done[1]["sequence"] == model[1]["sequence"] == 1
    assert boards[1]["labels"][0] == {"label": "v1", "count": 1, "name": "boards", "found_by": "skis"}
    assert [found["label"] for found in snow[1]["labels"]] == ["u2"]
    with Journal(home.journal_path) as journal:
        [stored] = journal.read()
    assert isinstance(stored.record, EditLabels)
    assert len(stored.record.edits) == 5


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"edits": [*EDITS, {"retire": {"label": "nobody"}}]}, "edit 6 of 6: label 'nobody' is not known"),
        ({"edits": [*EDITS, {"retire": {"label": "nobody"}}], "dry_run": True}, "edit 6 of 6"),
        ({"edits": [{}]}, "edit 1 must have exactly one of add, name"),
        ({"edits": [{"retire": {"label": "u1"}, "add": {"label": "x"}}]}, "edit 1 must have exactly one of"),
        ({"edits": EDITS, "retire": {"label": "u1"}}, "either one label edit, or several"),
        ({"edits": []}, "length >= 1"),
        ({"move": {"label": "u1", "broader": ["u1"]}}, "broader than itself"),
    ],
)
def test_one_bad_edit_changes_nothing(home, body, words):
    (status, problem), (_, model) = asked(home, edit(body), ("GET", "/v1/model", None))
    assert status == 422
    assert words in problem["detail"]
    assert model["sequence"] == 0


def test_the_answer_has_the_names_of_the_label(home):
    answers = asked(
        home,
        edit({"rename": {"label": "u1", "to": "v1"}}),
        edit({"name": {"label": "v1", "names": ["boards", "planks"]}, "dry_run": True}),
        edit({"name": {"label": "v1", "names": ["boards", "planks"], "former": ["slats"]}}),
        edit({"merge": {"label": "v1", "into": "u2"}}),
        edit({"retire": {"label": "u3"}}),
        search("slats"),
    )
    names = [answer.get("names") for _, answer in answers[:5]]
    assert names == [["skis"], ["boards", "planks"], ["boards", "planks"], ["skiing", "ski sport"], ["snow"]]
    assert [found["label"] for found in answers[5][1]["labels"]] == ["u2"]


def test_ten_thousand_edits_pass_through_workers(home):
    edits = [{"add": {"label": f"http://example.org/{n}", "names": [f"new concept {n}"]}} for n in range(10_000)]
    with Running(home.path, "--workers", "2") as server, server.client(timeout=60) as client:
        done = client.edit_labels(edits)
        assert done.sequence == 1
        assert client.labels("http", 1)[0].label.startswith("http://example.org/")
        assert client.name_label("u1", ["boards"]).names == ["boards"]
        client.move_label("u1", ["u2"])
        with pytest.raises(ServerError, match="edit 1 of 1: label 'x' is not known"):
            client.edit_labels([{"retire": {"label": "x"}}])
        assert client.model()["sequence"] == 3
