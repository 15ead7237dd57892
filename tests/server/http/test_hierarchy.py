"""Labels are chosen over HTTP as by `Tagger.rank`, also with merged, renamed and retired labels."""

import json

import pytest

from abound.cli import main
from abound.client import Client
from abound.errors import ServerError
from abound.server import Home, Writer
from abound.store.journal.records import MergeLabels, RenameLabel, RetireLabel
from tests.server.http.asgi import talk
from tests.server.http.running import Running
from tests.test_tagger_hierarchy import NAMES as NAMES_OF
from tests.test_tagger_hierarchy import TEXTS, Tagger, hierarchy, related, rows


@pytest.fixture(scope="module")
def tagger():
    return Tagger().fit(*rows(600), label_names=NAMES_OF, hierarchy=hierarchy())


def ask(home, path, bodies, *records):
    async def conversation(client):
        for record in records:
            client.writer.submit(record).result(30)
        return [await client.post(path, json=body) for body in bodies]

    return talk(home, conversation)


def plain(entries):
    return [(entry["label"], entry["score"], entry["rank"], entry["probability"]) for entry in entries]


CHOSEN = [{"only": ["l2"]}, {"only": ["Odd labels"], "without": ["l3", "=l5"]}, {"keep_parents": False}]


@pytest.mark.parametrize("chosen", CHOSEN)
def test_a_server_ranks_what_the_tagger_ranks(tmp_path, tagger, chosen):
    home = Home.create(tmp_path / "home", tagger)
    wanted = [
        [(e.label, e.score, e.rank, e.probability) for e in row] for row in tagger.rank_many(TEXTS[:5], 6, **chosen)
    ]
    one, marked, long, explained = (
        answer.json()["labels"]
        for answer in ask(
            home,
            "/v1/rank",
            [
                {"text": TEXTS[0], "k": 6, **chosen},
                {"text": TEXTS[0], "k": 6, "assign": True, **chosen},
                {"text": f"{TEXTS[0]} {'.' * 100_001}", "k": 6, **chosen},
                {"text": TEXTS[0], "k": 6, "explain": True, **chosen},
            ],
        )
    )
    assert plain(one) == plain(marked) == plain(explained) == wanted[0]
    assert [entry["label"] for entry in long] == [entry["label"] for entry in one]
    home = Home.create(tmp_path / "again", tagger)
    [batch] = ask(home, "/v1/rank/batch", [{"texts": TEXTS[:5], "k": 6, **chosen}])
    assert [plain(row) for row in batch.json()["results"]] == wanted
    home = Home.create(tmp_path / "assigning", tagger)
    [assigned] = ask(home, "/v1/assign", [{"texts": TEXTS[:5], "threshold": 0.05, **chosen}])
    given = tagger.assign_many(TEXTS[:5], threshold=0.05, **chosen)
    assert [[entry["label"] for entry in row] for row in assigned.json()["results"]] == [
        [entry.label for entry in row] for row in given
    ]


def test_paths_are_returned_if_asked(tmp_path, tagger):
    [plainly, found] = ask(
        Home.create(tmp_path / "home", tagger),
        "/v1/rank",
        [{"text": TEXTS[0], "only": ["=l23", "=l2"], "paths": paths} for paths in (False, True)],
    )
    assert all("path" not in entry for entry in plainly.json()["labels"])
    paths = {entry["label"]: entry.get("path") for entry in found.json()["labels"]}
    assert paths == {"l23": [{"label": "l2", "name": "topic number 2"}], "l2": []}


def test_what_cannot_be_selected_is_refused(tmp_path, tagger):
    bodies = [
        {"text": "w1", "only": ["nonsense"]},
        {"text": "w1", "only": []},
        {"text": "w1", "bands": True, "only": ["l1"]},
    ]
    answers = ask(Home.create(tmp_path / "home", tagger), "/v1/rank", bodies)
    assert [answer.status_code for answer in answers] == [422, 422, 422]
    assert "'nonsense' is not a label" in answers[0].json()["detail"]
    assert "no label of the model is left" in answers[1].json()["detail"]
    assert "bands cannot be combined" in answers[2].json()["detail"]


def test_edited_labels_keep_their_place_in_the_hierarchy(tmp_path, tagger):
    path = tmp_path / "home"
    edits = [RenameLabel("l23", "new name"), MergeLabels("l24", "l25"), RetireLabel("l26"), RenameLabel("l2", "l99")]
    body = {"text": " ".join(f"w{i}" for i in range(10, 40)), "k": 40, "paths": True}
    bodies = [{**body, "only": [what]} for what in ("l2", "l99")] + [{**body, "only": ["=l23"]}]
    Home.create(path, tagger)
    former, now, exact = ask(Home(path), "/v1/rank", bodies, *edits)
    left = {"l20", "l21", "l22", "new name", "l25", "l27", "l28", "l29", "l99"}
    assert {entry["label"] for entry in now.json()["labels"]} <= left
    assert former.json() == now.json()
    assert len(now.json()["labels"]) >= 6
    assert {step["label"] for entry in now.json()["labels"] for step in entry.get("path", ())} == {"l99"}
    assert [entry["label"] for entry in exact.json()["labels"]] == ["new name"]
    restarted = ask(Home(path), "/v1/rank", bodies)
    assert [answer.json() for answer in restarted] == [former.json(), now.json(), exact.json()]


def test_snapshots_and_replicas_keep_the_hierarchy(tmp_path, tagger):
    home = Home.create(tmp_path / "home", tagger)
    with Writer(home) as writer:
        writer.submit(RenameLabel("l23", "new name")).result(30)
        replica = writer.replica
        replica.save(tmp_path / "snapshot")
        loaded = type(replica).load(tmp_path / "snapshot")
        assert loaded.state_hash() == replica.state_hash()
        assert loaded.tagger.path_of("new name") == ["l2", "new name"]


def test_the_client_chooses_labels(tmp_path, tagger):
    Home.create(tmp_path / "home", tagger)
    with Running(tmp_path / "home") as server, Client(server.url) as client:
        found = client.rank(TEXTS[0], 5, only="l2", paths=True)
        assert [(e.label, e.rank) for e in found] == [(e.label, e.rank) for e in tagger.rank(TEXTS[0], 5, only="l2")]
        assert [entry.path for entry in found] == [tagger.path_names(entry.label)[:-1] for entry in found]
        many = client.rank_many(TEXTS[:3], 20, keep_parents=False)
        assert not any(map(related, many))
        assigned = client.assign(TEXTS[0], threshold=0.05, without=["l1"])
        assert [e.label for e in assigned] == [e.label for e in tagger.assign(TEXTS[0], threshold=0.05, without=["l1"])]
        with pytest.raises(ServerError, match="'nonsense' is not a label"):
            client.rank(TEXTS[0], only=["nonsense"])


def test_the_command_line_chooses_labels_of_a_server(tmp_path, tagger, capsys):
    Home.create(tmp_path / "home", tagger)
    (tmp_path / "list").write_text("l23\nl31\n")
    with Running(tmp_path / "home") as server:

        def run(*options):
            with pytest.raises(SystemExit) as ended:
                main(["rank", "--server", server.url, "--text", TEXTS[0], "-k", "3", *options])
            assert not ended.value.code
            return json.loads(capsys.readouterr().out)["labels"]

        found = run("--only", "topic number 2", "--paths")
        assert [entry["label"] for entry in found] == [entry.label for entry in tagger.rank(TEXTS[0], 3, only="l2")]
        assert [entry["path"] for entry in found] == [tagger.path_names(entry["label"]) for entry in found]
        assert {entry["label"] for entry in run("--only", str(tmp_path / "list"))} <= {"l23", "l31"}
        assert "path" not in run("--drop-parents")[0]
        assert len(run("--min-probability", "0.01", "--keep-parents", "--without", "l1")) > 0
