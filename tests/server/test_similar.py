"""Similar texts of a served model: by HTTP, by the client, and with renamed, merged and retired labels."""

import pytest

from abound import Tagger, load
from abound.client import Client
from abound.errors import ServerError
from abound.server import Home, Writer
from abound.store.journal.records import Learn, MergeLabels, NameLabel, RenameLabel, RetireLabel
from tests.second_opinion.test_similar_words import documents
from tests.server.http.asgi import talk
from tests.server.http.running import Running

TEXT = "bread and the butter of a cake"


@pytest.fixture(scope="module")
def tagger():
    return Tagger(embeddings="words").fit(*documents(), label_names={"food": "Food and drink"})


def ask(home, path, body, *records):
    async def conversation(client):
        for record in records:
            client.writer.submit(record).result(30)
        return await client.post(path, json=body)

    return talk(home, conversation)


def test_an_explanation_has_similar_texts_with_the_label(tmp_path, tagger):
    home = Home.create(tmp_path / "home", tagger)
    found = ask(home, "/v1/explain", {"text": TEXT, "label": "food"}).json()["similar"]
    wanted = tagger.similar(TEXT, label="food")
    assert len(wanted) == 3
    assert [(one["text"], one["similarity"]) for one in found] == [(one.text, one.similarity) for one in wanted]
    assert all(one["labels"] == [{"label": "food", "name": "Food and drink"}] for one in found)


def test_similar_texts_of_a_text(tmp_path, tagger):
    home = Home.create(tmp_path / "home", tagger)
    found = ask(home, "/v1/similar", {"text": TEXT, "k": 5}).json()
    assert found["sequence"] == 0
    assert [one["text"] for one in found["texts"]] == [one.text for one in tagger.similar(TEXT, 5)]
    home = Home.create(tmp_path / "again", tagger)
    assert ask(home, "/v1/similar", {"text": TEXT, "k": 0}).status_code == 422


def test_labels_are_shown_as_they_are_called_now(tmp_path, tagger):
    records = [
        Learn("zebras and giraffes", added=("zoo",)),
        Learn("giraffes in a herd", added=("giraffe",)),
        MergeLabels("zoo", "giraffe"),
        RenameLabel("giraffe", "animals"),
        NameLabel("animals", ("Animals of Africa",)),
        RetireLabel("food"),
    ]
    asked = {"text": "giraffes with bread and butter w3", "k": 10}
    found = ask(Home.create(tmp_path / "home", tagger), "/v1/similar", asked, *records).json()["texts"]
    texts = {one["text"]: one["labels"] for one in found}
    animals = [{"label": "animals", "name": "Animals of Africa"}]
    assert texts["zebras and giraffes"] == texts["giraffes in a herd"] == animals
    assert {"label": "food"} not in [label for one in found for label in one["labels"]]
    assert all(one["labels"] for one in found)
    home = Home.create(tmp_path / "again", tagger)
    body = {"text": "giraffes", "label": "zoo"}
    found = ask(home, "/v1/explain", body, *records).json()
    assert {one["text"] for one in found["similar"]} == {"zebras and giraffes", "giraffes in a herd"}
    served = load(tmp_path / "again")
    assert {one.text for one in served.similar("giraffes", label="zoo")} == {one["text"] for one in found["similar"]}
    assert served.similar("giraffes")[0].labels == ["animals"]


def test_a_model_without_similar_texts_says_so(tmp_path):
    texts, labels = documents()
    for number, tagger in enumerate(
        [Tagger().fit(texts, labels), Tagger(embeddings="words").fit(texts, labels, keep_examples=False)]
    ):
        home = Home.create(tmp_path / f"home-{number}", tagger)
        assert "similar" not in ask(home, "/v1/explain", {"text": TEXT, "label": "food"}).json()
        home = Home.create(tmp_path / f"again-{number}", tagger)
        answer = ask(home, "/v1/similar", {"text": TEXT})
        assert (answer.status_code, "no similar texts" in answer.json()["detail"]) == (409, True)


def test_a_forgotten_text_is_not_shown(tmp_path, tagger):
    home = Home.create(tmp_path / "home", tagger)
    with Running(home.path) as running, Client(running.url) as client:
        learned = client.learn("secret zebras and giraffes", added=["zoo"])
        assert [one.text for one in client.similar("giraffes")] == ["secret zebras and giraffes"]
        client.forget([learned.sequence], "private")
        assert client.similar("giraffes") == []


def test_the_client_returns_similar_texts(tmp_path, tagger):
    home = Home.create(tmp_path / "home", tagger)
    with Running(home.path) as running, Client(running.url) as client:
        found = client.similar(TEXT, 2)
        assert [one.text for one in found] == [one.text for one in tagger.similar(TEXT, 2)]
        assert (found[0].labels, found[0].names) == (["food"], ["Food and drink"])
        assert client.explain(TEXT, "food").similar == client.similar(TEXT, 3)
        assert client.model()["similar"] is True
        with pytest.raises(ServerError):
            client.similar(TEXT, 1000)


def test_the_writer_needs_no_vectors_for_words(tmp_path, tagger):
    home = Home.create(tmp_path / "home", tagger)
    with Writer(home) as writer:
        writer.submit(Learn("zebras and giraffes", added=("zoo",))).result(30)
        assert [one.text for one in writer.replica.tagger.similar("giraffes")] == ["zebras and giraffes"]
