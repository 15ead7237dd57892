"""Texts with several fields on the command line."""

import csv
import json
from pathlib import Path

import pytest

from abound import load
from tests.cli.running import Run

ROWS = [
    ("Growing roses", "Roses in cold climates need shelter and water.", "gardening"),
    ("Fast cars", "Engines with eight cylinders and red paint.", "vehicles"),
    ("Apple pie", "Cream, sugar and an oven beside the roses.", "cooking"),
] * 10
FIELDS = ("--text-field", "title", "--text-field", "abstract", "--labels-field", "tags")


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    path = tmp_path / "papers.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("title", "abstract", "tags"), *ROWS])
    return path


@pytest.fixture
def model(tmp_path: Path, papers: Path, run: Run) -> Path:
    result = run("fit", papers, *FIELDS, "--model", tmp_path / "model")
    assert result.code == 0
    assert "fields: title (weight 4), abstract (weight 1)" in result.err
    return tmp_path / "model"


def test_several_text_fields_are_kept_apart(run: Run, model: Path, papers: Path) -> None:
    assert load(model).encoder.fields == ("title", "abstract")
    result = run("rank", model, papers, "--text-field", "title", "--text-field", "abstract", "-k", 1)
    assert [line["labels"][0]["label"] for line in result.lines[:3]] == ["gardening", "vehicles", "cooking"]
    assert result.err == ""
    result = run("evaluate", model, papers, *FIELDS, "--metrics", "P@1")
    assert result.json["measures"]["P@1"]["value"] == 1.0


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_other_formats_give_the_same_model(run: Run, model: Path, tmp_path: Path, suffix: str) -> None:
    rows = [dict(zip(("title", "abstract", "tags"), row, strict=True)) for row in ROWS]
    path = tmp_path / f"papers.{suffix}"
    if suffix == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        pyarrow = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(pyarrow.Table.from_pylist(rows), path)
    assert run("fit", path, *FIELDS, "--model", tmp_path / "other").code == 0
    assert load(tmp_path / "other").state_hash() == load(model).state_hash()


def test_a_text_may_be_an_object_of_fields(run: Run, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "nested.jsonl"
    rows = [{"text": {"title": title, "abstract": abstract}, "labels": [tag]} for title, abstract, tag in ROWS]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run("fit", path, "--model", tmp_path / "other").code == 0
    assert load(tmp_path / "other").state_hash() == load(model).state_hash()


def test_the_options_order_the_fields_whatever_the_first_rows_have(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "papers.jsonl"
    rows = [{"abstract": "red apple", "tags": ["a"]}, {"title": "car", "abstract": "fast", "tags": ["b"]}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run("fit", path, *FIELDS, "--model", tmp_path / "model").code == 0
    assert load(tmp_path / "model").encoder.fields == ("title", "abstract")


def test_weights_are_options(run: Run, papers: Path, tmp_path: Path) -> None:
    weights = ("--field-weight", "title=0", "--field-weight", "abstract=1.5")
    assert run("fit", papers, *FIELDS, *weights, "--model", tmp_path / "model").code == 0
    assert load(tmp_path / "model").params()["field_weights"] == {"title": 0.0, "abstract": 1.5}
    result = run("rank", tmp_path / "model", "--field", "title=Fast cars", "--field", "abstract=sugar", "-k", 1)
    assert result.json["labels"][0]["label"] == "cooking"


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ("titel=3", "there is a weight for the field 'titel', but the fields are title, abstract"),
        ("title", "--field-weight must be NAME=W, such as title=3, got 'title'"),
        ("=3", "--field-weight must be NAME=W, such as title=3, got '=3'"),
        ("title=-1", "the weight of field 'title' must be 0, or between 0.0625 and 100, got -1.0"),
        ("title=nan", "the weight of field 'title' must be 0, or between 0.0625 and 100, got nan"),
    ],
)
def test_a_bad_weight_is_one_sentence(run: Run, papers: Path, tmp_path: Path, weight: str, message: str) -> None:
    result = run("fit", papers, *FIELDS, "--field-weight", weight, "--model", tmp_path / "model")
    assert result.code != 0
    assert message in result.err
    assert not (tmp_path / "model").exists()


def test_fields_may_still_be_joined(run: Run, papers: Path, tmp_path: Path) -> None:
    assert run("fit", papers, *FIELDS, "--read", "join= ", "--model", tmp_path / "model").code == 0
    assert load(tmp_path / "model").encoder.fields is None
    output = tmp_path / "joined.jsonl"
    assert run("convert", papers, output, *FIELDS).code == 0
    assert json.loads(output.read_text().splitlines()[1])["text"] == "\n".join(ROWS[1][:2])


def test_one_text_is_given_by_its_fields(run: Run, model: Path) -> None:
    text = ("--field", "title=Growing roses", "--field", "abstract=shelter for roses")
    assert run("rank", model, *text, "-k", 1).json["labels"][0]["label"] == "gardening"
    words = {word["word"]: word for word in run("explain", model, *text, "-k", 1).json["words"]}
    assert words["shelter"]["fields"] == ["abstract"]
    assert words["rose"]["fields"] == ["title", "abstract"]
    assert words["rose"]["spans"] == [[8, 13], [12, 17]]
    table = run("explain", model, *text, "-k", 1, "--table").out
    assert "title, abstract" in table
    assert "fields" not in run("explain", model, "roses", "-k", 1).out
    assert run("learn", model, "--field", "title=cream cars", "--label", "toys").code == 0
    assert run("rank", model, "--field", "title=cream cars").json["labels"][0]["label"] == "toys"


def test_an_unknown_field_is_a_note(run: Run, model: Path) -> None:
    result = run("rank", model, "--field", "titel=roses", "--field", "title=roses")
    assert "the field 'titel' is ignored; the model has the fields title, abstract" in result.err
    assert result.code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--field", "title"), "--field must be NAME=TEXT, got 'title'"),
        (("--field", "a=1", "--field", "a=2"), "--field gives 'a' twice"),
        (("text", "--field", "a=1"), "give a text once"),
    ],
)
def test_bad_fields_are_one_sentence(run: Run, model: Path, arguments: tuple[str, ...], message: str) -> None:
    result = run("rank", model, *arguments)
    assert result.code != 0
    assert message in " ".join(result.err.replace("│", " ").split())
