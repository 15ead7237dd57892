"""Refit a served model while wrk asks its server: failed requests, and corrections that are still shown.

python -m benchmarks.refit

The server has two workers, 60,000 titles of Finna and 400 corrections. `abound refit` trains on 100,000 titles. The
corrected titles and the held-out ones are in neither.
"""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from abound import Tagger
from abound.server import Home, Writer
from abound.store.journal.records import Learn
from benchmarks import sets
from benchmarks.machine import machine_line
from benchmarks.server import CONNECTIONS, LUA, RESULTS, free_port

N_OLD, N_NEW, N_CORRECTED, N_HELD_OUT = 60_000, 100_000, 400, 2_000
WORKERS = 2
LONGEST = 3600  # seconds
TIMEOUT = "30s"  # after which a request has failed
RARELY = 1_000
N_WRONG = 2  # labels that are rejected per text


def taught_home(folder: Path, rows: list[tuple[str, list[str]]], corrected: list[tuple[str, list[str]]]) -> Home:
    """Train a model, and correct it on texts: accept their labels, and reject the first wrong ones."""
    tagger = Tagger().fit([text for text, _ in rows], [labels for _, labels in rows])
    home = Home.create(folder / "home", tagger)
    with Writer(home) as writer:
        for text, labels in corrected:
            ranked = [entry.label for entry in writer.replica.rank(text)]
            wrong = [label for label in ranked if label not in labels][:N_WRONG]
            writer.submit(Learn(text, added=labels, rejected=wrong)).result()
    return home


def written(path: Path, rows: list[tuple[str, list[str]]]) -> Path:
    """Write rows as JSON lines."""
    path.write_text("".join(json.dumps({"text": text, "labels": labels}) + "\n" for text, labels in rows))
    return path


class Load:
    """wrk, asking for rankings until `end`; with several paths, each request takes a random one.

    One request of RARELY takes one of the `rare` paths, if there are any.
    """

    def __init__(
        self,
        folder: Path,
        port: int,
        texts: Sequence[str],
        paths: Sequence[str] = ("/v1/rank",),
        connections: int = CONNECTIONS,
        rare: Sequence[str] = (),
    ) -> None:
        bodies, script = folder / "bodies.jsonl", folder / "rank.lua"
        bodies.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
        lua = LUA % (bodies, "PATH")
        script.write_text(
            f"local paths = {{{', '.join(map(json.dumps, paths))}}}\n"
            f"local rare = {{{', '.join(map(json.dumps, rare))}}}\n"
            "local function path()\n"
            f"  if #rare > 0 and math.random({RARELY}) == 1 then return rare[math.random(#rare)] end\n"
            "  return paths[math.random(#paths)]\n"
            "end\n" + lua.replace('"PATH"', "path()")
        )
        command = [
            "wrk",
            "-t1",
            f"-c{connections}",
            f"-d{LONGEST}s",
            "--timeout",
            TIMEOUT,
            "--latency",
            "-s",
            str(script),
        ]
        address = f"http://127.0.0.1:{port}/"
        self._process = subprocess.Popen([*command, address], stdout=subprocess.PIPE, text=True)

    def end(self) -> dict[str, Any]:
        """Stop wrk; return how many requests were answered and how many failed, and the 99th percentile."""
        self._process.send_signal(signal.SIGINT)
        said = self._process.communicate(timeout=60)[0]
        total, refused = re.search(r"(\d+) requests in", said), re.search(r"Non-2xx or 3xx responses: (\d+)", said)
        broken = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", said)
        times = re.search(r"Latency(?:\s+[\d.]+(?:us|ms|s)){2}\s+([\d.]+)(us|ms|s)", said)
        slow = re.search(r"99%\s+([\d.]+)(us|ms|s)", said)
        assert total
        assert times
        assert slow
        kinds = ("connect", "read", "write", "timeout")
        errors = dict(zip(kinds, map(int, broken.groups() if broken else "0000"), strict=True))
        errors["status"] = int(refused[1]) if refused else 0
        p99, longest = (float(one[1]) * {"us": 0.001, "ms": 1.0, "s": 1000.0}[one[2]] for one in (slow, times))
        counts = {"requests": int(total[1]), "failed": sum(errors.values()), "errors": errors}
        return {**counts, "p99_ms": p99, "longest_ms": longest}


@contextlib.contextmanager
def served(folder: Path, home: Home, port: int) -> Iterator[None]:
    """Run a server until the block ends; the block begins when all workers answer."""
    arguments = ["serve", str(home.path), "--port", str(port), "--workers", str(WORKERS)]
    with (folder / "said.txt").open("w+") as said:
        process = subprocess.Popen([sys.executable, "-m", "abound", *arguments], stderr=said)
        try:
            while f"with {WORKERS} workers" not in (folder / "said.txt").read_text():
                if process.poll() is not None:
                    raise RuntimeError((folder / "said.txt").read_text())
                time.sleep(0.1)
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


def measure(folder: Path) -> dict[str, Any]:
    """Refit a served model under load."""
    rows = list(islice(sets.finna_rows(), N_NEW + N_CORRECTED + N_HELD_OUT))
    corrected, held_out = rows[N_NEW : N_NEW + N_CORRECTED], rows[N_NEW + N_CORRECTED :]
    home, port = taught_home(folder, rows[:N_OLD], corrected), free_port()
    files = [written(folder / "new.jsonl", rows[:N_NEW]), "--holdout", written(folder / "held-out.jsonl", held_out)]
    with served(folder, home, port):
        load = Load(folder, port, [text for text, _ in held_out])
        try:
            time.sleep(5)
            begun = time.perf_counter()
            command = [sys.executable, "-m", "abound", "refit", home.path, *files, "--json"]
            command += ["--server", f"http://127.0.0.1:{port}"]
            done = subprocess.run(list(map(os.fspath, command)), check=True, capture_output=True, text=True)
            seconds = time.perf_counter() - begun
            time.sleep(5)
        finally:
            under_load = load.end()
    result = json.loads(done.stdout)
    measures = {
        name: {metric: found["value"] for metric, found in result["measures"][name]["measures"].items()}
        for name in ("served", "refitted")
    }
    return {
        "rows_before": N_OLD,
        "rows": result["rows"],
        "labels": result["labels"],
        "corrections": result["corrections"],
        "measures": measures,
        "seconds": round(seconds, 1),
        "switched": result["switched"],
        "load": under_load,
        "connections": CONNECTIONS,
        "workers": WORKERS,
        "machine": machine_line(),
    }


def main() -> None:
    """Measure, print and write the result."""
    with tempfile.TemporaryDirectory(prefix="abound-refit-") as folder:
        result = measure(Path(folder))
    print(json.dumps(result, indent=1))
    (RESULTS / "refit.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
