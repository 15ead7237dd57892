"""`abound vocabulary`: versions of a SKOS vocabulary are compared, and a served model is updated."""

import os
from pathlib import Path

import pytest

from abound import Tagger
from abound.data import read_vocabulary
from abound.hierarchy import Hierarchy
from abound.server import Home
from abound.store.journal import Journal
from abound.store.journal.records import EditLabels
from tests.cli.running import Run
from tests.server.http.running import Running

pytest.importorskip("rdflib")
PREFIXES = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix dct: <http://purl.org/dc/terms/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix : <http://example.org/> .
"""
OLD = """
:sport a skos:Concept ; skos:prefLabel "sport"@en .
:ski a skos:Concept ; skos:prefLabel "skiing"@en ; skos:altLabel "ski sport"@en ; skos:broader :sport .
:skate a skos:Concept ; skos:prefLabel "skating"@en ; skos:broader :sport .
:skates a skos:Concept ; skos:prefLabel "ice skating"@en ; skos:broader :sport .
:mail a skos:Concept ; skos:prefLabel "mail"@en .
:golf a skos:Concept ; skos:prefLabel "golfing"@en ; skos:broader :sport .
:croquet a skos:Concept ; skos:prefLabel "croquet"@en ; skos:broader :sport .
:fax a skos:Concept ; skos:prefLabel "fax"@en .
:telex a skos:Concept ; skos:prefLabel "telex"@en .
"""
NEW = """
:sport a skos:Concept ; skos:prefLabel "sports"@en .
:ski a skos:Concept ; skos:prefLabel "skiing"@en ; skos:altLabel "ski sport"@en ; skos:broader :winter .
:winter a skos:Concept ; skos:prefLabel "winter sports"@en ; skos:broader :sport .
:skate a skos:Concept ; skos:prefLabel "skating"@en ; skos:broader :sport .
:skates owl:deprecated true ; dct:isReplacedBy :skate .
:letters a skos:Concept ; skos:prefLabel "letters"@en .
:email a skos:Concept ; skos:prefLabel "e-mail"@en .
:mail owl:deprecated true ; dct:isReplacedBy :letters, :email .
:golf2 a skos:Concept ; skos:prefLabel "golfing"@en ; skos:broader :sport .
:golf owl:deprecated true ; dct:isReplacedBy :golf2 .
:croquet a skos:Concept ; skos:prefLabel "croquet"@en ; skos:broader :sport .
:fax owl:deprecated true .
"""
COUNTS = {
    "added": 3,
    "renamed": 1,
    "merged": 1,
    "split": 1,
    "deprecated": 1,
    "removed": 1,
    "moved": 1,
    "names": 1,
}


def uri(name: str) -> str:
    return f"http://example.org/{name}"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    (tmp_path / "old.ttl").write_text(PREFIXES + OLD)
    return tmp_path / "old.ttl"


@pytest.fixture
def new(tmp_path: Path) -> Path:
    (tmp_path / "new.ttl").write_text(PREFIXES + NEW)
    return tmp_path / "new.ttl"


@pytest.fixture
def home(tmp_path: Path, old: Path) -> Home:
    vocabulary = read_vocabulary(old)
    texts, labels = ["a ski race", "a frozen lake", "a letter", "green grass"], ["ski", "skates", "mail", "golf"]
    tagger = Tagger().fit(texts, [[uri(label)] for label in labels], label_names=vocabulary.names)
    tagger.hierarchy = Hierarchy.of(vocabulary.relations)
    return Home.create(tmp_path / "served", tagger)


def records(home: Home) -> list[EditLabels]:
    with Journal(home.journal_path) as journal:
        return [stored.record for stored in journal.read()]


def test_versions_are_compared(old: Path, new: Path, run: Run) -> None:
    changes = run("vocabulary", "diff", old, new).lines
    assert {kind: sum(change["kind"] == kind for change in changes) for kind in COUNTS} == COUNTS
    by_label = {change["label"]: change for change in changes if change["kind"] in ("merged", "split", "moved")}
    assert by_label[uri("skates")]["to"] == [uri("skate")]
    assert by_label[uri("mail")]["to"] == [uri("email"), uri("letters")]
    assert by_label[uri("ski")] == {
        "kind": "moved",
        "label": uri("ski"),
        "before": [uri("sport")],
        "after": [uri("winter")],
    }
    table = run("vocabulary", "diff", old, new, "--table").out
    assert "concepts that are replaced by several" in table
    assert run("vocabulary", "diff", old, old).out == ""
    assert run("vocabulary", "diff", old, new, "--language", "fi").code == 1


def check_ranked(place: list[str], run: Run) -> None:
    best = {text: run("rank", *place, text, "-k", "1").json["labels"][0] for text in ("frozen lake", "green grass")}
    assert [(entry["label"], entry["name"]) for entry in best.values()] == [
        (uri("skate"), "skating"),
        (uri("golf2"), "golfing"),
    ]


def test_a_stopped_home_is_updated_by_one_record(home: Home, new: Path, run: Run) -> None:
    seen = run("vocabulary", "apply", home.path, new, "--dry-run")
    assert seen.code == 0, seen.err
    assert seen.json["changes"] == COUNTS
    assert records(home) == []
    assert run("vocabulary", "apply", home.path, new).code == 2  # nobody can be asked
    shown = run("vocabulary", "apply", home.path, new, "--dry-run", "--table").out
    assert "winter sports" in shown
    done = run("vocabulary", "apply", home.path, new, "--yes")
    assert done.code == 0, done.err
    assert done.json["sequence"] == 1
    assert f"abound journal undo {home.path} 1" in done.err
    [record] = records(home)
    assert isinstance(record, EditLabels)
    assert len(record.edits) == done.json["edits"]
    check_ranked([str(home.path)], run)
    again = run("vocabulary", "apply", home.path, new, "--yes")
    assert again.json["edits"] == 0
    assert f"the model has all changes of {new}" in again.err
    undone = run("journal", "undo", home.path, "1")
    assert undone.code == 0, undone.err
    assert run("rank", home.path, "frozen lake", "-k", "1").json["labels"][0]["label"] == uri("skates")
    assert run("vocabulary", "apply", home.path, new, "--dry-run").json["changes"] == COUNTS


@pytest.mark.skipif(os.name == "nt", reason="servers are stopped by a signal")
def test_a_running_server_is_updated(home: Home, new: Path, run: Run) -> None:
    with Running(home.path) as server, server.client() as client:
        refused = run("vocabulary", "apply", home.path, new, "--yes")
        assert refused.code == 1
        assert "is being served; add --server URL" in refused.err
        done = run("vocabulary", "apply", home.path, new, "--yes", "--server", server.url)
        assert done.code == 0, done.err
        assert done.json["sequence"] == 1
        assert f"abound journal undo --server {server.url} 1" in done.err
        check_ranked(["--server", server.url], run)
        assert sorted(found.label for found in client.labels("mail")) == [uri("email"), uri("letters")]
        assert client.learn("snow", added=["ice skating"]).resolved == {"ice skating": uri("skate")}
        assert client.rank("ski race", 1, paths=True)[0].path == ["sports", "winter sports"]
