"""The short text corpus of Annif: the text, a tab, URIs in angle brackets."""

from collections.abc import Callable

from abound.data.formats import LineFormat, Malformed, Options
from abound.data.oneline import ONE_LINE_OPTIONS, text_writer
from abound.data.parsing import WHITESPACE, Guard, count_noun, shown
from abound.data.records import Document


class Annif(LineFormat[Document]):
    """Two columns without a header: the text, and URIs separated by spaces."""

    name = "annif"
    summary = "the text, a tab, <URI>s separated by spaces; no header"
    record = Document
    options = ONE_LINE_OPTIONS

    def parser(self, options: Options) -> Callable[[str], Document | None]:  # noqa: ARG002
        """Return a function that parses a line into a document."""
        return _parse

    def formatter(self, options: Options) -> Callable[[Document], str]:
        """Return a function that formats a document as a line."""
        guard = Guard(self.name, "label", f"<>{WHITESPACE}")
        text_of = text_writer(self.name, options)

        def line_of(document: Document) -> str:
            return f"{text_of(document)}\t{' '.join(f'<{guard(label)}>' for label in document.labels)}"

        return line_of


def _parse(line: str) -> Document | None:
    text, tab, uris = line.partition("\t")
    if not tab or "\t" in uris:
        if not line:
            return None
        tabs = count_noun(line.count("\t"), "tab")
        raise Malformed(f"{tabs}; put one between the text and the URIs")
    # Annif accepts URIs with and without brackets.
    return Document(tuple(_bare(uri) for uri in uris.split()), text)


def _bare(uri: str) -> str:
    inner = uri[1:-1] if uri[0] == "<" and uri[-1] == ">" else uri
    if not inner or "<" in inner or ">" in inner:
        raise Malformed(f"{shown(uri)} is not a URI in angle brackets; write '<URI>', without a space inside")
    return inner


FORMAT = Annif()
