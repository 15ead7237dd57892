"""Options for reading a command's input."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

import typer

TABS = ("tab", "\\t")  # a tab is hard to type in a shell
FormatOption = Annotated[
    str | None,
    typer.Option("--format", "-f", metavar="NAME", help="Format of the input. Default: from the file name."),
]


FieldOption = Annotated[
    list[str] | None,
    typer.Option("--field", metavar="NAME=TEXT", help="A field of one text, instead of TEXT; may be repeated."),
]


@dataclass(frozen=True)
class Reading:
    """Options for reading texts. None means the default of the format."""

    format_: FormatOption = None
    limit: Annotated[int | None, typer.Option("--limit", min=1, metavar="N", help="Read the first N rows only.")] = None
    on_error: Annotated[
        str | None,
        typer.Option(
            "--on-error", metavar="stop|skip", help="Whether to stop at a malformed line or skip it. Default: stop."
        ),
    ] = None
    text_field: Annotated[
        list[str] | None,
        typer.Option(
            "--text-field", metavar="NAME", help="Field of the text; may be repeated, for a text with several fields."
        ),
    ] = None
    id_field: Annotated[
        str | None, typer.Option("--id-field", metavar="NAME", help="Field of the id; '' for none.")
    ] = None
    delimiter: Annotated[
        str | None,
        typer.Option("--delimiter", metavar="CHAR", help="Column separator of CSV. Default: detected from the header."),
    ] = None
    read: Annotated[
        list[str] | None,
        typer.Option(
            "--read", metavar="OPTION=VALUE", help="Another option of the input format; see `abound convert --list`."
        ),
    ] = None

    @property
    def options(self) -> dict[str, Any]:
        """The reader's options that were given."""
        given = {name: value for name, value in vars(self).items() if value is not None}
        options: dict[str, Any] = {}
        if self.text_field:
            options["text_field"] = self.text_field[0] if len(self.text_field) == 1 else list(self.text_field)
        for name in ("labels_field", "id_field", "weight_field", "wrong_field"):
            if name in given:
                options[name] = given[name] or None  # an empty name means None
        for name in ("label_separator", "delimiter"):
            if name in given:
                options[name] = "\t" if given[name].lower() in TABS else given[name]
        return {**options, **parse_options(self.read or (), "--read")}

    @property
    def fields(self) -> tuple[str, ...] | None:
        """The fields of the texts, if several are given and not joined."""
        several = len(self.text_field or ()) > 1 and self.options.get("join") is None
        return tuple(self.text_field or ()) if several else None

    @property
    def policy(self) -> dict[str, Any]:
        """What the reader does with a malformed line."""
        return {} if self.on_error is None else {"on_error": self.on_error}


@dataclass(frozen=True)
class LabelledReading(Reading):
    """Options for reading texts and labels."""

    labels_field: Annotated[
        str | None, typer.Option("--labels-field", metavar="NAME", help="Field of the labels; '' for none.")
    ] = None
    label_separator: Annotated[
        str | None, typer.Option("--label-separator", metavar="TEXT", help="Separator between two labels.")
    ] = None


@dataclass(frozen=True)
class WeightedReading(LabelledReading):
    """Options for reading texts, labels and weights."""

    weight_field: Annotated[
        str | None,
        typer.Option(
            "--weight-field",
            metavar="NAME",
            help="Field of the weight of a row, from 0 to 1,000: 2 learns it twice, 0.5 by half, 0 not at all.",
        ),
    ] = None
    wrong_field: Annotated[
        str | None,
        typer.Option(
            "--wrong-field",
            metavar="NAME",
            help="Field of labels that are wrong for a row, in JSON lines; '' for none. Default: wrong.",
        ),
    ] = None


def parse_fields(pairs: Iterable[str]) -> dict[str, str]:
    """Parse NAME=TEXT pairs into a text with fields.

    Examples
    --------
    >>> parse_fields(["title=Roses", "abstract=1 + 1 = 2"])
    {'title': 'Roses', 'abstract': '1 + 1 = 2'}
    """
    fields: dict[str, str] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise ValueError(f"--field must be NAME=TEXT, got {pair!r}")
        if name in fields:
            raise ValueError(f"--field gives {name!r} twice")
        fields[name] = text
    return fields


def parse_options(pairs: Iterable[str], option: str) -> dict[str, Any]:
    """Parse OPTION=VALUE pairs into the types that the formats expect."""
    from abound.data import FORMATS

    kinds = {name: known.kinds for format_ in FORMATS.values() for name, known in format_.options.items()}
    values: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise ValueError(f"{option} must be OPTION=VALUE, got {pair!r}")
        name = name.replace("-", "_")
        wanted = kinds.get(name, ())  # the format reports unknown names
        if type(None) in wanted and not value:
            values[name] = None
        else:
            values[name] = int(value) if int in wanted and value.isdecimal() else value
    return values
