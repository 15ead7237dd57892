"""`abound explain`: show the words that vote for a label, and similar texts that have it."""

import os
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any

import typer

from abound.cli.common import JsonOption, ModelArgument, emit, load_tagger, note, wants_json
from abound.cli.reading import FieldOption, parse_fields
from abound.texts import Text, joined

if TYPE_CHECKING:
    from rich.text import Text as RichText

    from abound.tagger import Tagger, TextExplanation

EPILOG = """\b
Example:
  abound explain subjects "Growing roses in cold climates"
  abound explain subjects "Growing roses in cold climates" --label gardening
  abound explain subjects report.pdf -k 1
  abound explain papers --field title="Growing roses" --field abstract="Roses in cold climates need shelter."
"""
STYLES = ("", "yellow", "green", "bold green", "bold white on green")  # from no vote to the strongest


def explain(
    model: ModelArgument,
    text: Annotated[
        str | None,
        typer.Argument(metavar="[TEXT]", help="The text to rank, or a document (.pdf, .docx, .html, .txt)."),
    ] = None,
    field: FieldOption = None,
    label: Annotated[
        list[str] | None,
        typer.Option("--label", metavar="LABEL", help="A label to explain; may be repeated. Default: the best labels."),
    ] = None,
    k: Annotated[int, typer.Option("-k", min=1, metavar="N", help="Number of the best labels to explain.")] = 3,
    as_json: JsonOption = None,
) -> None:
    """Show which words of a text vote for its best labels. The votes and the bias add up to the score.

    If the model was fitted with embeddings, similar texts that have the label are shown, too.

    Only models with few labels have a bias: a weight per label that every text receives.
    """
    if (text is None) == (not field):
        raise typer.BadParameter("give either TEXT, or its fields with --field")
    given: Text = parse_fields(field or ()) if text is None else _document(text) if os.path.isfile(text) else text
    tagger = load_tagger(model)
    labels = label or [str(entry.label) for entry in tagger.rank(given, k=k)]
    reasons = [tagger.explain(given, wanted) for wanted in labels]
    if not reasons:
        from abound.tagger.emptiness import why_empty

        note(f"no label to explain: {why_empty(tagger, given)}")
    if wants_json(as_json):
        for reason in reasons:
            emit({**_as_dict(tagger, reason), **_similar(tagger, given, reason)})
        return
    for reason in reasons:
        _show(tagger, given, reason)
        _show_similar(tagger, given, reason)


def _document(path: str) -> str:
    """Return the text of a document. A file with another suffix is a text that happens to be a file name."""
    from abound.data import read
    from abound.data.documents import kind_of

    if kind_of(path) is None:
        return path
    return "".join(joined(document.text) for document in read(path, "documents", label_files="none"))


def _as_dict(tagger: "Tagger", reason: "TextExplanation") -> dict[str, Any]:
    name = {"name": tagger.name_of(reason.label)} if tagger.label_names else {}
    words = []
    for word in reason.words:
        fields = {"fields": word.fields} if word.fields else {}
        words.append({"word": word.word, "vote": word.vote, "spans": [span[:2] for span in word.spans], **fields})
    prior = {"prior": reason.prior} if reason.prior else {}
    return {"label": reason.label, **name, "score": reason.score, "words": words, **prior}


def _similar(tagger: "Tagger", text: Text, reason: "TextExplanation") -> dict[str, Any]:
    """Return similar texts that have the label; nothing if the model shows none."""
    if not tagger.shows_similar:
        return {}
    return {"similar": [one._asdict() for one in tagger.similar(text, label=reason.label)]}


def _show_similar(tagger: "Tagger", text: Text, reason: "TextExplanation") -> None:
    from abound.cli.tables import table

    rows = [
        (" ".join(one.text.split()), ", ".join(map(tagger.name_of, one.labels)), f"{one.similarity:.0%}")
        for one in (tagger.similar(text, label=reason.label) if tagger.shows_similar else ())
    ]
    if rows:
        table(f"Similar texts with {tagger.name_of(reason.label)}", ("text", "labels", "similarity"), rows, "  r")


def _show(tagger: "Tagger", text: Text, reason: "TextExplanation") -> None:
    from rich.console import Console

    from abound.cli.tables import bar, table
    from abound.tagger.answers import in_joined_text

    Console(highlight=False).print(coloured(joined(text), in_joined_text(reason, text)))
    words = sorted(reason.words, key=lambda word: -abs(word.vote))
    most = max((abs(word.vote) for word in words), default=0.0)
    named = any(word.fields for word in words)
    rows = [
        (
            word.word,
            f"{word.vote:.4f}",
            bar(abs(word.vote), most),
            *((", ".join(dict.fromkeys(word.fields)),) if named else ()),
        )
        for word in words
    ]
    empty = ("",) * (1 + named)
    if reason.prior:
        rows.append(("(bias)", f"{reason.prior:.4f}", *empty))
    rows.append(("score", f"{reason.score:.4f}", *empty))
    table(tagger.name_of(reason.label), ("word", "vote", "", *(("field",) if named else ())), rows, " r")


def coloured(text: str, reason: "TextExplanation") -> "RichText":
    """Return the text with its voting words in colour. Stronger votes are brighter."""
    from rich.text import Text as RichText

    from abound.plots.colouring import strengths

    votes = strengths(text, reason)
    most, shown = max(votes, default=0.0), RichText(text)
    levels = [max(round(vote / most * (len(STYLES) - 1)), 1) if vote > 0 else 0 for vote in votes]
    start = 0
    for level, run in groupby(levels):
        end = start + sum(1 for _ in run)
        if level:
            shown.stylize(STYLES[level], start, end)
        start = end
    return shown
