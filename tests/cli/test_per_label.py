"""`abound evaluate --per-label`, and what `abound evaluate` says about probabilities."""

import csv
import json
from pathlib import Path

import pytest

from abound import Tagger
from tests.cli.running import ROWS, Run


@pytest.fixture
def test_rows(tmp_path: Path) -> Path:
    path = tmp_path / "test.jsonl"
    rows = [{"text": text, "labels": [*labels, "never seen"] if "pie" in text else labels} for labels, text in ROWS]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_labels_are_printed_worst_first(run: Run, model: Path, test_rows: Path) -> None:
    result = run("evaluate", model, test_rows, "--per-label")
    assert result.code == 0, result.err
    found = result.lines
    assert found[0]["label"] == "never seen"
    assert (found[0]["support"], found[0]["assigned"], found[0]["precision"], found[0]["f1"]) == (1, 0, None, 0.0)
    assert [line["f1"] for line in found] == sorted(line["f1"] for line in found)
    assert {line["label"] for line in found} == {"never seen", "fruit", "vehicle", "sport", "cooking"}
    rows = [json.loads(line) for line in test_rows.read_text().splitlines()]
    evaluation = Tagger.load(model).evaluate([row["text"] for row in rows], [row["labels"] for row in rows])
    assert [line["average_precision"] for line in found] == [row.average_precision for row in evaluation.per_label()]


def test_a_table_shows_the_worst_labels(
    run: Run, model: Path, test_rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    shown = run("evaluate", model, test_rows, "--per-label", "--table")
    assert [word in shown.out for word in ("never seen", "vehicle", "confused with", "AP")] == [True] * 4
    assert "the worst" not in shown.err
    monkeypatch.setattr("abound.cli.evaluate.SHOWN", 2)
    shown = run("evaluate", model, test_rows, "--per-label", "--table")
    assert "these are the worst 2 of 5 labels" in shown.err
    assert "vehicle" not in shown.out


def test_the_csv_file_has_all_labels_beside_the_usual_result(
    run: Run, model: Path, test_rows: Path, tmp_path: Path
) -> None:
    plain = run("evaluate", model, test_rows)
    result = run("evaluate", model, test_rows, "--per-label-csv", tmp_path / "q.csv")
    assert result.json == plain.json
    assert "wrote the quality of 5 labels to" in result.err
    lines = run("evaluate", model, test_rows, "--per-label").lines
    assert [(row["label"], int(row["support"]), float(row["f1"])) for row in read(tmp_path / "q.csv")] == [
        (line["label"], line["support"], line["f1"]) for line in lines
    ]
    refused = run("evaluate", model, test_rows, "--per-label-csv", tmp_path / "no" / "q.csv")
    assert refused.code == 1
    assert len(refused.err.strip().splitlines()) == 1


def test_the_calibration_error_is_printed_if_there_are_probabilities(
    run: Run, model: Path, test_rows: Path, tmp_path: Path
) -> None:
    found = run("evaluate", model, test_rows).json
    assert 0 <= found["calibration_error"] <= 1
    assert set(found["assigned"]) == {"per_text", "precision", "recall", "f1"}
    assert "calibration error" in run("evaluate", model, test_rows, "--table").out
    few = tmp_path / "few.jsonl"
    few.write_text("".join(json.dumps({"text": text, "labels": labels}) + "\n" for labels, text in ROWS))
    assert run("fit", few, "--model", tmp_path / "unsure").code == 0
    result = run("evaluate", tmp_path / "unsure", test_rows, "--per-label-csv", tmp_path / "q.csv")
    assert result.json["calibration_error"] is None
    assert "no probabilities: the first label of each row counts as assigned" in result.err
    assert sum(int(row["assigned"]) for row in read(tmp_path / "q.csv")) == len(ROWS)
    assert "calibration error" not in run("evaluate", tmp_path / "unsure", test_rows, "--table").out
    drawn = run("evaluate", tmp_path / "unsure", test_rows, "--plot", tmp_path / "drawn")
    assert "the reliability diagram is left out" in drawn.err
    assert not (tmp_path / "drawn" / "reliability.png").exists()
    assert (tmp_path / "drawn" / "label-quality.png").exists()
