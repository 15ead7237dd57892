"""Compare the server with a minimal one for the same task, and with plain SQLite commits.

python -m benchmarks.server                 all parts: rank, p99 while learning, learns/s
python -m benchmarks.server rank p99        some parts
python -m benchmarks.server bare PORT SIZE  the minimal endpoint: parses JSON, answers with SIZE bytes

wrk generates the load, on loopback. Runs alternate, and the best of several rounds counts. Requests are reported per
second of wall-clock time and per second of the server's CPU time, which other work on the machine does not affect.
"""

import argparse
import contextlib
import http.client
import itertools
import json
import os
import random
import re
import shutil
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

from abound import Tagger
from abound.server import Home
from abound.store.journal import Journal
from abound.store.journal.records import encode_record
from benchmarks import sets
from benchmarks.machine import machine_line

RESULTS = Path(__file__).parent / "results"
N_TRAIN, N_TEST = 100_000, 1_000
ROUNDS, SECONDS, CONNECTIONS = 5, 4, 16
LEARNS_A_SECOND = 200
LUA = """
local bodies, n, at = {}, 0, 0
for line in io.lines("%s") do n = n + 1; bodies[n] = line end
request = function()
  at = at %% n + 1
  return wrk.format("POST", "%s", {["Content-Type"] = "application/json"}, bodies[at])
end
"""


# -- servers -----------------------------------------------------------------------------------------


def bare(port: int, size: int) -> None:
    """Serve an endpoint with granian that parses a JSON body and returns another one of a given size."""
    from granian import Granian
    from granian.constants import Interfaces

    os.environ["BARE_SIZE"] = str(size)
    target = "benchmarks.server:bare_app"
    Granian(target, port=port, interface=Interfaces.ASGI, workers=1, log_enabled=False, factory=True).serve()


def bare_app() -> Any:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    answer = b'{"labels":"' + b"x" * (int(os.environ["BARE_SIZE"]) - 13) + b'"}'

    async def rank(request: Request) -> Response:
        body = await request.json()
        return Response(answer if body["text"] is not None else b"", media_type="application/json")

    return Starlette(routes=[Route("/v1/rank", rank, methods=["POST"])])


def free_port() -> int:
    """Return a port outside the ephemeral range: a client that waits for a port in it could connect to itself."""
    while True:
        port = random.randint(15_000, 30_000)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


@contextlib.contextmanager
def started(*arguments: str, port: int) -> Iterator[int]:
    """Run a server until the block ends; yield its process id."""
    process = subprocess.Popen([sys.executable, "-m", *arguments], stderr=subprocess.DEVNULL)
    try:
        _wait_for(port)
        yield process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def _wait_for(port: int) -> None:
    for _ in range(3000):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        with contextlib.suppress(OSError, http.client.HTTPException), contextlib.closing(connection):
            connection.request("GET", "/readyz")
            if (
                connection.getresponse().status != 503
            ):  # a starting server answers 503; the minimal one answers anything else
                return
        time.sleep(0.02)
    raise TimeoutError(f"nobody answers on port {port}")


def processor_seconds(pid: int) -> float:
    """Return the CPU time of a process and its children."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return own + sum(processor_seconds(int(child)) for child in children)


def wrk(port: int, script: Path, seconds: float, connections: int = CONNECTIONS) -> dict[str, float]:
    """Put load on a server; return requests/s and the 99th percentile in milliseconds."""
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-s", str(script)]
    said = subprocess.run(
        [*command, f"http://127.0.0.1:{port}/"], check=True, capture_output=True, text=True, timeout=seconds + 60
    ).stdout
    if "Non-2xx" in said:
        raise RuntimeError(said)
    found = re.search(r"99%\s+([\d.]+)(us|ms|s)", said)
    rate, total = re.search(r"Requests/sec:\s+([\d.]+)", said), re.search(r"(\d+) requests in", said)
    assert found
    assert rate
    assert total
    p99 = float(found[1]) * {"us": 0.001, "ms": 1.0, "s": 1000.0}[found[2]]
    return {"a_second": float(rate[1]), "p99_ms": p99, "requests": int(total[1])}


class Bench:
    """A model of library titles, its server, and the minimal server."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        rows = list(islice(sets.finna_rows(), N_TRAIN + N_TEST))
        tagger = Tagger().fit([text for text, _ in rows[:N_TRAIN]], [labels for _, labels in rows[:N_TRAIN]])
        self.titles = [text for text, _ in rows[N_TRAIN:]]
        self.labels = [labels for _, labels in rows[N_TRAIN:]]
        self.home = Home.create(folder / "home", tagger)
        answers = [len(json.dumps({"labels": [asdict(e) for e in tagger.rank(text)]})) for text in self.titles]
        self.size = int(statistics.median(answers))
        self.rank_script = self._script("rank", [{"text": text} for text in self.titles])

    def _script(self, name: str, bodies: list[dict[str, Any]]) -> Path:
        lines = self.folder / f"{name}.jsonl"
        lines.write_text("\n".join(json.dumps(body) for body in bodies) + "\n")
        script = self.folder / f"{name}.lua"
        script.write_text(LUA % (lines, f"/v1/{name}"))
        return script

    @contextlib.contextmanager
    def ours(self, workers: int = 1) -> Iterator[tuple[int, int]]:
        port = free_port()
        arguments = ("abound", "serve", str(self.home.path), "--port", str(port), "--workers", str(workers))
        with started(*arguments, port=port) as pid:
            yield port, pid

    # -- measurements --------------------------------------------------------------------------------

    def rank(self) -> dict[str, Any]:
        """Put load on both endpoints in turn."""
        found: dict[str, list[dict[str, float]]] = {"bare": [], "abound": []}
        bare_port = free_port()
        with (
            self.ours() as (port, pid),
            started("benchmarks.server", "bare", str(bare_port), str(self.size), port=bare_port) as bare_pid,
        ):
            sides = {"bare": (bare_port, bare_pid), "abound": (port, pid)}
            for at, _ in sides.values():
                wrk(at, self.rank_script, 1)
            for _ in range(ROUNDS):
                for name, (at, process) in sides.items():
                    before = processor_seconds(process)
                    run = wrk(at, self.rank_script, SECONDS)
                    run["a_processor_second"] = run["requests"] / (processor_seconds(process) - before)
                    found[name].append(run)
        best = {
            name: {key: max(run[key] for run in runs) for key in ("a_second", "a_processor_second")}
            for name, runs in found.items()
        }
        ratios = {key: round(best["abound"][key] / best["bare"][key], 3) for key in ("a_second", "a_processor_second")}
        paired = [
            ours["a_second"] / theirs["a_second"] for ours, theirs in zip(found["abound"], found["bare"], strict=True)
        ]
        return {
            "answer_bytes": self.size,
            **{name: {key: round(value) for key, value in figures.items()} for name, figures in best.items()},
            "ratio": ratios["a_second"],
            "ratio_median_of_rounds": round(statistics.median(paired), 3),
            "ratio_a_processor_second": ratios["a_processor_second"],
        }

    def p99(self) -> dict[str, Any]:
        """Rank, alternately without learning and with 200 corrections/s."""
        idle, learning, rates = [], [], []
        with self.ours() as (port, _):
            wrk(port, self.rank_script, 1)
            for _ in range(ROUNDS):
                idle.append(wrk(port, self.rank_script, SECONDS, 8)["p99_ms"])
                with Learner(port, self.titles, self.labels) as learner:
                    learning.append(wrk(port, self.rank_script, SECONDS, 8)["p99_ms"])
                rates.append(learner.count / learner.seconds)
        paired = [busy / quiet for busy, quiet in zip(learning, idle, strict=True)]
        return {
            "idle_p99_ms": [round(value, 2) for value in idle],
            "learning_p99_ms": [round(value, 2) for value in learning],
            "learns_a_second": round(statistics.median(rates)),
            "ratio_best": round(min(learning) / min(idle), 2),
            "ratio_median_of_rounds": round(statistics.median(paired), 2),
        }

    def learns(self) -> dict[str, Any]:
        """Learn from 64 concurrent connections, then commit the same records in the same groups with plain SQLite."""
        rows = zip(itertools.cycle(self.titles), itertools.cycle(self.labels), strict=False)
        bodies = [{"text": text, "accepted": labels} for text, labels in islice(rows, 5 * N_TEST)]
        script = self._script("learn", bodies)
        runs, bare_runs = [], []
        for _ in range(ROUNDS):
            with Journal(self.home.journal_path) as journal:
                before = journal.last
            with self.ours() as (port, _):
                runs.append(wrk(port, script, SECONDS, 64))
            with Journal(self.home.journal_path) as journal:
                stored = list(journal.read(before))
            groups = [
                [encode_record(one.record) for one in group]
                for _, group in itertools.groupby(stored, key=lambda one: one.time)
            ]
            bare_runs.append(bare_commits(self.folder / "bare.sqlite", groups))
            group_size = len(stored) / len(groups)
        ours, theirs = max(run["a_second"] for run in runs), max(bare_runs)
        return {
            "acknowledged_a_second": round(ours),
            "bare_sqlite_a_second": round(theirs),
            "records_a_commit": round(group_size, 1),
            "ratio": round(ours / theirs, 4),
        }


class Learner(threading.Thread):
    """Send 200 corrections/s on schedule, whether or not earlier ones have been answered."""

    def __init__(self, port: int, titles: list[str], labels: list[list[str]]) -> None:
        super().__init__(daemon=True)
        self.lessons = itertools.cycle(zip(titles, labels, strict=True))
        self.connections = [http.client.HTTPConnection("127.0.0.1", port, timeout=30) for _ in range(8)]
        self.ended, self.count, self.seconds = False, 0, 0.0
        self._lock = threading.Lock()

    def run(self) -> None:
        started = time.perf_counter()
        threads = [threading.Thread(target=self._send, args=(c, started)) for c in self.connections]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.seconds = time.perf_counter() - started

    def _send(self, connection: http.client.HTTPConnection, started: float) -> None:
        while not self.ended:
            with self._lock:
                number, (text, labels) = self.count, next(self.lessons)
                self.count += 1
            time.sleep(max(0.0, started + number / LEARNS_A_SECOND - time.perf_counter()))
            body = json.dumps({"text": text, "accepted": labels})
            connection.request("POST", "/v1/learn", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200
        connection.close()

    def __enter__(self) -> "Learner":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended = True
        self.join()


def bare_commits(path: Path, groups: list[list[bytes]]) -> float:
    """Insert payloads in commits of the given groups, as durably as the journal; return records/s."""
    for old in path.parent.glob(path.name + "*"):
        old.unlink()
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL").fetchall()
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE record (sequence INTEGER PRIMARY KEY, payload BLOB)")
    started = time.perf_counter()
    for group in groups:
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO record (payload) VALUES (?)", [(raw,) for raw in group])
        connection.execute("COMMIT")
    seconds = time.perf_counter() - started
    connection.close()
    return sum(map(len, groups)) / seconds


def run(parts: list[str]) -> dict[str, Any]:
    """Measure some parts."""
    if shutil.which("wrk") is None:
        sys.exit("wrk is missing, which generates the load: apt-get install wrk")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        figures = {part: {"rounds": ROUNDS, "seconds": SECONDS, **getattr(bench, part)()} for part in parts}
    packages = ("abound", "granian", "starlette", "msgspec", "numpy")
    about = {"machine": machine_line(), "versions": {name: version(name) for name in packages}}
    return {**about, "titles": N_TRAIN, **figures}


def main() -> None:
    if sys.argv[1:2] == ["bare"]:
        bare(int(sys.argv[2]), int(sys.argv[3]))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "parts", nargs="*", choices=["rank", "p99", "learns", []], help="parts to measure (default: all)"
    )
    wanted = parser.parse_args().parts or ["rank", "p99", "learns"]
    path = RESULTS / "server.json"
    before = json.loads(path.read_text()) if path.exists() else {}
    result = {**before, **run(wanted)}
    path.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
