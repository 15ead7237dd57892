"""`abound journal undo`: take records back."""

from typing import TYPE_CHECKING, Annotated

import typer

from abound.cli.common import JsonOption, emit, note, wants_json
from abound.cli.remote import SOURCE, KeyOption, ServerOption

if TYPE_CHECKING:
    from abound.client import Client
    from abound.store.journal import Receipt
    from abound.store.journal.records import Control

EPILOG = """\b
Example:
  abound journal undo subjects.served 1204
  abound journal undo --server http://127.0.0.1:8000 1204 1207
"""


def undo(
    home_and_records: Annotated[
        list[str],
        typer.Argument(metavar="[HOME] N...", help="The home of a served model (omit it with --server), and records."),
    ],
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why, for later reference.")] = "",
    server: ServerOption = None,
    key: KeyOption = None,
    as_json: JsonOption = None,
) -> None:
    """Take records back: the model becomes what it would be without them.

    This works for corrections, label edits, a vocabulary update and a refit. Undoing an undo restores its records.
    """
    home, numbers = (None, home_and_records) if server is not None else (home_and_records[0], home_and_records[1:])
    try:
        records = [int(number) for number in numbers]
    except ValueError:
        raise typer.BadParameter(f"records are whole numbers, got {' '.join(numbers)!r}") from None
    if not records:
        raise typer.BadParameter("give the numbers of the records; `abound journal log` shows them")
    if server is not None:
        with server_client(server, key) as client:
            sequence = client.undo(records, reason).sequence
    else:
        from abound.store.journal.records import Undo

        sequence = change_home(str(home), Undo(tuple(records), reason)).sequence
    if wants_json(as_json):
        emit({"sequence": sequence, "records": records})
    again = f"abound journal undo {home or '--server ' + str(server)} {sequence}"
    note(f"{'record' if len(records) == 1 else 'records'} {', '.join(map(str, records))} undone; to redo: {again}")


def server_client(url: str, key: str | None) -> "Client":
    """Return a client of a server."""
    from abound.client import Client

    return Client(url, key=key, source=SOURCE)


def change_home(path: str, record: "Control") -> "Receipt":
    """Undo, forget or refit in a home that is not being served."""
    import getpass

    from abound.errors import JournalInUse
    from abound.server import Home, Writer
    from abound.store.journal import Origin

    try:
        writer = Writer(Home(path), report=lambda message: note(f"abound: {message}"))
    except JournalInUse:
        raise ValueError(f"{path} is being served; name the server with --server URL") from None
    with writer:
        return writer.change(record, origin=Origin(getpass.getuser(), SOURCE)).result()
