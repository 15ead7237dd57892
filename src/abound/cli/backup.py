"""`abound backup`: copy the home of a served model, also while it is being served."""

from pathlib import Path
from typing import Annotated

import typer

from abound.cli.common import JsonOption, emit, note, show_size, wants_json

EPILOG = """\b
Example:
  abound backup subjects.served /backups/subjects
  abound restore /backups/subjects subjects.restored
"""


def backup(
    home: Annotated[str, typer.Argument(metavar="HOME", help="The home directory of a served model.")],
    target: Annotated[str, typer.Argument(metavar="DEST", help="A new directory, or that of an earlier backup.")],
    as_json: JsonOption = None,
) -> None:
    """Copy the home of a served model to a directory, or update its earlier backup there.

    The server may be running. Files that were copied before are not copied again, and files that the home no longer
    has are removed.
    """
    from abound.server import Home
    from abound.server.backups import back_up

    copied = back_up(Home(home), Path(target))
    if copied.has_keys:
        note("the backup has keys.json, with the names and hashes of API keys; keep it private")
    if wants_json(as_json):
        emit({"home": home, "backup": target, **copied._asdict()})
        return
    from abound.cli.tables import facts

    rows = [("last record", copied.sequence), ("files", f"{copied.files:,} ({show_size(copied.bytes)})")]
    rows += [("copied", f"{copied.copied:,} ({show_size(copied.copied_bytes)})"), ("removed", copied.removed)]
    facts(target, rows)
