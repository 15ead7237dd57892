"""`abound keys`: manage the API keys of a server."""

from pathlib import Path
from typing import Annotated, Any

import typer

from abound.cli.common import JsonOption, emit, note, wants_json
from abound.cli.serve import load_server

EPILOG = "Example: abound keys add subjects.served 'the web shop' --scope learn"
HELP = "Create, list and remove the API keys of a server."
HomeArgument = Annotated[
    str,
    typer.Argument(
        metavar="HOME", help="The home of a served model, or a library, whose keys are valid for all models."
    ),
]
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Name of the key, such as its user.")]


def add(
    home: HomeArgument,
    name: NameArgument,
    scope: Annotated[
        str,
        typer.Option(
            "--scope", metavar="read|learn|admin", help="What the key allows. Each scope includes the ones before it."
        ),
    ] = "read",
) -> None:
    """Create a key and print it. Only its hash is stored, so it cannot be printed again."""
    typer.echo(_file(home).add(name, scope))
    note(f"abound: created a key with scope {scope}; restart a server that runs without keys to require them")


def list_(home: HomeArgument, as_json: JsonOption = None) -> None:
    """List the keys."""
    keys = _file(home).read()
    if wants_json(as_json):
        for key in keys:
            emit({"name": key.name, "scope": key.scope, "created": key.created})
        return
    from abound.cli.tables import table

    table(home, ("name", "scope", "created"), [(key.name, key.scope, key.created) for key in keys])


def remove(home: HomeArgument, name: NameArgument) -> None:
    """Remove a key. A running server rejects it within a second."""
    _file(home).remove(name)


def _file(home: str) -> Any:
    serving = load_server()
    from abound.server import Home
    from abound.server.http.keys import KeyFile

    if Path(home).is_dir() and serving.models_of(home):
        return KeyFile(home)
    return KeyFile(Home(home).path)


COMMANDS = [(command, None) for command in (add, list_, remove)]
