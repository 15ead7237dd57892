import json
from pathlib import Path

import pytest

from tests.cli.running import Run


def test_a_text_gives_one_line_of_json_in_a_pipe(run: Run, model: Path) -> None:
    result = run("rank", model, "a ripe apple", "-k", 2)
    assert (result.code, result.err) == (0, "")
    entries = result.json["labels"]
    assert [entry["rank"] for entry in entries] == [1, 2]
    assert entries[0]["label"] == "fruit"
    assert set(entries[0]) == {"label", "score", "rank", "probability"}
    assert entries[1]["probability"] < entries[0]["probability"] <= 1


def test_a_table_has_a_bar_for_each_score(run: Run, model: Path) -> None:
    result = run("rank", model, "a ripe apple", "--table")
    assert "fruit" in result.out
    assert "█" in result.out or "#" in result.out
    assert "\x1b" not in result.out  # no colour where there is no terminal


def test_square_brackets_are_no_markup(run: Run, model: Path) -> None:
    run("learn", model, "--text", "strange", "--label", "[bold]odd[/bold]")
    assert "[bold]odd[/bold]" in run("rank", model, "strange", "--table").out


def test_a_file_gives_a_line_a_row(run: Run, model: Path, docs: Path) -> None:
    result = run("rank", model, docs, "-k", 1, "--limit", 7)
    assert [(line["row"], line["id"]) for line in result.lines[:2]] == [(0, "r0-0"), (1, "r0-1")]
    assert len(result.lines) == 7
    assert result.err == ""


def test_a_file_needs_no_labels(run: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "bare.jsonl").write_text('{"title": "apple"}\n{"title": "car"}\n')
    result = run("rank", model, tmp_path / "bare.jsonl", "--text-field", "title", "-k", 1)
    assert [line["labels"][0]["label"] for line in result.lines] == ["fruit", "vehicle"]


@pytest.mark.parametrize("argument", [["-"], []])
def test_standard_input_is_a_text_a_line(run: Run, model: Path, argument: list[str]) -> None:
    result = run("rank", model, *argument, "-k", 1, stdin="apple\nqqqq\ncar\r\n")
    assert [[entry["label"] for entry in line["labels"]] for line in result.lines] == [["fruit"], [], ["vehicle"]]


def test_standard_input_may_have_a_format(run: Run, model: Path) -> None:
    result = run("rank", model, "-", "--format", "jsonl", stdin='{"text": "apple", "id": 7}\n')
    assert result.json["id"] == "7"


def test_many_equal_one_by_one(run: Run, model: Path, docs: Path) -> None:
    text = json.loads(docs.read_text().splitlines()[0])["text"]
    assert run("rank", model, docs, "--limit", 1).json["labels"] == run("rank", model, text).json["labels"]


def test_a_threshold_leaves_weak_labels_out(run: Run, model: Path, docs: Path) -> None:
    entries = run("rank", model, "a ripe apple").json["labels"]
    limit = entries[0]["score"]
    assert run("rank", model, "a ripe apple", "--threshold", limit).json["labels"] == entries[:1]
    assert run("rank", model, docs, "--limit", 1, "--threshold", 99).json["labels"] == []


def test_what_looks_like_a_file_must_be_one(run: Run, model: Path) -> None:
    result = run("rank", model, "dcos.jsonl")
    assert result.code == 1
    assert result.err == "abound: there is no file 'dcos.jsonl'; to rank it as a text, use --text\n"
    assert run("rank", model, "--text", "dcos.jsonl").code == 0


def test_names_of_labels_are_kept_with_the_model(run: Run, docs: Path, tmp_path: Path) -> None:
    (tmp_path / "names.tsv").write_text("fruit\tFruits and berries\n")
    model = tmp_path / "named"
    run("fit", docs, "--model", model, "--label-names", tmp_path / "names.tsv")
    assert run("rank", model, "apple", "-k", 1).json["labels"][0]["name"] == "Fruits and berries"
    assert "name" not in run("rank", model, "apple", "-k", 1, "--no-names").json["labels"][0]
    assert "Fruits and berries" in run("rank", model, "apple", "--table").out
    assert "Fruits and berries" not in run("rank", model, "apple", "--table", "--no-names").out


def test_bytes_that_are_no_text_are_told_with_their_line(run: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes(b"apple\n\xe4pple\n")
    result = run("rank", model, tmp_path / "latin.txt")
    assert result.code == 1
    assert f"{tmp_path / 'latin.txt'}:2: byte 0xe4 at position 1 is not UTF-8" in result.err
