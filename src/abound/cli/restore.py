"""`abound restore`: restore the home of a served model from a backup."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from abound.cli.common import JsonOption, emit, note, wants_json

EPILOG = """\b
Example:
  abound restore /backups/subjects subjects.restored
  abound restore /backups/subjects subjects.restored --to 1200
  abound restore /backups/subjects subjects.restored --to 2030-01-31T12:00
"""


def restore(
    backup: Annotated[str, typer.Argument(metavar="BACKUP", help="A directory that `abound backup` wrote.")],
    home: Annotated[str, typer.Argument(metavar="HOME", help="A new or empty directory.")],
    to: Annotated[
        str | None,
        typer.Option(
            "--to", metavar="RECORD|TIME", help="The last record, or a time (UTC) after which records are left out."
        ),
    ] = None,
    as_json: JsonOption = None,
) -> None:
    """Restore the home of a served model from a backup, at its end or at an earlier record or time.

    All files are compared with their checksums. Clients notice that the journal has another timeline.
    """
    from abound.server.backups import restore as restore_home

    upto, before = parse_point(to)
    restored = restore_home(Path(backup), Path(home), upto, before)
    if wants_json(as_json):
        emit({"home": home, "backup": backup, **restored._asdict()})
        return
    note(f"restored {home} to record {restored.sequence} of {restored.backup_sequence}; try: abound serve {home}")


def parse_point(text: str | None) -> tuple[int | None, int | None]:
    """Parse a record or a time; return the record, or the time in microseconds since 1970.

    Examples
    --------
    >>> parse_point("12"), parse_point("1970-01-01T00:00:01")
    ((12, None), (None, 1000000))
    """
    if text is None:
        return None, None
    if text.isdecimal():
        return int(text), None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"--to must be the number of a record or a time such as 2030-01-31T12:00, got {text!r}"
        ) from None
    utc = time.replace(tzinfo=UTC) if time.tzinfo is None else time
    return None, round(utc.timestamp() * 1_000_000)
