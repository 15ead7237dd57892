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
    """A grade for a label, a query, features, and often an id in the comment."""

    name = "letor"
    summary = "grade qid:10 1:0.5 2:0.1 #docid = X"
    record = Row
    suffixes = (".letor",)

    def parser(self, options: Options) -> Callable[[str], Row | None]:  # noqa: ARG002
        """Return the function from a line to a row."""
        return _parse

    def formatter(self, options: Options) -> Callable[[Row], str]:  # noqa: ARG002
        """Return the function from a row to its line."""
        qid = Guard(self.name, "qid", rf"#\0{WHITESPACE}", "rename the query")
        docid = Guard(self.name, "id", rf"\0{WHITESPACE}", "rename the document")
        comment = Guard(self.name, "comment", r"\0\n\r", "shorten the comment", empty=True)

        def line_of(row: Row) -> str:
            if row.qid is None:
                raise ValueError("the row has no qid, which letor wants; write svmlight instead")
            line = f"{_grade(row)} qid:{qid(row.qid)} {_features(row)}".rstrip()
            if row.id is not None:
                line += f" #docid = {docid(row.id)}"
                return line if row.comment is None else f"{line} {comment(row.comment)}"
            if row.comment is None:
                return line
            if _DOCID.fullmatch(row.comment):
                raise ValueError(f"the comment {shown(row.comment)} reads as an id; give it as the row's id")
            return f"{line} # {comment(row.comment)}"

        return line_of


def _grade(row: Row) -> str:
    if len(row.labels) != 1:
        raise ValueError(f"the row has {len(row.labels)} labels, letor carries one; write svmlight instead")
    try:
        parse_int(row.labels[0], "a grade")
    except Malformed as error:
        raise ValueError(f"{error}; write svmlight instead") from None
    return row.labels[0]


def _features(row: Row) -> str:
    null = [place for place, value in enumerate(row.values) if math.isnan(value)]
    if not null:
        return " ".join(feature_texts(row))
    known = tuple(0.0 if math.isnan(value) else value for value in row.values)
    texts = feature_texts(row._replace(values=known))
    for place in null:
        texts[place] = f"{row.indices[place]}:{_NULL}"
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
        raise Malformed(f"'qid:' and a query must follow the grade, got {got}; without queries it is svmlight")
    qid, words = words[1][4:], words[2:]
    # NULL is a value that is not known, which a learner may not take for zero.
    null = [place for place, word in enumerate(words) if _NULL_FEATURE(word)] if _NULL in body else []
    for place in null:
        words[place] = words[place].replace(_NULL, "0")
    indices, values = features_of(words)
    if null:
        known = list(values)
        for place in null:
            known[place] = math.nan
        values = tuple(known)
    if not mark:
        return Row((grade,), indices, values, qid)
    found = _DOCID.fullmatch(comment)
    if found:
        return Row((grade,), indices, values, qid, found[1], found[2])
    return Row((grade,), indices, values, qid, None, comment.removeprefix(" "))


FORMAT = Letor()
