"""Label names from files of their own."""

import gzip

import pytest

from abound import data


@pytest.fixture
def names(tmp_path):
    def of(content, file="labels.tsv"):
        path = tmp_path / file
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return data.read_label_names(path)

    return of


def test_columns_and_repeated_ids_are_synonyms(names):
    content = "\ufeff3\tlight reading\r\n4\tpoetry\tverse\r\n\r\n3\teasy reading\r\n3\tlight reading\n"
    assert names(content) == {"3": ["light reading", "easy reading"], "4": ["poetry", "verse"]}


def test_a_txt_file_numbers_its_lines_from_zero(names):
    assert names("TAG a\nשלום\n", "labels.txt") == {"0": ["TAG a"], "1": ["שלום"]}


def test_compressed_files_and_annif_vocabularies(names):
    assert names(gzip.compress(b"<http://u>\tname\n", mtime=0), "labels.tsv.gz") == {"http://u": ["name"]}
    assert names(gzip.compress(b"name\n", mtime=0), "labels.txt.gz") == {"0": ["name"]}


MALFORMED = [
    ("labels.tsv", b"3 name\n", 1, "no tab in '3 name'; write 'id<TAB>name'"),
    ("labels.tsv", b"3\tname\nname\n", 2, "no tab in 'name'"),
    ("labels.tsv", b"\tname\n", 1, "the id is empty; every label needs an id and a name"),
    ("labels.tsv", b" \tname\n", 1, "the id is empty"),
    ("labels.tsv", b"<>\tname\n", 1, "the id is empty"),
    ("labels.tsv", b"3\t\n", 1, "a name is empty; every label needs an id and a name"),
    ("labels.tsv", b"3\tname\t\n", 1, "a name is empty"),
    ("labels.tsv", b"3\tcaf\xe9\n", 1, "byte 0xe9 at position 6 is not UTF-8"),
    ("labels.tsv", b"\xff\xfe3\x00", 1, "the file is UTF-16; save it as UTF-8"),
    ("labels.txt", b"one\n\ntwo\n", 2, "the name is empty"),
    ("labels.txt", b"one\n\xff\n", 2, "byte 0xff at position 1 is not UTF-8"),
    ("labels.tsv.gz", gzip.compress(b"3\tname\n" * 9, mtime=0)[:-8], 1, "the compressed data ends early"),
    ("labels.tsv.gz", b"3\tname\n", 1, "the compressed data is damaged"),
]


@pytest.mark.parametrize(("file", "content", "line", "reason"), MALFORMED)
def test_a_malformed_line_is_told(names, file, content, line, reason):
    with pytest.raises(data.DataError) as caught:
        names(content, file)
    assert caught.value.line == line
    assert caught.value.reason.startswith(reason)


def test_a_missing_file_is_the_system_s_own_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        data.read_label_names(tmp_path / "none.tsv")
