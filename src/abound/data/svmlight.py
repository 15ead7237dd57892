"""Multi-label svmlight (libsvm): labels, numbered features, a comment."""

import re
from collections.abc import Callable

from abound.data.formats import LineFormat, Malformed, Options
from abound.data.parsing import (
    ASCII_SPACE,
    WHITESPACE,
    Guard,
    feature_texts,
    features_of,
    labels_of,
    reject_fields,
    shown,
)
from abound.data.records import Row

RENAME = "number the labels and keep their names in a separate file, or write the documents as jsonl"
_COUNTS = re.compile(r"[0-9]+ [0-9]+ [0-9]+\s*").fullmatch


class Svmlight(LineFormat[Row]):
    """'l1,l2 3:0.5 7:1 # comment'; a row without labels starts with a space."""

    name = "svmlight"
    summary = "l1,l2 3:0.5 7:1 # comment"
    record = Row
    suffixes = (".svm", ".svmlight", ".libsvm")

    def parser(self, options: Options) -> Callable[[str], Row | None]:  # noqa: ARG002
        """Return a function that parses a line into a row."""
        return _parse

    def formatter(self, options: Options) -> Callable[[Row], str]:  # noqa: ARG002
        """Return a function that formats a row as a line."""
        label = Guard(self.name, "label", rf",:#\0{ASCII_SPACE}", RENAME)
        qid = Guard(self.name, "qid", rf"#\0{WHITESPACE}", "rename the query")
        comment = Guard(self.name, "comment", r"\0\n\r", "shorten the comment", empty=True)

        def line_of(row: Row) -> str:
            reject_fields(self.name, row, "id")
            parts = [",".join(map(label, row.labels))]
            if row.qid is not None:
                parts.append(f"qid:{qid(row.qid)}")
            parts += feature_texts(row)
            if row.comment is not None:
                parts.append(f"# {comment(row.comment)}")
            # An empty row is one space, because readers ignore empty lines.
            return " ".join(parts) or " "

        return line_of


def split_labels(line: str) -> tuple[tuple[str, ...], list[str]]:
    """Split a line into its labels and its other words."""
    # Not str.split, because a label may contain a no-break space.
    head, _, rest = line.replace("\t", " ").partition(" ")
    if ":" in head:
        raise Malformed(f"{shown(head)} is a feature, not a label; start a row without labels with a space")
    return labels_of(head, ","), rest.split()


def _parse(line: str) -> Row | None:
    if not line or line[0] == "#":
        return None
    body, mark, comment = line.partition("#")
    labels, words = split_labels(body)
    qid = None
    if words and words[0].startswith("qid:"):
        qid = words.pop(0)[4:]
        if not qid:
            raise Malformed("the qid is empty; a name must directly follow 'qid:'")
    if len(words) == 2 and _COUNTS(line):
        raise Malformed("three counts instead of labels and features; with this header, the format is xmc")
    indices, values = features_of(words)
    return Row(labels, indices, values, qid, None, comment.removeprefix(" ") if mark else None)


FORMAT = Svmlight()
