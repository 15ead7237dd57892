"""Generate the command-line reference from the output of --help, one section per command."""

import html
import re
from collections.abc import Iterator
from typing import Any

import click
import typer.main

from abound.cli import fit
from abound.cli.app import app

HIDDEN = {"help", "install_completion", "show_completion"}
CODE = re.compile(r"`([^`]*\|[^`]*)`")
DEFAULT = re.compile(r"\.? +\[default: ([^\]]+)\]")


def tree() -> Any:
    """Return the root of the commands."""
    return typer.main.get_command(app)


def walk(command: Any = None, path: tuple[str, ...] = ("abound",)) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every command with its full name, groups before their members."""
    command = command or tree()
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        if not inner.hidden:
            yield from walk(inner, (*path, name))


def shown(command: Any) -> list[Any]:
    """Return the parameters that belong in the reference."""
    return [p for p in command.params if p.name not in HIDDEN and not getattr(p, "hidden", False)]


def page() -> str:
    """Return the page."""
    parts = [
        "# Command line",
        "Every command and every option, written from the program itself. `abound COMMAND --help` says the same. "
        "Results go to stdout, as a table on a terminal and as JSON lines in a pipe; everything else goes to stderr. "
        "The exit code is 0, or 1 with one sentence that says what went wrong, or 2 for wrong usage.",
    ]
    for path, command in walk():
        parts += _section(path, command)
    return "\n\n".join(parts) + "\n"


def _section(path: tuple[str, ...], command: Any) -> list[str]:
    if path == ("abound", "fit"):
        fit.show_defaults(command.params)
    parts = [f"{'#' * min(2 + (len(path) > 2), 3)} {' '.join(path)}", _prose(command.help)]
    if not hasattr(command, "commands"):
        context = click.Context(command, info_name=" ".join(path))
        parts.append(f"```text\n{' '.join(command.get_usage(context).split()).removeprefix('Usage: ')}\n```")
    rows = [_row(parameter) for parameter in shown(command)]
    if rows:
        parts.append("\n".join(["| argument or option | what it does |", "|---|---|", *rows]))
    example = (command.epilog or "").replace("\b", "").strip()
    if example:
        lines = example.removeprefix("Example:").strip().splitlines()
        parts.append("```text\n" + "\n".join(line.strip() for line in lines) + "\n```")
    return parts


def _row(parameter: Any) -> str:
    names = [*parameter.opts, *parameter.secondary_opts]
    if parameter.param_type_name == "argument":
        name = f"`{parameter.make_metavar(click.Context(click.Command('x'))).strip('{}')}`"
    else:
        value = "" if parameter.is_flag else f" {parameter.metavar or parameter.type.name.upper()}"
        name = ", ".join(f"`{option}`" for option in names) + (f" `{value.strip()}`" if value else "")
    notes = [parameter.help or ""]
    default = parameter.default
    if not parameter.required and default not in (None, False, "", (), []) and not callable(default):
        notes.append(f"Default: `{default}`.")
    if parameter.required:
        notes.append("Required.")
    return f"| {_cell(name)} | {_cell(' '.join(notes))} |"


def _prose(text: str | None) -> str:
    return " ".join((text or "").replace("\b", "").split())


def _cell(text: str) -> str:
    """Return text for a cell of a table; a `|` of code must not be escaped, because its backslash would be shown."""
    text = CODE.sub(lambda code: f"<code>{html.escape(code[1])}</code>".replace("|", "&#124;"), text)
    return DEFAULT.sub(r". Default: `\1`.", text.replace("|", "\\|").replace("\n", " "))
