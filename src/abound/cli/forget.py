"""`abound forget`: remove what a person taught, or single records, for ever."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from abound.cli.common import JsonOption, emit, note, wants_json
from abound.cli.records import matching
from abound.cli.remote import KeyOption, ServerOption
from abound.cli.undo import change_home, server_client

if TYPE_CHECKING:
    pass

EPILOG = """\b
Example:
  abound forget subjects.served --who anna
  abound forget subjects.served --record 1204 --record 1207 --yes
"""
SHOWN = 5  # records in the preview


def forget(
    home: Annotated[
        str | None, typer.Argument(metavar="[HOME]", help="The home of a served model; omit it with --server.")
    ] = None,
    who: Annotated[
        str | None, typer.Option("--who", metavar="NAME", help="All records of this key or this person.")
    ] = None,
    record: Annotated[
        list[int] | None, typer.Option("--record", min=1, metavar="N", help="A record; may be repeated.")
    ] = None,
    text_matching: Annotated[
        str | None, typer.Option("--text-matching", metavar="WORDS", help="All records whose text contains this.")
    ] = None,
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="For the receipt; it must not repeat what is forgotten.")
    ] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Forget. Without this, only the records are listed.")] = False,
    server: ServerOption = None,
    key: KeyOption = None,
    as_json: JsonOption = None,
) -> None:
    """Remove records and their texts from journal, archive and snapshots, and rebuild the model without them.

    The journal keeps a receipt: the numbers of the records, the time, and the hashes of the model before and after.
    This cannot be undone. With --who or --text-matching, the matching texts of shared queues are removed, too. Backups
    and exports that were made before still have the records: run `abound backup` again, and delete the old exports. A
    text of the training data is forgotten by `abound refit` on data without it.
    """
    if (home is None) == (server is None):
        raise typer.BadParameter("give either a HOME, or a server with --server")
    if not (who or record or text_matching):
        raise typer.BadParameter("give --who, --record or --text-matching")
    found = list(matching(home, server, key, who=who, text=text_matching)) if who or text_matching else []
    chosen = [one for one in found if one["status"] != "forgotten" and one["kind"] not in ("undo", "forget", "refit")]
    numbers = sorted({*(one["sequence"] for one in chosen), *(record or ())})
    queued = forget_queued(home, server, key, who, text_matching) if yes and (who or text_matching) else 0
    if queued:
        note(f"{queued:,} texts were removed from the shared queues")
        if not numbers:
            return
    if not numbers:
        raise ValueError("no record matches, so there is nothing to forget")
    if not yes:
        preview(chosen, numbers)
        raise typer.Exit(1)
    if server is not None:
        with server_client(server, key) as client:
            result = client.forget(numbers, reason)
        facts = {"sequence": result.sequence, "records": numbers}
    else:
        facts = forget_in(str(home), numbers, reason)
    if wants_json(as_json):
        emit(facts)
    else:
        note(f"{len(numbers):,} records are forgotten; the receipt is record {facts['sequence']}")
    note("backups and exports that were made before still have them")


def preview(chosen: list[dict[str, Any]], numbers: list[int]) -> None:
    """Print what would be forgotten."""
    for one in chosen[:SHOWN]:
        note(f"record {one['sequence']}: {one['kind']} by {one.get('who') or 'unknown'}, {one['time']}")
    if len(numbers) > SHOWN:
        note(f"and {len(numbers) - min(SHOWN, len(chosen)):,} more")
    note(f"{len(numbers):,} records would be forgotten for ever; run the same command with --yes to do it")


def forget_queued(home: str | None, server: str | None, key: str | None, who: str | None, text: str | None) -> int:
    """Remove matching texts from the shared queues; return how many there were."""
    if server is not None:
        with server_client(server, key) as client:
            return client.forget_queued(who=who, text=text)
    from abound.server import Home
    from abound.server.queues import Queues

    with Queues(Home(str(home)).queues_path) as queues:
        return queues.forget_matching(who, text)


def forget_in(home: str, numbers: list[int], reason: str) -> dict[str, Any]:
    """Forget records of a home that is not being served; return the receipt."""
    from abound.store.journal import Journal
    from abound.store.journal.records import Forget

    receipt = change_home(home, Forget(tuple(numbers), reason=reason))
    from abound.server import Home

    with Journal(Home(home).journal_path) as journal:
        written: Forget = journal.controls()[receipt.sequence]  # type: ignore[assignment]
    return {"sequence": receipt.sequence, "records": numbers, "before": written.before, "after": written.after}
