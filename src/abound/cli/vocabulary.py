"""`abound vocabulary`: compare versions of a vocabulary, and update a served model to a new version."""

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from abound.cli.common import JsonOption, emit, note, wants_json
from abound.cli.homes import open_writer
from abound.cli.remote import SOURCE, KeyOption

if TYPE_CHECKING:
    from abound.data import Vocabulary
    from abound.hierarchy.changes import Change
    from abound.server.replica import Replica
    from abound.server.vocabulary import Update
    from abound.server.writer import Writer

EPILOG = "Example: abound vocabulary diff yso-2025.ttl yso-2026.ttl --language fi"
HELP = "Compare versions of a SKOS vocabulary, and update a served model to a new version."
APPLY_EPILOG = """\b
Example:
  abound vocabulary apply served yso-2026.ttl --dry-run
  abound vocabulary apply served yso-2026.ttl --yes
  abound vocabulary apply served yso-2026.ttl --yes --server http://127.0.0.1:8000
"""
EXAMPLES = 3  # changes of each kind that are shown before an update
SHOWN = 200  # changes of a table
REMEDY = "add --server URL to send the changes to its server"
MEANINGS = {
    "added": "new concepts",
    "renamed": "concepts with another URI",
    "merged": "concepts that are replaced by another one",
    "split": "concepts that are replaced by several",
    "deprecated": "deprecated concepts without a replacement",
    "removed": "concepts that the vocabulary no longer has",
    "moved": "concepts in another place of the hierarchy",
    "names": "concepts with other names",
}
LanguageOption = Annotated[
    str | None,
    typer.Option("--language", metavar="CODE", help="Language of the names; needed if there are several."),
]


def diff(
    old: Annotated[str, typer.Argument(metavar="OLD", help="The vocabulary before (.ttl, .nt, .rdf, .skos).")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The vocabulary after.")],
    language: LanguageOption = None,
    as_json: JsonOption = None,
) -> None:
    """Print the changes between two versions of a vocabulary: one line of JSON per change, or tables."""
    from abound.data import read_vocabulary
    from abound.hierarchy.changes import compare

    before = read_vocabulary(old, language)
    changes = compare(before, read_vocabulary(new, language))
    if wants_json(as_json):
        for change in changes:
            emit({name: value for name, value in asdict(change).items() if value != ()})
        return
    _show_changes(f"{old} and {new}", changes, SHOWN)


def apply(
    home: Annotated[str, typer.Argument(metavar="HOME", help="The home of a served model.")],
    new: Annotated[str, typer.Argument(metavar="VOCABULARY", help="The new version (.ttl, .nt, .rdf, .skos).")],
    language: Annotated[
        str | None,
        typer.Option("--language", metavar="CODE", help="Language of the names. Default: that of the model."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what would change.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Apply the changes without asking.")] = False,
    keep_removed: Annotated[
        bool,
        typer.Option("--keep-removed", help="Keep labels that are missing from VOCABULARY without being deprecated."),
    ] = False,
    server: Annotated[
        str | None,
        typer.Option("--server", metavar="URL", help="Send the changes to the server that serves HOME."),
    ] = None,
    key: KeyOption = None,
    as_json: JsonOption = None,
) -> None:
    """Update the labels of a served model to a new version of its vocabulary, as one record of its journal.

    Labels are added, renamed, merged, retired, moved and named as the vocabulary says. What was learned stays: a merged
    label votes for the one that replaces it. The record can be undone as a whole.
    """
    if not yes and not dry_run and not sys.stdin.isatty():
        raise typer.BadParameter("give --dry-run to see the changes, or --yes to apply them")
    with ExitStack() as stack:
        writer = None if server is not None or dry_run else stack.enter_context(open_writer(home, REMEDY))
        replica = _state_of(home) if writer is None else writer.replica
        update = _update(replica, new, language, keep_removed)
        edits = update.edits()
        result = {"home": home, "changes": update.counts(), "kept": len(update.kept), "edits": len(edits)}
        if not wants_json(as_json):
            _show_changes(f"{home} and {new}", update.changes, EXAMPLES)
        if update.kept:
            note(f"{len(update.kept):,} concepts were merged or retired in the model, and stay so")
        if edits and not dry_run and (yes or typer.confirm(f"Apply {len(edits):,} label edits?")):
            sequence = _send(edits, server, key) if writer is None else _write(writer, edits)
            result["sequence"] = sequence
            where = home if server is None else f"--server {server}"
            note(f"applied as record {sequence}; undo it with `abound journal undo {where} {sequence}`")
        elif not edits:
            note(f"the model has all changes of {new}")
    if wants_json(as_json):
        emit(result)


def _update(replica: "Replica", path: str, language: str | None, keep_removed: bool) -> "Update":
    from abound.data import read_vocabulary
    from abound.server.vocabulary import Update

    new: Vocabulary = read_vocabulary(path, language, likely_language=replica.tagger.language)
    return Update(replica, new, keep_removed=keep_removed)


def _state_of(home: str) -> "Replica":
    from abound.server import Home
    from abound.server.served import open_state

    return open_state(Home(home)).replica


def _write(writer: "Writer", edits: Sequence[Any]) -> int:
    from abound.store.journal import Origin
    from abound.store.journal.records import EditLabels

    return writer.submit(EditLabels(tuple(edits)), origin=Origin(source=SOURCE)).result().sequence


def _send(edits: Sequence[Any], server: str | None, key: str | None) -> int:
    from abound.client import Client
    from abound.server.vocabulary import as_request

    with Client(str(server), key=key, timeout=120.0, source=SOURCE) as client:
        sequence = client.edit_labels(as_request(edits)).sequence
    assert sequence is not None
    return sequence


def _show_changes(title: str, changes: "Sequence[Change]", most: int) -> None:
    """Print how many changes of each kind there are, and some of each."""
    from abound.cli.tables import facts, table

    by_kind = {kind: [change for change in changes if change.kind == kind] for kind in MEANINGS}
    facts(title, [(MEANINGS[kind], len(found)) for kind, found in by_kind.items()])
    for kind, found in by_kind.items():
        if found:
            rows = [(change.label, ", ".join(change.before), ", ".join(change.to or change.after)) for change in found]
            more = f", the first {most} of {len(found):,}" if len(found) > most else ""
            table(f"{MEANINGS[kind]}{more}", ("concept", "before", "after"), rows[:most], "")


COMMANDS = [(diff, None), (apply, APPLY_EPILOG)]
