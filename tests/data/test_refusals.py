"""What a format cannot represent is refused with the character's name and a way out."""

import math
import re

import pytest

from abound import data
from abound.data import Document, NamedRow, Qrel, Row, RunLine

RENAME = "number the labels and keep their names in a separate file, or write the documents as jsonl"
REFUSED = [
    (
        "labels-tsv",
        Document(("a b",), "x"),
        "the label 'a b' contains a space (' '), which labels-tsv cannot represent; write jsonl instead",
    ),
    (
        "labels-tsv",
        Document(("a",), "x\ty"),
        "the text 'x\\ty' contains a tab ('\\t'), which labels-tsv cannot represent; "
        "write jsonl instead, or replace it with breaks=' '",
    ),
    ("labels-tsv", Document(("a",), "x\ny"), "contains a line break ('\\n'), which labels-tsv cannot represent"),
    ("labels-tsv", Document(("a",), "x", "7"), "the document has id '7', which labels-tsv does not support"),
    ("labels-tsv", Document(("",), "x"), "a label is empty, which labels-tsv cannot represent; leave it out"),
    ("labels-tsv", Document((3,), "x"), "the label 3 must be str, got int"),
    (
        "annif",
        Document(("http://a b",), "x"),
        "contains a space (' '), which annif cannot represent; write jsonl instead",
    ),
    ("annif", Document(("<u>",), "x"), "contains '<' (U+003C LESS-THAN SIGN), which annif cannot represent"),
    (
        "fasttext",
        Document(("a b",), "x"),
        "contains a space (' '), which fasttext cannot represent; write jsonl instead, or replace it with spaces='_'",
    ),
    ("fasttext", Document(("a\0",), "x"), "contains a zero byte ('\\x00'), which fasttext cannot represent"),
    (
        "fasttext",
        Document((), "x __label__y"),
        "the text has a word that starts with '__label__', as labels do",
    ),
    ("fasttext", Document((), ""), "fasttext cannot represent a document without labels and text; leave it out"),
    (
        "csv",
        Document(("a|b",), "x"),
        "contains a bar ('|'), which csv cannot represent; write jsonl instead, or choose another label_separator",
    ),
    ("csv", Document((" a",), "x"), "the label ' a' starts or ends with whitespace, which csv cannot represent"),
    ("csv", Document(("a",), "x", ""), "the id is empty, which csv cannot represent"),
    ("jsonl", Document(("",), "x"), "a label is empty, which jsonl cannot represent; leave it out"),
    (
        "jsonl",
        Document(("a",), "\ud800"),
        "a text contains the lone surrogate U+D800, which UTF-8 cannot encode",
    ),
    ("parquet", Document(("a",), "\ud800"), "a text contains the lone surrogate U+D800"),
    ("parquet", Document(("",), "x"), "a label is empty, which parquet cannot represent"),
    ("svmlight", Row(("a,b",), (), ()), f"contains a comma (','), which svmlight cannot represent; {RENAME}"),
    ("svmlight", Row(("a:b",), (), ()), "contains a colon (':'), which svmlight cannot represent"),
    ("svmlight", Row(("C#",), (), ()), "contains a hash sign ('#'), which svmlight cannot represent"),
    (
        "svmlight",
        Row((), (), (), comment="a\0"),
        "contains a zero byte ('\\x00'), which svmlight cannot represent",
    ),
    (
        "svmlight",
        Row((), (), (), id="d"),
        "the row has id 'd', which svmlight does not support; drop it with ",
    ),
    ("svmlight", Row((), (1,), (math.inf,)), "the value inf is not finite"),
    ("svmlight", Row((), (-1,), (1.0,)), "feature numbers must be between 0 and"),
    ("svmlight", Row((), (1, 2), (1.0,)), "the row has 2 indices and 1 values"),
    (
        "xmc",
        Row(("a",), (), ()),
        f"the label 'a' is not a number of at least zero, which xmc needs; {RENAME}",
    ),
    ("xmc", Row((), (), (), qid="1"), "the row has qid '1', which xmc does not support"),
    ("letor", Row(("1",), (), ()), "the row has no qid, which letor needs; write svmlight instead"),
    (
        "letor",
        Row(("1", "2"), (), (), "q"),
        "the row has 2 labels, but letor supports one; write svmlight instead",
    ),
    ("letor", Row(("a",), (), (), "q"), "a grade must be a whole number, got 'a'; write svmlight instead"),
    ("letor", Row(("1",), (), (), "q", None, "docid = x"), "the comment 'docid = x' would be read as an id"),
    (
        "trec-run",
        RunLine("1 2", "d", 1, 0.5, "t"),
        "the qid '1 2' contains a space (' '), which trec-run cannot represent",
    ),
    (
        "trec-run",
        RunLine("1", "d\xa0", 1, 0.5, "t"),
        "contains '\\xa0' (U+00A0 NO-BREAK SPACE), which trec-run cannot",
    ),
    ("trec-run", RunLine("1", "d", 1, math.nan, "t"), "the value nan is not finite"),
    ("trec-run", RunLine("1", "d", 1.5, 0.5, "t"), "the rank must be a whole number, got '1.5'"),
    ("trec-qrels", Qrel("1", "", 1), "a document is empty, which trec-qrels cannot represent"),
    (
        "vw",
        NamedRow(("a|b",), (), ()),
        f"the label 'a|b' contains a bar ('|'), which vw cannot represent; {RENAME}",
    ),
    ("vw", NamedRow((), ("a:b",), (1.0,)), "the feature 'a:b' contains a colon (':'), which vw cannot represent"),
    ("vw", NamedRow((), ("a b",), (1.0,)), "the feature 'a b' contains a space (' '), which vw cannot represent"),
    ("vw", NamedRow((), ("^b",), (1.0,)), "the feature '^b' must be 'name' or 'namespace^name'"),
    ("vw", NamedRow(("'a",), (), ()), 'the label "\'a" starts with a quote, as tags do'),
    ("vw", NamedRow((), ("a",), ()), "the row has 1 names and 0 values"),
]


@pytest.mark.parametrize(("name", "record", "reason"), REFUSED)
def test_what_cannot_be_carried_is_refused_by_name(name, record, reason, tmp_path):
    with pytest.raises(ValueError, match=re.escape(reason)) as caught:
        data.write(tmp_path / "file", [record], name)
    assert str(caught.value).startswith("record 1: ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", [name for name in data.FORMATS if name != "documents"])
def test_a_record_of_another_type_is_refused(name, tmp_path):
    with pytest.raises(
        TypeError, match=f"format '{name}' writes {data.FORMATS[name].record.__name__} records, got str"
    ):
        data.write(tmp_path / "file", ["text"], name)
