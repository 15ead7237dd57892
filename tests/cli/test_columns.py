"""Files whose columns and labels are separated in other ways than the defaults, and files without labels."""

from pathlib import Path

import pytest

from abound import Tagger
from tests.cli.running import Run

LISTS = ["fruit; red", "vehicle; red", "fruit", "red; vehicle", "green; fruit"]


def write_table(path: Path, delimiter: str, separator: str = "; ") -> Path:
    rows = [f"text number {n}{delimiter}{labels.replace('; ', separator)}" for n, labels in enumerate(LISTS)]
    path.write_text("\n".join([f"title{delimiter}tags", *rows]) + "\n", encoding="utf-8")
    return path


def labels_of(model: Path) -> set[object]:
    return set(Tagger.load(model).ranker.labels_.names)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_of_csv_is_told_from_its_header(delimiter: str, tmp_path: Path, run: Run) -> None:
    table, model = write_table(tmp_path / "table.csv", delimiter, " / "), tmp_path / "model"
    fields = ("--text-field", "title", "--labels-field", "tags", "--label-separator", "/")
    fitted = run("fit", table, "--model", model, *fields)
    assert fitted.code == 0
    assert labels_of(model) == {"fruit", "red", "vehicle", "green"}
    said = f"{delimiter!r} is the column separator, as detected from the header; pass --delimiter {delimiter!r}"
    assert (said in fitted.err) == (delimiter != ",")
    assert "abound: " not in run("fit", table, "--model", model, "--force", "--delimiter", delimiter, *fields).err
    for command in ("learn", "evaluate", "feedback"):
        assert run(command, model, table, *fields).code == 0
    assert len(run("rank", model, table, "--text-field", "title").lines) == len(LISTS)
    converted = run("convert", table, tmp_path / "table.jsonl", *fields)
    assert converted.code == 0
    assert run("rank", model, tmp_path / "table.jsonl").lines == run("rank", model, table, *fields[:2]).lines


def test_another_delimiter_is_named_with_an_option_of_the_command_line(tmp_path: Path, run: Run) -> None:
    table, model = write_table(tmp_path / "table.csv", ":"), tmp_path / "model"
    fields = ("--text-field", "title", "--labels-field", "tags", "--label-separator", ";")
    failed = run("fit", table, "--model", model, *fields)
    assert failed.code == 1
    assert "if another character separates the columns, name it with --delimiter ..." in failed.err
    assert run("fit", table, "--model", model, "--delimiter", ":", *fields).code == 0
    assert labels_of(model) == {"fruit", "red", "vehicle", "green"}


def test_a_tab_can_be_typed(tmp_path: Path, run: Run) -> None:
    table = write_table(tmp_path / "table.csv", "\t")
    fields = ("--text-field", "title", "--labels-field", "tags", "--label-separator", ";")
    for number, tab in enumerate(("tab", "\\t", "\t")):
        assert run("fit", table, "--model", tmp_path / f"model{number}", "--delimiter", tab, *fields).code == 0


@pytest.mark.parametrize("separator", [";", "|", ",", "\t"])
@pytest.mark.parametrize("format_", ["csv", "jsonl"])
def test_lists_that_were_taken_for_labels_are_noticed(separator: str, format_: str, tmp_path: Path, run: Run) -> None:
    documents, model = tmp_path / f"docs.{format_}", tmp_path / "model"
    lists = [labels.replace("; ", f"{separator} ") for labels in LISTS]
    other = "|" if separator != "|" else "/"  # the default separator would split them
    if format_ == "csv":
        rows = ["text,labels", *(f'text {n},"{labels}"' for n, labels in enumerate(lists))]
    else:
        quoted = [labels.replace("\t", "\\t") for labels in lists]
        rows = [f'{{"text": "text {n}", "labels": "{labels}"}}' for n, labels in enumerate(quoted)]
    documents.write_text("\n".join(rows) + "\n", encoding="utf-8")
    given = ("--label-separator", other) if separator == "|" and format_ == "csv" else ()
    fitted = run("fit", documents, "--model", model, *given)
    assert fitted.code == 0
    if given:  # a given separator is deliberate
        assert "--label-separator" not in fitted.err
        return
    assert "80% of the rows have a label with " in fitted.err
    assert "--label-separator" in fitted.err
    assert run("fit", documents, "--model", model, "--force", "--label-separator", separator).err.count("recur") == 0
    assert labels_of(model) == {"fruit", "red", "vehicle", "green"}


@pytest.mark.parametrize(
    "labels",
    [
        ["Smith, John", "Miller, John", "Smith, Jane", "Jones, Jane"],
        ["Paris, France", "Lyon, France", "Rome, Italy", "Pisa, Italy"],
        ["rock; roll", "this; that"],
    ],
)
def test_names_with_commas_are_no_lists(labels: list[str], tmp_path: Path, run: Run) -> None:
    documents = tmp_path / "docs.csv"
    rows = "\n".join(f'text {n},"{label}"' for n, label in enumerate(labels * 3))
    documents.write_text(f"text,labels\n{rows}\n", encoding="utf-8")
    assert "--label-separator" not in run("fit", documents, "--model", tmp_path / "model").err


def test_a_file_without_any_label_is_refused(tmp_path: Path, model: Path, run: Run) -> None:
    documents, target = tmp_path / "bare.jsonl", tmp_path / "new"
    documents.write_text('{"text": "a", "labels": []}\n{"text": "b", "labels": []}\n', encoding="utf-8")
    words = f"none of the 2 rows of {documents} has a label, so there is nothing to learn; name the field of the labels"
    fitted = run("fit", documents, "--model", target)
    assert fitted.code == 1
    assert words in fitted.err
    assert "--labels-field" in fitted.err
    assert "--format" in fitted.err
    assert not target.exists()
    before = Tagger.load(model).state_hash()
    assert words in run("learn", model, documents).err
    assert Tagger.load(model).state_hash() == before


def test_names_of_labels_can_be_all_there_is(tmp_path: Path, run: Run) -> None:
    documents, names = tmp_path / "bare.jsonl", tmp_path / "names.tsv"
    documents.write_text('{"text": "a", "labels": []}\n{"text": "b", "labels": []}\n', encoding="utf-8")
    names.write_text("1\tapple\n2\tpear\n", encoding="utf-8")
    fitted = run("fit", documents, "--label-names", names, "--model", tmp_path / "model")
    assert fitted.code == 0
    assert "none of the 2 rows" in fitted.err


def test_rows_without_a_label_are_counted(tmp_path: Path, run: Run) -> None:
    documents = tmp_path / "some.jsonl"
    documents.write_text('{"text": "a", "labels": ["x"]}\n{"text": "b", "labels": []}\n', encoding="utf-8")
    fitted = run("fit", documents, "--model", tmp_path / "model")
    assert fitted.code == 0
    assert "1 of 2 rows have no label" in fitted.err
