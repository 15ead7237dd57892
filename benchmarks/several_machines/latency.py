"""How long do rankings take while servers learn: three that share a journal, or one with a journal of its own?

Both learn and rank the same number of titles a second, in alternation on the same machine. The three servers share its
cores with each other, the database and the client, and each of them applies all records.
"""

import asyncio
import contextlib
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.several_machines import servers
from benchmarks.several_machines.load import Clients, percentile
from benchmarks.several_machines.stage import cluster

RATES = {"learn": 200.0, "rank": 100.0}  # requests a second in all
SECONDS, COUNTED_AFTER = 25.0, 5.0
ROUNDS = 3
N_SERVERS = 3
# At this rate, a server writes a snapshot every ten seconds by default, in a process of its own. Three servers on the
# cores of one machine would mostly measure these processes, so that none is written during a round.
OPTIONS = ("--snapshot-every", 20_000)


def measure(folder: Path) -> dict[str, Any]:
    """Return the latencies and the CPU time of both ways."""
    model, rows = servers.model(), servers.held()
    ways: dict[str, list[dict[str, Any]]] = {"one server, SQLite": [], "three servers, PostgreSQL": []}
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory(dir=folder) as place:
            one = servers.Server(Path(place), "alone", model, *OPTIONS)
            ways["one server, SQLite"].append(_run([one], rows, None))
        with tempfile.TemporaryDirectory(dir=folder) as place, cluster(folder) as database:
            options = [model, *OPTIONS, "--journal", database.url, "--snapshots", Path(place) / "snapshots"]
            several = [servers.Server(Path(place), f"machine-{n}", *options) for n in range(N_SERVERS)]
            ways["three servers, PostgreSQL"].append(_run(several, rows, database.folder))
    found: dict[str, Any] = {"titles": 100_000, "rates_per_second": RATES, "seconds": SECONDS - COUNTED_AFTER}
    for way, rounds in ways.items():
        figures = [name for name in rounds[0] if name != "failed"]
        found[way] = {name: statistics.median(one[name] for one in rounds) for name in figures}
        found[way]["rank_p99_ms_of_rounds"] = [one["rank_p99_ms"] for one in rounds]
        found[way]["failed"] = [failure for one in rounds for failure in one["failed"]][:5]
    return found


def _run(several: list[servers.Server], rows: list[Any], database: Path | None) -> dict[str, Any]:
    with contextlib.ExitStack() as stack:
        for server in several:
            stack.callback(server.kill)
            server.start()
            server.wait()
        before = [server.cpu_seconds() for server in several]
        database_before = 0.0 if database is None else servers.cpu_of_database(database)
        clients, begun = Clients([server.url for server in several], rows), time.monotonic()
        asyncio.run(_send(clients))
        elapsed = time.monotonic() - begun  # longer than planned if the servers cannot follow
        cpu = sum(server.cpu_seconds() for server in several) - sum(before)
        database_cpu = 0.0 if database is None else servers.cpu_of_database(database) - database_before
    figures: dict[str, Any] = {}
    for kind, values in clients.seconds.items():
        figures |= {f"{kind}_{name}_ms": percentile(values, share) for name, share in (("p50", 0.5), ("p99", 0.99))}
        figures[f"{kind}s"] = len(values)
    figures["servers_cores"] = round(cpu / elapsed, 2)
    figures["database_cores"] = round(database_cpu / elapsed, 2)
    figures["seconds_until_all_were_answered"] = round(elapsed, 1)
    figures["load_average"] = round(os.getloadavg()[0], 1)
    figures["failed"] = clients.failed
    return figures


async def _send(clients: Clients) -> None:
    try:
        await clients.run(RATES, SECONDS, COUNTED_AFTER)
    finally:
        clients.close()
