"""`abound journal log`: list what a served model was taught."""

from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any

import typer

from abound.cli.common import JsonOption, emit, wants_json
from abound.cli.remote import SOURCE, KeyOption, ServerOption

SHOWN = 60  # characters of a text in a table
PAGE = 200  # records per request
NOT_CONTENT = ("sequence", "time", "who", "source", "key", "status", "by")


def log(
    home: Annotated[
        str | None, typer.Argument(metavar="HOME", help="The home of a served model; omit it with --server.")
    ] = None,
    n: Annotated[int, typer.Option("-n", min=1, metavar="N", help="Maximum number of records.")] = 20,
    after: Annotated[int, typer.Option("--after", min=0, metavar="SEQUENCE", help="Only records after this one.")] = 0,
    before: Annotated[
        int | None, typer.Option("--before", min=1, metavar="SEQUENCE", help="Only records before this one.")
    ] = None,
    oldest_first: Annotated[bool, typer.Option("--oldest-first", help="Begin with the oldest record.")] = False,
    who: Annotated[
        str | None, typer.Option("--who", metavar="NAME", help="Sent with this key or by this person.")
    ] = None,
    source: Annotated[
        str | None, typer.Option("--source", metavar="NAME", help="Sent from page, client, command line or api.")
    ] = None,
    kind: Annotated[str | None, typer.Option("--kind", metavar="KIND", help="Such as learn or rename label.")] = None,
    label: Annotated[str | None, typer.Option("--label", metavar="NAME", help="A label that a record names.")] = None,
    text: Annotated[str | None, typer.Option("--text", metavar="WORDS", help="A part of a record's text.")] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="TIME", help="Written at this time or later, such as 2026-03-01.")
    ] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="TIME", help="Written before this time.")] = None,
    server: ServerOption = None,
    key: KeyOption = None,
    as_json: JsonOption = None,
) -> None:
    """List what a model was taught, the newest record first."""
    if (home is None) == (server is None):
        raise typer.BadParameter("give either a HOME, or a server with --server")
    given: dict[str, Any] = {"who": who, "source": source, "kind": kind, "label": label, "text": text}
    given |= {"since": since, "until": until}
    bounds: dict[str, Any] = {"after": after, "before": before, "oldest_first": oldest_first}
    found = _of_home(home, given, bounds) if home is not None else _of_server(str(server), key, given, bounds)
    _show(home or str(server), islice(found, n), as_json)


def _of_home(home: str, given: dict[str, Any], bounds: dict[str, Any]) -> Iterator[dict[str, Any]]:
    from abound.server import Home
    from abound.server.listing import Filter, find_records, microseconds
    from abound.store.journal import Journal
    from abound.store.journal.records import KINDS

    if given["kind"] is not None and given["kind"] not in KINDS:
        raise typer.BadParameter(f"--kind must be one of {', '.join(KINDS)}, got {given['kind']!r}")
    since, until = (None if given[name] is None else microseconds(given[name]) for name in ("since", "until"))
    labels = None if given["label"] is None else frozenset([given["label"]])
    wanted = Filter(given["who"], given["source"], given["kind"], labels, given["text"], since, until)
    with Journal(Home(home).journal_path) as journal:
        while True:
            page = find_records(journal, wanted, **bounds)
            yield from (one.describe() for one in page.records)
            if page.next is None:
                return
            bounds["after" if bounds["oldest_first"] else "before"] = page.next


def _of_server(url: str, key: str | None, given: dict[str, Any], bounds: dict[str, Any]) -> Iterator[dict[str, Any]]:
    from abound.client import Client

    with Client(url, key=key, source=SOURCE) as client:
        for taught in client.records(page=PAGE, **given, **bounds):
            head = {"sequence": taught.sequence, "time": taught.time, "who": taught.who, "source": taught.source}
            by = {} if taught.by is None else {"by": taught.by}
            yield {**head, "kind": taught.kind, **taught.content, "status": taught.status, **by}


def _show(title: str, found: Iterator[dict[str, Any]], as_json: bool | None) -> None:
    if wants_json(as_json):
        for record in found:
            emit(record)
        return
    from abound.cli.tables import table

    rows = [
        (
            str(one["sequence"]),
            one["time"][:19].replace("T", " "),
            one["who"] or "",
            one["source"] or "",
            what(one),
            f"{one['status']} by {one['by']}" if "by" in one else one["status"],
        )
        for one in found
    ]
    table(title, ("sequence", "time", "who", "from", "what", "status"), rows, "r")


def what(record: dict[str, Any]) -> str:
    """Return the content of a record in one line.

    Examples
    --------
    >>> what({"kind": "learn", "text": "a red apple", "accepted": ["fruit"], "rejected": ["car"], "added": []})
    "learn 'a red apple' +fruit -car"
    >>> what({"kind": "rename label", "label": "car", "to": "vehicle"})
    'rename label label=car to=vehicle'
    """
    content = {name: value for name, value in record.items() if name not in NOT_CONTENT}
    words = [str(content.pop("kind"))]
    if (text := content.pop("text", None)) is not None:
        whole = text if isinstance(text, str) else " ".join(text.values())
        words.append(repr(whole if len(whole) <= SHOWN else whole[: SHOWN - 1] + "…"))
    for name, sign in (("accepted", "+"), ("added", "+"), ("rejected", "-")):
        words += [f"{sign}{label}" for label in content.pop(name, ())]
    return " ".join([*words, *(f"{name}={value}" for name, value in content.items())])
