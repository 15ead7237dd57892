"""The format of the extreme classification repository: a line of counts, then rows."""

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO, cast

from abound.data.formats import LINE_OPTIONS, LineFormat, Malformed, Option, Options, Report
from abound.data.parsing import feature_texts, features_of, parse_int, reject_fields, shown
from abound.data.records import Row
from abound.data.svmlight import RENAME, split_labels

_IN_HEADER = "in the header; None takes one more than the largest."
_OPTIONS = LINE_OPTIONS | {
    f"n_{what}": Option(None, f"Number of {what} {_IN_HEADER}", (int, type(None)), use="write")
    for what in ("features", "labels")
}


class Xmc(LineFormat[Row]):
    """A line of three counts, then rows 'l1,l2 3:0.5'; labels and features are numbered from zero."""

    name = "xmc"
    summary = "a line of three counts, then svmlight rows numbered from zero"
    record = Row
    suffixes = (".xmc",)
    has_header = True
    options = _OPTIONS

    def parser(self, options: Options) -> Callable[[str], Row | None]:  # noqa: ARG002
        """Return a function that parses a line into a row. The first line is the header."""
        return _Rows().parse

    def formatter(self, options: Options) -> Callable[[Row], str]:
        """Return a function that formats a row as a line."""
        return _Counts(options).line_of

    def read(self, stream: BinaryIO, report: Report, options: Options) -> Iterator[Row]:
        """Yield the rows, and check their number against the header at the end."""
        rows = _Rows()

        def report_counted(line: int, reason: str, fatal: bool) -> None:
            rows.n_read += 1  # skipped rows count, too
            rows.line = max(rows.line, line)
            report(line, reason, fatal)

        yield from self.parse(stream, report_counted, rows.parse, options)
        if rows.n_read != rows.n_declared:
            counts = f"the header says {rows.n_declared} rows, the file has {rows.n_read}"
            report(rows.line, f"{counts}; correct the header (an empty row is one space)", False)

    def write(self, stream: BinaryIO, records: Iterable[Row], options: Options) -> int:
        """Write the header and the rows, and return the number of rows."""
        counts = _Counts(options)
        # The counts of the header are known only at the end, so the rows go to a temporary file first.
        with tempfile.SpooledTemporaryFile(max_size=1 << 24) as rows:
            body = cast(BinaryIO, rows)
            n_rows = self.write_with(body, records, counts.line_of)
            stream.write(f"{n_rows} {counts.n_features} {counts.n_labels}\n".encode())
            body.seek(0)
            shutil.copyfileobj(body, stream)
        return n_rows


class _Rows:
    """Parse the header and the rows, and count the rows."""

    def __init__(self) -> None:
        self.n_declared = -1
        self.n_read = 0
        self.line = 0
        self._n_features = 0
        self._n_labels = 0

    def parse(self, line: str) -> Row | None:
        self.line += 1
        if self.n_declared < 0:
            self._header(line)
            return None
        if not line:
            return None
        labels, words = split_labels(line)
        indices, values = features_of(words)
        if indices and max(indices) >= self._n_features:
            beyond = f"feature {max(indices)} is beyond the header's {self._n_features} features"
            raise Malformed(f"{beyond}; the largest may be {self._n_features - 1}")
        for label in labels:
            if not 0 <= parse_int(label, "a label") < self._n_labels:
                beyond = f"label {shown(label)} is beyond the header's {self._n_labels} labels"
                raise Malformed(f"{beyond}; the largest may be {self._n_labels - 1}")
        self.n_read += 1
        return Row(labels, indices, values)

    def _header(self, line: str) -> None:
        words = line.split()
        if len(words) != 3 or not all(word.isascii() and word.isdecimal() for word in words):
            raise Malformed(
                f"the first line must be 'n_rows n_features n_labels', got {shown(line)}; "
                "without that line the format is svmlight",
                fatal=True,
            )
        self.n_declared, self._n_features, self._n_labels = map(int, words)


class _Counts:
    """Format rows, and update the counts for the header."""

    def __init__(self, options: Options) -> None:
        self._most_features = options["n_features"]
        self._most_labels = options["n_labels"]
        self.n_features = self._most_features or 0
        self.n_labels = self._most_labels or 0

    def line_of(self, row: Row) -> str:
        reject_fields("xmc", row, "qid", "id", "comment")
        numbers = [self._number(label) for label in row.labels]
        features = feature_texts(row)
        self.n_labels = _grown("label", self.n_labels, self._most_labels, numbers)
        self.n_features = _grown("feature", self.n_features, self._most_features, row.indices)
        return " ".join([",".join(row.labels), *features]) or " "

    @staticmethod
    def _number(label: str) -> int:
        if not (isinstance(label, str) and label.isascii() and label.isdecimal() and len(label) <= 18):
            raise ValueError(f"the label {shown(label)} is not a number of at least zero, which xmc needs; {RENAME}")
        return int(label)


def _grown(what: str, count: int, most: int | None, numbers: Iterable[int]) -> int:
    largest = max(numbers, default=-1)
    if most is not None and largest >= most:
        raise ValueError(f"{what} {largest} is beyond n_{what}s={most}, counted from zero")
    return max(count, largest + 1)


FORMAT = Xmc()
