"""The options of how a command's input is read."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

import typer

TABS = ("tab", "\\t")  # a tab is hard to type
FormatOption = Annotated[
    str | None,
    typer.Option("--format", "-f", metavar="NAME", help="Format of the input; told from its name if not given."),
]


@dataclass(frozen=True)
class Reading:
    """Options of the input of texts; one that is None keeps the format's default."""

    format_: FormatOption = None
    limit: Annotated[int | None, typer.Option("--limit", min=1, metavar="N", help="Read the first N rows only.")] = None
    on_error: Annotated[
        str | None,
        typer.Option("--on-error", metavar="stop|skip", help="What a malformed line does; stops if not given."),
    ] = None
    text_field: Annotated[
        list[str] | None,
        typer.Option("--text-field", metavar="NAME", help="Field of the text; several are joined."),
    ] = None
    id_field: Annotated[
        str | None, typer.Option("--id-field", metavar="NAME", help="Field of the id; '' for none.")
    ] = None
    delimiter: Annotated[
        str | None,
        typer.Option("--delimiter", metavar="CHAR", help="What separates two columns of CSV; told from the header."),
    ] = None
    read: Annotated[
        list[str] | None,
        typer.Option(
            "--read", metavar="OPTION=VALUE", help="Another option of the input's format; see convert --list."
        ),
    ] = None

    @property
    def options(self) -> dict[str, Any]:
        """The reader's options that were given."""
        given = {name: value for name, value in vars(self).items() if value is not None}
        options: dict[str, Any] = {}
        if self.text_field:
            options["text_field"] = self.text_field[0] if len(self.text_field) == 1 else list(self.text_field)
        for name in ("labels_field", "id_field"):
            if name in given:
                options[name] = given[name] or None  # an empty name is the shell's way to say None
        for name in ("label_separator", "delimiter"):
            if name in given:
                options[name] = "\t" if given[name].lower() in TABS else given[name]
        return {**options, **parse_options(self.read or (), "--read")}

    @property
    def policy(self) -> dict[str, Any]:
        """What a malformed line does, for the reader."""
        return {} if self.on_error is None else {"on_error": self.on_error}


@dataclass(frozen=True)
class LabelledReading(Reading):
    """Options of the input of texts and labels."""

    labels_field: Annotated[
        str | None, typer.Option("--labels-field", metavar="NAME", help="Field of the labels; '' for none.")
    ] = None
    label_separator: Annotated[
        str | None, typer.Option("--label-separator", metavar="TEXT", help="What stands between two labels.")
    ] = None


def parse_options(pairs: Iterable[str], option: str) -> dict[str, Any]:
    """Return OPTION=VALUE pairs with values of the types that the formats want."""
    from abound.data import FORMATS

    kinds = {name: known.kinds for format_ in FORMATS.values() for name, known in format_.options.items()}
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise ValueError(f"{option} must be OPTION=VALUE, got {pair!r}")
        name = name.replace("-", "_")
        wanted = kinds.get(name, ())  # a name that is not known is told by the format itself
        if type(None) in wanted and not value:
            found[name] = None
        else:
            found[name] = int(value) if int in wanted and value.isdecimal() else value
    return found
