"""The journal of several machines, for `abound journal verify` and `skip` with the URL of its database."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from abound.store.journal.postgres import PostgresJournal

SCHEMES = ("postgresql://", "postgres://")
HASH_SECONDS = 120.0  # in which all servers must have reported their state
ASK_SECONDS = 0.2  # between questions


def is_database(target: str) -> bool:
    """Return whether an argument is the URL of a database."""
    return target.startswith(SCHEMES)


def open_database(url: str) -> "PostgresJournal":
    """Open the journal in a database."""
    from abound.store.journal.postgres import PostgresJournal

    return PostgresJournal(url)


def facts_of(journal: "PostgresJournal") -> dict[str, Any]:
    """Return what is said about a journal."""
    start, last = journal.start, journal.last
    return {
        "journal": journal.id,
        "first": start + 1 if last > start else None,
        "last": last,
        "records": last - start,
        "key_life": journal.key_life,
        "skipped": sorted(journal.skips()),
    }


def compare_servers(journal: "PostgresJournal", urls: Sequence[str], key: str | None) -> tuple[list[str], list[str]]:
    """Compare the states of servers at the last record, while none of them can write.

    Returns
    -------
    tuple of lists
        The states as text, and what is wrong.
    """
    with ThreadPoolExecutor(len(urls)) as pool, journal.turn():
        last = journal.last
        answers = [pool.submit(_state_of, url, key, last) for url in urls]
        while not all(answer.done() for answer in answers):
            time.sleep(ASK_SECONDS)
            journal.check_turn()
    shown, problems, hashes = [], [], set()
    for url, answer in zip(urls, answers, strict=True):
        error = answer.exception()
        if error is not None:
            problems.append(f"{url}: {error}")
            continue
        sequence, state_hash = answer.result()
        shown.append(f"{url}: {state_hash} at record {sequence}")
        hashes.add((sequence, state_hash))
        if sequence > last:
            problems.append(f"{url} has record {sequence}, and the database ends at record {last}")
    if len(hashes) > 1:
        problems.append(f"the servers have different states at record {last}")
    return shown, problems


def _state_of(url: str, key: str | None, sequence: int) -> tuple[int, str]:
    """Return the sequence and the state hash of a server, when it has applied a record."""
    from abound.client import Client

    ends = time.monotonic() + HASH_SECONDS
    with Client(url, key=key) as client:
        while (about := client.model(state_hash=True))["sequence"] < sequence:
            if time.monotonic() > ends:
                raise TimeoutError(f"it is at record {about['sequence']} and has not applied record {sequence}")
            time.sleep(ASK_SECONDS)
    return int(about["sequence"]), str(about["state_hash"])
