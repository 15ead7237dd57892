"""Names of labels over HTTP: the writer replaces them by ids before a record is written."""

import pytest

from abound import Tagger
from abound.errors import ServerError
from abound.server import Home, Replica, Writer
from abound.server.replay import follow
from abound.store.journal import Journal
from abound.store.journal.records import Learn
from tests.server.http.asgi import talk
from tests.server.http.running import Running

NAMES = {"u1": ["sukset", "skis"], "u2": ["hiihto"], "u3": ["mercury", "metal"], "u4": ["mercury"]}


def tagger():
    texts, labels = ["long skis", "a race", "hot metal", "a planet"], [["u1"], ["u2"], ["u3"], ["u4"]]
    return Tagger().fit(texts, labels, label_names=NAMES)


@pytest.fixture
def home(tmp_path):
    return Home.create(tmp_path / "home", tagger())


def records(home):
    with Journal(home.journal_path) as journal:
        return [stored.record for stored in journal.read()]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_server_takes_names(home, workers):
    with Running(home.path, "--workers", str(workers)) as server, server.client() as client:
        learned = client.learn("wax", added=["Sukset", "xyz"], rejected=["hiihto"], key="k")
        assert (learned.new_labels, learned.resolved) == (["xyz"], {"Sukset": "u1", "hiihto": "u2"})
        assert client.rank("wax", 2, only=["skis"])[0].label == "u1"
        assert client.explain("wax", "skis").label == "u1"
        with pytest.raises(ServerError, match=r"'mercury' is the name of 2 labels: u3 \(mercury, metal\), u4"):
            client.learn("x", added=["mercury"])
        with pytest.raises(ServerError, match="label 'nobody' is not known, so there is nothing to learn"):
            client.learn("x", added=["u1"], rejected=["nobody"])
        client.name_label("u1", ["boards"])
        client.name_label("u2", ["sukset"])
        again = client.learn("wax", added=["Sukset", "xyz"], rejected=["hiihto"], key="k")
        assert (again.sequence, again.repeated) == (1, True)  # recognized, although the names have changed
        assert client.learn("wax", added=["sukset"]).resolved == {"sukset": "u2"}  # a shown name before a former one
        assert client.learn("wax", added=["skis"]).resolved == {"skis": "u1"}  # a former name
        assert client.learn("wax", added=["skis"], labels_are="ids").new_labels == ["skis"]
        with pytest.raises(ServerError, match="labels_are"):
            client.learn("wax", added=["skis"], labels_are="both")
    assert records(home)[0] == Learn("wax", rejected=["u2"], added=["u1", "xyz"])


def test_merged_labels_are_found_by_their_names(home):
    with Running(home.path) as server, server.client() as client:
        client.merge_labels("u1", "u2")
        assert client.learn("wax", added=["skis"]).resolved == {"skis": "u2"}
        client.retire_label("u3")
        assert client.learn("wax", added=["mercury"]).resolved == {"mercury": "u4"}  # the other one is retired
        with pytest.raises(ServerError, match="retired"):
            client.learn("wax", added=["metal"])


def test_a_label_is_described_and_its_records_are_listed_by_any_of_its_names(home):
    async def conversation(client):
        for edit in ({"merge": {"label": "u1", "into": "u2"}}, {"name": {"label": "u2", "names": ["snow sports"]}}):
            assert (await client.patch("/v1/labels", json=edit)).status_code == 200
        await client.post("/v1/learn", json={"text": "wax", "added": ["u1"]})
        names = ("u1", "u2", "snow sports", NAMES["u1"][0], NAMES["u2"][0])
        details = [(await client.get("/v1/label", params={"name": name})).json() for name in names]
        listed = [(await client.get("/v1/records", params={"label": name, "kind": "learn"})).json() for name in names]
        both = await client.get("/v1/label", params={"name": "mercury"})  # the name of two labels
        return details, listed, both.status_code

    details, listed, both = talk(home, conversation)
    assert [found["label"] for found in details] == ["u2"] * 5
    assert (details[0]["names"], set(details[0]["former"])) == (["snow sports"], {*NAMES["u1"], *NAMES["u2"]})
    assert [[record["sequence"] for record in answer["records"]] for answer in listed] == [[3]] * 5
    assert both == 404


def test_a_replay_is_the_same_state(home):
    with Writer(home) as writer:
        for record in (
            Learn("wax", added=["sukset"]),
            Learn("grip wax", added=["new"], rejected=["skis"]),
            Learn("wax", added=["u2"], rejected=["new"]),
        ):
            writer.submit(record).result(30)
        state = writer.replica.state_hash()
    replica = Replica(tagger(), journal="")
    with Journal(home.journal_path) as journal:
        follow(replica, journal)
    assert replica.state_hash() == state


def test_a_label_may_be_rejected_by_the_record_after_the_one_that_made_it(home):
    with Writer(home) as writer:
        answers = [
            writer.submit(Learn("wax", added=["new"])),
            writer.submit(Learn("race", added=["u1"], rejected=["new"])),
        ]
        assert [answer.result(30).sequence for answer in answers] == [1, 2]


def test_labels_of_old_records_are_not_taken_as_names(home):
    replica = Replica(tagger())
    replica.apply(1, Learn("wax", added=["sukset"]))  # written by a version that did not resolve names
    assert "sukset" in replica.labels.book
