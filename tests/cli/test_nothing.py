"""Commands that are given nothing to do say so."""

from pathlib import Path

import pytest

from abound import Tagger
from tests.cli.running import Run


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    path = tmp_path / "empty.jsonl"
    path.touch()
    return path


def test_files_without_a_row(model: Path, empty: Path, run: Run) -> None:
    before = Tagger.load(model).state_hash()
    for command, words in (
        ("learn", f"there is nothing to learn in {empty}"),
        ("feedback", f"there is no row to learn from in {empty}"),
        ("evaluate", "there is nothing to measure: no row was read or held out"),
    ):
        result = run(command, model, empty)
        assert result.code == 1
        assert words in result.err
    assert Tagger.load(model).state_hash() == before
    ranked = run("rank", model, empty)
    assert (ranked.code, ranked.out, ranked.err) == (0, "", "there are no rows to rank\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--text", " ... ", "--label", "x"), "--text must have at least one word"),
        (("--text", "a text", "--label", ""), "--label must not be empty"),
        (("--text", "a text", "--label", "x", "--wrong", " "), "--wrong must not be empty"),
    ],
)
def test_a_lesson_of_which_nothing_can_be_learnt(model: Path, run: Run, arguments: tuple[str, ...], words: str) -> None:
    before = Tagger.load(model).state_hash()
    result = run("learn", model, *arguments)
    assert result.code == 1
    assert words in result.err
    assert Tagger.load(model).state_hash() == before


def test_a_holdout_without_rows_is_a_note_and_the_model_is_kept(tmp_path: Path, docs: Path, run: Run) -> None:
    fitted = run("fit", docs, "--model", tmp_path / "new", "--holdout", "every:1000")
    assert fitted.code == 0
    assert fitted.json["held_out"] is None
    assert "no row was read or held out" in fitted.err


def test_labels_that_the_model_does_not_know_are_told(tmp_path: Path, model: Path, docs: Path, run: Run) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text('{"text": "a red apple", "labels": ["42"]}\n', encoding="utf-8")
    assert "1 of 1 measured rows have no label that the model knows" in run("evaluate", model, other).err
    assert "model knows" not in run("evaluate", model, docs).err


def test_the_line_that_spreadsheets_put_first_is_named(tmp_path: Path, run: Run) -> None:
    table = tmp_path / "table.csv"
    table.write_text("sep=;\ntext;labels\nan apple;fruit\n", encoding="utf-8")
    result = run("fit", table, "--model", tmp_path / "new")
    assert result.code == 1
    assert "remove the first line" in result.err
