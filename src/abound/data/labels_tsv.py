"""Labels, a tab, the text: a simple format for short documents."""

import re
from collections.abc import Callable

from abound.data.formats import LineFormat, Malformed, Option, Options
from abound.data.oneline import ONE_LINE_OPTIONS, text_writer
from abound.data.parsing import Guard, count_noun, labels_of
from abound.data.records import Document, make_document

_OPTIONS = {"label_separator": Option(" ", "Separator between two labels."), **ONE_LINE_OPTIONS}


class LabelsTsv(LineFormat[Document]):
    """Two columns without a header: labels separated by spaces, and the text."""

    name = "labels-tsv"
    summary = "labels separated by spaces, a tab, the text; no header"
    record = Document
    options = _OPTIONS

    def parser(self, options: Options) -> Callable[[str], Document | None]:
        """Return a function that parses a line into a document."""
        separator = _separator(options)

        def parse(line: str) -> Document | None:
            labels, tab, text = line.partition("\t")
            if not tab or "\t" in text:
                if not line:
                    return None
                tabs = count_noun(line.count("\t"), "tab")
                raise Malformed(f"{tabs}; put one between the labels and the text")
            return make_document((labels_of(labels, separator), text, None, 1.0, (), None))

        return parse

    def formatter(self, options: Options) -> Callable[[Document], str]:
        """Return a function that formats a document as a line."""
        separator = _separator(options)
        guard = Guard(self.name, "label", rf"\t\n\r{re.escape(separator)}")
        text_of = text_writer(self.name, options)

        def line_of(document: Document) -> str:
            return f"{separator.join(map(guard, document.labels))}\t{text_of(document)}"

        return line_of


def _separator(options: Options) -> str:
    separator: str = options["label_separator"]
    if len(separator) != 1 or separator in "\t\n\r":
        raise ValueError(f"label_separator must be one character other than a tab or line break, got {separator!r}")
    return separator


FORMAT = LabelsTsv()
