"""Shared by labels-tsv, annif and fasttext: one line per document, without quoting."""

import re
from collections.abc import Callable
from typing import Any

from abound.data.fields import plain_text
from abound.data.formats import LINE_OPTIONS, Option
from abound.data.parsing import Guard, shown
from abound.data.records import Document

ONE_LINE_OPTIONS = {
    "breaks": Option(
        None,
        "Replacement for tabs and line breaks in a text; None raises an error.",
        (str, type(None)),
        use="write",
    ),
    "ids": Option(
        "refuse",
        "What to do with document ids, which the format does not support.",
        choices=("refuse", "drop"),
        use="write",
    ),
    **LINE_OPTIONS,
}


def text_writer(format_name: str, options: Any, forbidden: str = r"\t\n\r") -> Callable[[Document], str]:
    """Return a function that returns the text of a document on one line."""
    instead = "write jsonl instead, or replace it with breaks=' '"
    guard = Guard(format_name, "text", forbidden, instead, empty=True)
    breaks, drop = options["breaks"], options["ids"] == "drop"
    substitute = re.compile(f"[{forbidden}]").sub

    def text_of(document: Document) -> str:
        if document.id is not None and not drop:
            raise ValueError(
                f"the document has id {shown(document.id)}, which {format_name} does not support; "
                "write jsonl instead, or drop it with ids='drop'"
            )
        if document.weight != 1.0:
            raise ValueError(
                f"the document has weight {document.weight}, which {format_name} does not support; write jsonl instead"
            )
        text = plain_text(document, format_name)
        if breaks is not None:
            text = substitute(lambda _: breaks, text)
        return guard(text)

    return text_of
