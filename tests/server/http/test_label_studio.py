"""Label Studio's ML backend: predictions of what a project offers, and annotations that are taught once."""

import asyncio
import base64
import sqlite3
import time

import httpx
import pytest

from abound import Tagger
from abound.errors import JournalUnavailable
from abound.hierarchy import Hierarchy
from abound.server import Home
from abound.server.deliveries import Deliveries
from abound.server.http import settling
from abound.server.http.keys import KeyAuthenticator, KeyFile
from abound.store.journal import Journal
from tests.server.http.asgi import talk
from tests.server.http.label_studio_bodies import (
    CHOICES,
    LATER,
    NOON,
    annotated,
    config,
    deleted,
    predicting,
    project,
    region,
)
from tests.server.http.running import Running

NAMES = {"fruit": ["Fruit", "fruits"], "vehicle": ["Vehicle"]}
PATH = "/label-studio/subjects"


@pytest.fixture
def home(tmp_path):
    tagger = Tagger(language="en").fit(["a red apple", "a fast car"], [["fruit"], ["vehicle"]], label_names=NAMES)
    return Home.create(tmp_path / "subjects.served", tagger)


def ask(home, path, body=None, **options):
    async def conversation(client):
        return await client.request("GET" if body is None else "POST", PATH + path, json=body, **options)

    return talk(home, conversation)


def records(home):
    """Return the labels of the corrections that count, and the number of all records."""
    with Journal(home.journal_path) as journal:
        stored, excluded = list(journal.read(0)), journal.lineage().excluded
    counting = [one.record for one in stored if one.sequence not in excluded and one.record.kind == "learn"]
    return [(*one.accepted, *one.added) for one in counting], len(stored)


def send(home, *bodies, **options):
    """Send bodies one after another, each when the one before is settled; return the answers."""

    async def conversation(client):
        answers = []
        for body in bodies:
            answers.append(await client.post(PATH + "/webhook", json=body))
            await settled(client.app.service)
        return answers

    return talk(home, conversation, **options)


async def settled(service):
    ends = time.monotonic() + 60
    while service.settler.is_busy:
        assert time.monotonic() < ends
        await asyncio.sleep(0.01)


# -- predictions -------------------------------------------------------------------------------------


def test_it_is_set_up_as_label_studio_does_it(home):
    assert ask(home, "/health").json() == {"status": "UP", "model_class": "subjects"}
    setup = {"project": "1.1794905737", "schema": config(), "hostname": "", "access_token": "x", "extra_params": None}
    assert ask(home, "/setup", setup).json() == {"model_version": "subjects 0"}
    assert ask(home, "/versions").json() == {"versions": ["subjects 0"]}
    assert ask(home, "/webhook", {"action": "START_TRAINING", "project": project()}).json() == {"done": True}


def test_it_predicts_what_the_config_offers_under_its_names(home):
    fruit, car, nothing = ask(home, "/predict", predicting("an apple", "a car", "zzz")).json()["results"]
    [found] = fruit["result"]
    assert (found["from_name"], found["to_name"], found["type"]) == ("subjects", "title", "choices")
    assert (found["value"], fruit["model_version"]) == ({"choices": ["Fruit"]}, "subjects 0")
    assert 0 < fruit["score"] == found["score"] <= 1
    assert car["result"][0]["value"] == {"choices": ["vehicle"]}  # the alias
    assert (nothing["result"], nothing["score"]) == ([], 0)


def test_it_predicts_no_label_that_the_config_does_not_offer(home):
    tags = '<Choices name="c" toName="title"><Choice value="fruit"/></Choices>'
    [both] = ask(home, "/predict", predicting("a car, a car, an apple", tags=tags)).json()["results"]
    assert both["result"][0]["value"] == {"choices": ["fruit"]}
    tags = '<Choices name="c" toName="title"><Choice value="stars"/></Choices>'
    assert ask(home, "/predict", predicting("a car", tags=tags)).json()["results"][0]["result"] == []


def many(count=200):
    texts = [f"{word} number {n}" for n in range(count // 2) for word in ("apple tree", "car road")]
    return texts, [["fruit", "plant"] if "apple" in text else ["vehicle"] for text in texts]


def test_one_option_or_as_many_as_are_assigned(tmp_path):
    home = Home.create(tmp_path / "subjects.served", Tagger().fit(*many()))
    options = "".join(f'<Choice value="{name}"/>' for name in ("fruit", "plant", "vehicle"))
    for choice, number in (("multiple", 2), ("single", 1), ("single-radio", 1)):
        tags = f'<Choices name="c" toName="title" choice="{choice}">{options}</Choices>'
        [found] = ask(home, "/predict", predicting("apple tree", tags=tags)).json()["results"]
        assert len(found["result"][0]["value"]["choices"]) == number, choice
        assert set(found["result"][0]["value"]["choices"]) <= {"fruit", "plant"}


def test_a_taxonomy_gets_paths(home):
    inner = '<Choice value="things"><Choice value="Fruit"/><Choice value="vehicle"/></Choice>'
    tags = f'<Taxonomy name="c" toName="title">{inner}</Taxonomy>'
    [found] = ask(home, "/predict", predicting("an apple", tags=tags)).json()["results"]
    assert found["result"][0]["type"] == "taxonomy"
    assert found["result"][0]["value"] == {"taxonomy": [["things", "Fruit"]]}


def test_a_taxonomy_from_an_address_gets_the_paths_of_the_model(tmp_path):
    tagger = Tagger().fit(["a red apple"], [["apples"]], label_names={"apples": ["Apples"], "fruit": ["Fruit"]})
    tagger.hierarchy = Hierarchy.from_pairs([("apples", "fruit")])
    tags = '<Taxonomy name="c" toName="title" apiUrl="http://example.org/tree"/>'
    home = Home.create(tmp_path / "subjects.served", tagger)
    [found] = ask(home, "/predict", predicting("apple", tags=tags)).json()["results"]
    assert found["result"][0]["value"] == {"taxonomy": [["Fruit", "Apples"]]}


def test_the_tag_is_the_one_that_offers_labels_of_the_model(home):
    tags = '<Choices name="mood" toName="title"><Choice value="good"/></Choices>' + CHOICES
    [found] = ask(home, "/predict", predicting("an apple", tags=tags)).json()["results"]
    assert found["result"][0]["from_name"] == "subjects"


def test_a_model_with_fields_gets_those_of_the_task(tmp_path):
    texts = [{"title": "apple", "notes": "red"}, {"title": "car", "notes": "fast"}]
    home = Home.create(tmp_path / "subjects.served", Tagger().fit(texts, [["Fruit"], ["vehicle"]]))
    body = predicting("nothing")
    body["tasks"][0]["data"] = {"text": "car", "title": "apple", "notes": "red", "year": 1999}
    assert ask(home, "/predict", body).json()["results"][0]["result"][0]["value"] == {"choices": ["Fruit"]}


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>' + config().replace("Subjects", "&b;")
WRONG = {
    "<View": "must be XML",
    "": "must be XML",
    BOMB: "must not have a document type",
    config(""): "must have a Choices or Taxonomy tag",
    config(CHOICES.replace('"title"', '"other"')): "must have a Choices or Taxonomy tag",
    config(CHOICES.replace("name=", 'perRegion="true" name=')): "must have a Choices or Taxonomy tag",
    config('<Choices name="c" toName="title"/>'): "must have options",
    config('<Choices name="c" toName="title"><Choice/></Choices>'): "must have a value",
    config('<Choices name="c" toName="title" value="$options"/>'): "not in the tasks",
    config(text='<Text name="title" value="fixed"/>'): "such as $text",
    config(text='<Text name="title" value="$text" valueType="url"/>'): "such as $text",
    config(
        '<Taxonomy name="c" toName="title">' + 60 * '<Choice value="x">' + 60 * "</Choice>" + "</Taxonomy>"
    ): "50 levels",
    config().replace("Subjects", "&nbsp;"): "must be XML",
}


@pytest.mark.parametrize(("schema", "message"), WRONG.items(), ids=range(len(WRONG)))
def test_a_wrong_config_is_refused_with_a_sentence(home, schema, message):
    for path, body in (("/setup", {"schema": schema}), ("/predict", {"tasks": [], "label_config": schema})):
        answer = ask(home, path, body)
        assert answer.status_code == 422
        assert message in answer.json()["detail"]
    body = annotated("ANNOTATION_CREATED", ["Fruit"])
    body["project"]["label_config"] = schema
    assert message in ask(home, "/webhook", body).json()["detail"]
    assert records(home) == ([], 0)


def test_a_name_of_several_labels_is_refused_with_the_choices(tmp_path):
    names = {"fruit": ["Bank"], "vehicle": ["Bank"]}
    tagger = Tagger().fit(["a red apple", "a fast car"], [["fruit"], ["vehicle"]], label_names=names)
    home = Home.create(tmp_path / "subjects.served", tagger)
    schema = config(CHOICES.replace("Fruit", "Bank"))
    answer = ask(home, "/setup", {"schema": schema})
    assert answer.status_code == 422
    assert "fruit" in answer.json()["detail"]
    assert "alias" in answer.json()["detail"]


def test_a_task_without_the_text_is_refused(home):
    body = predicting("a car")
    body["tasks"][0]["data"] = {"title": "a car"}
    answer = ask(home, "/predict", body)
    assert answer.status_code == 422
    assert answer.json()["detail"] == "task 0 must have a text in the field 'text'; its fields: 'title'"
    body["tasks"][0]["data"] = {"$undefined$": "a car"}
    assert ask(home, "/predict", body).json()["results"][0]["result"][0]["value"] == {"choices": ["vehicle"]}


def test_thousands_of_options_are_offered_quickly(tmp_path):
    labels = [f"label{n}" for n in range(5_000)]
    home = Home.create(
        tmp_path / "subjects.served", Tagger().fit([f"word{n}" for n in range(5_000)], [[x] for x in labels])
    )
    tags = '<Choices name="c" toName="title">' + "".join(f'<Choice value="{x}"/>' for x in labels) + "</Choices>"
    started = time.monotonic()
    [found] = ask(home, "/predict", predicting("word4321", tags=tags)).json()["results"]
    assert found["result"][0]["value"] == {"choices": ["label4321"]}
    assert time.monotonic() - started < 10


# -- annotations -------------------------------------------------------------------------------------


def test_an_annotation_is_taught_once(home):
    body = annotated("ANNOTATION_CREATED", ["Fruit", "vehicle"])
    answers = send(home, body, body)
    assert [answer.json() for answer in answers] == [{"done": True}] * 2
    assert send(home, body)[0].json() == {"done": True}  # by another process
    assert records(home) == ([("fruit", "vehicle")], 1)


def test_an_annotation_is_taught_once_when_its_key_has_expired(home):
    body = annotated("ANNOTATION_CREATED", ["Fruit"])
    send(home, body)
    with Journal(home.journal_path, write=True) as journal:
        journal.compact(1)
    with sqlite3.connect(home.journal_path) as connection:
        connection.execute("DELETE FROM key")  # as `compact` does after a week
    connection.close()
    send(home, body)
    assert records(home) == ([("fruit",)], 1)


def test_a_changed_annotation_replaces_the_former_one_and_a_deleted_one_is_taken_back(home):
    created = annotated("ANNOTATION_CREATED", ["Fruit"])
    changed = annotated("ANNOTATION_UPDATED", ["Unknown"], at=LATER)
    other = annotated("ANNOTATION_CREATED", ["vehicle"], number=8)
    send(home, created, other, changed, changed, created)
    assert records(home) == ([("vehicle",), ("Unknown",)], 4)
    send(home, deleted(), deleted(), created, changed)
    assert records(home) == ([("vehicle",)], 5)


def test_an_update_that_changes_nothing_writes_nothing(home):
    send(home, annotated("ANNOTATION_CREATED", ["Fruit"]), annotated("ANNOTATION_UPDATED", ["Fruit"], at=LATER))
    assert records(home) == ([("fruit",)], 1)


def test_skipped_and_empty_annotations_teach_nothing_and_take_back(home):
    skipped = annotated("ANNOTATION_CREATED", ["Fruit"], was_cancelled=True)
    empty = annotated("ANNOTATION_CREATED", ["Fruit"], number=8, result=[])
    assert [answer.json() for answer in send(home, skipped, empty)] == [{"done": True}] * 2
    assert records(home) == ([], 0)
    created = annotated("ANNOTATION_CREATED", ["Fruit"], number=9)
    send(home, created, annotated("ANNOTATION_UPDATED", ["Fruit"], at=LATER, number=9, was_cancelled=True), created)
    assert records(home) == ([], 2)


def test_deliveries_in_the_wrong_order_end_in_the_last_version(home):
    send(home, annotated("ANNOTATION_UPDATED", ["vehicle"], at=LATER), annotated("ANNOTATION_CREATED", ["Fruit"]))
    assert records(home) == ([("vehicle",)], 1)


def test_projects_and_installations_are_told_apart(home):
    first, second = annotated("ANNOTATION_CREATED", ["Fruit"]), annotated("ANNOTATION_CREATED", ["vehicle"])
    second["project"]["created_at"] = "2025-01-01T00:00:00Z"
    send(home, first, second)
    assert records(home) == ([("fruit",), ("vehicle",)], 2)


def test_what_the_prediction_had_and_the_person_removed_is_wrong(home):
    send(home, annotated("ANNOTATION_CREATED", ["Fruit"], prediction={"result": [region(["Fruit", "vehicle"])]}))
    with Journal(home.journal_path) as journal:
        [stored] = journal.read(0)
    assert (stored.record.accepted, stored.record.rejected, stored.record.added) == (("fruit",), ("vehicle",), ())
    assert (stored.source, stored.record.text) == ("label studio", "pear pie")


def test_several_annotations_are_taught_and_deleted_together(home):
    bodies = [annotated("x", ["Fruit"], number=number, text=f"pie {number}") for number in (1, 2)]
    created = {**bodies[0], "action": "ANNOTATIONS_CREATED"}
    created |= {"annotation": [one["annotation"] for one in bodies], "task": [one["task"] for one in bodies]}
    send(home, created)
    assert records(home) == ([("fruit",), ("fruit",)], 2)
    send(home, deleted(1, 2))
    assert records(home) == ([], 3)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"project": None}, "must send its payload"),
        ({"annotation": None}, "must send its payload"),
        ({"task": None}, "each annotation with its task"),
        ({"task": {"id": 3, "data": {"title": "x"}}}, "in the field 'text'"),
        ({"project": project(created_at="yesterday")}, "a time must be like"),
        ({"annotation": {"id": 7, "updated_at": "yesterday", "result": []}}, "a time must be like"),
        ({"annotation": {"id": 7, "updated_at": NOON, "result": [region([[]])]}}, "must be texts"),
        ({"annotation": {"id": 7, "updated_at": NOON, "result": "x"}}, "Expected `array"),
    ],
)
def test_a_wrong_event_is_refused_with_a_sentence(home, changes, message):
    answer = ask(home, "/webhook", {**annotated("ANNOTATION_CREATED", ["Fruit"]), **changes})
    assert answer.status_code == 422
    assert message in answer.json()["detail"]
    assert records(home) == ([], 0)


def test_a_label_that_may_not_be_added_is_refused_and_not_tried_again(home):
    [answer] = send(home, annotated("ANNOTATION_CREATED", ["Unknown"]), closed=True)
    assert answer.status_code == 422
    assert "Unknown" in answer.json()["detail"]
    assert Deliveries(home.path).names() == []


def test_an_answer_comes_in_time_and_the_next_process_finishes(home, monkeypatch):
    """Label Studio waits for one second; an undo takes longer."""
    send(home, annotated("ANNOTATION_CREATED", ["Fruit"]))

    async def conversation(client):
        started = time.monotonic()
        answer = await client.post(PATH + "/webhook", json=annotated("ANNOTATION_UPDATED", ["vehicle"], at=LATER))
        await client.app.service.settler.close()  # the process ends before the undo
        return answer, time.monotonic() - started

    monkeypatch.setattr(settling, "ANSWER_SECONDS", 0.05)
    answer, seconds = talk(home, conversation)
    assert answer.json() == {"done": False}
    assert seconds < 1
    assert len(Deliveries(home.path).names()) == 1

    async def wait(client):
        assert client.app.service.settler.is_busy
        await settled(client.app.service)

    talk(home, wait)
    assert records(home) == ([("vehicle",)], 3)
    assert Deliveries(home.path).names() == []


def test_a_full_disk_delays_and_loses_nothing(home, monkeypatch):
    monkeypatch.setattr(settling, "RETRY_SECONDS", 0.1)

    async def conversation(client):
        journal, append = client.writer.journal, client.writer.journal.append

        def fail(_):
            raise JournalUnavailable("the disk is full")

        journal.append = fail
        answer = await client.post(PATH + "/webhook", json=annotated("ANNOTATION_CREATED", ["Fruit"]))
        journal.append = append
        await settled(client.app.service)
        return answer

    assert talk(home, conversation).json() == {"done": False}
    assert records(home) == ([("fruit",)], 1)


# -- keys and processes ------------------------------------------------------------------------------


def test_keys_are_sent_as_a_password_or_as_a_header(home):
    file = KeyFile(home.path)
    reading, learning, other, admin = (
        file.add(name, scope) for name, scope in zip("abcd", ("read", "learn", "learn", "admin"), strict=True)
    )
    keys = KeyAuthenticator(file)

    def basic(key):
        return {"Authorization": "Basic " + base64.b64encode(f"label-studio:{key}".encode()).decode()}

    def status(path, body, headers):
        async def conversation(client):
            answer = await client.request("GET" if body is None else "POST", PATH + path, json=body, headers=headers)
            await settled(client.app.service)
            return answer.status_code

        return talk(home, conversation, authenticator=keys)

    created = annotated("ANNOTATION_CREATED", ["Fruit"])
    assert status("/health", None, {}) == 401
    assert status("/health", None, basic("wrong")) == 401
    assert status("/health", None, {"Authorization": "Basic ###"}) == 401
    assert status("/predict", predicting("a car"), basic(reading)) == 200
    assert status("/webhook", created, basic(reading)) == 403
    assert status("/webhook", created, {"Authorization": f"Bearer {learning}"}) == 200
    assert status("/webhook", deleted(), basic(other)) == 422  # taught with another key
    assert records(home) == ([("fruit",)], 1)
    assert status("/webhook", deleted(), basic(admin)) == 200
    assert records(home) == ([], 2)


@pytest.mark.parametrize("workers", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_a_server_that_is_killed_finishes_after_its_next_start(home, workers):
    with Running(home.path, "--workers", workers) as server, server.client() as client:
        for _ in range(4):  # by several workers
            assert post(server, annotated("ANNOTATION_CREATED", ["Fruit"])) == 200
        post(server, annotated("ANNOTATION_UPDATED", ["vehicle"], at=LATER))
        assert [one.kind for one in client.records()].count("learn") == 2
        server.kill()
    with Running(home.path, "--workers", workers) as server:
        ends = time.monotonic() + 60
        while Deliveries(home.path).names():
            assert time.monotonic() < ends
            time.sleep(0.05)
        for _ in range(4):
            assert post(server, annotated("ANNOTATION_CREATED", ["Fruit"])) == 200
        server.stop()
    assert records(home) == ([("vehicle",)], 3)


def post(server, body):
    return httpx.post(f"{server.url}{PATH}/webhook", json=body, timeout=30).status_code


def test_each_model_of_a_library_has_its_address(tmp_path):
    for name in ("subjects", "other"):
        Tagger().fit(["a red apple", "a fast car"], [["Fruit"], ["vehicle"]]).save(tmp_path / name)
    with Running(f"--library={tmp_path}") as server:
        assert post(server, annotated("ANNOTATION_CREATED", ["Fruit"])) == 200
        assert post(server, annotated("ANNOTATION_UPDATED", ["vehicle"], at=LATER)) == 200
        answer = httpx.post(f"{server.url}/label-studio/other/predict", json=predicting("an apple")).json()
        assert answer["results"][0]["model_version"] == "other 0"
        assert httpx.get(f"{server.url}/label-studio/missing/health").status_code == 404
        home = Home(tmp_path / "subjects.served")
        ends = time.monotonic() + 60
        while Deliveries(home.path).names():
            assert time.monotonic() < ends
            time.sleep(0.05)
    assert records(home) == ([("vehicle",)], 3)
