"""Undo records of a served model of 100,000 titles while it ranks.

python -m benchmarks.undo                   measure and store
python -m benchmarks.undo --show            print the stored table

The model learns 10,000 titles as corrections. Then corrections of different age are undone one after another, while
another thread ranks. Before each, the server has written the snapshots again that the undo before it made useless; the
last record is undone once more without waiting for them. The last state is compared with a replay of the journal
without these records.
"""

import argparse
import json
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from abound import Tagger
from abound.server import Home, Replica, Writer
from abound.server.snapshots import SNAPSHOT_EVERY
from abound.store.journal.records import Learn, Undo
from benchmarks import documents
from benchmarks.machine import machine_line

RESULT = Path(__file__).parent / "results" / "undo.json"
SET = "finna-100k"
CORRECTIONS = 10_000
SUBMITTED = 500  # corrections that wait at a time
UNDONE = (1, 2_500, 5_000, 7_500, 10_000)
AT_ONCE = 9_999  # is undone immediately after another one
PAUSE = 0.001  # between two rankings


def measure() -> dict[str, Any]:
    """Return the seconds of each undo, and the latency of rankings meanwhile."""
    found = documents.final(SET)
    tagger = Tagger(language="en").fit([row.text for row in found.train], [row.labels for row in found.train])
    corrections = [Learn(row.text, accepted=tuple(row.labels)) for row in found.held[:CORRECTIONS]]
    with tempfile.TemporaryDirectory() as folder:
        home = Home.create(Path(folder) / "home", tagger)
        with Writer(home) as writer:
            started = time.perf_counter()
            for start in range(0, len(corrections), SUBMITTED):
                for answer in [writer.submit(record) for record in corrections[start : start + SUBMITTED]]:
                    answer.result()
            learned = time.perf_counter() - started
            seconds, latencies = _undo(writer, [row.text for row in found.held])
            after = writer.replica.state_hash()
        replica = Replica.load(home.snapshot_path(0))
        undone = {*UNDONE, AT_ONCE}
        kept = [record for number, record in enumerate(corrections, 1) if number not in undone]
        for number, record in enumerate(kept, 1):
            replica.apply(number, record)
    latencies.sort()
    return {
        "machine": machine_line(),
        "learning_ms": round(1000 * learned / len(corrections), 2),
        "undo_seconds": dict(zip(map(str, UNDONE), seconds, strict=False)),
        "undo_at_once_seconds": seconds[-1],
        "rankings": len(latencies),
        "ranking_p50_ms": round(1000 * latencies[len(latencies) // 2], 2),
        "ranking_p99_ms": round(1000 * latencies[len(latencies) * 99 // 100], 2),
        "ranking_max_ms": round(1000 * latencies[-1], 1),
        "state_is_exact": after == replica.state_hash(),
    }


def _undo(writer: Writer, texts: list[str]) -> tuple[list[float], list[float]]:
    """Undo records while a thread ranks; return the seconds of each undo and of each ranking."""
    latencies: list[float] = []
    is_done = threading.Event()

    def rank() -> None:
        while not is_done.is_set():
            started = time.perf_counter()
            writer.replica.rank(texts[len(latencies) % len(texts)])
            latencies.append(time.perf_counter() - started)
            time.sleep(PAUSE)

    thread = threading.Thread(target=rank)
    thread.start()
    seconds = []
    try:
        for number in (*UNDONE, AT_ONCE):
            while number != AT_ONCE and _is_missing(writer):
                time.sleep(0.1)
            started = time.perf_counter()
            writer.change(Undo((number,))).result()
            seconds.append(round(time.perf_counter() - started, 2))
    finally:
        is_done.set()
        thread.join()
    return seconds, latencies


def _is_missing(writer: Writer) -> bool:
    """Return whether a snapshot is missing that an undo needs to be quick."""
    return writer.home.missing_snapshot(writer.journal.last, SNAPSHOT_EVERY) is not None


def main() -> None:
    """Measure or show."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--show", action="store_true")
    if not parser.parse_args().show:
        RESULT.write_text(json.dumps(measure(), indent=1) + "\n")
    print(RESULT.read_text())


if __name__ == "__main__":
    main()
