"""How long does a server take to come back, its clients to go on with another one, and a new machine to be ready?

Two servers have a model of 100,000 titles and 10,000 records. One of them is killed and started again at once, while a
client teaches; it goes to the other server when one fails, with the same idempotency key. Then a machine with an empty
directory joins, with the model's snapshot from a place that all machines reach.
"""

import contextlib
import itertools
import secrets
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from abound.store.journal import Entry
from abound.store.journal.records import Learn
from benchmarks.several_machines import servers
from benchmarks.several_machines.stage import cluster

RECORDS, GROUP = 10_000, 500
KILLS, JOINS = 5, 3
WAIT_SECONDS = 600
MANIFEST, JOURNAL = "manifest.json", "journal.sqlite"


def measure(folder: Path) -> dict[str, Any]:
    """Return the seconds of each step."""
    model, rows = servers.model(), servers.held()
    with tempfile.TemporaryDirectory(dir=folder) as place, cluster(folder) as database, contextlib.ExitStack() as stack:
        shared = ["--journal", database.url, "--snapshots", Path(place) / "snapshots"]
        several = [servers.Server(Path(place), name, model, *shared) for name in ("a", "b")]
        for server in several:
            stack.callback(server.kill)
            server.start()
            server.wait()
        _teach(database.url, rows)
        for server in several:
            _until(lambda url=server.url: _sequence(url) >= RECORDS)
        snapshots = Path(place) / "snapshots"
        _until(lambda: any(_number(path) >= RECORDS for path in snapshots.glob(f"*/snapshots/*/{MANIFEST}")))
        kills = [_kill(several, rows) for _ in range(KILLS)]
        joins = []
        for number in range(JOINS):
            new = servers.Server(Path(place), f"new-{number}", *shared)
            stack.callback(new.kill)
            joins.append(_join(new))
            new.kill()
        size = sum(file.stat().st_size for file in next(snapshots.glob("*/snapshots/*")).iterdir())
    return {
        "titles": 100_000,
        "records": RECORDS,
        "snapshot_mb": round(size / 1e6),
        "killed": {name: _figures([one[name] for one in kills]) for name in kills[0]},
        "new_machine": {name: _figures([one[name] for one in joins]) for name in joins[0]},
    }


def _figures(values: list[float]) -> dict[str, float]:
    return {"median_s": round(statistics.median(values), 2), "longest_s": round(max(values), 2)}


def _teach(url: str, rows: list[Any]) -> None:
    """Write records to the database, which both servers follow."""
    from abound.store.journal.postgres import PostgresJournal

    records = [Learn(row.text, added=tuple(row.labels)) for row in rows[:RECORDS]]
    with PostgresJournal(url) as journal:
        for start in range(0, len(records), GROUP):
            journal.append([Entry(record, secrets.token_hex(16)) for record in records[start : start + GROUP]])


def _until(condition: Callable[[], bool]) -> None:
    ends = time.monotonic() + WAIT_SECONDS
    while not condition():
        if time.monotonic() > ends:
            raise TimeoutError("the servers do not come to the last record and its snapshot")
        time.sleep(0.5)


def _sequence(url: str) -> int:
    try:
        return int(httpx.get(url + "/v1/model", timeout=30).json()["sequence"])
    except (httpx.HTTPError, KeyError, ValueError):
        return -1


def _number(manifest: Path) -> int:
    return int(manifest.parent.name.partition("-")[0])


def _kill(several: list[servers.Server], rows: list[Any]) -> dict[str, float]:
    """Kill the first server while a client teaches; return when it ranked again, and when a learn was acknowledged."""
    ends, killed_at = threading.Event(), [float("inf")]
    acknowledged: list[float] = []  # how long after the kill
    client = threading.Thread(target=_learn, args=(several, rows, ends, killed_at, acknowledged))
    client.start()
    time.sleep(2)
    server = several[0]
    killed_at[0] = time.monotonic()
    server.kill()
    server.start()
    ranked = _until_ranked(server)
    ends.set()
    client.join()
    server.wait()
    return {"ranks_again": ranked - killed_at[0], "learn_acknowledged_by_another": acknowledged[0]}


def _learn(
    several: list[servers.Server],
    rows: list[Any],
    ends: threading.Event,
    killed_at: list[float],
    acknowledged: list[float],
) -> None:
    """Teach one title after another, each with one key until it is acknowledged, first by the first server."""
    made = [httpx.Client(base_url=server.url, timeout=10) for server in several]
    clients = itertools.cycle(made)
    client = next(clients)
    for row in itertools.cycle(rows):
        if ends.is_set() and acknowledged:
            return
        key = {"Idempotency-Key": secrets.token_hex(16)}
        while True:
            with contextlib.suppress(httpx.HTTPError):
                answer = client.post("/v1/learn", json={"text": row.text, "added": row.labels}, headers=key)
                if answer.status_code == 200:
                    break
            client = next(clients)
            time.sleep(0.02)
        after = time.monotonic() - killed_at[0]
        if after > 0 and client is not made[0]:
            acknowledged.append(after)


def _until_ranked(server: servers.Server) -> float:
    while True:
        with contextlib.suppress(httpx.HTTPError):
            if httpx.post(server.url + "/v1/rank", json={"text": "roses"}, timeout=10).status_code == 200:
                return time.monotonic()
        time.sleep(0.05)


def _join(server: servers.Server) -> dict[str, float]:
    """Start a server with an empty directory; return the seconds of each step until it is ready."""
    moments = {"begun": time.monotonic()}
    server.start()
    watched: dict[str, Callable[[], bool]] = {
        "started": server.home.exists,
        "snapshot": (server.home / JOURNAL).exists,
        "records": lambda: server.log.exists() and " begins with " in server.log.read_text(errors="replace"),
    }
    for name, condition in watched.items():
        while not condition():
            time.sleep(0.02)
        moments[name] = time.monotonic()
    server.wait()
    moments["ready"] = time.monotonic()
    steps = list(moments.values())
    names = ("start_of_the_process", "snapshot_copy", "records_copy", "load")
    found = {name: after - before for name, before, after in zip(names, steps, steps[1:], strict=False)}
    return {**found, "ready": moments["ready"] - moments["begun"]}
