"""Measure how long a killed server with many records to replay takes to become ready again.

    python -m tests.server.http.restart MODEL ROWS --records 10000 --workers 2

MODEL is a model directory, ROWS a file of JSON lines with texts and labels to learn, as `abound fit` reads them. The
records are written into the journal of a new home without a snapshot after them. The output is the time from the start
of `abound serve` until `/readyz` answers 200, and the CPU seconds of each of its processes until then: with all records
to replay; after an immediate kill -9; and after a kill -9 once the snapshot that follows a long replay is written.
"""

import argparse
import itertools
import json
import os
import tempfile
import time
from pathlib import Path

import httpx

from abound import Tagger
from abound.server import Home
from abound.store.journal import Journal
from abound.store.journal.records import Learn
from tests.server.http.running import Running

GROUP_SIZE = 64  # records per commit, as the writer groups them
SNAPSHOT_SECONDS = 300


def lessons(path, n):
    """Yield corrections from the first n rows of a file."""
    with open(path, encoding="utf-8") as lines:
        for line in itertools.islice(lines, n):
            row = json.loads(line)
            yield Learn(row["text"], added=row["labels"])


def prepared(path, tagger, records):
    """Return the home of a tagger whose journal has records that no snapshot includes."""
    home = Home.create(path, tagger)
    with Journal(home.journal_path, write=True) as journal:
        records = iter(records)
        while group := list(itertools.islice(records, GROUP_SIZE)):
            journal.append([(record, None) for record in group])
    return home


def processor(pid):
    """Return the CPU seconds of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def started(home, *options):
    """Start a server; return it, the wall-clock seconds until it was ready, and the CPU seconds of each process."""
    begun = time.monotonic()
    server = Running(home.path, *options)
    while httpx.get(server.url + "/readyz", timeout=120).status_code != 200:
        time.sleep(0.005)
    seconds = time.monotonic() - begun
    return server, (seconds, [processor(pid) for pid in (server.process.pid, *server.workers())])


def measured(home, *options):
    """Return the seconds of three starts: full replay, after an immediate kill, after a kill following a snapshot."""
    found = {}
    for name in ("all records", "killed at once", "killed after a snapshot"):
        server, found[name] = started(home, *options)
        with server:
            ends = time.monotonic() + SNAPSHOT_SECONDS
            while name == "killed at once" and home.snapshots() == [0] and time.monotonic() < ends:
                time.sleep(0.1)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("rows")
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as path:
        records = lessons(arguments.rows, arguments.records)
        home = prepared(Path(path) / "home", Tagger.load(arguments.model), records)
        for name, (seconds, parts) in measured(home, "--workers", arguments.workers).items():
            spent = ", ".join(f"{part:.1f}" for part in parts)
            print(f"{name}: {seconds:.1f} s; CPU time by process: {spent} s", flush=True)
        print(f"snapshots: {home.snapshots()}")


if __name__ == "__main__":
    main()
