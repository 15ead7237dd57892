"""Compression, standard streams, skipping, progress, damage, atomic files."""

import io
import os
import pickle
import stat
import sys

import pytest

from abound import data
from abound.data import Document
from abound.data.streams import COMPRESSIONS

DOCUMENTS = [Document((f"label {i % 7}", "שלום"), f"text {i} 😀\nsecond line", f"d{i}") for i in range(3000)]
TEXT_FORMATS = ["labels-tsv", "annif", "fasttext"]


@pytest.fixture
def stdin(monkeypatch):
    def give(content):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))

    return give


@pytest.mark.parametrize("suffix", ["", *COMPRESSIONS])
@pytest.mark.parametrize("name", ["jsonl", "csv", "parquet"])
def test_every_compression_round_trips_and_reports_progress(name, suffix, tmp_path):
    path = tmp_path / f"docs.{name}{suffix}"
    assert data.write(path, DOCUMENTS) == 3000
    reader = data.read(path)
    assert (reader.format, reader.size, reader.bytes_read) == (name, path.stat().st_size, 0)
    assert list(reader) == DOCUMENTS
    assert reader.bytes_read > 0
    if name != "parquet":  # whose footer is read first, and again
        assert reader.bytes_read == reader.size


def test_compression_compresses(tmp_path):
    sizes = dict.fromkeys(("", *COMPRESSIONS), 0)
    for suffix in sizes:
        data.write(tmp_path / f"docs.jsonl{suffix}", DOCUMENTS)
        sizes[suffix] = (tmp_path / f"docs.jsonl{suffix}").stat().st_size
    assert all(sizes[suffix] < sizes[""] / 4 for suffix in COMPRESSIONS)


def test_bytes_read_grows_with_the_loop(tmp_path):
    path = tmp_path / "docs.jsonl"
    data.write(path, DOCUMENTS * 5)
    reader = data.read(path)
    records = iter(reader)
    next(records)
    assert 0 < reader.bytes_read < reader.size
    records.close()


@pytest.mark.parametrize("suffix", COMPRESSIONS)
@pytest.mark.parametrize("name", ["jsonl", "labels-tsv"])
@pytest.mark.parametrize("on_error", ["stop", "skip"])
def test_a_file_cut_short_is_told_under_both_policies(name, suffix, on_error, tmp_path):
    path = tmp_path / f"docs{suffix}"
    lines = [Document((os.urandom(20).hex(),), os.urandom(40).hex()) for _ in range(5000)]
    data.write(path, lines, name)
    path.write_bytes(path.read_bytes()[:-1000])
    read = []
    with pytest.raises(data.DataError, match="the compressed data ends early, so the file is truncated") as caught:
        read.extend(data.read(path, name, on_error=on_error))
    assert read or suffix == ".bz2"  # one block of which holds the whole file
    assert read == lines[: len(read)]
    assert caught.value.line == len(read) + 1


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_damaged_compression_is_told(suffix, tmp_path, first_error):
    path = tmp_path / f"docs.jsonl{suffix}"
    path.write_bytes(b"this is not compressed at all, whatever its name says")
    with pytest.raises(data.DataError, match="the compressed data is damaged") as caught:
        list(data.read(path))
    assert caught.value.line == 1


def test_frames_of_zstandard_one_after_another_are_one_file(tmp_path):
    one, two, both = (tmp_path / f"{name}.jsonl.zst" for name in ("one", "two", "both"))
    data.write(one, DOCUMENTS[:10])
    data.write(two, DOCUMENTS[10:20])
    both.write_bytes(one.read_bytes() + two.read_bytes())
    assert list(data.read(both)) == DOCUMENTS[:20]


@pytest.mark.parametrize("name", ["jsonl", "csv", "parquet"])
def test_standard_streams(name, tmp_path, stdin, monkeypatch):
    buffer = io.BytesIO()
    buffer.close = lambda: None
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(buffer))
    assert data.write("-", DOCUMENTS[:50], name) == 50
    stdin(buffer.getvalue())
    reader = data.read("-", name)
    assert reader.size is None
    assert list(reader) == DOCUMENTS[:50]
    assert reader.bytes_read >= len(buffer.getvalue())
    assert not sys.stdin.closed
    assert not sys.stdout.closed


def test_parquet_goes_through_a_pipe(monkeypatch):
    class Pipe(io.BytesIO):
        def seekable(self):
            return False

        def tell(self):
            raise OSError("a pipe has no position")

    pipe = Pipe()
    monkeypatch.setattr(sys, "stdout", type("Stdout", (), {"buffer": pipe}))
    assert data.write("-", DOCUMENTS[:5], "parquet") == 5
    monkeypatch.setattr(sys, "stdin", type("Stdin", (), {"buffer": Pipe(pipe.getvalue())}))
    assert list(data.read("-", "parquet")) == DOCUMENTS[:5]


def test_an_error_in_standard_input_is_told(stdin):
    stdin(b'{"text": "a", "labels": []}\n{\n')
    with pytest.raises(data.DataError, match=r"^<stdin>:2: not JSON"):
        list(data.read("-", "jsonl"))


def test_skip_counts_and_keeps_the_first_few(tmp_path):
    path = tmp_path / "docs.tsv"
    path.write_bytes(b"a\tgood\nbad\n\xff\tbad\nb\tgood\n" + b"bad\n" * 100)
    reader = data.read(path, "labels-tsv", on_error="skip")
    for _ in range(2):  # each loop counts anew
        assert [document.labels for document in reader] == [("a",), ("b",)]
        assert reader.skipped.count == 102
        assert [error.line for error in reader.skipped.errors] == [2, 3, 5, 6, 7, 8, 9, 10, 11, 12]
        assert "is not UTF-8" in reader.skipped.errors[1].reason


def test_skip_cannot_help_without_a_header(tmp_path):
    path = tmp_path / "docs.csv"
    path.write_bytes(b"a,b\n1,2\n")
    with pytest.raises(data.DataError, match="no field 'text'"):
        list(data.read(path, on_error="skip"))


def test_a_stray_quote_costs_one_row_only(tmp_path):
    path = tmp_path / "docs.csv"
    path.write_bytes(b'text,labels\n5" disk,a\nfine,b\n"two\nlines",c\n"x"y,d\nfine,e\n')
    reader = data.read(path, on_error="skip")
    assert [document.text for document in reader] == ["fine", "two\nlines", "fine"]
    assert [error.line for error in reader.skipped.errors] == [2, 6]


def test_xmc_counts_skipped_rows(tmp_path):
    path = tmp_path / "rows.xmc"
    rows = b"0 1:1\n0 \xff\n0 x\n1 2:2\n"
    path.write_bytes(b"4 9 9\n" + rows)
    reader = data.read(path, on_error="skip")
    assert [row.labels for row in reader] == [("0",), ("1",)]
    assert [error.line for error in reader.skipped.errors] == [3, 4]
    path.write_bytes(b"7 9 9\n" + rows)
    list(reader)
    assert [error.line for error in reader.skipped.errors] == [3, 4, 5]
    assert "says 7 rows, the file has 4" in reader.skipped.errors[2].reason


@pytest.mark.parametrize("name", data.FORMATS)
def test_byte_order_mark_and_crlf_are_tolerated(name, tmp_path):
    if name in ("parquet", "documents"):
        pytest.skip("no file of lines")
    plain, windows = tmp_path / "plain", tmp_path / "windows"
    data.write(plain, _samples(name), name)
    windows.write_bytes(b"\xef\xbb\xbf" + plain.read_bytes().replace(b"\n", b"\r\n"))
    assert list(data.read(windows, name)) == _samples(name)


@pytest.mark.parametrize("name", data.FORMATS)
def test_the_last_line_needs_no_end_and_blank_lines_are_passed_over(name, tmp_path):
    if name in ("parquet", "documents"):
        pytest.skip("no file of lines")
    path = tmp_path / "file"
    data.write(path, _samples(name), name)
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    assert list(data.read(path, name)) == _samples(name)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\n\n") + b"\n\n")
    assert list(data.read(path, name)) == _samples(name)


def _samples(name):
    record = data.FORMATS[name].record
    if record is Document:
        return [Document(("a", "b"), "first text"), Document(("c",), "second text")]
    if record is data.Row:
        labels = ("1",) if name in ("letor", "xmc") else ("a", "b")
        qid = "7" if name == "letor" else None
        return [data.Row(labels, (0, 5), (0.5, 2.0), qid), data.Row(labels, (3,), (-1.0,), qid)]
    if record is data.NamedRow:
        return [data.NamedRow(("a",), ("x", "n^y"), (1.0, 2.5), "tag"), data.NamedRow((), ("x",), (1.0,))]
    if record is data.RunLine:
        return [data.RunLine("1", "d1", 1, 0.5, "t"), data.RunLine("1", "d2", 2, 0.25, "t")]
    return [data.Qrel("1", "d1", 2), data.Qrel("1", "d2", -1)]


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "docs.jsonl.gz"
    data.write(path, DOCUMENTS[:3])
    before = path.read_bytes()

    def broken():
        yield DOCUMENTS[0]
        raise RuntimeError("the source failed")

    with pytest.raises(RuntimeError, match="the source failed"):
        data.write(path, broken())
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.name == "nt", reason="no links, modes and devices as in POSIX")
def test_a_file_may_be_rewritten_from_itself_and_keeps_its_mode(tmp_path):
    path, link = tmp_path / "docs.jsonl", tmp_path / "link.jsonl"
    data.write(path, DOCUMENTS)
    path.chmod(0o640)
    link.symlink_to(path)
    kept = (document for document in data.read(link) if document.id < "d2")
    count = data.write(link, kept)
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert len(list(data.read(path))) == count < 3000


def test_the_same_records_give_the_same_bytes(tmp_path):
    for suffix in COMPRESSIONS:
        one, two = tmp_path / f"one.jsonl{suffix}", tmp_path / f"two.jsonl{suffix}"
        data.write(one, DOCUMENTS[:9])
        data.write(two, DOCUMENTS[:9])
        assert one.read_bytes() == two.read_bytes()
    assert (tmp_path / "one.jsonl.gz").read_bytes()[4:8] == bytes(4)  # gzip's place for the time


@pytest.mark.skipif(os.name == "nt", reason="no links, modes and devices as in POSIX")
def test_a_device_is_written_directly():
    assert data.write("/dev/null", DOCUMENTS[:2], "jsonl") == 2


def test_a_missing_file_and_a_directory_are_told_at_once(tmp_path):
    with pytest.raises(FileNotFoundError):
        data.read(tmp_path / "none.jsonl")
    with pytest.raises(IsADirectoryError, match="is a directory; name a file in it"):
        data.read(tmp_path, "jsonl")


def test_a_data_error_survives_pickling():
    error = pickle.loads(pickle.dumps(data.DataError("f", 3, "why")))  # noqa: S301
    assert (str(error), error.file, error.line, error.reason) == ("f:3: why", "f", 3, "why")
