"""Malformed lines: the number, what is wrong and what would be right."""

import pytest

# Format, file, line, reason.
CASES = [
    (
        "jsonl",
        b"{\n",
        1,
        "not JSON: Expecting property name enclosed in double quotes at column 2; write one object per line",
    ),
    ("jsonl", b"text\n", 1, "not JSON: Expecting value at column 1; write one object per line"),
    ("jsonl", b"[1]\n", 1, "[1] is not a JSON object; write one object per line"),
    ("jsonl", b'"text"\n', 1, "'text' is not a JSON object; write one object per line"),
    ("jsonl", b"null\n", 1, "None is not a JSON object; write one object per line"),
    (
        "jsonl",
        b'{"labels": []}\n',
        1,
        "no field 'text' (the fields: 'labels'); name the right one with text_field=...",
    ),
    ("jsonl", b'{"text": 1, "labels": []}\n', 1, "the text must be a string, or an object of strings by field, got 1"),
    (
        "jsonl",
        b'{"text": null, "labels": []}\n',
        1,
        "the text must be a string, or an object of strings by field, got None",
    ),
    (
        "jsonl",
        b'{"text": "a"}\n',
        1,
        "no field 'labels' (the fields: 'text'); name the right one with "
        "labels_field=..., or labels_field=None for documents without labels",
    ),
    ("jsonl", b'{"text": "a", "labels": null}\n', 1, "a label must be a string or a whole number, got None"),
    (
        "jsonl",
        b'{"text": "a", "labels": {"x": 1}}\n',
        1,
        "a label must be a string or a whole number, got {'x': 1}",
    ),
    (
        "jsonl",
        b'{"text": "a", "labels": ["x", 1.5]}\n',
        1,
        "a label must be a string or a whole number, got 1.5",
    ),
    (
        "jsonl",
        b'{"text": "a", "labels": [true]}\n',
        1,
        "a label must be a string or a whole number, got True",
    ),
    (
        "jsonl",
        b'{"text": "a", "labels": [""]}\n',
        1,
        "a label is empty; leave it out, or use an empty list for no labels",
    ),
    (
        "jsonl",
        b'{"text": "a", "labels": [], "id": [1]}\n',
        1,
        "the id must be a string or a whole number, got [1]",
    ),
    (
        "jsonl",
        b'{"text": "a", "labels": [], "id": 1.5}\n',
        1,
        "the id must be a string or a whole number, got 1.5",
    ),
    (
        "jsonl",
        b'{"text": "a\tb", "labels": []}\n',
        1,
        "not JSON: Invalid control character at column 12; write one object per line",
    ),
    (
        "jsonl",
        b'{"text": "a", "labels": []} {}\n',
        1,
        "not JSON: Extra data at column 29; write one object per line",
    ),
    (
        "jsonl",
        b'{"text": "\\ud800", "labels": []}\n',
        1,
        "\\ud800 is half of a surrogate pair; the other half must follow",
    ),
    (
        "jsonl",
        b'{"text": "a", "labels": ["\\uDC00"]}\n',
        1,
        "\\udc00 is half of a surrogate pair; the other half must follow",
    ),
    (
        "jsonl",
        b'{"text": "\xff", "labels": []}\n',
        1,
        "byte 0xff at position 11 is not UTF-8; save the file as UTF-8",
    ),
    ("jsonl", b'\n\n{"text": }\n', 3, "not JSON: Expecting value at column 10; write one object per line"),
    (
        "jsonl",
        b"{'text': 'a'}\n",
        1,
        "not JSON: Expecting property name enclosed in double quotes at column 2; write one object per line",
    ),
    ("jsonl", b'{"text": ' + b"1" * 5000, 1, "a number has thousands of digits; write it as a string"),
    (
        "jsonl",
        b'{"text": ' + b"[" * 100000,
        1,
        "brackets are nested thousands deep; write one flat object per line",
    ),
    ("jsonl", b"\xff\xfe{\x00", 1, "the file is UTF-16; save it as UTF-8"),
    ("csv", b"", 1, "the file is empty; csv needs a header line"),
    (
        "csv",
        b"a,b\n1,2\n",
        1,
        "in the header: no field 'text' (the fields: 'a', 'b'); name the right one with text_field=...",
    ),
    (
        "csv",
        b"text\nx\n",
        1,
        "in the header: no field 'labels' (the fields: 'text'); name the right one "
        "with labels_field=..., or labels_field=None for documents without labels",
    ),
    ("csv", b"text,text,labels\n", 1, "the header has 2 columns 'text'; exactly one is needed"),
    (
        "csv",
        b"title;labels\nx;a\n",
        1,
        "in the header: no field 'text' (the fields: 'title', 'labels'); name the right one with text_field=...",
    ),
    (
        "csv",
        b"text:labels\nx:a\n",
        1,
        "in the header: no field 'text' (the fields: 'text:labels'); name the right "
        "one with text_field=...; if another character separates the columns, name it with delimiter=...",
    ),
    ("csv", b"text,labels\nx\n", 2, "1 column; the header has 2"),
    ("csv", b"text,labels\nx,a,b\n", 2, "3 columns; the header has 2"),
    (
        "csv",
        b'text,labels\n"x,a\n',
        2,
        "a quote opens '\"x,a' but is never closed; end the field with a quote",
    ),
    (
        "csv",
        b'text,labels\nok,a\n"x\ny\n',
        3,
        "a quote opens '\"x\\ny' but is never closed; end the field with a quote",
    ),
    (
        "csv",
        b'text,labels\n5" disk,a\n',
        2,
        "a stray quote or text inside a field without quotes at '5\" disk,a'; quote "
        "the whole field and double each quote inside it",
    ),
    (
        "csv",
        b'text,labels\n"a"b,c\n',
        2,
        "a stray quote or text after a quoted field at '\"a\"b,c'; quote the whole "
        "field and double each quote inside it",
    ),
    ("csv", b"text,labels\nx,a||b\n", 2, "empty label in 'a||b'; put one '|' between two labels"),
    ("csv", b"text,labels\nx,|a\n", 2, "empty label in '|a'; put one '|' between two labels"),
    ("csv", b"text,labels\nx,a| |b\n", 2, "empty label in 'a| |b'; put one '|' between two labels"),
    ("csv", b"text,labels\n\xff,a\n", 2, "byte 0xff at position 1 is not UTF-8; save the file as UTF-8"),
    (
        "csv",
        b'text,labels\n"line\none","a\n',
        2,
        "a quote opens '\"a' but is never closed; end the field with a quote",
    ),
    (
        "csv",
        b'"text,labels\n',
        1,
        "a quote opens '\"text,labels' but is never closed; end the field with a quote",
    ),
    (
        "csv",
        b'text,labels\na,"b" \n',
        2,
        "a stray quote or text after a quoted field at '\"b\" '; quote the whole field and double each quote inside it",
    ),
    ("tsv", b"", 1, "the file is empty; tsv needs a header line"),
    (
        "tsv",
        b"a\tb\n",
        1,
        "in the header: no field 'text' (the fields: 'a', 'b'); name the right one "
        "with text_field=...; a file without a header is format 'labels-tsv' (labels "
        "first) or 'annif' (text first)",
    ),
    (
        "tsv",
        b"123 456\tA text\n",
        1,
        "in the header: no field 'text' (the fields: '123 456', 'A text'); name the "
        "right one with text_field=...; a file without a header is format "
        "'labels-tsv' (labels first) or 'annif' (text first)",
    ),
    ("tsv", b"text\tlabels\tlabels\n", 1, "the header has 2 columns 'labels'; exactly one is needed"),
    ("tsv", b"text\tlabels\nx\n", 2, "1 column; the header has 2"),
    ("tsv", b"text\tlabels\nx\ta\tb\n", 2, "3 columns; the header has 2"),
    (
        "tsv",
        b'text\tlabels\n"x\ta\n',
        2,
        "a quote opens '\"x\\ta' but is never closed; end the field with a quote",
    ),
    (
        "tsv",
        b'text\tlabels\n5" disk\ta\n',
        2,
        "a stray quote or text inside a field without quotes at '5\" disk\\ta'; quote "
        "the whole field and double each quote inside it",
    ),
    (
        "tsv",
        b'text\tlabels\n"a"b\tc\n',
        2,
        "a stray quote or text after a quoted field at '\"a\"b\\tc'; quote the whole "
        "field and double each quote inside it",
    ),
    ("tsv", b"text\tlabels\nx\ta||b\n", 2, "empty label in 'a||b'; put one '|' between two labels"),
    ("tsv", b"text\tlabels\nx\ta|\n", 2, "empty label in 'a|'; put one '|' between two labels"),
    ("tsv", b"text\tlabels\n\xff\ta\n", 2, "byte 0xff at position 1 is not UTF-8; save the file as UTF-8"),
    ("tsv", b"text\tlabels\n\n\nx\n", 4, "1 column; the header has 2"),
]


@pytest.mark.parametrize(("name", "content", "line", "reason"), CASES)
def test_a_malformed_line_is_told(first_error, name, content, line, reason):
    error = first_error(name, content)
    assert (error.line, error.reason) == (line, reason)
