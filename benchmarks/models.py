"""Serve many models in one process under load: failed requests, memory, and the price beside a single model.

python -m benchmarks.models                          200 models, 64 clients, twice for five minutes
python -m benchmarks.models --models 20 --seconds 10 --no-json

Each model is trained on 5,000 titles of Finna. There are 20 different ones, and copies of them in files of their own.
During the load, one model after another is reloaded and learns a text, and another one is removed and added again.
In the run with a small budget, most requests go to a third of the models, and one of 1,000 goes to another one.
"""

import argparse
import json
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

from abound import Tagger
from abound.client import Client
from benchmarks import sets
from benchmarks.machine import machine_line
from benchmarks.refit import Load
from benchmarks.server import RESULTS, free_port, started

ROWS = 5_000
DIFFERENT = 20
CLIENTS = 64
PAUSE = 2.0  # seconds between changes of the library
Found = dict[str, Any]
SPARE = "spare"  # the model that is removed and added


def make_library(folder: Path, n_models: int) -> list[str]:
    """Train the models and copy them; return their names."""
    rows = list(islice(sets.finna_rows(), ROWS * min(DIFFERENT, n_models)))
    names = [f"m{number}" for number in range(n_models)]
    for number, name in enumerate(names[:DIFFERENT]):
        part = rows[number * ROWS : (number + 1) * ROWS]
        Tagger().fit([text for text, _ in part], [labels for _, labels in part]).save(folder / name)
    for number, name in enumerate([*names[DIFFERENT:], SPARE]):
        shutil.copytree(folder / names[number % min(DIFFERENT, n_models)], folder / name)
    return names


class Changes:
    """Reload, remove and add models, one after another, until the block ends."""

    def __init__(self, url: str, names: Sequence[str]) -> None:
        self.done = {"reloaded": 0, "removed": 0, "added": 0, "learned": 0}
        self.most_bytes = 0
        self._url = url
        self._client = Client(url, timeout=120)
        self._names = names
        self._ends = threading.Event()
        self._pool = ThreadPoolExecutor(1)

    def _run(self) -> None:
        while not self._ends.wait(PAUSE):
            number = self.done["reloaded"]
            name = self._names[number % len(self._names)]
            self._client.put_model(name)
            with Client(f"{self._url}/models/{name}", timeout=120) as client:
                client.learn(f"a text of step {number}", added=["a new label"])
            self._client.remove_model(SPARE)
            self._client.put_model(SPARE)
            for change in self.done:
                self.done[change] += 1
            self.most_bytes = max(self.most_bytes, self._client.memory() or 0)

    def __enter__(self) -> "Changes":
        self._running = self._pool.submit(self._run)
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._running.result()
        self._pool.shutdown()
        self._client.close()


def measure(library: Path, work: Path, names: Sequence[str], seconds: float, memory: str, n_often: int) -> Found:
    """Open the models, then send requests: most of them to the first `n_often` models, and change the library."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    texts = [text for text, _ in islice(sets.finna_rows(), 2_000)]
    with started("abound", "serve", "--library", str(library), "--memory", memory, "--port", str(port), port=port):
        for name in names:
            with Client(f"{url}/models/{name}", timeout=120) as client:
                client.rank("warm up")
        paths = [f"/v1/models/{name}/rank" for name in names]
        load = Load(work, port, texts, paths[:n_often], CLIENTS, paths[n_often:])
        with Changes(url, names) as changes:
            time.sleep(seconds)
        found = load.end()
        with Client(url) as client:
            n_open = sum(model["state"] == "open" for model in client.models())
    return {**found, **changes.done, "most_bytes": changes.most_bytes, "open_at_the_end": n_open, "budget": memory}


def measure_one(model: Path, work: Path, seconds: float) -> Found:
    """Send requests to a server that has one model."""
    port = free_port()
    texts = [text for text, _ in islice(sets.finna_rows(), 2_000)]
    with started("abound", "serve", str(model), "--port", str(port), port=port):
        load = Load(work, port, texts, connections=CLIENTS)
        time.sleep(seconds)
        return load.end()


def main() -> None:
    """Measure many models, many within a budget, and one."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--memory", default="4G", help="the budget in which all models fit")
    parser.add_argument("--small", default="2G", help="the budget in which they do not")
    parser.add_argument("--no-json", action="store_true")
    arguments = parser.parse_args()
    if shutil.which("wrk") is None:
        sys.exit("wrk is missing, which generates the load: apt-get install wrk")
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "library"
        library.mkdir()
        names = make_library(library, arguments.models)
        work = Path(folder)
        n = len(names)
        runs = {
            "one model": measure_one(library / names[0], work, arguments.seconds / 5),
            f"{n} models": measure(library, work, names, arguments.seconds, arguments.memory, n),
            "one model again": measure_one(library / names[0], work, arguments.seconds / 5),
            f"{n} models, small budget": measure(library, work, names, arguments.seconds, arguments.small, n // 3),
        }
    result = {"rows": ROWS, "clients": CLIENTS, "seconds": arguments.seconds, "runs": runs, "machine": machine_line()}
    print(json.dumps(result, indent=1))
    if not arguments.no_json:
        (RESULTS / "models.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
