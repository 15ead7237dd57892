"""`abound journal log` and `diff`: list what a served model was taught, and what that changed."""

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from abound.cli.common import JsonOption, emit, note, wants_json
from abound.cli.remote import SOURCE, KeyOption, ServerOption

if TYPE_CHECKING:
    from abound.server.differences import Change, Difference

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
    _show(home or str(server), islice(matching(home, server, key, bounds, **given), n), as_json)


def matching(
    home: str | None, server: str | None, key: str | None, bounds: dict[str, Any] | None = None, **given: Any
) -> Iterator[dict[str, Any]]:
    """Yield the records of a home or of a server that match what is given, the newest first."""
    wanted = {**dict.fromkeys(("who", "source", "kind", "label", "text", "since", "until")), **given}
    limits = {"after": 0, "before": None, "oldest_first": False, **(bounds or {})}
    return _of_home(home, wanted, limits) if home is not None else _of_server(str(server), key, wanted, limits)


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


def diff(
    home: Annotated[str, typer.Argument(metavar="HOME", help="The home of a served model.")],
    first: Annotated[int, typer.Argument(min=0, metavar="A", help="A record, or 0 for the state before all records.")],
    second: Annotated[int, typer.Argument(min=1, metavar="B", help="A later record.")],
    n: Annotated[int, typer.Option("-n", min=1, metavar="N", help="Maximum number of labels and words.")] = 20,
    as_json: JsonOption = None,
) -> None:
    """Compare the states at two records: labels and words whose votes changed most, label edits, and who taught."""
    from abound.server import Home
    from abound.server.differences import compare_states

    found = compare_states(Home(home), first, second, most=n)
    if found.is_partial:
        note("abound: there are too many labels or words to compare; the most frequent ones are compared")
    if wants_json(as_json):
        emit(
            {
                "first": first,
                "second": second,
                "labels": [_as_json("label", "word", one, found.texts.get(one.name)) for one in found.labels],
                "words": [_as_json("word", "label", one, None) for one in found.words],
                "added": found.added,
                "edits": found.edits,
                "corrections": [{"who": who, "count": count} for who, count in found.corrections.most_common()],
                "compared": {"labels": found.n_compared[0], "words": found.n_compared[1]},
                "partial": found.is_partial,
            }
        )
        return
    _show_difference(found, f"{home}: record {first} to {second}")


def _as_json(name: str, other: str, change: "Change", texts: tuple[int, int] | None) -> dict[str, Any]:
    votes = [{other: vote.name, "before": vote.before, "after": vote.after} for vote in change.votes]
    counts = {} if texts is None else {"texts_before": texts[0], "texts_after": texts[1]}
    return {name: change.name, "change": change.amount, **counts, "votes": votes}


def _show_difference(found: "Difference", title: str) -> None:
    from abound.cli.tables import table

    labels = [
        (str(one.name), *map(str, found.texts[one.name]), f"{one.amount:.3f}", _votes(one)) for one in found.labels
    ]
    table(title, ("label", "texts before", "after", "change", "words"), labels, " rrr")
    words = [(str(one.name), f"{one.amount:.3f}", _votes(one)) for one in found.words]
    table("words", ("word", "change", "labels"), words, " r")
    edits = [(str(edit["sequence"]), what(edit)) for edit in found.edits]
    edits += [("", f"new label {label}") for label in found.added]
    table("label edits", ("sequence", "what"), edits, "r")
    people = [(who or "", str(count)) for who, count in found.corrections.most_common()]
    table("corrections", ("who", "number"), people, " r")


def _votes(change: "Change") -> str:
    return ", ".join(f"{vote.name} {vote.change:+.3f}" for vote in change.votes)


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
