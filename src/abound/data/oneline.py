"""What labels-tsv, annif and fasttext share: one line, and no quoting."""

import re
from collections.abc import Callable
from typing import Any

from abound.data.formats import LINE_OPTIONS, Option
from abound.data.parsing import Guard, shown
from abound.data.records import Document

ONE_LINE_OPTIONS = {
    "breaks": Option(
        None,
        "What replaces each tab and line break of a text; None refuses them.",
        (str, type(None)),
        use="write",
    ),
    "ids": Option(
        "refuse",
        "What to do with document ids, for which there is no place.",
        choices=("refuse", "drop"),
        use="write",
    ),
    **LINE_OPTIONS,
}


def text_writer(format_name: str, options: Any, forbidden: str = r"\t\n\r") -> Callable[[Document], str]:
    """Return the function from a document to its text, fit for one line."""
    instead = "write jsonl instead, or replace it with breaks=' '"
    guard = Guard(format_name, "text", forbidden, instead, empty=True)
    breaks, drop = options["breaks"], options["ids"] == "drop"
    substitute = re.compile(f"[{forbidden}]").sub

    def text_of(document: Document) -> str:
        if document.id is not None and not drop:
            raise ValueError(
                f"the document has id {shown(document.id)}, for which {format_name} has no place; "
                "write jsonl instead, or drop it with ids='drop'"
            )
        text = document.text
        if breaks is not None:
            text = substitute(lambda _: breaks, text)
        return guard(text)

    return text_of
