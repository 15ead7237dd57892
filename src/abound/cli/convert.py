"""`abound convert`: convert a file to another format."""

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from abound.cli.common import STANDARD, JsonOption, emit, note, wants_json
from abound.cli.reading import LabelledReading, parse_options

if TYPE_CHECKING:
    from abound.data import Format

EPILOG = """\b
Example:
  abound convert titles.csv docs.jsonl.gz --text-field title --labels-field tags
  abound convert reports docs.jsonl
  abound convert docs.jsonl train.txt --to fasttext --write spaces=_
  abound convert --list
"""


@dataclass(frozen=True)
class ConvertedReading(LabelledReading):
    """Options for reading INPUT."""

    format_: Annotated[
        str | None, typer.Option("--from", metavar="NAME", help="Format of INPUT; by default from the file name.")
    ] = None
    read: Annotated[
        list[str] | None,
        typer.Option("--read", metavar="OPTION=VALUE", help="An option of INPUT's format; see --list."),
    ] = None


def convert(
    input_: Annotated[
        str | None, typer.Argument(metavar="INPUT", help="The file or directory to read, or - for stdin.")
    ] = None,
    output: Annotated[str | None, typer.Argument(metavar="OUTPUT", help="The file to write, or - for stdout.")] = None,
    to: Annotated[
        str | None, typer.Option("--to", metavar="NAME", help="Format of OUTPUT; by default from the file name.")
    ] = None,
    write_: Annotated[
        list[str] | None,
        typer.Option("--write", metavar="OPTION=VALUE", help="An option of OUTPUT's format; see --list."),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the formats and their options.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace OUTPUT if it exists.")] = False,
    as_json: JsonOption = None,
    *,
    reading: ConvertedReading,
) -> None:
    """Convert a file of documents, or of rows of features, to another format.

    In CSV and TSV, a cell that a spreadsheet would compute as a formula gets a single quote before it. abound removes
    the quote when it reads the file.
    """
    if list_:
        _list(as_json)
        return
    if input_ is None or output is None:
        raise typer.BadParameter("give INPUT and OUTPUT, or --list")
    from itertools import islice

    from abound.cli.progress import Progress
    from abound.data import read, write
    from abound.data.registry import find_format

    source, target = find_format(reading.format_, input_), find_format(to, output)
    check(source, target, output, force)
    options = {"join": "\n", **reading.options} if reading.fields else reading.options
    reader = read(input_, source.name, **reading.policy, **options)
    with Progress("converting", lambda: reader.bytes_read / reader.size if reader.size else None) as progress:
        records = _watched(islice(reader, reading.limit), progress)
        count = write(output, records, target.name, **parse_options(write_ or (), "--write"))
    if reader.skipped.count:
        what = "unreadable documents" if source.name == "documents" else "malformed lines"
        note(f"skipped {reader.skipped.count:,} {what}; the first: {reader.skipped.errors[0]}")
    note(f"wrote {count:,} records to {'stdout' if output == STANDARD else output}")


def check(source: "Format[Any]", target: "Format[Any]", output: str, force: bool) -> None:
    """Raise an error if the formats do not match or OUTPUT exists, before any work is done."""
    target.complete({}, "write")  # some formats can only be read
    if source.record is not target.record:
        from abound.data import FORMATS

        fitting = ", ".join(
            name for name, format_ in FORMATS.items() if format_.record is source.record and format_.can_write
        )
        raise ValueError(
            f"{source.name} holds {source.record.__name__} records and {target.name} {target.record.__name__} records; "
            f"from {source.name} you can convert to {fitting}"
        )
    if os.path.isfile(output) and not force:
        raise ValueError(f"{output} exists; replace it with --force")


def _watched(records: Iterable[Any], progress: Any) -> Iterable[Any]:
    for count, record in enumerate(records, 1):
        yield record
        if count % 1000 == 0:
            progress.update(count)


def _list(as_json: bool | None) -> None:
    from abound.data import FORMATS

    listed: list[dict[str, Any]] = [
        {
            "format": format_.name,
            "summary": format_.summary,
            "record": format_.record.__name__,
            "suffixes": list(format_.suffixes),
            "options": {
                name: {"default": option.default, "help": option.help, "use": option.use}
                for name, option in format_.options.items()
            },
        }
        for format_ in FORMATS.values()
    ]
    if wants_json(as_json):
        for entry in listed:
            emit(entry)
        return
    from abound.cli.tables import table

    rows = [(entry["format"], " ".join(entry["suffixes"]), entry["record"], entry["summary"]) for entry in listed]
    table("formats", ("name", "suffixes", "record", "description"), rows)
    options = [
        (entry["format"], name, json.dumps(known["default"]), known["use"], known["help"])
        for entry in listed
        for name, known in entry["options"].items()
    ]
    table("options", ("format", "option", "default", "used to", "description"), options)
