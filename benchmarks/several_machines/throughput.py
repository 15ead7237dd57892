"""How many records a second do servers append together, against bare inserts of the same bytes in the same run?

Each appender is a process with its own copy of the journal. It appends groups in turns, as a server does. A bare
inserter is a process that inserts the same rows into an equal table, each group by one INSERT and one commit.
"""

import contextlib
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.several_machines.stage import cluster, entries

GROUP = 64
GROUPS = 100  # of each process and round
ROUNDS = 7
N_PROCESSES = (1, 3)
SIZED = 100_000  # records whose size is measured
SIZED_GROUP = 1000
BARE = (
    "CREATE TABLE bare (sequence bigint PRIMARY KEY, time bigint NOT NULL, key bytea, origin bytea, payload bytea,"
    " salt bytea, digest bytea NOT NULL, checksum bytea NOT NULL)"
)


def measure(folder: Path) -> dict[str, Any]:
    """Return records a second, the ratios, and the size of a record."""
    with cluster(folder) as database:
        found: dict[str, Any] = {"group": GROUP, "groups": GROUPS, "rounds": ROUNDS}
        for n in N_PROCESSES:
            found[f"{n} appending"] = _compare(database.url, folder, n)
        found["size"] = _size(database.url)
    return found


def _compare(url: str, folder: Path, n: int) -> dict[str, Any]:
    """Measure both ways in alternation."""
    import psycopg

    from abound.store.journal.postgres import PostgresJournal

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
        connection.execute(BARE)
    PostgresJournal.create(url).close()
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory(dir=folder) as place, contextlib.ExitStack() as stack:
        ways: dict[str, list[Any]] = {"shared": [], "bare": []}
        for number in range(n):
            for way, target in (("shared", _append), ("bare", _insert)):
                here, there = context.Pipe()
                arguments = (there, url, Path(place) / f"copy-{number}.sqlite", number)
                process = context.Process(target=target, args=arguments, daemon=True)
                process.start()
                stack.callback(process.join, 30)
                stack.callback(here.send, False)
                ways[way].append(here)
        for pipe in [*ways["shared"], *ways["bare"]]:
            pipe.recv()  # it is ready
        rates: dict[str, list[float]] = {way: [] for way in ways}
        for round_ in range(ROUNDS + 1):
            for way, pipes in ways.items():
                rate = _run(pipes)
                if round_:  # the first one prepares statements and caches
                    rates[way].append(rate)
    ratios = [ours / theirs for ours, theirs in zip(rates["shared"], rates["bare"], strict=True)]
    return {
        "records_per_second": round(statistics.median(rates["shared"])),
        "bare_per_second": round(statistics.median(rates["bare"])),
        "ratio": round(statistics.median(ratios), 3),
        "ratios": [round(ratio, 3) for ratio in ratios],
    }


def _run(pipes: list[Any]) -> float:
    for pipe in pipes:
        pipe.send(True)
    spans = [pipe.recv() for pipe in pipes]
    seconds = max(end for _, end in spans) - min(start for start, _ in spans)
    return len(pipes) * GROUPS * GROUP / seconds


def _rounds(pipe: Any, prepare: Callable[[], list[Any]], write: Callable[[Any], None]) -> None:
    """Write the groups of a round whenever the other side asks for it; send when this began and ended."""
    pipe.send(None)
    groups = prepare()
    while pipe.recv():
        begun = time.monotonic()
        for group in groups:
            write(group)
        pipe.send((begun, time.monotonic()))
        groups = prepare()


def _groups() -> list[Any]:
    found = entries(GROUPS * GROUP)
    return [found[start : start + GROUP] for start in range(0, len(found), GROUP)]


def _append(pipe: Any, url: str, path: Path, number: int) -> None:  # noqa: ARG001
    from abound.store.journal.postgres import PostgresJournal
    from abound.store.journal.shared import SharedJournal, copy_database

    with PostgresJournal(url) as database:
        copy_database(path, database, 0)
    with SharedJournal(path, url) as journal:

        def write(group: Any) -> None:
            with journal.turn():
                journal.append(group)

        _rounds(pipe, _groups, write)


def _insert(pipe: Any, url: str, path: Path, number: int) -> None:  # noqa: ARG001
    import psycopg

    from abound.store.journal.appending import End, make_group

    numbers: Iterator[int] = iter(range(number << 40, 1 << 62))
    values = ", ".join(["(%s, %s, %s, %s, %s, %s, %s, %s)"] * GROUP)
    insert = f"INSERT INTO bare VALUES {values}"  # noqa: S608

    def prepare() -> list[Any]:
        rows = [make_group(group, End(0, b""), 0, 0, lambda *_: None).rows for group in _groups()]
        return [[value for row in group for value in row._replace(sequence=next(numbers))] for group in rows]

    with psycopg.connect(url, autocommit=True) as connection:
        _rounds(pipe, prepare, lambda group: connection.execute(insert, group, binary=True) and None)


def _size(url: str) -> dict[str, Any]:
    """Return what the records take in the database."""
    import psycopg

    from abound.store.journal.postgres import PostgresJournal

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
        with PostgresJournal.create(url) as journal:
            for _ in range(SIZED // SIZED_GROUP):
                journal.append(entries(SIZED_GROUP))
        sizes = {
            table: connection.execute("SELECT pg_total_relation_size(%s::regclass)", (table,)).fetchone()[0]
            for table in ("record", "key")
        }
        query = "SELECT avg(length(payload) + length(key) + length(origin)) FROM record"
        content = connection.execute(query).fetchone()[0]
    return {
        "records": SIZED,
        "bytes_per_record": round(sum(sizes.values()) / SIZED),
        "of_the_record": round(sizes["record"] / SIZED),
        "of_its_key": round(sizes["key"] / SIZED),
        "content_bytes": round(float(content)),
        "million_records_mb": round(sum(sizes.values()) / SIZED),
    }
