"""Development rows come from training rows only, and a set's texts become files that `abound fit` reads."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

from abound import data
from benchmarks import documents, sets
from benchmarks.documents import Row


def made(n_train=40, n_test=10):
    """Return rows of four labels, sorted by label; no text is there twice."""
    rows = [Row(f"text {i} {'ab'[i % 2]}\t{i}", [f"label {i * 4 // n_train}"], i) for i in range(n_train)]
    return rows, [Row(f"test {i}", ["label 0"], n_train + i) for i in range(n_test)]


@pytest.fixture
def texts(monkeypatch):
    monkeypatch.setitem(documents.SOURCES, "made", documents.Source(made, documents.last_of_each_label))
    monkeypatch.setitem(sets.RECIPES, "made", sets._texts("made"))


def test_development_rows_are_training_rows_and_none_is_learnt_too(texts):
    found, (train, test) = documents.development("made"), made()
    assert sorted([*found.train, *found.held], key=lambda row: row.place) == train
    assert not {row.text for row in test} & {row.text for row in [*found.train, *found.held]}
    assert [row.labels for row in found.held] == [[f"label {i}"] for i in range(4)]
    assert documents.final("made").held == test


def test_matrices_of_development_rows_hold_no_test_row(texts):
    found = sets.development("made")
    assert found.texts_test == [row.text for row in documents.development("made").held]
    assert (found.X_train.shape[0], found.X_test.shape[0]) == (36, 4)
    assert found.Y_test.shape == (4, 4)


@pytest.mark.parametrize(
    ("cut", "n_rows", "n_held"),
    [
        (documents.last_rows, 105, 10),
        (documents.last_rows, 200_000, 10_000),
        (documents.every_nth_row, 105, 10),
        (documents.every_nth_row, 123_456, 9_496),
    ],
)
def test_a_tenth_is_held_out_but_no_more_than_the_most(cut, n_rows, n_held):
    held = cut(range(n_rows))
    assert (len(held), sum(held)) == (n_rows, n_held)
    assert n_held <= documents.MOST_HELD


def test_given_features_are_cut_with_their_labels():
    rows = sp.csr_matrix(np.arange(20.0).reshape(20, 1))
    train, held = sets._cut_vectors((rows, [(float(i),) for i in range(20)]), documents.every_nth_row)
    assert held[1] == [(9.0,), (19.0,)]
    assert held[0].toarray().ravel().tolist() == [9.0, 19.0]
    assert [label for (label,) in train[1]] == train[0].toarray().ravel().tolist()


@pytest.mark.parametrize(("order", "first", "last"), [("filed", 0, 39), ("reversed", 39, 0), ("by-label", 0, 39)])
def test_training_rows_are_written_in_the_order_that_was_asked_for(texts, tmp_path, order, first, last):
    rows = documents.ordered(list(reversed(made()[0])), order)
    assert (rows[0].place, rows[-1].place) == (first, last)
    assert sorted(documents.ordered(rows, "shuffled")) == sorted(rows)
    assert documents.ordered(rows, "shuffled") != rows


def test_the_command_writes_what_fit_reads(texts, tmp_path, capsys):
    found = documents.development("made")
    documents.write(found, tmp_path, "development", "reversed")
    train = list(data.read(tmp_path / "train.jsonl"))
    assert [(d.text, list(d.labels)) for d in train] == [(row.text, row.labels) for row in reversed(found.train)]
    assert len(list(data.read(tmp_path / "development.jsonl"))) == 4
    assert data.read_label_names(tmp_path / "names.tsv") == {f"label {i}": [f"label {i}"] for i in range(4)}
    assert json.loads((tmp_path / "train.jsonl").read_text().splitlines()[0])["labels"] == ["label 3"]


@pytest.mark.data
def test_finnish_titles_have_their_names_and_are_split_as_stated(made_counts, tmp_path, capsys):
    rows = made_counts.get("yso-finna-fi/docs.tsv.xz", 100_000)
    sets.main(["write", "finna-fi-100k", str(tmp_path), "--development"])
    assert capsys.readouterr().out.startswith(f"{rows - rows // 10:,} training rows, {rows // 10:,} held out")
    assert not (tmp_path / "test.jsonl").exists()
    assert data.read_label_names(tmp_path / "names.tsv")["3"] == ["viihdekirjallisuus"]
