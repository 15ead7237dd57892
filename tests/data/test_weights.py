"""The weights of documents: read from a named field, written to it, and refused where a format has none."""

import json
import re
from pathlib import Path

import pytest

from abound import data
from abound.data import Document
from abound.data.fields import HEAVIEST
from abound.errors import DataError
from abound.rankers import weighting

DOCUMENTS = [Document(("x",), "a", "1", 2.0), Document(("x", "y"), "b c", "2", 0.25), Document((), "d", "3", 0.0)]
FORMATS = ["jsonl", "csv", "tsv", "parquet"]


@pytest.mark.parametrize("name", FORMATS)
def test_weights_survive_a_round_trip(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"docs.{name}"
    data.write(path, DOCUMENTS, weight_field="w")
    assert list(data.read(path, weight_field="w")) == DOCUMENTS
    assert list(data.read(path)) == [document._replace(weight=1.0) for document in DOCUMENTS]


@pytest.mark.parametrize("name", FORMATS)
def test_a_weight_is_not_lost_silently(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=r"the document has weight 2\.0, but weight_field=None"):
        data.write(tmp_path / f"docs.{name}", DOCUMENTS)
    with pytest.raises(ValueError, match="the weight must be a number from 0 to 1,000, got -1"):
        data.write(tmp_path / f"docs.{name}", [Document(("x",), "a", None, -1.0)], weight_field="w")


@pytest.mark.parametrize("name", ["fasttext", "annif", "labels-tsv"])
def test_a_format_without_weights_refuses_them(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=rf"the document has weight 2\.0, which {name} does not support"):
        data.write(tmp_path / "docs.txt", [Document(("x",), "a", None, 2.0)], name)
    with pytest.raises(ValueError, match="weight_field"):
        data.read(tmp_path / "docs.txt", name, weight_field="w")


@pytest.mark.parametrize("value", [-1, 1000.5, None, "2", True, [1], float("nan"), float("inf"), 10**400])
def test_a_wrong_weight_is_reported_with_its_line(tmp_path: Path, value: object) -> None:
    path = tmp_path / "docs.jsonl"
    rows = [{"text": "a", "labels": ["x"], "w": 1}, {"text": "b", "labels": ["x"], "w": value}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(DataError, match=r"docs\.jsonl:2: the weight must be a number from 0 to 1,000, got"):
        list(data.read(path, weight_field="w"))


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("-1", "the weight must be a number from 0 to 1,000, got -1.0"),
        ("1001", "the weight must be a number from 0 to 1,000, got 1001.0"),
        ("", "the weight must be a finite number, got ''"),
        ("nan", "the weight must be a finite number, got 'nan'"),
        ("much", "the weight must be a finite number, got 'much'"),
    ],
)
@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_a_wrong_cell_is_reported_with_its_line(tmp_path: Path, cell: str, message: str, delimiter: str) -> None:
    path = tmp_path / ("docs.csv" if delimiter == "," else "docs.tsv")
    rows = [("text", "labels", "w"), ("a", "x", " 2 "), ("b", "x", cell)]
    path.write_text("".join(delimiter.join(row) + "\n" for row in rows))
    with pytest.raises(DataError, match=re.escape(f"{path.name}:3: {message}")):
        list(data.read(path, weight_field="w"))
    assert [document.weight for document in data.read(path, weight_field="w", on_error="skip")] == [2.0]


@pytest.mark.parametrize("name", FORMATS)
def test_a_missing_field_is_named(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"docs.{name}"
    data.write(path, [Document(("x",), "a", "1")])
    with pytest.raises(
        DataError, match=r"no field 'w' \(the fields: .*\); name the right one with weight_field=\.\.\."
    ):
        list(data.read(path, weight_field="w"))


def test_fields_to_write_must_differ(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="weight_field must differ"):
        data.write(tmp_path / "docs.jsonl", DOCUMENTS, weight_field="id")


def test_readers_and_rankers_agree_on_the_largest_weight() -> None:
    assert HEAVIEST == weighting.HEAVIEST
