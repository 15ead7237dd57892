"""Names, options and the readings that a round trip does not show."""

import builtins
import importlib
import math
import re

import pytest

from abound import data
from abound.data import Document, NamedRow, Row


@pytest.fixture
def records(tmp_path):
    def of(name, content, **options):
        path = tmp_path / "file"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return list(data.read(path, name, **options))

    return of


DETECTED = {
    "docs.jsonl": "jsonl",
    "docs.jsonl.gz": "jsonl",
    "docs.NDJSON.XZ": "jsonl",
    "a.b/rows.svm.bz2": "svmlight",
    "rows.svmlight": "svmlight",
    "rows.libsvm.zst": "svmlight",
    "docs.tsv": "tsv",
    "docs.csv": "csv",
    "docs.parquet": "parquet",
    "docs.ft": "fasttext",
    "docs.fasttext": "fasttext",
    "docs.vw": "vw",
    "indri.run": "trec-run",
    "web.qrels": "trec-qrels",
    "rows.letor": "letor",
    "rows.xmc": "xmc",
}


@pytest.mark.parametrize(("path", "name"), DETECTED.items())
def test_the_format_is_told_from_the_name(path, name):
    assert data.detect_format(path) == name


@pytest.mark.parametrize("path", ["docs.txt", "docs", "docs.gz", "jsonl", ".gz"])
def test_a_name_that_says_nothing_is_an_error_that_lists_the_formats(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where no directory has this name
    with pytest.raises(ValueError, match=f"cannot detect the format of '{path}' from its name; pass format=") as caught:
        data.detect_format(path)
    assert all(name in str(caught.value) for name in data.FORMATS)


def test_a_standard_stream_needs_a_format():
    with pytest.raises(ValueError, match="the format of a standard stream cannot be detected; pass format="):
        data.read("-")


def test_an_unknown_format_is_told_with_the_nearest(tmp_path):
    with pytest.raises(ValueError, match="there is no format 'json'; did you mean 'jsonl'\\?"):
        data.read(tmp_path, "json")


WRONG_OPTIONS = [
    (
        "jsonl",
        {"text_fields": "t"},
        "format 'jsonl' has no option 'text_fields' for read; did you mean 'text_field'?",
    ),
    (
        "fasttext",
        {"prefixes": "x"},
        "format 'fasttext' has no option 'prefixes' for read; did you mean 'prefix'?",
    ),
    ("fasttext", {"spaces": "_"}, "format 'fasttext' has no option 'spaces' for read"),
    ("trec-run", {"tag": "x"}, "format 'trec-run' has no option 'tag' for read; its options: longest_line"),
    ("csv", {"delimiter": ",,"}, "delimiter must be one ASCII character"),
    ("csv", {"label_separator": ""}, "label_separator must be one character"),
    ("labels-tsv", {"label_separator": "\t"}, "label_separator must be one character other than a tab"),
    ("jsonl", {"text_field": []}, "text_field must name at least one field, got []"),
    ("fasttext", {"prefix": ""}, "prefix must be a text without whitespace"),
    ("jsonl", {"on_error": "ignore"}, "on_error must be 'stop' or 'skip', got 'ignore'"),
    ("parquet", {"batch_rows": 0}, "batch_rows must be at least 1, got 0"),
]


@pytest.mark.parametrize(("name", "options", "message"), WRONG_OPTIONS)
def test_wrong_options_are_told(name, options, message, tmp_path):
    path = tmp_path / "file"
    data.write(path, [], name)
    with pytest.raises(ValueError, match=re.escape(message)):
        list(data.read(path, name, **options))


def test_an_option_of_the_wrong_type_is_told(tmp_path):
    with pytest.raises(TypeError, match="prefix of format 'fasttext' must be str, got 3"):
        data.write(tmp_path / "f", [], "fasttext", prefix=3)
    with pytest.raises(TypeError, match="n_labels of format 'xmc' must be int or None, got True"):
        data.write(tmp_path / "f", [], "xmc", n_labels=True)
    with pytest.raises(ValueError, match="ids of format 'annif' must be 'refuse' or 'drop', got 'keep'"):
        data.write(tmp_path / "f", [], "annif", ids="keep")
    with pytest.raises(ValueError, match="text_field must name one field for writing, got 2"):
        data.write(tmp_path / "f", [Document((), "")], "jsonl", text_field=["a", "b"])
    with pytest.raises(
        ValueError, match="text_field, labels_field, id_field and weight_field must differ, got 'x', 'x'"
    ):
        data.write(tmp_path / "f", [], "csv", text_field="x", labels_field="x", id_field=None)


@pytest.mark.parametrize("name", data.FORMATS)
def test_every_option_has_help_and_a_valid_default(name):
    format_ = data.FORMATS[name]
    assert format_.name == name
    assert format_.summary
    for option in format_.options.values():
        assert option.help.endswith(".")
        assert isinstance(option.default, option.kinds)


@pytest.mark.parametrize(
    ("module", "path", "command"),
    [
        ("backports", "docs.jsonl.zst", "[.]zst files need backports.zstd: pip install 'abound\\[zstd\\]'"),
        ("pyarrow", "docs.parquet", "Parquet files need pyarrow: pip install 'abound\\[parquet\\]'"),
    ],
)
def test_a_missing_extra_is_told_with_its_command(module, path, command, tmp_path, monkeypatch):
    path = tmp_path / path
    data.write(path, [])
    real = importlib.import_module

    def without(name, *args):
        if name.partition(".")[0] == module:
            raise ModuleNotFoundError(name)
        return real(name, *args)

    monkeypatch.setattr(importlib, "import_module", without)
    reader = data.read(path)  # not yet needed
    with pytest.raises(ImportError, match=command):
        list(reader)
    with pytest.raises(ImportError, match=command):
        data.write(path, [])


def test_jsonl_fields_can_be_named(records):
    line = '{"n": 7, "title": "T", "body": "B", "abstract": null, "tags": "one", "extra": [1]}\n'
    assert records("jsonl", line, text_field=["title", "abstract", "body"], labels_field="tags", id_field="n") == [
        Document(("one",), {"title": "T", "body": "B"}, "7")
    ]
    assert records("jsonl", line, text_field=("title", "body"), join=" ", labels_field=None) == [Document((), "T B")]
    assert records("jsonl", ' {"text": "x", "labels": [1, "b"]} \n  \n') == [Document(("1", "b"), "x")]


def test_jsonl_without_any_of_the_text_fields_is_malformed(first_error):
    error = first_error("jsonl", b'{"a": null, "labels": []}', text_field=["a", "b"])
    assert error.reason == "'a', 'b' is missing or null; the text must be a string"


def test_csv_reads_what_spreadsheets_write(records):
    content = 'id;Title;Abstract;tags\r\n7;"a ""b""; c";"two\r\nlines";x | y\r\n;plain;;\r\n'
    options = {"delimiter": ";", "text_field": ["Title", "Abstract"], "labels_field": "tags", "join": " / "}
    assert records("csv", content, **options) == [
        Document(("x", "y"), 'a "b"; c / two\r\nlines', "7"),
        Document((), "plain / "),
    ]


def test_csv_keeps_several_text_fields_unless_they_are_joined(records):
    content, fields = "title,body,labels\nT,B,x\n,B,\n", ["title", "body"]
    assert records("csv", content, text_field=fields) == [
        Document(("x",), {"title": "T", "body": "B"}),
        Document((), {"title": "", "body": "B"}),
    ]
    assert records("csv", content, text_field=fields, join=" ")[0] == Document(("x",), "T B")
    assert records("csv", content, text_field=["title"])[0] == Document(("x",), "T")


def test_jsonl_keeps_texts_with_fields(tmp_path):
    document = Document(("x",), {"title": "T", "abstract": "A\tB"}, "7")
    path = tmp_path / "docs.jsonl"
    assert data.write(path, [document]) == 1
    assert list(data.read(path)) == [document]
    assert list(data.read(path, join="+")) == [document._replace(text="T+A\tB")]


def test_jsonl_with_a_bad_object_as_text_is_malformed(first_error):
    error = first_error("jsonl", b'{"text": {"title": 3}, "labels": []}')
    assert error.reason == "the text must be a string, or an object of strings by field, got {'title': 3}"
    error = first_error("jsonl", b'{"text": {"title": "\\ud800"}, "labels": []}')
    assert "half of a surrogate pair" in error.reason


def test_a_text_field_named_twice_is_refused(records):
    with pytest.raises(ValueError, match="text_field names a field twice: 'a', 'a'"):
        records("jsonl", '{"a": "x", "labels": []}', text_field=["a", "a"])


@pytest.mark.parametrize("name", ["csv", "tsv", "labels-tsv", "annif", "fasttext", "parquet"])
def test_formats_without_fields_say_so(name, tmp_path):
    pytest.importorskip("pyarrow")
    with pytest.raises(ValueError, match=f"the text has the fields 'title', which {name} cannot represent"):
        data.write(tmp_path / "docs", [Document(("x",), {"title": "T"})], name)


def test_csv_has_no_limit_on_a_field(records):
    text = "word, " * 100_000
    assert records("csv", f'text,labels\n"{text}",a\n') == [Document(("a",), text)]


def test_csv_with_one_column(records, tmp_path):
    documents = [Document((), ""), Document((), "x"), Document((), "y\r")]
    path = tmp_path / "one.csv"
    data.write(path, documents, labels_field=None, id_field=None)
    assert path.read_bytes() == b'text\n""\nx\n"y\r"\n'
    assert list(data.read(path, labels_field=None)) == documents


def test_fasttext_labels_count_wherever_they_stand(records):
    assert records("fasttext", "some __label__a text __label__b\n") == [Document(("a", "b"), "some text ")]
    assert records("fasttext", "__label__a\t__label__b\ttext\n") == [Document(("a", "b"), "text")]
    assert records("fasttext", "not__label__a\n") == [Document((), "not__label__a")]
    assert records("fasttext", "#a\xa0b x\n", prefix="#") == [Document(("a\xa0b",), "x")]


def test_one_line_formats_replace_on_request(tmp_path):
    path = tmp_path / "docs.ft"
    document = Document(("two words",), "line\nbreak", "7")
    data.write(path, [document], spaces="_", breaks=" ", ids="drop")
    assert list(data.read(path)) == [Document(("two_words",), "line break")]


def test_annif_takes_uris_without_brackets(records):
    assert records("annif", "text\t<http://a> http://b\n") == [Document(("http://a", "http://b"), "text")]


def test_labels_tsv_with_another_separator(records):
    assert records("labels-tsv", "a b;c\ttext\n\ttext\n", label_separator=";") == [
        Document(("a b", "c"), "text"),
        Document((), "text"),
    ]


def test_svmlight_reads_comments_queries_and_empty_rows(records):
    content = "# all comment\na,b 3:1 1:.5e1 # note # more\n 2:1\n \nc\td:1\n".replace("d", "4")
    assert records("svmlight", content) == [
        Row(("a", "b"), (3, 1), (1.0, 5.0), None, None, "note # more"),
        Row((), (2,), (1.0,)),
        Row((), (), ()),
        Row(("c",), (4,), (1.0,)),
    ]
    assert records("svmlight", "2 qid:7 1:1\n") == [Row(("2",), (1,), (1.0,), "7")]
    assert records("svmlight", "a 1:1e308 2:1e308\n") == [Row(("a",), (1, 2), (1e308, 1e308))]


def test_xmc_header_counts_what_was_written(tmp_path):
    path = tmp_path / "rows.xmc"
    data.write(path, [Row(("2",), (5,), (1.0,)), Row((), (), ())])
    assert path.read_bytes() == b"2 6 3\n2 5:1\n \n"
    data.write(path, [Row(("2",), (5,), (1.0,))], n_features=10, n_labels=20)
    assert path.read_bytes().startswith(b"1 10 20\n")
    with pytest.raises(ValueError, match="record 1: label 2 is beyond n_labels=2, counted from zero"):
        data.write(path, [Row(("2",), (5,), (1.0,))], n_labels=2)


def test_letor_reads_id_and_null(records):
    line = "2 qid:10 1:NULL 2:0.5 #docid = GX000-00 inc = 1 prob = 0.02\n"
    assert records("letor", line) == [Row(("2",), (1, 2), (math.nan, 0.5), "10", "GX000-00", "inc = 1 prob = 0.02")]


def test_vw_reads_tags_namespaces_and_scales(records):
    content = "1,2 'tag|n:2 a b:3 |  c |m d\nb tag| x:2.5\n| x\nx| y\nl1,l2 |\n"
    assert records("vw", content) == [
        NamedRow(("1", "2"), ("n^a", "n^b", "c", "m^d"), (2.0, 6.0, 1.0, 1.0), "tag"),
        NamedRow(("b",), ("x",), (2.5,), "tag"),
        NamedRow((), ("x",), (1.0,)),
        NamedRow((), ("y",), (1.0,), "x"),
        NamedRow(("l1", "l2"), (), ()),
    ]


def test_nothing_is_imported_from_outside_before_it_is_needed(monkeypatch):
    real = builtins.__import__

    def watched(name, *args, **keywords):
        assert name.partition(".")[0] not in ("pyarrow", "backports", "compression")
        return real(name, *args, **keywords)

    monkeypatch.setattr(builtins, "__import__", watched)
    importlib.reload(importlib.import_module("abound.data.registry"))
