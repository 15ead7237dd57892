"""merge."""

from pathlib import Path

import pytest

from tests.cli.running import Run, write_rows


@pytest.fixture
def other(tmp_path: Path, run: Run) -> Path:
    docs = tmp_path / "other.jsonl"
    docs.write_text('{"text": "a quince jelly", "labels": ["preserves", "fruit"]}\n' * 3)
    assert run("fit", docs, "--model", tmp_path / "other", "--language", "en").code == 0  # too few to detect it
    return tmp_path / "other"


def test_two_models_become_one(run: Run, model: Path, other: Path, tmp_path: Path) -> None:
    target = tmp_path / "both"
    result = run("merge", model, other, "--model", target)
    assert result.code == 0
    assert (result.json["rows"], result.json["labels"]) == (63, 5)
    assert [part["rows"] for part in result.json["merged"]] == [60, 3]
    assert run("info", target).json["rows"] == 63
    assert run("rank", target, "quince").json["labels"][0]["label"] in ("preserves", "fruit")
    assert run("rank", target, "lorry").json["labels"][0]["label"] == "vehicle"
    assert run("info", model).json["rows"] == 60  # what was merged stays as it was


def test_merged_models_are_listed(run: Run, model: Path, other: Path, tmp_path: Path) -> None:
    out = run("merge", model, other, model, "--model", tmp_path / "all", "--table").out
    assert "merged" in out
    assert "123" in out  # rows in all


def test_a_model_is_not_replaced_unasked(run: Run, model: Path, other: Path) -> None:
    refused = run("merge", model, other, "--model", other)
    assert (refused.code, refused.out) == (1, "")
    assert "already contains a model; replace it with --force" in refused.err
    assert run("merge", model, other, "--model", other, "--force").json["rows"] == 63


def test_one_model_alone_is_refused(run: Run, model: Path, tmp_path: Path) -> None:
    result = run("merge", model, "--model", tmp_path / "x")
    assert (result.code, result.out) == (2, "")
    assert "give two or more models" in result.err


def test_what_differs_is_told(run: Run, model: Path, tmp_path: Path) -> None:
    docs = write_rows(tmp_path / "more.jsonl")
    run("fit", docs, "--model", tmp_path / "words", "--ngrams", 1)
    result = run("merge", model, tmp_path / "words", "--model", tmp_path / "x")
    assert (result.code, result.out) == (1, "")
    assert "these differ in ngrams (2 and 1)" in result.err
    assert result.err.count("\n") == 1
    assert not (tmp_path / "x").exists()
