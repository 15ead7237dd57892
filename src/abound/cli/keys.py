"""`abound keys`: who may talk to a server, and what they may do."""

from typing import Annotated, Any

import typer

from abound.cli.common import JsonOption, emit, note, wants_json
from abound.cli.serve import load_server

EPILOG = "Example: abound keys add subjects.served 'the web shop' --scope learn"
HELP = "Make and remove the keys of a server."
HomeArgument = Annotated[str, typer.Argument(metavar="HOME", help="The directory in which a model is served.")]
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Whose key it is.")]


def add(
    home: HomeArgument,
    name: NameArgument,
    scope: Annotated[
        str, typer.Option("--scope", metavar="read|learn|admin", help="What it allows; each includes those before.")
    ] = "read",
) -> None:
    """Make a key and print it; only its hash is kept, so it cannot be printed again."""
    typer.echo(_file(home).add(name, scope))
    note(f"abound: a key of scope {scope}; a server that runs without keys must be restarted to ask for one")


def list_(home: HomeArgument, as_json: JsonOption = None) -> None:
    """Print whose keys there are."""
    keys = _file(home).read()
    if wants_json(as_json):
        for key in keys:
            emit({"name": key.name, "scope": key.scope, "created": key.created})
        return
    from abound.cli.tables import table

    table(home, ("name", "scope", "created"), [(key.name, key.scope, key.created) for key in keys])


def remove(home: HomeArgument, name: NameArgument) -> None:
    """Remove a key; a running server refuses it within a second."""
    _file(home).remove(name)


def _file(home: str) -> Any:
    load_server()
    from abound.server import Home
    from abound.server.http.keys import KeyFile

    return KeyFile(Home(home).path)


COMMANDS = [(command, None) for command in (add, list_, remove)]
