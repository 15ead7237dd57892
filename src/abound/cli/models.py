"""`abound models`: list, add, reload and remove the models of a running server."""

from typing import Annotated

import typer

from abound.cli.common import JsonOption, emit, note, show_size, wants_json
from abound.cli.remote import KeyOption
from abound.cli.undo import server_client

HELP = "List, add, reload and remove the models of a running server, see `abound serve --library`."
EPILOG = """\b
Example:
  abound serve --library models --port 8000
  abound fit french.csv --model models/french
  abound models add http://127.0.0.1:8000 french
"""
UrlArgument = Annotated[str, typer.Argument(metavar="URL", help="The server, such as http://127.0.0.1:8000.")]
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The name of the model: that of its directory.")]


def list_(url: UrlArgument, key: KeyOption = None, as_json: JsonOption = None) -> None:
    """List the models that the key may read."""
    with server_client(url, key) as client:
        found = client.models()
    if wants_json(as_json):
        for model in found:
            emit(model)
        return
    from abound.cli.tables import table

    rows = [(one["name"], one["state"], show_size(one["bytes"]), one.get("sequence", "")) for one in found]
    table(url, ("name", "state", "memory", "records"), rows)


def add(url: UrlArgument, name: NameArgument, key: KeyOption = None) -> None:
    """Serve a model that was written to the library of the server."""
    with server_client(url, key) as client:
        client.put_model(name)
    note(f"abound: {name} is served at {url.rstrip('/')}/models/{name}/")


def reload(url: UrlArgument, name: NameArgument, key: KeyOption = None) -> None:
    """Close a model and open it again; its requests wait meanwhile, and no other model is affected."""
    with server_client(url, key) as client:
        client.put_model(name)
    note(f"abound: {name} was opened again")


def remove(url: UrlArgument, name: NameArgument, key: KeyOption = None) -> None:
    """Stop serving a model when its requests are answered. Its files stay in the library."""
    with server_client(url, key) as client:
        client.remove_model(name)
    note(f"abound: {name} is no longer served; its files stay in the library")


COMMANDS = [(command, None) for command in (list_, add, reload, remove)]
