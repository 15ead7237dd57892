"""What a file says is not what it may take: bombs, lines without an end, and what stands behind the end."""

import io
import lzma
import sys
import tracemalloc
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abound import data
from abound.data import Document, parquet
from abound.data.formats import Malformed, lines_of
from abound.data.streams import COMPRESSIONS, _decompressed, open_output

DOCUMENTS = [Document(("x",), f"text {i}") for i in range(100)]


class Chunked(io.BytesIO):
    """A stream that hands over a few bytes at a time, as a pipe does."""

    def __init__(self, raw, n_bytes):
        super().__init__(raw)
        self._n_bytes = n_bytes

    def read1(self, _):
        return super().read1(self._n_bytes)


def compressed(path, content):
    with open_output(str(path)) as stream:
        stream.write(content)
    return path


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_a_bomb_is_read_piece_by_piece(suffix, tmp_path):
    path = compressed(tmp_path / f"bomb.jsonl{suffix}", (b"0" * 9999 + b"\n") * 3000)
    assert path.stat().st_size < 50_000
    reader = data.read(path, on_error="skip")
    tracemalloc.start()
    try:
        assert list(reader) == []
        assert tracemalloc.get_traced_memory()[1] < 12_000_000  # 8 MB are xz's own; the content has 30
    finally:
        tracemalloc.stop()
    assert reader.skipped.count == 3000


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_a_line_without_an_end_is_refused(suffix, tmp_path):
    path = compressed(tmp_path / f"bomb.jsonl{suffix}", b'{"text": "a", "labels": []}\n' * 3 + b"\0" * 5_000_000)
    read = []
    with pytest.raises(
        data.DataError, match="longer than 1,000,000 bytes; if that is intended, raise the limit with longest_line"
    ) as caught:
        read.extend(data.read(path, on_error="skip", longest_line=1_000_000))
    assert len(read) == 3
    assert caught.value.line == 4


@pytest.mark.parametrize("name", [name for name, f in data.FORMATS.items() if name not in ("parquet", "documents")])
def test_every_format_of_lines_bounds_them(name, first_error):
    assert "longer than 64 bytes" in first_error(name, b"1" * 65, longest_line=64).reason
    assert "longer than 67,108,864 bytes" in first_error(name, b"1" * ((1 << 26) + 1)).reason


def test_a_quoted_field_of_many_lines_is_bounded_too(first_error):
    error = first_error("csv", b'text,labels\na,b\n"' + b"line\n" * 100, longest_line=64)
    assert "longer than 64 bytes" in error.reason
    assert error.line == 3


@given(st.lists(st.sampled_from([b"\n", b"a", b"\r", b"bcd" * 5, b"\0"])).map(b"".join), st.integers(1, 40))
def test_lines_are_those_of_a_file(raw, n_bytes):
    assert list(lines_of(Chunked(raw, n_bytes))) == list(io.BytesIO(raw))


@given(st.lists(st.sampled_from([b"\n", b"a", b"bcd" * 3])).map(b"".join), st.integers(1, 40), st.integers(1, 20))
def test_lines_end_where_one_is_too_long(raw, n_bytes, longest):
    lines = list(io.BytesIO(raw))
    n_short = next((at for at, line in enumerate(lines) if len(line) > longest), None)
    found = []
    if n_short is None:
        found.extend(lines_of(Chunked(raw, n_bytes), longest))
    else:
        with pytest.raises(Malformed, match=f"longer than {longest} bytes"):
            found.extend(lines_of(Chunked(raw, n_bytes), longest))
    assert found == lines[:n_short]


def test_names_of_labels_are_bounded(tmp_path):
    path = tmp_path / "names.tsv"
    with open(path, "wb") as file:
        file.write(b"a\tA\n")
        file.truncate((1 << 26) + 100)  # a hole
    with pytest.raises(data.DataError, match=r"names\.tsv:2: the line is longer than 67,108,864 bytes"):
        data.read_label_names(path)


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_zeros_may_follow_the_end_and_nothing_else(suffix, tmp_path):
    path = tmp_path / f"docs.jsonl{suffix}"
    data.write(path, DOCUMENTS)
    whole = path.read_bytes()
    path.write_bytes(whole + bytes(4096) + whole)
    assert list(data.read(path)) == DOCUMENTS * 2
    path.write_bytes(whole + bytes(70_000))
    assert list(data.read(path)) == DOCUMENTS
    path.write_bytes(whole + b"more")
    with pytest.raises(data.DataError, match=r"the compressed data (is damaged|ends early)"):
        list(data.read(path))


def test_xz_may_not_ask_for_gigabytes():
    raw = bytearray(lzma.compress(b"some bytes\n"))
    size = (raw[12] + 1) * 4  # of the block's header, which follows the stream's
    raw[16] = 40  # a dictionary of 4 GiB
    raw[12 + size - 4 : 12 + size] = zlib.crc32(raw[12 : 12 + size - 4]).to_bytes(4, "little")
    with pytest.raises(OSError, match=r"[Mm]emory"):
        _decompressed(io.BytesIO(raw), ".xz").read(100)


def test_a_table_from_a_pipe_is_bounded(tmp_path, monkeypatch):
    path = tmp_path / "docs.parquet.zst"
    data.write(path, DOCUMENTS)
    assert list(data.read(path)) == DOCUMENTS
    monkeypatch.setattr(parquet, "MAX_HELD_BYTES", 500)
    with pytest.raises(data.DataError, match="a table of more than 500 bytes cannot be read from a pipe; save it"):
        list(data.read(path))


def test_standard_input_is_read_line_by_line(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Chunked(b"a\tb\n\nc\td\n", 3)))
    assert list(data.read("-", "labels-tsv")) == [Document(("a",), "b"), Document(("c",), "d")]
