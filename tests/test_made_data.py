"""Tests without a data folder get made data, which is the same each time and is never mixed with real data."""

import lzma

import pytest

from benchmarks import documents, sets
from tests import conftest
from tests.made_data import ratings, texts, vectors
from tests.made_data.files import write_lines


def test_a_named_folder_must_exist(monkeypatch, tmp_path):
    monkeypatch.setenv("ABOUND_DATA", str(tmp_path))
    assert conftest.real_folder() == tmp_path
    monkeypatch.setenv("ABOUND_DATA", str(tmp_path / "missing"))
    with pytest.raises(pytest.fail.Exception, match=r"ABOUND_DATA must be a folder of data sets, got .*missing"):
        conftest.real_folder()


def test_the_folder_beside_the_clone_is_optional(monkeypatch, tmp_path):
    monkeypatch.delenv("ABOUND_DATA", raising=False)
    for beside, found in ((tmp_path, tmp_path), (tmp_path / "missing", None)):
        monkeypatch.setattr(conftest, "BESIDE", beside)
        assert conftest.real_folder() == found


def test_benchmarks_read_the_folder_of_the_tests_and_keep_made_data_apart(data_folder, made_counts):
    assert documents.data_folder() == data_folder
    inside = data_folder.parent in sets.CACHE.parents
    assert inside == bool(made_counts)
    for name, count in made_counts.items():
        assert (data_folder / name).stat().st_size > 0
        assert count > 0


def test_made_files_are_the_same_each_time(tmp_path):
    families = (texts.ohsumed, ratings.write)
    first, again = ({name: n for write in families for name, n in write(tmp_path / one).items()} for one in "ab")
    assert first == again
    for name in first:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert list(vectors.rows(50, 100, 10, seed=1)) == list(vectors.rows(50, 100, 10, seed=1))
    assert list(vectors.rows(50, 100, 10, seed=1)) != list(vectors.rows(50, 100, 10, seed=2))


@pytest.mark.parametrize(("name", "opened"), [("a/lines.txt", open), ("a/lines.xz", lzma.open)])
def test_lines_are_counted_and_compressed_if_the_name_says_so(tmp_path, name, opened):
    assert write_lines(tmp_path, name, iter(["one", "ääkköset", "three"])) == {name: 3}
    with opened(tmp_path / name, "rt", encoding="utf-8") as lines:
        assert lines.read() == "one\nääkköset\nthree\n"
