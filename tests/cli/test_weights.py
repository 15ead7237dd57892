"""`abound fit` and `abound learn` with a field of weights."""

import json
from pathlib import Path

import pytest

from abound import Tagger, data, load
from abound.data import Document
from tests.cli.running import ROWS, Run

WEIGHTS = [1.0, 2.0, 0.5, 0.0, 3.25, 1.0]


def weighted(path: Path, weights: list[float] = WEIGHTS) -> Path:
    rows = [
        Document(labels, f"{text} {copy}", None, weight)
        for copy in range(10)
        for (labels, text), weight in zip(ROWS, weights, strict=True)
    ]
    data.write(path, rows, weight_field="importance")
    return path


@pytest.mark.parametrize("name", ["docs.jsonl", "docs.csv", "docs.tsv.gz", "docs.parquet"])
def test_fit_learns_rows_by_their_weight(run: Run, tmp_path: Path, name: str) -> None:
    docs = weighted(tmp_path / name)
    result = run("fit", docs, "--weight-field", "importance", "--model", tmp_path / "m")
    assert result.code == 0, result.err
    rows = list(data.read(docs, weight_field="importance"))
    expected = Tagger().fit(
        [row.text for row in rows], [row.labels for row in rows], sample_weight=[row.weight for row in rows]
    )
    assert load(tmp_path / "m").state_hash() == expected.state_hash()
    assert result.json["rows"] == 60
    plain = run("fit", docs, "--model", tmp_path / "plain")
    assert plain.code == 0
    assert load(tmp_path / "plain").state_hash() != expected.state_hash()


def test_learn_learns_rows_by_their_weight(run: Run, tmp_path: Path, model: Path) -> None:
    expected = load(model)
    docs = weighted(tmp_path / "docs.jsonl")
    result = run("learn", model, docs, "--weight-field", "importance")
    assert result.code == 0, result.err
    rows = list(data.read(docs, weight_field="importance"))
    expected.learn_many(
        [row.text for row in rows], [row.labels for row in rows], sample_weight=[row.weight for row in rows]
    )
    assert load(model).state_hash() == expected.state_hash()


def test_a_stream_is_weighted_too(run: Run, tmp_path: Path) -> None:
    text = weighted(tmp_path / "docs.jsonl").read_text()
    how = ("--format", "jsonl", "--weight-field", "importance")
    result = run("fit", "-", *how, "--model", tmp_path / "m", stdin=text)
    assert result.code == 0, result.err
    assert load(tmp_path / "m").n_rows == 10 * (1 + 2 + 1 + 4 + 1)


def test_a_wrong_weight_names_file_line_and_reason(run: Run, tmp_path: Path) -> None:
    docs = tmp_path / "docs.jsonl"
    rows = [{"text": "a red apple", "labels": ["fruit"], "w": weight} for weight in (1, -2)]
    docs.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = run("fit", docs, "--weight-field", "w", "--model", tmp_path / "m")
    assert result.code == 1
    assert result.err.splitlines()[-1] == f"abound: {docs}:2: the weight must be a number from 0 to 1,000, got -2"
    result = run("fit", docs, "--weight-field", "v", "--model", tmp_path / "m")
    assert "no field 'v' (the fields: 'text', 'labels', 'w'); name the right one with --weight-field" in result.err


def test_rows_that_all_weigh_nothing_are_no_training(run: Run, tmp_path: Path) -> None:
    docs = weighted(tmp_path / "docs.jsonl", [0.0] * 6)
    result = run("fit", docs, "--weight-field", "importance", "--model", tmp_path / "m")
    assert result.code == 1
    assert f"all 60 rows of {docs} have weight 0, so there is nothing to learn" in result.err


def test_a_file_of_held_out_rows_needs_no_weights(run: Run, docs: Path, tmp_path: Path) -> None:
    how = ("--weight-field", "importance", "--holdout", docs)
    result = run("fit", weighted(tmp_path / "w.jsonl"), *how, "--model", tmp_path / "m")
    assert result.code == 0, result.err
    assert result.json["held_out"]["rows"] == 60


def test_a_server_takes_no_weights(run: Run, tmp_path: Path) -> None:
    docs = weighted(tmp_path / "docs.jsonl")
    result = run("learn", "--server", "http://127.0.0.1:9", docs, "--weight-field", "importance")
    assert result.code == 2
    assert "omit --weight-field with --server" in " ".join(result.err.split())
