"""Training files of fastText: labels with a prefix, then the text."""

import re
from collections.abc import Callable, Iterable

from abound.data.formats import LineFormat, Malformed, Option, Options
from abound.data.oneline import ONE_LINE_OPTIONS, text_writer
from abound.data.parsing import ASCII_SPACE, Guard
from abound.data.records import Document

# Where fastText splits words. A no-break space or an ideographic space is part of a word.
_SPACE = rf"{ASCII_SPACE}\0"


_OPTIONS = {
    "prefix": Option("__label__", "Prefix of a label."),
    "spaces": Option(
        None, "Replacement for whitespace in a label; None raises an error.", (str, type(None)), use="write"
    ),
    **ONE_LINE_OPTIONS,
}


class FastText(LineFormat[Document]):
    """Words with the prefix are labels, anywhere in the line. The rest is the text."""

    name = "fasttext"
    summary = "__label__x __label__y and the text"
    record = Document
    suffixes = (".ft", ".fasttext")
    options = _OPTIONS

    def parser(self, options: Options) -> Callable[[str], Document | None]:
        """Return a function that parses a line into a document."""
        prefix = _prefix(options)
        leading = re.compile(rf"{re.escape(prefix)}([^{_SPACE}]*)(?:[{_SPACE}]|$)").match
        inside = re.compile(rf"(?:^|(?<=[{_SPACE}])){re.escape(prefix)}([^{_SPACE}]*)(?:[{_SPACE}]|$)")

        def parse(line: str) -> Document | None:
            if not line:
                return None
            labels, end = [], 0
            while match := leading(line, end):
                labels.append(match[1])
                end = match.end()
            text = line[end:] if end else line
            if prefix in text:
                labels += inside.findall(text)
                text = inside.sub("", text)
            if "" in labels:
                raise Malformed(f"a label is empty; a name must directly follow {prefix!r}")
            return Document(tuple(labels), text)

        return parse

    def formatter(self, options: Options) -> Callable[[Document], str]:
        """Return a function that formats a document as a line."""
        prefix, spaces = _prefix(options), options["spaces"]
        guard = Guard(self.name, "label", _SPACE, "write jsonl instead, or replace it with spaces='_'")
        substitute = re.compile(f"[{_SPACE}]").sub
        label_within = re.compile(rf"(?:^|[{_SPACE}]){re.escape(prefix)}").search
        # fastText treats a tab as a space, so a text may contain tabs.
        text_of = text_writer(self.name, options, forbidden=r"\n\r")

        def line_of(document: Document) -> str:
            text = text_of(document)
            if label_within(text):
                raise ValueError(f"the text has a word that starts with {prefix!r}, as labels do; write jsonl instead")
            if not document.labels:
                if not text:
                    raise ValueError("fasttext cannot represent a document without labels and text; leave it out")
                return text
            labels: Iterable[str] = document.labels
            if spaces is not None:
                labels = [substitute(lambda _: spaces, label) for label in labels]
            return f"{' '.join([prefix + guard(label) for label in labels])} {text}"

        return line_of


def _prefix(options: Options) -> str:
    prefix: str = options["prefix"]
    if not prefix or re.search(f"[{_SPACE}]", prefix):
        raise ValueError(f"prefix must be a text without whitespace, got {prefix!r}")
    return prefix


FORMAT = FastText()
