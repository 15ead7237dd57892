"""LETOR: graded documents of queries, 'grade qid:10 1:0.5 2:0.1 #docid = X'."""

import math
import re
from collections.abc import Callable

from abound.data.formats import LineFormat, Malformed, Options
from abound.data.parsing import WHITESPACE, Guard, feature_texts, features_of, parse_int, shown
from abound.data.records import Row

_DOCID = re.compile(r" ?docid = (\S+)(?: (.*))?", re.DOTALL)
_NULL = "NULL"
_NULL_FEATURE = re.compile(rf"[0-9]+:{_NULL}").fullmatch


class Letor(LineFormat[Row]):
    """A grade as the label, a query, features, and often an id in the comment."""

    name = "letor"
    summary = "grade qid:10 1:0.5 2:0.1 #docid = X"
    record = Row
    suffixes = (".letor",)

    def parser(self, options: Options) -> Callable[[str], Row | None]:  # noqa: ARG002
        """Return a function that parses a line into a row."""
        return _parse

    def formatter(self, options: Options) -> Callable[[Row], str]:  # noqa: ARG002
        """Return a function that formats a row as a line."""
        qid = Guard(self.name, "qid", rf"#\0{WHITESPACE}", "rename the query")
        docid = Guard(self.name, "id", rf"\0{WHITESPACE}", "rename the document")
        comment = Guard(self.name, "comment", r"\0\n\r", "shorten the comment", empty=True)

        def line_of(row: Row) -> str:
            if row.qid is None:
                raise ValueError("the row has no qid, which letor needs; write svmlight instead")
            line = f"{_grade(row)} qid:{qid(row.qid)} {_features(row)}".rstrip()
            if row.id is not None:
                line += f" #docid = {docid(row.id)}"
                return line if row.comment is None else f"{line} {comment(row.comment)}"
            if row.comment is None:
                return line
            if _DOCID.fullmatch(row.comment):
                raise ValueError(f"the comment {shown(row.comment)} would be read as an id; set the row's id instead")
            return f"{line} # {comment(row.comment)}"

        return line_of


def _grade(row: Row) -> str:
    if len(row.labels) != 1:
        raise ValueError(f"the row has {len(row.labels)} labels, but letor supports one; write svmlight instead")
    try:
        parse_int(row.labels[0], "a grade")
    except Malformed as error:
        raise ValueError(f"{error}; write svmlight instead") from None
    return row.labels[0]


def _features(row: Row) -> str:
    null = [position for position, value in enumerate(row.values) if math.isnan(value)]
    if not null:
        return " ".join(feature_texts(row))
    known = tuple(0.0 if math.isnan(value) else value for value in row.values)
    texts = feature_texts(row._replace(values=known))
    for position in null:
        texts[position] = f"{row.indices[position]}:{_NULL}"
    return " ".join(texts)


def _parse(line: str) -> Row | None:
    body, mark, comment = line.partition("#")
    words = body.split()
    if not words:
        return None
    grade = words[0]
    parse_int(grade, "the grade")
    if len(words) < 2 or not words[1].startswith("qid:") or words[1] == "qid:":
        got = shown(words[1]) if len(words) > 1 else "nothing"
        raise Malformed(f"'qid:' and a query must follow the grade, got {got}; without queries, the format is svmlight")
    qid, words = words[1][4:], words[2:]
    # NULL is an unknown value, which a learner must not take for zero.
    null = [position for position, word in enumerate(words) if _NULL_FEATURE(word)] if _NULL in body else []
    for position in null:
        words[position] = words[position].replace(_NULL, "0")
    indices, values = features_of(words)
    if null:
        known = list(values)
        for position in null:
            known[position] = math.nan
        values = tuple(known)
    if not mark:
        return Row((grade,), indices, values, qid)
    docid = _DOCID.fullmatch(comment)
    if docid:
        return Row((grade,), indices, values, qid, docid[1], docid[2])
    return Row((grade,), indices, values, qid, None, comment.removeprefix(" "))


FORMAT = Letor()
