"""`abound serve`, `abound keys`, and the commands that ask a server instead of a model."""

import json
import os

import pytest

from abound import Tagger
from abound.server import Home
from tests.cli.running import write_rows
from tests.server.http.running import Running

pytestmark = pytest.mark.skipif(os.name == "nt", reason="servers are stopped by a signal")


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Return a model directory and a server that was started on it, with a home made beside it."""
    folder = tmp_path_factory.mktemp("served")
    write_rows(folder / "docs.jsonl")
    rows = [json.loads(line) for line in (folder / "docs.jsonl").read_text().splitlines()]
    names = {"fruit": "Fruit of all kinds"}
    tagger = Tagger().fit([row["text"] for row in rows], [row["labels"] for row in rows], label_names=names)
    tagger.save(folder / "model")
    with Running(folder / "model") as server:
        yield folder / "model", server


def test_a_home_is_made_beside_the_model(served):
    model, _ = served
    assert Home(model.with_name("model.served")).snapshots() == [0]


def test_rank_asks_the_server(run, served, tmp_path):
    model, server = served
    here = run("rank", model, "a red apple")
    assert here.json["labels"][0]["name"] == "Fruit of all kinds"
    assert run("rank", "--server", server.url, "a red apple").out == here.out
    file = write_rows(tmp_path / "some.jsonl", 1)
    assert run("rank", "--server", server.url, file, "-k", 2).out == run("rank", model, file, "-k", 2).out
    assert run("rank", "--server", server.url, model, "a text").code == 2
    assert run("rank").code == 2
    refused = run("rank", "--server", server.url, "--bands", "a red apple")
    assert refused.code == 1
    assert "no bands yet" in refused.err


def test_learn_teaches_the_server(run, served, tmp_path):
    _, server = served
    result = run("learn", "--server", server.url, "--text", "a plum", "--label", "stone fruit", "--wrong", "sport")
    assert result.json["taught"][0] == {"label": "stone fruit", "rank_before": None, "rank_after": 1}
    file = tmp_path / "new.jsonl"
    file.write_text('{"text": "a cherry", "labels": ["stone fruit"]}\n{"text": "nothing", "labels": []}\n')
    first, again = run("learn", "--server", server.url, file).json, run("learn", "--server", server.url, file).json
    assert (first["rows"], first["rows_without_label"], first["learnt_before"]) == (1, 1, 0)
    assert (again["sequence"], again["learnt_before"]) == (first["sequence"], 1)
    assert run("rank", "--server", server.url, "a cherry").json["labels"][0]["label"] == "stone fruit"


def test_an_address_where_nobody_is(run, monkeypatch):
    monkeypatch.setattr("abound.client.connection.FIRST_PAUSE", 0.0)
    monkeypatch.setattr("abound.client.connection.LONGEST_PAUSE", 0.0)
    result = run("rank", "--server", "http://127.0.0.1:9", "a text")
    assert result.code == 1
    assert "does not answer" in result.err
    assert run("rank", "--server", "somewhere", "a text").code == 1


def test_keys_are_made_listed_and_removed(run, served):
    model, _ = served
    home = Home.create(model.with_name("other"), Tagger().fit(["a"], [["b"]])).path
    made = run("keys", "add", home, "mine", "--scope", "learn")
    assert made.code == 0
    assert made.out.startswith("abound_")
    assert made.out.strip() not in (home / "keys.json").read_text()
    assert oct((home / "keys.json").stat().st_mode)[-3:] == "600"
    assert "needs a unique name" in run("keys", "add", home, "mine").err
    assert "must be one of read" in run("keys", "add", home, "other", "--scope", "all").err
    useless = run("keys", "add", home, "other", "--learns", "5")
    assert (useless.code, useless.out) == (1, "")
    assert useless.err == (
        "abound: a key with scope read teaches nothing; give --scope learn, or no --learns (--learns none removes it)\n"
    )
    assert run("keys", "list", home).json["scope"] == "learn"
    assert "mine" in run("keys", "list", home, "--table").out
    assert "no key" in run("keys", "remove", home, "nobody").err
    assert run("keys", "remove", home, "mine").code == 0
    assert run("keys", "list", home).out == ""
    assert "is not the home of a served model" in run("keys", "list", model).err


@pytest.mark.parametrize(
    ("scope", "change", "is_refused"),
    [
        ("read", ["--learns", "5"], True),
        ("read", ["--learns", "5", "--scope", "learn"], False),
        ("learn", ["--learns", "5"], False),
        ("learn", ["--learns", "5", "--scope", "read"], True),
        ("learn", ["--scope", "read"], False),
        ("read", ["--learns", "none"], False),
    ],
)
def test_a_key_that_teaches_nothing_has_no_limit_of_learned_records(run, tmp_path, scope, change, is_refused):
    home = Home.create(tmp_path / "home", Tagger().fit(["a"], [["b"]])).path
    assert run("keys", "add", home, "mine", "--scope", scope).code == 0
    changed = run("keys", "set", home, "mine", *change)
    assert changed.code == int(is_refused)
    assert ("a key with scope read teaches nothing" in changed.err) == is_refused


def test_a_key_that_may_learn_so_often_does_not_become_one_that_only_reads(run, tmp_path):
    home = Home.create(tmp_path / "home", Tagger().fit(["a"], [["b"]])).path
    assert run("keys", "add", home, "mine", "--scope", "learn", "--learns", "5").code == 0
    assert "--learns none" in run("keys", "set", home, "mine", "--scope", "read").err
    assert run("keys", "set", home, "mine", "--scope", "read", "--learns", "none").code == 0


def test_the_first_key_of_a_model_creates_its_home(run, tmp_path):
    model = tmp_path / "fresh"
    Tagger().fit(["a"], [["b"]]).save(model)
    made = run("keys", "add", model, "mine", "--scope", "admin")
    assert made.code == 0
    home = tmp_path / "fresh.served"
    assert f"created {home}, the home of {model}" in made.err.replace("\n", " ")
    assert run("keys", "list", home).json["name"] == "mine"
    again = run("keys", "add", model, "yours")
    assert again.code == 0
    assert "the home of" not in again.err
    assert "is not" in run("keys", "add", tmp_path / "nothing", "mine").err
    assert not (tmp_path / "nothing.served").exists()


def test_keys_have_limits_and_an_expiry_that_can_be_changed(run, served):
    model, _ = served
    home = Home.create(model.with_name("limited"), Tagger().fit(["a"], [["b"]])).path
    limits = ("--expires", "2999-01-31", "--requests", "60", "--learns", "7", "--memory", "20M")
    assert run("keys", "add", home, "shop", "--scope", "learn", *limits).code == 0
    listed = run("keys", "list", home).json
    del listed["created"]
    assert listed == {
        "name": "shop",
        "scope": "learn",
        "expires": "2999-01-31T00:00:00Z",
        "requests": 60,
        "learns": 7,
        "memory": 20 << 20,
        "last_use": None,
    }
    table = run("keys", "list", home, "--table").out
    assert "20.0 MiB" in table
    assert "never" in table
    assert run("keys", "set", home, "shop", "--learns", "9", "--memory", "none", "--expires", "12h").code == 0
    changed = run("keys", "list", home).json
    assert (changed["requests"], changed["learns"], changed["memory"]) == (60, 9, None)
    assert changed["expires"] < "2999"
    for options, message in (
        (("--expires", "soon"), "--expires must be like 2027-01-31"),
        (("--expires", "2020-01-01"), "--expires must be in the future"),
        (("--requests", "0"), "requests must be a number per minute from 1 to 100,000"),
        (("--learns", "-1"), "--learns must be a whole number"),
        (("--memory", "much"), "a size must be a number"),
        ((), "name what to change"),
    ):
        assert message in " ".join(run("keys", "set", home, "shop", *options).err.split())
    assert "no key 'nobody'" in run("keys", "set", home, "nobody", "--learns", "1").err
    assert run("keys", "list", home).json == changed


def test_an_empty_directory_may_become_a_library(run, tmp_path):
    library = tmp_path / "library"
    library.mkdir()
    assert "has no model" in run("keys", "list", library).err
    assert run("keys", "add", library, "boss", "--scope", "admin").code == 0
    assert run("keys", "add", library, "shop").code == 0
    assert "boss" in run("keys", "list", library, "--table").out
    Tagger().fit(["a"], [["b"]]).save(library / "m")
    assert run("keys", "remove", library, "shop").code == 0
    other = tmp_path / "other"
    other.mkdir()
    (other / "letter.txt").write_text("dear")
    refused = run("keys", "add", other, "mine")
    assert (refused.code, [path.name for path in other.iterdir()]) == (1, ["letter.txt"])
    assert "or an empty directory that will be a library" in " ".join(refused.err.split())


def test_a_server_that_everybody_reaches_needs_keys(run, served):
    model, _ = served
    home = Home.create(model.with_name("third"), Tagger().fit(["a"], [["b"]])).path
    refused = run("serve", home, "--host", "0.0.0.0")  # noqa: S104
    assert refused.code == 1
    assert "needs keys" in refused.err
