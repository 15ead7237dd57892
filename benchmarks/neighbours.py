"""Compare indexes of nearest neighbours on the vectors of 100,000 titles, with exact search as the reference.

python -m benchmarks.neighbours            all indexes that are missing from the result, one process each
python -m benchmarks.neighbours show       the table

usearch, hnswlib and faiss-cpu must be installed, and the vectors of `benchmarks.vectors` are needed. All searches and
insertions run in one thread; vectors are added one at a time, as online learning does.
"""

import ctypes
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks import documents
from benchmarks.machine import machine_line
from benchmarks.vectors import Vectors, encode

RESULT = Path(__file__).parent / "results" / "neighbours.json"
COMMAND = "python -m benchmarks.neighbours"
K = 50
N_QUERIES, N_TIMED, N_REMOVED, N_TWICE = 1000, 300, 10_000, 5000
CONNECTIONS, WIDE_ADD, WIDE_SEARCH = 16, 128, 128  # of all graphs: links per vector, and candidates of a search
SHORTLIST = 2000  # rows that sign bits select
MODELS = {"static": "", "minilm": "our kernel"}  # vectors, and what the names of their indexes contain


class Index(Protocol):
    """What is measured of an index."""

    can_map: str
    removes: str

    def add(self, number: int, vector: Vectors) -> None: ...
    def search(self, vector: Vectors) -> NDArray[np.int64]: ...
    def remove(self, number: int) -> None: ...
    def save(self, path: str) -> None: ...


# -- libraries -----------------------------------------------------------------------------------------


class USearch:
    """usearch: one graph in one file."""

    can_map, removes = "yes (view)", "marked; the file keeps its size"

    def __init__(self, width: int, n: int, dtype: str) -> None:  # noqa: ARG002
        from usearch.index import Index as Graph

        wide = {"connectivity": CONNECTIONS, "expansion_add": WIDE_ADD, "expansion_search": WIDE_SEARCH}
        self.graph = Graph(ndim=width, metric="cos", dtype=dtype, **wide)

    def add(self, number: int, vector: Vectors) -> None:
        self.graph.add(number, vector, threads=1)

    def search(self, vector: Vectors) -> NDArray[np.int64]:
        return np.asarray(self.graph.search(vector, K, threads=1).keys, np.int64)

    def remove(self, number: int) -> None:
        self.graph.remove(number)

    def save(self, path: str) -> None:
        self.graph.save(path)


class HnswLib:
    """hnswlib: floats only."""

    can_map, removes = "no", "marks; the place may be used again"

    def __init__(self, width: int, n: int) -> None:
        import hnswlib

        self.graph = hnswlib.Index(space="ip", dim=width)
        self.graph.init_index(max_elements=n, ef_construction=WIDE_ADD, M=CONNECTIONS, random_seed=1)
        self.graph.set_ef(WIDE_SEARCH)
        self.graph.set_num_threads(1)

    def add(self, number: int, vector: Vectors) -> None:
        self.graph.add_items(vector[None], [number], num_threads=1)

    def search(self, vector: Vectors) -> NDArray[np.int64]:
        return self.graph.knn_query(vector[None], K, num_threads=1)[0][0].astype(np.int64)

    def remove(self, number: int) -> None:
        self.graph.mark_deleted(number)

    def save(self, path: str) -> None:
        self.graph.save_index(path)


class Faiss:
    """faiss: a graph or inverted lists, by a factory string."""

    def __init__(self, width: int, n: int, factory: str, sample: Vectors) -> None:  # noqa: ARG002
        import faiss

        faiss.omp_set_num_threads(1)
        self.faiss, self.index = faiss, faiss.index_factory(width, factory, faiss.METRIC_INNER_PRODUCT)
        self.can_map = "lists yes" if "IVF" in factory else "vectors only"
        self.removes = "yes, by a scan" if "HNSW" not in factory else "no"
        if "HNSW" in factory:
            self.index.hnsw.efConstruction, self.index.hnsw.efSearch = WIDE_ADD, WIDE_SEARCH
        if "IVF" in factory:
            self.index.nprobe = 32
        if not self.index.is_trained:
            self.index.train(sample)

    def add(self, number: int, vector: Vectors) -> None:  # noqa: ARG002
        self.index.add(vector[None])

    def search(self, vector: Vectors) -> NDArray[np.int64]:
        return np.asarray(self.index.search(vector[None], K)[1][0], np.int64)

    def remove(self, number: int) -> None:
        raise NotImplementedError  # graphs refuse, and lists are scanned once per removal and renumbered

    def save(self, path: str) -> None:
        self.faiss.write_index(self.index, path)


def kernels(flags: tuple[str, ...] = ("-DCLONES",)) -> ctypes.CDLL:
    """Compile exact.c."""
    source, built = Path(__file__).with_name("exact.c"), Path(tempfile.mkdtemp()) / "exact.so"
    subprocess.run(["cc", "-O3", "-ffp-contract=off", *flags, "-shared", "-fPIC", "-o", built, source], check=True)
    return ctypes.CDLL(str(built))


def quantised(vectors: Vectors) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return rows as 8-bit numbers, and the scale of each row."""
    largest = np.maximum(np.abs(vectors).max(1), 1e-12)
    codes = np.rint(vectors * (127 / largest)[:, None]).astype(np.int8)
    return codes, (largest / 127).astype(np.float32)


def pointer(array: NDArray[Any]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


class Exact:
    """Every row's similarity in 8-bit numbers; with `shortlist`, of the rows with the nearest sign bits only."""

    can_map, removes = "yes", "yes; the last row takes the place"

    def __init__(self, width: int, n: int, flags: tuple[str, ...] = ("-DCLONES",), shortlist: int = 0) -> None:
        self.kernels, self.width, self.shortlist, self.n = kernels(flags), width, shortlist, 0
        self.codes, self.scales = np.zeros((n, width), np.int8), np.zeros(n, np.float32)
        self.bits = np.zeros((n, width // 64), np.uint64) if shortlist else np.zeros((0, 0), np.uint64)
        self.numbers = np.zeros(n, np.int64)
        self.places: dict[int, int] = {}
        self.distances, self.chosen = np.zeros(n, np.uint16), np.zeros(max(1, shortlist), np.int32)

    @staticmethod
    def signs(codes: NDArray[np.int8]) -> NDArray[np.uint64]:
        return np.packbits(codes > 0, axis=-1).view(np.uint64)

    def add(self, number: int, vector: Vectors) -> None:
        code, scale = quantised(vector[None])
        self.codes[self.n], self.scales[self.n], self.numbers[self.n] = code[0], scale[0], number
        if self.shortlist:
            self.bits[self.n] = self.signs(code[0])
        self.places[number] = self.n
        self.n += 1

    def search(self, vector: Vectors) -> NDArray[np.int64]:
        query = quantised(vector[None])[0][0]
        heap, ids = np.zeros(K, np.float32), np.zeros(K, np.int32)
        size = ctypes.c_int64
        rows = (pointer(self.codes), pointer(self.scales), pointer(query), ctypes.c_int32(K))
        if self.shortlist:
            own = self.signs(query)
            found = self.kernels.nearest_signs(
                *(size(self.n), size(self.width // 64), pointer(self.bits), pointer(own), size(self.shortlist)),
                *(pointer(self.distances), pointer(self.chosen)),
            )
            self.kernels.rescore(
                size(found), pointer(self.chosen), size(self.width), *rows, pointer(heap), pointer(ids)
            )
        else:
            self.kernels.exact_top(size(self.n), size(self.width), size(self.width), *rows, pointer(heap), pointer(ids))
        return self.numbers[ids[np.lexsort((ids, -heap))]]

    def remove(self, number: int) -> None:
        place, self.n = self.places.pop(number), self.n - 1
        for array in (self.codes, self.scales, self.numbers, *([self.bits] if self.shortlist else [])):
            array[place] = array[self.n]
        if place != self.n:
            self.places[int(self.numbers[place])] = place

    def save(self, path: str) -> None:
        parts = [self.codes[: self.n], self.scales[: self.n], self.numbers[: self.n], self.bits[: self.n]]
        Path(path).write_bytes(b"".join(part.tobytes() for part in parts))


class Blas:
    """Every row's similarity in single precision, by BLAS."""

    can_map, removes = "yes", "yes"

    def __init__(self, width: int, n: int) -> None:
        self.rows, self.n = np.zeros((n, width), np.float32), 0

    def add(self, number: int, vector: Vectors) -> None:
        self.rows[number] = vector
        self.n += 1

    def search(self, vector: Vectors) -> NDArray[np.int64]:
        scores = self.rows @ vector
        best = np.argpartition(-scores, K)[:K]
        return best[np.argsort(-scores[best])]

    def remove(self, number: int) -> None:
        self.rows[number] = 0

    def save(self, path: str) -> None:
        np.save(Path(path).with_suffix(".npy"), self.rows)
        os.replace(Path(path).with_suffix(".npy"), path)


MAKERS: dict[str, Callable[[int, int, Vectors], Index]] = {
    "usearch, 8 bits": lambda width, n, _: USearch(width, n, "i8"),
    "hnswlib, floats": lambda width, n, _: HnswLib(width, n),
    "faiss IVF, 8 bits": lambda width, n, sample: Faiss(width, n, "IVF1024,SQ8", sample),
    "BLAS, floats": lambda width, n, _: Blas(width, n),
    "our kernel, 8 bits": lambda width, n, _: Exact(width, n),
    "our kernel, 8 bits, SSE2 only": lambda width, n, _: Exact(width, n, ()),
    "our kernel, sign bits first": lambda width, n, _: Exact(width, n, shortlist=SHORTLIST),
    "faiss HNSW, 8 bits": lambda width, n, sample: Faiss(width, n, f"HNSW{CONNECTIONS},SQ8", sample),
}


# -- measures ------------------------------------------------------------------------------------------


def nearest(vectors: Vectors, queries: Vectors) -> NDArray[np.int64]:
    """Return the exact neighbours of queries."""
    parts = [
        np.argpartition(-(queries[i : i + 100] @ vectors.T), K, axis=1)[:, :K] for i in range(0, len(queries), 100)
    ]
    return np.concatenate(parts)


def recall(index: Index, queries: Vectors, truth: NDArray[np.int64]) -> float:
    found = [len(np.intersect1d(index.search(q), t)) for q, t in zip(queries, truth, strict=True)]
    return float(np.mean(found) / K)


def rate(index: Index, queries: Vectors) -> float:
    begin = time.process_time()
    for query in queries[:N_TIMED]:
        index.search(query)
    return N_TIMED / (time.process_time() - begin)


def file_size(index: Index) -> int:
    with tempfile.TemporaryDirectory() as folder:
        index.save(f"{folder}/index")
        return os.path.getsize(f"{folder}/index")


def memory() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def measure(name: str, model: str) -> dict[str, Any]:
    """Build one index and measure it."""
    found = documents.final("finna-100k")
    vectors = encode(model, [row.text for row in found.train])
    queries = encode(model, [row.text for row in found.held])[:N_QUERIES]
    make, width, sample = MAKERS[name], vectors.shape[1], vectors[:40_000]
    before = memory()
    index = make(width, len(vectors), sample)
    begin = time.process_time()
    for number, vector in enumerate(vectors):
        index.add(number, vector)
    figures: dict[str, Any] = {"adds_a_second": len(vectors) / (time.process_time() - begin)}
    figures["memory_megabytes"] = (memory() - before) / 1e6
    figures["file_megabytes"] = file_size(index) / 1e6
    figures["recall_at_50"] = recall(index, queries, nearest(vectors, queries))
    figures["queries_a_second"] = rate(index, queries)
    figures |= {"mapped": index.can_map, "removal": index.removes}
    figures["same_twice"] = same_twice(make, vectors, queries)
    removed = np.random.default_rng(0).choice(len(vectors), N_REMOVED, replace=False)
    try:
        begin = time.process_time()
        for number in removed.tolist():
            index.remove(number)
        figures["removals_a_second"] = N_REMOVED / (time.process_time() - begin)
        left = vectors.copy()
        left[removed] = 0
        figures["recall_after_removals"] = recall(index, queries, nearest(left, queries))
    except NotImplementedError:
        pass
    return {key: round(value, 4) if isinstance(value, float) else value for key, value in figures.items()}


def same_twice(make: Callable[[int, int, Vectors], Index], vectors: Vectors, queries: Vectors) -> bool:
    """Tell whether two indexes of the same vectors in the same order answer alike."""
    answers = []
    for _ in range(2):
        index = make(vectors.shape[1], N_TWICE, vectors[:40_000])
        for number, vector in enumerate(vectors[:N_TWICE]):
            index.add(number, vector)
        answers.append([index.search(query).tolist() for query in queries[:200]])
    return bool(answers[0] == answers[1])


def growth() -> dict[str, Any]:
    """Time exact search over random vectors of growing number: its time does not depend on them."""
    found: dict[str, Any] = {}
    rng = np.random.default_rng(0)
    for width in (256, 384):
        for n in (10_000, 100_000, 300_000, 1_000_000):
            codes, scales = rng.integers(-127, 128, (n, width), np.int8), np.ones(n, np.float32)
            row: dict[str, float] = {"megabytes": codes.nbytes / 1e6}
            for name, index in (("8 bits", Exact(width, 1)), ("sign bits first", Exact(width, 1, shortlist=SHORTLIST))):
                index.codes, index.scales, index.numbers, index.n = codes, scales, np.arange(n), n
                index.bits, index.distances = Exact.signs(codes), np.zeros(n, np.uint16)
                times = []
                for query in codes[:20].astype(np.float32):
                    begin = time.process_time()
                    index.search(query)
                    times.append(1e3 * (time.process_time() - begin))
                row[f"{name}, ms"] = round(float(np.median(times)), 3)
            found[f"{n:,} x {width}"] = row
    return found


# -- the result file -----------------------------------------------------------------------------------


def read() -> dict[str, Any]:
    empty: dict[str, Any] = {"command": COMMAND, "machine": machine_line(), "versions": {}, "indexes": {}}
    return json.loads(RESULT.read_text()) if RESULT.exists() else empty


def run() -> None:
    result = read()
    result["versions"] = {package: version(package) for package in ("usearch", "hnswlib", "faiss-cpu", "numpy")}
    if "exact_search_by_size" not in result:
        result["exact_search_by_size"] = growth()
        RESULT.write_text(json.dumps(result, indent=1) + "\n")
    wanted = [(name, model) for model, part in MODELS.items() for name in MAKERS if part in name]
    for name, model in (cell for cell in wanted if " | ".join(cell) not in result["indexes"]):
        command = [sys.executable, "-m", "benchmarks.neighbours", "one", name, model]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        result["indexes"][f"{name} | {model}"] = json.loads(done.stdout.splitlines()[-1])
        RESULT.write_text(json.dumps(result, indent=1) + "\n")
        print(name, model, done.stdout.splitlines()[-1], file=sys.stderr, flush=True)


def show() -> None:
    print("| index | vectors | recall@50 | adds/s | queries/s | memory MB | file MB | after removals | same twice |")
    print("|---|---|---|---|---|---|---|---|---|")
    for key, cell in read()["indexes"].items():
        name, model = key.split(" | ")
        after = cell.get("recall_after_removals")
        print(
            f"| {name} | {model} | {cell['recall_at_50']:.3f} | {cell['adds_a_second']:,.0f} "
            f"| {cell['queries_a_second']:,.0f} | {cell['memory_megabytes']:.0f} | {cell['file_megabytes']:.0f} "
            f"| {'-' if after is None else f'{after:.3f}'} | {'yes' if cell['same_twice'] else 'no'} |"
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["one"]:
        print(json.dumps(measure(*sys.argv[2:4])))
    elif sys.argv[1:] == ["show"]:
        show()
    else:
        run()
