"""Parquet: which tables are read, and which are told to be malformed."""

import re

import pyarrow
import pyarrow.parquet
import pytest

from abound import data
from abound.data import Document


def table(tmp_path, **columns):
    path = tmp_path / "docs.parquet"
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    return path


GOOD = {"text": ["a", "b"], "labels": [["x"], ["y"]]}
INVALID = pyarrow.array([b"good", b"\xff"]).view(pyarrow.string())
MALFORMED = [
    (
        {"labels": [["x"]]},
        1,
        "no field 'text' (the fields: 'labels'); name the right one with text_field=...",
    ),
    (
        {"text": ["a"]},
        1,
        "no field 'labels' (the fields: 'text'); name the right one with labels_field=..., or ",
    ),
    ({**GOOD, "text": ["a", None]}, 2, "'text' is missing or null; the text must be a string"),
    ({**GOOD, "text": [1, 2]}, 1, "the text must be a string, got 1"),
    ({**GOOD, "text": [b"a", b"b"]}, 1, "the text must be a string, got b'a'"),
    ({**GOOD, "text": INVALID}, 2, "byte 0xff at position 1 is not UTF-8"),
    ({**GOOD, "labels": [["x"], None]}, 2, "a label must be a string or a whole number, got None"),
    ({**GOOD, "labels": [["x"], ["y", None]]}, 2, "a label must be a string or a whole number, got None"),
    (
        {**GOOD, "labels": [["x"], [""]]},
        2,
        "a label is empty; leave it out, or use an empty list for no labels",
    ),
    ({**GOOD, "labels": [[1.5], [2.5]]}, 1, "a label must be a string or a whole number, got 1.5"),
    ({**GOOD, "labels": [{"k": 1}, {"k": 2}]}, 1, "a label must be a string or a whole number, got {'k': 1}"),
    ({**GOOD, "id": [1.5, 2.5]}, 1, "the id must be a string or a whole number, got 1.5"),
]


@pytest.mark.parametrize(("columns", "row", "reason"), MALFORMED)
def test_a_malformed_row_is_told(columns, row, reason, tmp_path):
    with pytest.raises(data.DataError, match=re.escape(reason)) as caught:
        list(data.read(table(tmp_path, **columns)))
    assert caught.value.line == row


@pytest.mark.parametrize("content", [b"", b"PAR1", b"not a table at all", b"PAR1" + b"x" * 100 + b"PAR1"])
def test_what_is_no_table_is_told(content, first_error):
    assert first_error("parquet", content).reason.startswith("not a complete Parquet file (")


def test_a_table_cut_short_is_told(tmp_path, first_error):
    content = table(tmp_path, **GOOD).read_bytes()
    assert first_error("parquet", content[:-10]).reason.startswith("not a complete Parquet file (")


def test_a_column_whose_name_is_not_utf_8_is_told(tmp_path, first_error):
    content = table(tmp_path, **GOOD, other=["c", "d"]).read_bytes()
    assert "'utf-8' codec" in first_error("parquet", content.replace(b"other", b"oth\xffr")).reason


def test_skip_passes_over_bad_rows(tmp_path):
    path = table(tmp_path, text=["a", None, "c"], labels=[["x"], ["y"], [""]])
    reader = data.read(path, on_error="skip")
    assert list(reader) == [Document(("x",), "a")]
    assert [error.line for error in reader.skipped.errors] == [2, 3]


def test_labels_may_be_one_string_or_numbers_and_columns_are_named(tmp_path):
    path = table(tmp_path, key=[7, 8], title=["a", "b"], body=["c", None], tag=["x", "y"], tags=[[1, 2], []])
    assert list(data.read(path, text_field=["title", "body"], labels_field="tag", id_field="key")) == [
        Document(("x",), {"title": "a", "body": "c"}, "7"),
        Document(("y",), {"title": "b"}, "8"),
    ]
    assert [document.labels for document in data.read(path, text_field="title", labels_field="tags")] == [
        ("1", "2"),
        (),
    ]


def test_dictionary_and_large_columns_are_read_in_small_batches(tmp_path):
    text = pyarrow.array([f"t{i % 3}" for i in range(100)]).dictionary_encode()
    labels = pyarrow.array([["x"]] * 100, pyarrow.large_list(pyarrow.large_string()))
    documents = list(data.read(table(tmp_path, text=text, labels=labels), batch_rows=7))
    assert documents == [Document(("x",), f"t{i % 3}") for i in range(100)]
