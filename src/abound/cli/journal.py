"""`abound journal`: inspect, verify, compact, export and salvage the journal of a served model; undo records."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Any

import typer

from abound.cli.common import JsonOption, emit, note, wants_json
from abound.cli.databases import compare_servers, facts_of, is_database, open_database
from abound.cli.records import diff, log
from abound.cli.remote import KeyOption
from abound.cli.undo import EPILOG as UNDO_EPILOG
from abound.cli.undo import undo

if TYPE_CHECKING:
    from abound.server import Home
    from abound.store.journal import Journal

EPILOG = "Example: abound journal verify served && abound journal log served -n 5"
HELP = "Inspect and maintain the journal of a served model."
HomeArgument = Annotated[str, typer.Argument(metavar="HOME", help="The home directory of a served model.")]
TargetArgument = Annotated[
    str,
    typer.Argument(metavar="HOME", help="The home directory of a served model, or the database of several machines."),
]
AfterOption = Annotated[int | None, typer.Option("--after", min=0, metavar="SEQUENCE", help="Start after this record.")]


def verify(
    home: TargetArgument,
    servers: Annotated[
        list[str] | None,
        typer.Option(
            "--servers",
            metavar="URL",
            help="With a database, compare the states of these servers, while none of them can write. Can be repeated.",
        ),
    ] = None,
    key: KeyOption = None,
    as_json: JsonOption = None,
) -> None:
    """Verify the checksums of all records, keys and snapshots. Exit with 1 if anything is damaged."""
    states: list[str] = []
    if is_database(home):
        with open_database(home) as database:
            damage = list(database.damage())
            facts = {"home": database.name, **facts_of(database)}
            if servers:
                states, different = compare_servers(database, servers, key)
                damage += different
    else:
        if servers:
            raise ValueError("--servers needs the database that they share, such as postgresql://host/database")
        opened, journal = _open(home)
        with journal:
            damage = [*journal.damage(), *_damaged_snapshots(opened)]
            facts = {"home": home, **_facts(opened, journal)}
    facts |= {"servers": states} if servers else {}
    _show_facts({**facts, "damage": damage}, as_json)
    for problem in damage:
        note(f"abound: {problem}")
    if damage:
        raise typer.Exit(1)


def compact(
    home: HomeArgument,
    snapshot: Annotated[bool, typer.Option("--snapshot", help="First write a snapshot at the last record.")] = False,
    as_json: JsonOption = None,
) -> None:
    """Drop old snapshots, and move the records before the others to the archive. The server must be stopped."""
    from abound.server.snapshotter import write_snapshot
    from abound.store.journal import Journal

    opened, reader = _open(home)
    reader.close()
    with Journal(opened.journal_path, write=True) as journal:
        if snapshot:
            write_snapshot(opened, journal.last)
        dropped = opened.compact(journal)
        facts = {"home": home, "dropped": dropped, **_facts(opened, journal)}
    _show_facts(facts, as_json)


def export(
    home: HomeArgument,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="A file, or - for stdout.")] = "-",
    after: AfterOption = None,
    records: Annotated[
        bool, typer.Option("--records", help="All records with all their content, also those that do not count.")
    ] = False,
    texts: Annotated[bool, typer.Option("--texts", help="Only corrections with right labels, and only these.")] = False,
) -> None:
    """Write the corrections as JSON lines that `abound fit` and `abound learn` read beside other files.

    Each line has the text, its right labels, and the wrong ones, by the names under which they were taught.
    """
    from abound.server.listing import describe_stored

    _, journal = _open(home)
    with journal, ExitStack() as stack:
        file = stack.enter_context(open(output, "w", encoding="utf-8")) if output != "-" else None
        start = journal.start if after is None else after
        lines = map(describe_stored, journal.read(start)) if records else _corrections(journal, start, texts)
        for line in lines:
            if file is None:
                emit(line)
            else:
                file.write(json.dumps(line) + "\n")


def skip(
    home: TargetArgument,
    sequence: Annotated[int, typer.Argument(min=1, metavar="N", help="The number of the record.")],
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="Why the record is skipped, for later reference.")
    ] = "",
    as_json: JsonOption = None,
) -> None:
    """Skip a record that cannot be applied. The server must be stopped, unless the journal is in a database.

    The record stays in the journal, but it is never learned. This fails if every snapshot already includes the record.
    """
    if is_database(home):
        with open_database(home) as database:
            database.skip(sequence, reason)
            _show_facts({"home": database.name, **facts_of(database)}, as_json)
        note(f"abound: record {sequence} is skipped from now on, by all servers")
        return
    opened, journal = _open(home)
    journal.close()
    removed = opened.skip(sequence, reason)
    with _open(home)[1] as journal:
        facts = {"home": home, **_facts(opened, journal)}
    _show_facts(facts, as_json)
    note(f"abound: record {sequence} is skipped from now on")
    for snapshot in removed:
        note(f"abound: snapshot {snapshot} included the record and was removed")


def salvage(home: HomeArgument, as_json: JsonOption = None) -> None:
    """Keep the records of a damaged journal up to the damage, and say what is lost. The server must be stopped.

    The damaged files are moved to a directory of the home, with the snapshots that include lost records.
    """
    from abound.server import Home

    result = Home(home).salvage()
    if result is None:
        note(f"{home} is not damaged")
        return
    facts = {"home": home, "first": result.first, "last": result.last, "acknowledged": result.acknowledged}
    _show_facts({**facts, "moved_to": str(result.aside)}, as_json)
    for problem in result.problems:
        note(f"abound: {problem}")
    if result.acknowledged > result.last:
        note(f"abound: records {result.last + 1} to {result.acknowledged} are lost")
    if result.first > 1:
        note(f"abound: records before {result.first} are no longer kept; the model still includes them")


def _corrections(journal: "Journal", after: int, texts: bool) -> Iterator[dict[str, Any]]:
    """Yield the corrections that count, as rows; with `texts`, only texts and right labels."""
    from abound.data.jsonl import CORRECTION
    from abound.server.listing import written_at
    from abound.store.journal.records import Learn

    excluded = set(journal.lineage().excluded)
    for stored in journal.read(after):
        record = stored.record
        if not isinstance(record, Learn) or stored.sequence in excluded:
            continue
        right = list(map(str, dict.fromkeys((*record.accepted, *record.added))))
        row = {"id": str(stored.sequence), "text": record.text, "labels": right}
        if not texts:
            decided = {"wrong": record.rejected, "accepted": record.accepted, "added": record.added}
            known = {"time": written_at(stored), "who": stored.who, "source": stored.source}
            row |= {"kind": CORRECTION, **{name: list(map(str, given)) for name, given in decided.items()}}
            row |= {name: value for name, value in known.items() if value is not None}
        if right or not texts:
            yield row


def _open(path: str) -> "tuple[Home, Journal]":
    from abound.server import Home
    from abound.store.journal import Journal

    home = Home(path)
    return home, Journal(home.journal_path)


def _damaged_snapshots(home: "Home") -> Iterator[str]:
    from abound.errors import ModelError
    from abound.store import read_model

    for sequence in home.snapshots():
        try:
            read_model(home.snapshot_path(sequence))
        except (ModelError, OSError) as error:
            yield f"snapshot {sequence}: {error}"


def _facts(home: "Home", journal: "Journal") -> dict[str, Any]:
    base, last = journal.base, journal.last
    return {
        "journal": journal.id,
        "first": base + 1 if last > base else None,
        "last": last,
        "records": last - base,
        "key_life": journal.key_life,
        "snapshots": home.snapshots(),
        "skipped": sorted(journal.skips()),
        "bytes": home.journal_path.stat().st_size,
    }


def _show_facts(values: dict[str, Any], as_json: bool | None) -> None:
    if wants_json(as_json):
        emit(values)
        return
    from abound.cli.tables import facts

    rows = [(name.replace("_", " "), value) for name, value in values.items() if name not in ("home", "damage")]
    facts(values["home"], [(name, ", ".join(map(str, v)) if isinstance(v, list) else v) for name, v in rows])


_PLAIN = (verify, log, diff, compact, export, skip, salvage)
COMMANDS: list[tuple[Any, str | None]] = [*((command, None) for command in _PLAIN), (undo, UNDO_EPILOG)]
