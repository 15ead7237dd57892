"""Texts with fields over HTTP: ranked, explained, learned, kept in the journal and replayed."""

import json

import pytest

from abound import Tagger
from abound.cli import main
from abound.errors import ServerError
from abound.server import Home
from abound.store.journal import Journal
from abound.texts import FieldSpan
from tests.server.http.asgi import talk
from tests.server.http.running import Running
from tests.test_tagger_fields import LABELS, TEXTS

TEXT = {"title": "Apple trees", "abstract": "a red fruit 🍎 with cream"}


@pytest.fixture
def tagger():
    return Tagger().fit(TEXTS, LABELS)


@pytest.fixture
def home(tmp_path, tagger):
    return Home.create(tmp_path / "home", tagger)


def ask(home, path, body):
    async def conversation(client):
        return await client.post(path, json=body)

    return talk(home, conversation)


def test_every_endpoint_answers_as_the_tagger_does(home, tagger):
    async def conversation(client):
        bodies = {
            "/v1/rank": {"text": TEXT, "explain": True},
            "/v1/rank/batch": {"texts": [TEXT, "red apple"]},
            "/v1/assign": {"text": TEXT},
            "/v1/explain": {"text": TEXT, "label": "fruit"},
        }
        answers = {path: (await client.post(path, json=body)).json() for path, body in bodies.items()}
        return answers, (await client.get("/v1/model")).json()

    answers, about = talk(home, conversation)
    assert about["fields"] == ["title", "abstract"]
    wanted = [(entry.label, entry.score) for entry in tagger.rank(TEXT)]
    assert [(entry["label"], entry["score"]) for entry in answers["/v1/rank"]["labels"]] == wanted
    rows = answers["/v1/rank/batch"]["results"]
    assert [(entry["label"], entry["score"]) for entry in rows[0]] == wanted
    assert [entry["score"] for entry in rows[1]] == [entry.score for entry in tagger.rank("red apple")]
    assigned = [[entry["label"] for entry in row] for row in answers["/v1/assign"]["results"]]
    assert assigned == [[entry.label for entry in tagger.assign(TEXT)]]
    explained = tagger.explain(TEXT, "fruit")
    for words in (answers["/v1/explain"]["words"], answers["/v1/rank"]["labels"][0]["words"]):
        assert [(word["word"], word["fields"]) for word in words] == [(w.word, w.fields) for w in explained.words]
        assert [word["spans"] for word in words] == [[list(span[:2]) for span in w.spans] for w in explained.words]


def test_a_plain_text_has_no_fields_in_its_answer(home):
    answer = ask(home, "/v1/rank", {"text": "red apple", "explain": True}).json()
    assert all("fields" not in word for label in answer["labels"] for word in label["words"])


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/rank", {}),
        ("/v1/assign", {}),
        ("/v1/explain", {"label": "fruit"}),
        ("/v1/learn", {"added": ["fruit"]}),
        ("/v1/feedback", {"label": "fruit", "score": 0.5, "shown": "suggest", "wanted": "apply"}),
    ],
)
def test_an_unknown_field_is_refused_in_one_sentence(home, path, body):
    answer = ask(home, path, {"text": {"title": "apple", "body": "pie"}, **body})
    assert answer.status_code == 422
    assert answer.json()["detail"] == "the model has no field 'body'; its fields: title, abstract"


@pytest.mark.parametrize("text", [{"title": 3}, ["title"], 7, {"title": None}])
def test_other_texts_are_refused(home, text):
    assert ask(home, "/v1/rank", {"text": text}).status_code == 422


def test_a_long_field_is_refused_as_a_long_text_is(home):
    answer = ask(home, "/v1/rank", {"text": {"title": "a " * 70_000, "abstract": "b " * 70_000}})
    assert answer.status_code == 413
    assert "125,000 words" in answer.json()["detail"]


def test_corrections_are_stored_and_replayed(tmp_path, home, capsys):
    with Running(home.path) as server, server.client() as client:
        assert client.rank(TEXT)[0].label == "fruit"
        client.learn(TEXT, rejected=["fruit"], added=["jam"])
        assert client.rank(TEXT)[0].label == "jam"
        client.learn("a plain text", added=["plain"])
        words = client.explain(TEXT, "jam").words
        assert {span.field for word in words for span in word.spans} == {"title", "abstract"}
        assert isinstance(words[0].spans[0], FieldSpan)
        assert [row[0].label for row in client.rank_many([TEXT, TEXT])] == ["jam", "jam"]
        assert client.assign(TEXT)
        with pytest.raises(ServerError, match="the model has no field 'body'; its fields: title, abstract"):
            client.rank({"body": "apple"})
        before = client.model(state_hash=True)
        server.kill()  # nothing but the journal is left
    with Running(home.path) as server, server.client() as client:
        after = client.model(state_hash=True)
        assert (after["state_hash"], after["sequence"]) == (before["state_hash"], before["sequence"])
        assert client.rank(TEXT)[0].label == "jam"
    with Journal(home.journal_path) as journal:
        assert list(journal.damage()) == []
        assert next(iter(journal.read())).record.text == TEXT
    with pytest.raises(SystemExit):
        main(["journal", "export", str(home.path), "--texts"])
    exported = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert exported[0] == {"id": "1", "text": TEXT, "labels": ["jam"]}
    (tmp_path / "more.jsonl").write_text("".join(json.dumps(row) + "\n" for row in exported))
    with pytest.raises(SystemExit) as ended:
        main(["fit", str(tmp_path / "more.jsonl"), "--model", str(tmp_path / "model")])
    assert not ended.value.code


def test_a_model_without_fields_joins_them_and_stays_the_same_after_a_replay(tmp_path):
    home = Home.create(tmp_path / "plain", Tagger().fit(["red apple", "fast car"], [["fruit"], ["vehicle"]]))
    with Running(home.path) as server, server.client() as client:
        client.learn({"title": "zebra crossing", "abstract": "apple pie"}, added=["odd"])
        before = client.model(state_hash=True)["state_hash"]
        server.kill()
    with Running(home.path) as server, server.client() as client:
        assert client.model(state_hash=True)["state_hash"] == before
