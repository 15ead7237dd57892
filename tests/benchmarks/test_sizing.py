"""The page on clusters says what the result files say."""

import json

import pytest

from benchmarks import sizing

spark = pytest.importorskip("benchmarks.spark", reason="the extra `spark` is not installed")


def test_the_page_is_that_of_the_results(monkeypatch):
    monkeypatch.setattr("sys.argv", ["sizing", "--check"])
    sizing.main()


def test_sizes_are_written_in_decimal_units():
    assert [sizing.size(n) for n in (999, 1500, 123_456_789, 2.5e15)] == ["999 B", "1.5 kB", "123 MB", "2500 TB"]


def test_rows_beyond_the_corpus_are_drawn_and_have_a_word_of_their_own(tmp_path):
    rows = [("a b", ["x"]), ("c", ["y", "z"])]
    found = list(spark.resampled(rows, 5))
    assert found[:2] == rows
    assert len({text for text, _ in found}) == 5
    assert all((text.rpartition(" ")[0], labels) in rows for text, labels in found[2:])
    assert spark.write_rows(iter(found), tmp_path / "rows.parquet") == 5
    import pyarrow.parquet as pq

    table = pq.read_table(tmp_path / "rows.parquet").to_pylist()
    assert [(row["text"], row["labels"]) for row in table] == found
    assert [row["row"] for row in table] == list(range(5))
    assert json.dumps(table)
