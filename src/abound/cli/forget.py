"""`abound forget`: remove what a person taught, or single records, for ever."""

from functools import partial
from typing import Annotated, Any

import typer

from abound.cli.common import JsonOption, emit, note, wants_json
from abound.cli.records import matching
from abound.cli.remote import KeyOption, ServerOption
from abound.cli.undo import change_home, server_client

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
    This cannot be undone. The texts that the records taught are removed from shared queues, too. With --who or
    --text-matching, so are the matching texts that were not taught, after the records: if the command is interrupted,
    run it again. Backups and exports that were made before still have the records: run `abound backup` again, and
    delete the old exports. A text of the training data is forgotten by `abound refit` on data without it.
    """
    if (home is None) == (server is None):
        raise typer.BadParameter("give either a HOME, or a server with --server")
    if not (who or record or text_matching):
        raise typer.BadParameter("give --who, --record or --text-matching")
    found = list(matching(home, server, key, who=who, text=text_matching)) if who or text_matching else []
    chosen = [one for one in found if one["status"] != "forgotten" and one["kind"] not in ("undo", "forget", "refit")]
    numbers = sorted({*(one["sequence"] for one in chosen), *not_forgotten(home, server, key, record or [])})
    forget_queued = partial(change_queues, home, server, key, who, text_matching)
    n_queued = forget_queued(dry_run=True)
    if not numbers and not n_queued:
        raise ValueError("no record matches, and no text of a shared queue, so there is nothing to forget")
    if not yes:
        preview(chosen, numbers, n_queued)
        raise typer.Exit(1)
    facts: dict[str, Any] = {"records": numbers, "queued": n_queued}
    if numbers:
        facts |= forget_records(home, server, key, numbers, reason)
    forget_queued(dry_run=False)
    if wants_json(as_json):
        emit(facts)
    elif numbers:
        note(f"{len(numbers):,} records are forgotten; the receipt is record {facts['sequence']}")
    if n_queued:
        note(f"{n_queued:,} matching texts were removed from the shared queues")
    note("backups and exports that were made before still have them")
    if text_matching and has_example(home, server, key, text_matching):
        note("an example of the model, a training text that the page shows, still contains this; run `abound refit`")


def has_example(home: str | None, server: str | None, key: str | None, text: str) -> bool:
    """Return whether an example of the model contains a text."""
    if server is not None:
        with server_client(server, key) as client:
            examples = client.model()["examples"]
    else:
        from abound.server import Home
        from abound.store.directory import read_manifest

        opened = Home(str(home))
        examples = read_manifest(opened.snapshot_path(opened.snapshots()[-1])).get("examples", [])
    return any(text.casefold() in example.casefold() for example in examples)


def preview(chosen: list[dict[str, Any]], numbers: list[int], n_queued: int) -> None:
    """Print what would be forgotten."""
    for one in chosen[:SHOWN]:
        note(f"record {one['sequence']}: {one['kind']} by {one.get('who') or 'unknown'}, {one['time']}")
    if len(numbers) > SHOWN:
        note(f"and {len(numbers) - min(SHOWN, len(chosen)):,} more")
    if n_queued:
        note(f"{n_queued:,} matching texts would be removed from the shared queues")
    note(f"{len(numbers):,} records would be forgotten for ever; run the same command with --yes to do it")


def not_forgotten(home: str | None, server: str | None, key: str | None, numbers: list[int]) -> list[int]:
    """Return the given records without those that are forgotten already, such as by an interrupted command."""
    kept = []
    for number in numbers:
        found = matching(home, server, key, {"after": number - 1, "before": number + 1})
        if any(one["status"] == "forgotten" for one in found):
            note(f"record {number} is already forgotten")
        else:
            kept.append(number)
    return kept


def change_queues(
    home: str | None, server: str | None, key: str | None, who: str | None, text: str | None, *, dry_run: bool
) -> int:
    """Remove matching texts from the shared queues, or count them; return how many there are."""
    if not (who or text):
        return 0
    if server is not None:
        with server_client(server, key) as client:
            return client.forget_queued(who=who, text=text, dry_run=dry_run)
    from abound.server import Home
    from abound.server.queues import Queues

    with Queues(Home(str(home)).queues_path) as queues:
        return queues.forget_matching(who, text, dry_run=dry_run)


def forget_records(
    home: str | None, server: str | None, key: str | None, numbers: list[int], reason: str
) -> dict[str, Any]:
    """Forget records of a home or of a server; return what is known of the receipt."""
    if server is None:
        return forget_in(str(home), numbers, reason)
    with server_client(server, key) as client:
        return {"sequence": client.forget(numbers, reason).sequence, "records": numbers}


def forget_in(home: str, numbers: list[int], reason: str) -> dict[str, Any]:
    """Forget records of a home that is not being served; return the receipt."""
    from abound.store.journal import Journal
    from abound.store.journal.records import Forget

    receipt = change_home(home, Forget(tuple(numbers), reason=reason))
    from abound.server import Home

    with Journal(Home(home).journal_path) as journal:
        written: Forget = journal.controls()[receipt.sequence]  # type: ignore[assignment]
    return {"sequence": receipt.sequence, "records": numbers, "before": written.before, "after": written.after}
