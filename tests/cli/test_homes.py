"""Every command takes the home of a served model where it takes a model directory."""

import json
import os
from pathlib import Path

import pytest

from abound import Tagger
from abound.server import Home, Writer
from abound.store.journal.records import Learn, MergeLabels, RenameLabel, RetireLabel
from tests.cli.running import Run
from tests.server.http.running import Running

RECORDS = [
    Learn("a plum", added=["stone fruit"], rejected=["sport"]),
    MergeLabels("stone fruit", "fruit"),
    RenameLabel("cooking", "cookery"),
    RetireLabel("vehicle"),
]


@pytest.fixture
def home(model: Path) -> Path:
    home = Home.create(model.with_name("model.served"), Tagger.load(model), origin="0" * 64)
    with Writer(home) as writer:
        for record in RECORDS:
            writer.submit(record).result(30)
    return home.path


@pytest.mark.skipif(os.name == "nt", reason="servers are stopped by a signal")
def test_commands_answer_as_the_server_does_while_it_runs(home: Path, docs: Path, run: Run, tmp_path: Path) -> None:
    with Running(home) as server, server.client() as client:
        here = run("rank", home, docs)
        assert here.code == 0
        assert here.out == run("rank", "--server", server.url, docs).out
        assert "vehicle" not in here.out
        assert (
            run("rank", home, "a fast car", "--assign").out
            == run("rank", "--server", server.url, "a fast car", "--assign").out
        )
        told = client.explain("a red plum", "fruit")
        assert run("explain", home, "a red plum", "--label", "stone fruit").json["score"] == told.score
        client.learn("an old lorry", added=["sport"])
        assert run("info", home).json["served_at"] == 5
        assert run("learn", home, docs).code == 1
        refused = run("learn", home, "--text", "a quince", "--label", "fruit")
        assert refused.code == 1
        assert "is being served; teach the server with --server" in refused.err


def test_evaluate_info_and_merge_take_a_home(home: Path, model: Path, docs: Path, run: Run, tmp_path: Path) -> None:
    measured = run("evaluate", home, docs, "--per-label")
    assert measured.code == 0
    assert {"fruit", "cookery", "sport"} == {row["label"] for row in measured.lines}
    assert run("evaluate", home / "snapshots" / f"{0:020d}", docs).code == 0
    about = run("info", home).json
    assert (about["fitted_rows"], about["corrections"], about["served_at"], about["last_record"]) == (60, 1, 4, 4)
    assert (about["rows"], about["labels"]) == (61, 3)
    assert "vehicle" not in [entry["label"] for entry in about["frequent"] if entry["rows"]]
    assert "served at" in run("info", home, "--table").out
    assert run("merge", home, model, "--model", tmp_path / "both").code == 0
    both = run("rank", tmp_path / "both", "a plum pie with sauce").json["labels"]
    assert "cookery" in [entry["label"] for entry in both]
    assert not {"cooking", "stone fruit"} & {entry["label"] for entry in both}
    assert "is the home of a served model" in run("feedback", home, "--text", "a plum", "--accept", "fruit").err


def test_learn_appends_to_the_journal_of_a_home_that_is_not_served(home: Path, run: Run, tmp_path: Path) -> None:
    taught = run("learn", home, "--text", "a quince", "--label", "stone fruit", "--wrong", "sport").json
    assert taught["sequence"] == 5
    assert (taught["taught"][0]["label"], taught["taught"][0]["rank_after"]) == ("fruit", 1)  # as it is shown
    assert run("rank", home, "a quince").json["labels"][0]["label"] == "fruit"
    file = tmp_path / "new.jsonl"
    rows = [{"text": f"word{number}", "labels": [f"new{number}"] if number else []} for number in range(4)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    first, again = run("learn", home, file).json, run("learn", home, file).json
    assert (first["rows"], first["rows_without_label"], first["learnt_before"], first["sequence"]) == (3, 1, 0, 8)
    assert (again["rows"], again["learnt_before"], again["sequence"]) == (3, 3, 8)
    assert run("rank", home, "word3").json["labels"][0]["label"] == "new3"
    assert run("journal", "verify", home).json["last"] == 8
    assert "is retired" in run("learn", home, "--text", "a lorry", "--label", "vehicle").err
    assert run("learn", home, file, "--weight-field", "w").code == 2
