"""Shared queues on real servers with one and with two workers: every text is decided once and taught once."""

import csv
import io
import json
import random
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from abound import Tagger
from abound.data import read
from abound.errors import JournalUnavailable
from abound.server import Home, Writer
from abound.server.backups import back_up, restore
from abound.server.http.keys import KeyFile
from abound.server.queues import Content, Holder, Lesson, NewText, Queues
from abound.store.journal import Journal
from abound.store.journal.records import Learn
from tests.server.http.calls import ask, fetch
from tests.server.http.running import Running

TEXTS = ["a red fox", "a fast car", "a red deer", "a slow car"]
LABELS = [["fox"], ["car"], ["deer"], ["car"]]


@pytest.fixture
def home(tmp_path):
    return Home.create(tmp_path / "home", Tagger().fit(TEXTS, LABELS, label_names={"fox": ["foxes"]}))


@pytest.fixture(params=["1", "2"])
def server(request, home):
    with Running(home.path, "--workers", request.param) as server:
        yield server


def make(server, texts=TEXTS, **options):
    body = {"name": "q", "texts": [{"text": text, "id": f"n{at}"} for at, text in enumerate(texts)], **options}
    status, added = ask(server, "/v1/queues", body)
    assert (status, added["total"]) == (200, len(texts)), added


def following(server, holder, key=None, **options):
    status, found = ask(server, "/v1/queue/next", {"name": "q", "holder": holder, **options}, key=key)
    assert status == 200, found
    return found.get("item")


def decide(server, item, holder, key=None, **content):
    return ask(server, "/v1/queue/decide", {"name": "q", "item": item, "holder": holder, **content}, key=key)


def counts(server):
    [queue] = ask(server, "/v1/queues")[1]["queues"]
    return queue["counts"]


def lessons(home):
    with Journal(home.journal_path) as journal:
        return [stored.record for stored in journal.read() if isinstance(stored.record, Learn)]


def test_a_text_is_leased_decided_and_taught(server, home):
    make(server, guidelines="Only animals.")
    first = following(server, "ann")
    assert {"item": first["item"], "text": "a red fox", "state": "leased", "id": "n0"}.items() <= first.items()
    assert following(server, "ann")["item"] == first["item"]  # a page that was loaded again
    assert following(server, "bob")["text"] == "a fast car"
    status, found = decide(server, first["item"], "ann", accepted=["fox"], rejected=["car"], added=["mammal"])
    assert (status, found["state"], found["record"], found["new_labels"]) == (200, "done", 1, ["mammal"])
    assert decide(server, first["item"], "ann", accepted=["fox"], rejected=["car"], added=["mammal"])[1]["repeated"]
    assert lessons(home) == [Learn("a red fox", ("fox",), ("car",), ("mammal",))]
    assert following(server, "ann")["text"] == "a red deer"
    assert counts(server) == {
        "total": 4, "open": 1, "leased": 2, "review": 0, "done": 1, "skipped": 0, "differs": 0,
    }  # fmt: skip
    [queue] = ask(server, "/v1/queues")[1]["queues"]
    assert (queue["name"], queue["guidelines"], queue["reviews"]) == ("q", "Only animals.", 0)
    [done] = ask(server, "/v1/queue", name="q", state="done")[1]["items"]
    assert done["decisions"][0]["labels"] == [{"label": "fox", "name": "foxes"}, {"label": "mammal"}]
    assert [one["text"] for one in ask(server, "/v1/queue", name="q", search="CAR fa")[1]["items"]] == ["a fast car"]
    assert ask(server, "/v1/queue", name="q", offset=1, limit=1)[1]["items"][0]["id"] == "n1"


def test_a_lost_lease_is_refused_and_a_released_text_is_given_to_others(server, home):
    make(server)
    item = following(server, "ann")["item"]
    status, problem = decide(server, item, "bob", accepted=["fox"])
    assert (status, "somebody else decides it now" in problem["detail"]) == (409, True)
    with closing(sqlite3.connect(home.queues_path, isolation_level=None)) as db:  # as if 15 minutes had passed
        db.execute("UPDATE item SET leased_until = 1 WHERE id = ?", (item,))
    assert following(server, "bob")["item"] == item
    assert decide(server, item, "ann", accepted=["fox"])[0] == 409
    assert ask(server, "/v1/queue/release", {"name": "q", "item": item, "holder": "ann"})[1]["released"] is False
    assert ask(server, "/v1/queue/release", {"name": "q", "item": item, "holder": "bob"})[1]["released"]
    assert decide(server, item, "bob", accepted=["fox"])[0] == 409
    assert following(server, "ann")["item"] == item
    assert ask(server, "/v1/queue/next", {"name": "q", "holder": "bob", "item": item})[0] == 409
    assert following(server, "ann", item=item)["item"] == item
    assert lessons(home) == []


def test_skip_none_fits_and_what_says_nothing(server, home):
    make(server)
    one = following(server, "ann")["item"]
    for content in ({}, {"skip": True, "accepted": ["fox"]}, {"none_fits": True, "added": ["fox"]}):
        assert decide(server, one, "ann", **content)[0] == 422
    assert decide(server, one, "ann", rejected=["unknown label"])[0] == 422
    assert decide(server, one, "ann", skip=True)[1]["state"] == "skipped"
    assert decide(server, one, "ann", skip=True)[0] == 200  # repeated
    two = following(server, "ann")["item"]
    assert two != one
    assert "record" not in decide(server, two, "ann", none_fits=True)[1]
    three = following(server, "ann")["item"]
    assert decide(server, three, "ann", none_fits=True, rejected=["fox"])[1]["record"] == 1
    assert lessons(home) == [Learn("a red deer", rejected=("fox",))]
    assert following(server, "ann", item=one)["text"] == "a red fox"  # a skipped text may be decided
    assert decide(server, one, "ann", accepted=["fox"])[1]["state"] == "done"
    four = following(server, "ann")["item"]
    assert decide(server, four, "ann", accepted=["car"])[0] == 200
    status, last = ask(server, "/v1/queue/next", {"name": "q", "holder": "ann"})
    assert (status, "item" in last, last["note"]) == (200, False, "all texts are decided")
    again = ask(server, "/v1/queue/reopen", {"name": "q", "item": four, "holder": "ann"})[1]["item"]
    assert (again["item"], again["state"]) == (four, "leased")
    assert decide(server, four, "ann", accepted=["fox"])[1]["record"] == 4  # under another key
    assert ask(server, "/v1/queue/reopen", {"name": "q", "item": four, "holder": "bob"})[0] == 409


def test_a_second_person_reviews_without_seeing_the_first(server, home):
    make(server, TEXTS[:2], reviews=1)
    fox, car = following(server, "ann")["item"], following(server, "ann", after=1)["item"]
    assert (fox, car) == (1, 2)
    assert decide(server, fox, "ann", accepted=["fox"], added=["red"])[1]["state"] == "review"
    assert decide(server, car, "ann", accepted=["car"])[1]["state"] == "review"
    assert (
        "wait for another person's review" in ask(server, "/v1/queue/next", {"name": "q", "holder": "ann"})[1]["note"]
    )
    assert ask(server, "/v1/queue/next", {"name": "q", "holder": "ann", "item": fox})[0] == 409
    blind = following(server, "bob")
    assert (blind["item"], blind["review"], "decisions" in blind) == (fox, True, False)
    assert "decisions" not in ask(server, "/v1/queue", name="q")[1]["items"][0]
    assert decide(server, fox, "bob", accepted=["foxes"], added=["wild"])[1]["state"] == "done"  # given by its name
    following(server, "bob")
    assert "record" not in decide(server, car, "bob", accepted=["car"])[1]  # the same: nothing to teach
    assert lessons(home)[2:] == [Learn("a red fox", ("fox",), ("red",), ("wild",))]
    [queue] = ask(server, "/v1/queues")[1]["queues"]
    assert queue["agreement"] == {"texts": 2, "mean": (0.5 + 1) / 2, "equal": 0.5}
    [differs] = ask(server, "/v1/queue", name="q", state="differs")[1]["items"]
    assert (differs["item"], differs["agreement"], len(differs["decisions"])) == (fox, 0.5, 2)


def test_the_export_has_the_names(server, home):
    make(server, TEXTS[:2])
    decide(server, following(server, "ann")["item"], "ann", accepted=["fox"], added=["x; y"])
    rows = [json.loads(line) for line in fetch(server, "/v1/queue/export", name="q").decode().splitlines()]
    assert rows[0]["decisions"][0]["labels"] == [{"label": "fox", "name": "foxes"}, {"label": "x; y"}]
    assert [row["state"] for row in rows] == ["done", "open"]
    table = list(csv.DictReader(io.StringIO(fetch(server, "/v1/queue/export", name="q", format="csv").decode())))
    assert [row["names"] for row in table] == ["foxes; x; y", ""]
    assert [row["text"] for row in table] == TEXTS[:2]
    assert ask(server, "/v1/queue/export", name="no")[0] == 404
    assert ask(server, "/v1/queues", method="DELETE", name="q")[1]["removed"] == 2
    assert ask(server, "/v1/queues")[1]["queues"] == []
    assert ask(server, "/v1/queue/next", {"name": "q", "holder": "ann"})[0] == 404


def test_the_table_has_no_formulas_and_reads_back(server, tmp_path):
    texts = ["=1+1", "+44 red foxes", "-5", "@a fox", "\tred", "'=1", "'tis a fox"]
    make(server, texts)
    decide(server, following(server, "ann")["item"], "ann", added=["-fox", "=car"])
    raw = fetch(server, "/v1/queue/export", name="q", format="csv")
    table = list(csv.DictReader(io.StringIO(raw.decode())))
    assert [row["text"] for row in table] == [
        "'=1+1",
        "'+44 red foxes",
        "-5",
        "'@a fox",
        "'\tred",
        "''=1",
        "'tis a fox",
    ]
    assert table[0]["labels"] == "'-fox; =car"
    (tmp_path / "q.csv").write_bytes(raw)
    found = list(read(tmp_path / "q.csv", label_separator=";"))
    assert [document.text for document in found] == texts
    assert list(found[0].labels) == ["-fox", "=car"]


def test_a_repeated_request_appends_once(server):
    for _ in range(2):
        assert ask(server, "/v1/queues", {"name": "q", "texts": [{"text": "a"}]}, idempotency="k")[1]["added"] == 1
    assert ask(server, "/v1/queues", {"name": "q", "texts": [{"text": "b"}], "reviews": 1})[1]["total"] == 2
    [queue] = ask(server, "/v1/queues")[1]["queues"]
    assert (queue["reviews"], queue["counts"]["total"]) == (1, 2)


class Annotator:
    """A person who decides texts until there are none, and repeats requests that were not answered."""

    def __init__(self, url_of, name):
        self.url_of, self.name, self.decided = url_of, name, []

    def ask(self, path, **body):
        ends = time.monotonic() + 120
        while time.monotonic() < ends:
            try:
                status, found = ask(self.url_of(), path, {"name": "q", "holder": self.name, **body})
            except OSError:
                status = 503
            if status not in (429, 503):
                return status, found
            time.sleep(0.05)
        raise AssertionError("the server does not answer")

    def work(self):
        while True:
            status, found = self.ask("/v1/queue/next")
            assert status == 200, found
            if "item" not in found:
                if not found["counts"]["open"] and not found["counts"]["leased"]:
                    return self.decided
                time.sleep(0.05)
                continue
            item = found["item"]["item"]
            status, found = self.ask("/v1/queue/decide", item=item, added=[f"label {item % 7}"])
            assert status == 200, found
            self.decided.append(item)


def check_all_once(home, decided, n):
    assert sorted(item for items in decided for item in items) == list(range(1, n + 1))
    taught = lessons(home)
    assert sorted(record.text for record in taught) == sorted(f"text number {number}" for number in range(n))


def test_eight_people_decide_a_hundred_texts_once(server, home):
    make(server, [f"text number {number}" for number in range(100)])
    with ThreadPoolExecutor(8) as pool:
        decided = list(pool.map(lambda n: Annotator(lambda: server, f"person {n}").work(), range(8)))
    check_all_once(home, decided, 100)
    assert sum(map(bool, decided)) > 1


@pytest.mark.parametrize("workers", ["1", "2"])
def test_kills_at_any_moment_neither_lose_nor_repeat_a_decision(home, workers):
    servers = [Running(home.path, "--workers", workers)]
    port = servers[0].port
    make(servers[0], [f"text number {number}" for number in range(60)])
    done, draw = threading.Event(), random.Random(int(workers))

    def kill():
        while not done.is_set():
            time.sleep(draw.uniform(0.05, 0.6))
            servers[-1].kill()
            servers.append(Running(home.path, "--workers", workers, port=port))
            if len(servers) > 5:
                return

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        with ThreadPoolExecutor(4) as pool:
            decided = list(pool.map(lambda n: Annotator(lambda: servers[-1], f"person {n}").work(), range(4)))
    finally:
        done.set()
        killer.join()
        servers[-1].kill()
    check_all_once(home, decided, 60)


@pytest.mark.parametrize("is_taught", [False, True], ids=["before the lesson", "after the lesson"])
@pytest.mark.parametrize("retries", [True, False])
def test_a_crash_between_the_two_writes_teaches_once(home, is_taught, retries):
    holder, content = Holder("ann"), Content(accepted=("fox",))
    with Queues(home.queues_path) as queues, Writer(home, snapshot_every=None) as writer:
        queues.add("q", [NewText("a red fox"), NewText("a fast car")])
        item = queues.lease("q", holder)
        _, decision = queues.begin("q", item.id, holder, content, "page", lambda *_: Lesson(content))
        if is_taught:
            writer.submit(Learn("a red fox", ("fox",)), queues.key_of(decision)).result()
    time.sleep(2.1)
    with Running(home.path) as server:
        if retries:
            assert decide(server, item.id, "ann", accepted=["car"])[0] == 409  # another one is being saved
            status, found = decide(server, item.id, "ann", accepted=["fox"])
            assert (status, found["state"], found["record"]) == (200, "done", 1)
        assert following(server, "bob")["text"] == "a fast car"
        assert counts(server)["done"] == 1
    assert lessons(home) == [Learn("a red fox", ("fox",))]


def test_a_forgotten_record_takes_its_text_from_the_queue(server, home):
    make(server)
    decide(server, following(server, "ann")["item"], "ann", accepted=["fox"])
    assert ask(server, "/v1/forget", {"records": [1]})[0] == 200
    assert b"a red fox" not in b"".join(path.read_bytes() for path in home.path.glob("queues.sqlite*"))
    assert counts(server)["total"] == 3
    counted = ask(server, "/v1/queues/forget", {"text": "SLOW", "dry_run": True})[1]
    assert (counted["matching"], counted["removed"], counts(server)["total"]) == (1, 0, 3)
    assert ask(server, "/v1/queues/forget", {"text": "SLOW"})[1]["removed"] == 1
    assert ask(server, "/v1/queues/forget", {})[0] == 422
    assert b"a slow car" not in b"".join(path.read_bytes() for path in home.path.glob("queues.sqlite*"))


def test_people_with_keys_are_known_and_scopes_hold(home):
    file = KeyFile(home.path)
    keys = {name: file.add(name, scope) for name, scope in (("boss", "admin"), ("ann", "learn"), ("eve", "read"))}
    with Running(home.path) as server:
        assert ask(server, "/v1/queues", {"name": "q"}, key=keys["ann"])[0] == 403
        body = {"name": "q", "texts": [{"text": text} for text in TEXTS], "reviews": 1}
        assert ask(server, "/v1/queues", body, key=keys["boss"])[0] == 200
        assert ask(server, "/v1/queues", key=keys["eve"])[0] == 403
        item = following(server, "browser 1", keys["ann"])["item"]
        decide(server, item, "browser 1", keys["ann"], accepted=["fox"])
        assert following(server, "browser 2", keys["ann"])["item"] != item  # the same person does not review
        assert following(server, "browser 3", keys["boss"], item=item)["review"]
        decide(server, item, "browser 3", keys["boss"], accepted=["fox"])
        [done] = ask(server, "/v1/queue", key=keys["boss"], name="q", state="done")[1]["items"]
        assert [one["who"] for one in done["decisions"]] == ["ann", "boss"]
        assert ask(server, "/v1/queues/forget", {"who": "ann"}, key=keys["boss"])[1]["removed"] == 2  # and her lease
    with Journal(home.journal_path) as journal:
        assert [stored.who for stored in journal.read()] == ["ann"]


def test_a_backup_has_the_queues_and_an_earlier_state_opens_later_texts_again(home, tmp_path):
    with Running(home.path) as server:
        make(server)
        for label in ("fox", "car"):
            decide(server, following(server, "ann")["item"], "ann", accepted=[label])
        back_up(home, tmp_path / "backup")
    restore(tmp_path / "backup", tmp_path / "whole")
    restore(tmp_path / "backup", tmp_path / "earlier", upto=1)
    for name, n_done in (("whole", 2), ("earlier", 1)):
        with Running(tmp_path / name) as server:
            assert (counts(server)["done"], counts(server)["open"]) == (n_done, 4 - n_done)
            item = following(server, "bob")
            assert decide(server, item["item"], "bob", accepted=["car"])[1]["record"] == n_done + 1


def test_a_damaged_file_is_an_error_and_nothing_else_fails(home):
    home.queues_path.write_bytes(b"no database" * 1000)
    with Running(home.path) as server:
        status, problem = ask(server, "/v1/queues")
        assert (status, "queues.sqlite cannot be used" in problem["detail"]) == (503, True)
        assert ask(server, "/v1/rank", {"text": "a red fox"})[0] == 200
    with pytest.raises(JournalUnavailable), Queues(home.queues_path) as queues:
        queues.summaries()
