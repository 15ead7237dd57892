"""`abound rank`: rank labels for a text, or for every row of a file."""

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from abound.cli.choosing import Choosing
from abound.cli.common import STANDARD, JsonOption, emit, load_tagger, note, wants_json
from abound.cli.reading import FieldOption, LabelledReading, Reading, parse_fields
from abound.cli.remote import MODEL_HELP, KeyOption, RemoteTagger, ServerOption, model_and_input
from abound.cli.vectors import Vectors, vectors_of
from abound.texts import Text, joined

if TYPE_CHECKING:
    from abound.data import Document
    from abound.tagger import BandedEntry, Entry, Tagger

EPILOG = """\b
Example:
  abound rank subjects "Growing roses in cold climates" -k 5
  abound rank subjects docs.jsonl > ranked.jsonl
  abound rank subjects report.pdf
  abound rank subjects reports > ranked.jsonl
  head titles.txt | abound rank subjects -
  abound rank subjects "Growing roses in cold climates" --bands
  abound rank subjects docs.jsonl --assign > assigned.jsonl
  abound rank papers --field title="Growing roses" --field abstract="Roses in cold climates need shelter."
  abound rank subjects docs.jsonl --only animals --without http://example.org/pets --paths
  abound rank --server http://127.0.0.1:8000 "Growing roses in cold climates"
"""
CHUNK = 500
DOCUMENTS_CHUNK = 8  # which may be books
LINES = "lines"  # not in FORMATS, because it has no labels


@dataclass(frozen=True)
class RankedReading(Reading):
    """Options for reading texts, which may be plain lines."""

    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            "-f",
            metavar="NAME",
            help="Format of the input; `lines` means one text per line. Default: from the file name.",
        ),
    ] = None


def rank(
    model: Annotated[str | None, typer.Argument(metavar="[MODEL]", help=MODEL_HELP)] = None,
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[TEXT|INPUT|-]",
            help="A text; a file of texts; a document (.pdf, .docx, .html) or a directory of documents; or - for stdin "
            "with one text per line.",
        ),
    ] = None,
    text: Annotated[
        str | None, typer.Option("--text", metavar="TEXT", help="A text, even if it looks like a file name.")
    ] = None,
    field: FieldOption = None,
    k: Annotated[
        int | None, typer.Option("-k", min=1, metavar="N", help="Maximum number of labels per text.  [default: 10]")
    ] = None,
    threshold: Annotated[
        float | None, typer.Option("--threshold", metavar="X", help="Omit labels with a lower score.")
    ] = None,
    bands: Annotated[
        bool, typer.Option("--bands", help="Show which labels to apply and which to suggest, and omit the others.")
    ] = False,
    assign: Annotated[
        bool,
        typer.Option("--assign", help="Print only the labels to apply: those with the best expected F1."),
    ] = False,
    min_probability: Annotated[
        float | None,
        typer.Option("--min-probability", metavar="P", help="Apply labels with at least this probability."),
    ] = None,
    precision: Annotated[
        float | None,
        typer.Option("--precision", metavar="P", help="Apply labels so that this share of them is right, such as 0.9."),
    ] = None,
    as_json: JsonOption = None,
    names: Annotated[bool, typer.Option("--names/--no-names", help="Print the names of labels.")] = True,
    server: ServerOption = None,
    key: KeyOption = None,
    *,
    choosing: Choosing,
    reading: RankedReading,
    vectors: Vectors,
) -> None:
    """Rank labels for a text, or for every row of a file or directory: one line of JSON per row."""
    model, what = model_and_input(model, what, server)
    if (what is not None) + (text is not None) + bool(field) > 1:
        raise typer.BadParameter("give a text once: as an argument, with --text, or its fields with --field")
    given: Text | None = parse_fields(field) if field else text
    if what is None and given is None:
        if sys.stdin.isatty():
            raise typer.BadParameter("give a text, a file, or - for stdin")
        what = STANDARD
    if what is not None and not is_input(what, reading.format_):
        what, given = None, what
    decision = _decision(assign, min_probability, precision, bands)
    if bands and choosing.params():
        raise typer.BadParameter("--bands cannot be combined with --only, --without, --keep-parents or --drop-parents")
    how = Choice(k, threshold, names, bands, decision, choosing.params(), choosing.paths)
    documents = None
    _check_vectors(vectors, what, server, bands=bands)
    if what is not None:
        documents = _documents(what, reading, vectors)
        if not wants_json(as_json) and not vectors:
            given = _single_document(documents)
    remote = None if server is None else RemoteTagger(server, key, paths=choosing.paths)
    with contextlib.nullcontext(load_tagger(str(model))) if remote is None else remote as tagger:
        if not isinstance(tagger, RemoteTagger):
            choosing.note_unknown(tagger)
        if documents is not None and given is None:
            show_many(tagger, documents, what == STANDARD, reading.limit, how)
        elif given is not None:
            show_one(tagger, given, how, as_json)


def _decision(
    assign: bool, min_probability: float | None, precision: float | None, bands: bool
) -> dict[str, float | None] | None:
    """Return how labels to apply are decided, or None if all are printed."""
    if not assign and min_probability is None and precision is None:
        return None
    if bands:
        raise typer.BadParameter("give --bands, or one of --assign, --min-probability and --precision")
    if min_probability is not None and precision is not None:
        raise typer.BadParameter("give either --min-probability or --precision")
    for option, value in (("--min-probability", min_probability), ("--precision", precision)):
        if value is not None and not 0.0 < value <= 1.0:
            raise typer.BadParameter(f"{option} must be above 0 and at most 1, got {value}")
    return {"threshold": min_probability, "precision": precision}


def is_input(argument: str, format_: str | None) -> bool:
    """Return whether an argument is a file or directory. Raise an error if it looks like a file that is missing."""
    if argument == STANDARD or os.path.exists(argument):
        return True
    looks_like_file = format_ is not None
    if not looks_like_file and len(argument.split()) == 1 and "." in argument:
        from abound.data import detect_format

        with contextlib.suppress(ValueError):
            looks_like_file = bool(detect_format(argument))
    if looks_like_file:
        raise ValueError(f"there is no file {argument!r}; to rank it as a text, use --text")
    return False


def _check_vectors(vectors: Vectors, what: str | None, server: str | None, *, bands: bool) -> None:
    """Raise an error if vectors are given that cannot be used."""
    if server is not None:
        vectors.refuse("a server encodes the texts itself")
    if what is None:
        vectors.refuse("they are those of the rows of a file")
    if bands:
        vectors.refuse("--bands ranks texts without them")


def _documents(path: str, reading: Reading, vectors: Vectors) -> Iterable["Document"]:
    """Return the rows of a file. Labels are ignored."""
    from abound.cli.inputs import Inputs
    from abound.data import FORMATS, detect_format
    from abound.data.documents import NoDocuments

    plain = path == STANDARD or (os.path.splitext(path)[1] == ".txt" and not os.path.isdir(path))
    if reading.format_ == LINES or (reading.format_ is None and plain):
        vectors.refuse("a file with one text per line has none; use jsonl or csv")
        return _lines(path)
    name = detect_format(path) if reading.format_ is None else reading.format_
    if name in FORMATS and "labels_field" in FORMATS[name].options:
        reading = LabelledReading(**vars(reading), labels_field="")
    if name in FORMATS and "label_files" in FORMATS[name].options:
        reading = replace(reading, read=["label_files=none", *(reading.read or ())])
    try:
        return Inputs([path], replace(reading, format_=name, limit=None), vectors=vectors)
    except NoDocuments as error:
        raise ValueError(f"{error}; to rank its name as a text, use --text") from None


def _single_document(documents: Iterable["Document"]) -> Text | None:
    """Return the text of the document if there is a single one, not a file or directory of several."""
    from abound.cli.inputs import Inputs

    if not isinstance(documents, Inputs) or not documents.is_document:
        return None
    return next((document.text for document in documents), None)


def _lines(path: str) -> Iterator["Document"]:
    from abound.data import DataError, Document
    from abound.data.formats import Malformed, lines_of, undecodable, without_bom
    from abound.data.streams import open_input, source_name

    with open_input(path) as (stream, _):
        number, name = 0, source_name(path)
        try:
            for number, raw in enumerate(without_bom(lines_of(stream)), 1):
                try:
                    yield Document((), raw.decode().rstrip("\r\n"))
                except UnicodeDecodeError as error:
                    raise DataError(name, number, undecodable(error)) from None
        except Malformed as error:
            raise DataError(name, number + 1, str(error)) from None


class Choice(NamedTuple):
    """What is shown of a ranking."""

    k: int | None
    threshold: float | None
    names: bool
    bands: bool
    decision: Mapping[str, Any] | None = None  # the parameters of `Tagger.assign_many`
    choosing: Mapping[str, Any] = MappingProxyType({})  # and its parameters that choose labels
    paths: bool = False


def ranked(
    tagger: "Tagger | RemoteTagger", texts: list[Text], how: Choice, vectors: list[Any] | None = None
) -> list[list["Entry | BandedEntry"]]:
    """Rank texts with the given options: number of labels, threshold, bands."""
    k, threshold = how.k, how.threshold
    rankings: list[Any]
    given: dict[str, Any] = {**how.choosing, **({} if vectors is None else {"vectors": vectors})}
    if how.decision is not None:
        rankings = [row[:k] for row in tagger.assign_many(texts, **how.decision, **given)]
    elif how.bands:
        shown = ([entry for entry in row if entry.band != "hide"] for row in tagger.rank_with_bands_many(texts))
        rankings = [row[:k] for row in shown]
    else:
        rankings = tagger.rank_many(texts, *(() if k is None else (k,)), **given)
    return [[entry for entry in row if threshold is None or entry.score >= threshold] for row in rankings]


def show_many(
    tagger: "Tagger | RemoteTagger", documents: Iterable["Document"], live: bool, limit: int | None, how: Choice
) -> None:
    """Print one line of JSON per row. Rows of a live stream are ranked as they arrive."""
    from itertools import islice

    from abound.cli.inputs import Inputs, chunks
    from abound.cli.progress import Progress

    row = empty = 0
    share = documents.share if isinstance(documents, Inputs) else lambda: None
    size = 1 if live else DOCUMENTS_CHUNK if isinstance(documents, Inputs) and documents.has_documents else CHUNK
    with Progress("ranking", share) as progress:
        for chunk in chunks(islice(documents, limit), size):
            rankings = ranked(tagger, [document.text for document in chunk], how, vectors_of(chunk))
            for document, entries in zip(chunk, rankings, strict=True):
                about = {"row": row} if document.id is None else {"row": row, "id": document.id}
                emit({**about, "labels": [_as_dict(tagger, entry, how) for entry in entries]})
                row += 1
                empty += not entries
            if live:
                sys.stdout.flush()
            progress.update(row)
    if isinstance(documents, Inputs):
        documents.note_skipped()
    if not row:
        note("there are no rows to rank")
    if empty:
        unknown = "none of their words is known to the model"
        left_out = how.threshold is not None or how.bands or how.decision is not None or bool(how.choosing)
        note(f"{empty:,} of {row:,} rows have no label: {unknown}{', or no label is good enough' if left_out else ''}")


def show_one(tagger: "Tagger | RemoteTagger", text: Text, how: Choice, as_json: bool | None) -> None:
    """Print the ranking of one text."""
    [entries], names = ranked(tagger, [text], how), how.names
    if not entries:
        note(f"no label: {_why_none(tagger, text, how)}")
    if wants_json(as_json):
        emit({"labels": [_as_dict(tagger, entry, how) for entry in entries]})
        return
    from abound.cli.tables import bar, table
    from abound.tagger import BandedEntry

    best = max((entry.score for entry in entries), default=0.0)
    named = names and bool(tagger.label_names)
    likely = any(entry.probability is not None for entry in entries)
    rows = [
        (
            str(entry.rank),
            tagger.name_of(entry.label) if named else str(entry.label),
            *(("" if entry.probability is None else f"{entry.probability:.1%}",) if likely else ()),
            f"{entry.score:.4f}",
            # A path may be long, so it takes the place of bar and id.
            *((" > ".join(tagger.path_names(entry.label)[:-1]),) if how.paths else (bar(entry.score, best),)),
            *((str(entry.label),) if named and not how.paths else ()),
            *((entry.band,) if isinstance(entry, BandedEntry) else ()),
        )
        for entry in entries
    ]
    optional = {"id": named and not how.paths, "band": how.bands}
    others = [heading for heading, is_shown in optional.items() if is_shown]
    head = ("", "label", *(("probability",) if likely else ()), "score", "path" if how.paths else "", *others)
    table(" ".join(joined(text)[:200].split()), head, rows, "r rr" if likely else "r r")


def _why_none(tagger: "Tagger | RemoteTagger", text: Text, how: Choice) -> str:
    """Return a sentence on why no label is shown for a text."""
    if how.decision is not None and tagger.rank_many([text], 1)[0]:
        return "none is likely enough to be applied"
    if how.choosing and how.threshold is None and tagger.rank_many([text], 1)[0]:
        return "none of the chosen labels has a vote"
    if tagger.rank_many([text], 1)[0]:
        return (
            "none is likely enough to be applied or suggested"
            if how.bands
            else f"none scores {how.threshold:g} or more"
        )
    if isinstance(tagger, RemoteTagger):
        return "no word of the text is known to the model"
    from abound.tagger.emptiness import why_empty

    return why_empty(tagger, text)


def _as_dict(tagger: "Tagger | RemoteTagger", entry: "Entry | BandedEntry", how: Choice) -> dict[str, Any]:
    name = {"name": tagger.name_of(entry.label)} if how.names and tagger.label_names else {}
    path = {"path": tagger.path_names(entry.label)} if how.paths else {}
    plain = {field.name: getattr(entry, field.name) for field in fields(entry)[1:]}
    return {"label": entry.label, **name, **plain, **path}
