"""Labels that are given by their names, on the command line and in files."""

import json
from pathlib import Path

import pytest

from abound import Tagger
from abound.server import Home
from tests.cli.running import Run
from tests.server.http.running import Running

NAMES = {"u1": ["sukset", "skis"], "u2": ["hiihto"], "u3": ["mercury", "metal"], "u4": ["mercury"]}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    texts, labels = ["long skis", "a race", "hot metal", "a planet"], [["u1"], ["u2"], ["u3"], ["u4"]]
    Tagger().fit(texts, labels, label_names=NAMES).save(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    rows = [{"text": "wax and boards", "labels": ["Sukset"]}, {"text": "skating", "labels": ["hiihto", "xyz"]}] * 3
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path / "rows.jsonl"


def places(model: Path, kind: str) -> list[str]:
    if kind == "model":
        return [str(model)]
    return [str(Home.create(model.with_name("home"), Tagger.load(model)).path)]


@pytest.mark.parametrize("kind", ["model", "home"])
def test_one_text_is_taught_by_names(model: Path, run: Run, kind: str) -> None:
    at = places(model, kind)
    done = run("learn", *at, "--text", "wax", "--label", "sukset", "--label", "xyz", "--wrong", "hiihto")
    assert done.code == 0, done.err
    assert "note: 'sukset' is the label u1\n" in done.err
    assert "note: 'hiihto' is the label u2\n" in done.err
    assert "note: 'xyz' is a new label\n" in done.err
    assert [row["label"] for row in done.json["taught"]] == ["u1", "xyz", "u2"]
    refused = run("learn", *at, "--text", "wax", "--label", "mercury")
    assert refused.code == 1
    assert "'mercury' is the name of 2 labels: u3 (mercury, metal), u4 (mercury); give one of these" in refused.err
    refused = run("learn", *at, "--text", "wax", "--wrong", "nobody")
    assert refused.code == 1
    assert "label 'nobody' is not known, so there is nothing to learn from it being wrong" in refused.err
    assert run("learn", *at, "--text", "wax", "--label", "skis", "--labels-are", "ids").code == 0
    assert run("learn", *at, "--text", "wax", "--label", "skis", "--labels-are", "both").code == 2
    explained = run("explain", *at, "wax", "--label", "sukset")
    assert explained.json["label"] == "u1", explained.err


@pytest.mark.parametrize("kind", ["model", "home"])
def test_files_have_names(model: Path, rows: Path, run: Run, kind: str) -> None:
    at = places(model, kind)
    done = run("learn", *at, rows)
    assert done.code == 0, done.err
    assert "'Sukset' is the label u1" in done.err
    assert "'hiihto' is the label u2" in done.err
    assert "'xyz' is a new label" in done.err
    assert run("evaluate", *at, rows, "--metrics", "P@1").json["measures"]["P@1"]["value"] == 1.0
    assert run("rank", *at, "wax boards", "-k", "1").json["labels"][0]["label"] == "u1"


def test_a_server_is_taught_by_names(model: Path, rows: Path, run: Run) -> None:
    with Running(places(model, "home")[0]) as server:
        done = run("learn", "--server", server.url, "--text", "wax", "--label", "sukset", "--label", "new")
        assert "note: 'sukset' is the label u1\n" in done.err
        assert "note: 'new' is a new label\n" in done.err
        assert [row["label"] for row in done.json["taught"]] == ["u1", "new"]
        done = run("learn", "--server", server.url, rows)
        assert "'hiihto' is the label u2" in done.err


def test_a_model_is_fitted_by_names(tmp_path: Path, rows: Path, run: Run) -> None:
    names = tmp_path / "names.tsv"
    names.write_text("".join(f"{label}\t" + "\t".join(given) + "\n" for label, given in NAMES.items()))
    done = run("fit", rows, "--label-names", names, "--model", tmp_path / "m", "--holdout", "every:3")
    assert done.code == 0, done.err
    assert "note: 'Sukset' is the label u1\n" in done.err
    assert done.json["labels"] == 5  # four of the vocabulary, and xyz
    as_ids = run("fit", rows, "--label-names", names, "--model", tmp_path / "n", "--labels-are", "ids")
    assert as_ids.json["labels"] == 7
    rows.write_text(json.dumps({"text": "planet", "labels": ["mercury"]}) + "\n")
    refused = run("fit", rows, "--label-names", names, "--model", tmp_path / "o")
    assert refused.code == 1
    assert "row 1: 'mercury' is the name of 2 labels" in refused.err
