"""Measure a cluster on one machine: two executor processes with one core each, on the loopback address.

python -m benchmarks.spark fit        yso-finna-fi in 8 shards: accuracy, seconds, shuffle, memory, hash
python -m benchmarks.spark rank       rank a million rows; compare with a job that only reads, tokenises and writes
python -m benchmarks.spark growth     125,000 to 2,000,000 rows; then increasing numbers of shards of the same rows

Every command writes its result file. Seconds are wall-clock seconds of a machine that others may use, so CPU seconds of
executors and of our tasks are reported too. Ratios compare jobs that ran in turn.
"""

import argparse
import json
import math
import os
import random
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from abound import Tagger, metrics
from abound.metrics import interval, judge
from abound.spark import fit, rank
from abound.spark.jobs import map_in_arrow
from abound.spark.ranking import Ranker
from benchmarks import sets
from benchmarks.machine import machine_line

RESULTS = Path(__file__).resolve().parent / "results"
Save: TypeAlias = Callable[[dict[str, Any]], None]
EXECUTORS, MEGABYTES = 2, 1536
SHARDS = 8
TEXT = {"min_count": 2}
ROUNDS = 3
K = 5
SIZES = (125_000, 250_000, 500_000, 1_000_000, 2_000_000)
SHARD_COUNTS, MERGES = (2, 4, 8, 16, 32), 2
SCHEMA = pa.schema([("row", pa.int64()), ("text", pa.string()), ("labels", pa.list_(pa.string()))])


@contextmanager
def cluster(work: Path) -> Iterator[Any]:
    """Return a session with separate executor processes."""
    from pyspark.sql import SparkSession

    os.environ.update(SPARK_LOCAL_IP="127.0.0.1", PYSPARK_PYTHON=sys.executable, SPARK_WORKER_DIR=str(work / "workers"))
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.executorEnv.PYTHONPATH": str(RESULTS.parents[1]),  # the executors import the tasks of this file
        "spark.executor.memory": f"{MEGABYTES}m",
        "spark.local.dir": str(work / "local"),
        "spark.sql.files.maxPartitionBytes": str(16 << 20),
    }
    builder = SparkSession.builder.master(f"local-cluster[{EXECUTORS},1,{MEGABYTES}]").appName("abound benchmark")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    try:
        yield session
    finally:
        session.stop()


# -- rows ----------------------------------------------------------------------------------------------


def write_rows(rows: Iterator[tuple[str, list[str]]], path: Path) -> int:
    """Write rows with their numbers as Parquet; return how many there are."""
    n, waiting = 0, []
    with pq.ParquetWriter(path, SCHEMA, compression="zstd") as table:

        def flush() -> None:
            columns = [list(column) for column in zip(*waiting, strict=True)]
            table.write_batch(pa.record_batch(columns, schema=SCHEMA))
            waiting.clear()

        for text, labels in rows:
            waiting.append((n, text, labels))
            n += 1
            if len(waiting) == 20_000:
                flush()
        if waiting:
            flush()
    return n


def resampled(rows: list[tuple[str, list[str]]], n: int) -> Iterator[tuple[str, list[str]]]:
    """Yield the given number of rows: first all of them, then random rows with a word that no other row has."""
    yield from rows[:n]
    rng = random.Random(0)
    for number in range(len(rows), n):
        text, labels = rng.choice(rows)
        yield f"{text} noise{number}", labels


# -- figures of Spark and of the system ----------------------------------------------------------------


def shuffle_bytes(spark: Any) -> int:
    """Return the bytes that all executors have written for shuffles so far, as counted by Spark."""
    executors = spark.sparkContext._jsc.sc().statusStore().executorList(False)
    return sum(int(executors.apply(i).totalShuffleWrite()) for i in range(executors.size()))


def _children(root: int) -> list[tuple[int, str]]:
    parents, commands = {}, {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                commands[int(folder.name)] = (folder / "cmdline").read_text()
            except OSError:
                continue
    found: list[tuple[int, str]] = []
    fresh = {root}
    while fresh:
        fresh = {pid for pid, parent in parents.items() if parent in fresh}
        found += [(pid, commands[pid]) for pid in fresh]
    return found


class MemoryWatch(threading.Thread):
    """Poll the memory of each executor, Java and Python together, and its CPU time."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak, self.done, self.spent = 0, threading.Event(), 0.0

    def run(self) -> None:
        while not self.done.wait(1.0):
            for pids in self.executors():
                self.peak = max(self.peak, sum(_resident(pid) for pid in pids))

    def executors(self) -> list[list[int]]:
        """Return the processes of each executor."""
        found = [pid for pid, command in _children(os.getpid()) if "CoarseGrainedExecutorBackend" in command]
        return [[pid, *(child for child, _ in _children(pid))] for pid in found]

    def processor_seconds(self) -> float:
        return sum(_processor_seconds(pid) for pids in self.executors() for pid in pids)

    def __enter__(self) -> "MemoryWatch":
        self.spent = -self.processor_seconds()
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.done.set()
        self.join()
        self.spent += self.processor_seconds()


def _processor_seconds(pid: int) -> float:
    """Return the CPU time of a process and of its children that have ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _resident(pid: int) -> int:
    """Return the memory of a process; pages shared with other processes count proportionally."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def measured_fit(spark: Any, source: Path, model: Path, shards: int, **params: Any) -> dict[str, Any]:
    """Train once; return the figures."""
    shutil.rmtree(model, ignore_errors=True)
    before, begin = shuffle_bytes(spark), time.perf_counter()
    with MemoryWatch() as watch:
        report = fit(spark.read.parquet(str(source)), model, shards=shards, **TEXT, **params)
    seconds = time.perf_counter() - begin
    stages = report.stages
    merges = [stage for stage in stages if stage["stage"].startswith("merge")]
    files = json.loads((model / "manifest.json").read_text())["content"]["files"]
    return {
        "rows": report.rows,
        "labels": report.labels,
        "features": report.features,
        "edges": files["ranker_edges"]["shape"][0] if "ranker_edges" in files else 0,
        "row_bytes": round(source.stat().st_size / report.rows, 1),
        "name_bytes_a_feature": round(files["term_names"]["shape"][0] / report.features, 2),
        "model_bytes": sum(path.stat().st_size for path in model.iterdir()),
        "shards": shards,
        "seconds": round(seconds, 2),
        "executor_processor_seconds": round(watch.spent, 2),
        "task_processor_seconds": round(sum(stage["cpu_seconds"] for stage in stages), 2),
        "shuffle_bytes": shuffle_bytes(spark) - before,
        "delta_bytes": sum(stage.get("delta_bytes", 0) for stage in stages),
        "peak_executor_bytes": watch.peak,
        "peak_merge_bytes": max(stage["peak_bytes"] for stage in merges),
        "added_merge_bytes": max(stage["added_bytes"] for stage in merges),
        "state_hash": report.state_hash,
        "stages": [{key: round(v, 3) if isinstance(v, float) else v for key, v in s.items()} for s in stages],
    }


# -- fit -----------------------------------------------------------------------------------------------


def compare_fit(work: Path, limit: int | None = None, save: Save = print) -> dict[str, Any]:
    """Train on Spark, in one local shard, and in the same number of local shards; compare accuracy and hashes."""
    rows = [row for number, row in enumerate(sets.finna_rows("fi")) if limit is None or number < limit]
    train = [row for number, row in enumerate(rows) if number % 20 != 19]
    held = [row for number, row in enumerate(rows) if number % 20 == 19]
    write_rows(iter(train), work / "train.parquet")
    with cluster(work) as spark:
        on_spark = measured_fit(spark, work / "train.parquet", work / "model", SHARDS)
    result: dict[str, Any] = {"set": f"yso-finna-fi, {len(rows):,} rows, every 20th held out", "spark": on_spark}
    save(result)
    texts, labels = [text for text, _ in train], [names for _, names in train]

    def judged(tagger: Tagger) -> Any:
        truth = tagger.truth([names for _, names in held])
        return judge(truth, tagger.rank_arrays([text for text, _ in held], K))

    def figures(judgement: Any) -> dict[str, float]:
        return {m: round(float(interval(m, judgement).value), 4) for m in ("P@1", "P@3", "P@5")}

    in_shards = judged(Tagger.load(work / "model"))
    on_spark |= figures(in_shards)
    for name, shards in (("local_one_shard", 1), ("local_shards", SHARDS)):
        begin, processor = time.perf_counter(), time.process_time()
        tagger = Tagger(ranker_params={"shards": shards}, **TEXT).fit(texts, labels)
        spent = {"seconds": time.perf_counter() - begin, "processor_seconds": time.process_time() - processor}
        result[name] = {key: round(value, 2) for key, value in spent.items()}
        result[name]["state_hash"] = tagger.state_hash()
        if shards == 1:
            alone = judged(tagger)
            result[name] |= figures(alone)
            difference = metrics.compare("P@1", in_shards, alone)
            result["P@1_difference_to_one_shard"] = [round(float(value), 4) for value in difference]
        else:
            result["same_hash_as_local_shards"] = on_spark["state_hash"] == result[name]["state_hash"]
        save(result)
        del tagger
    return result


# -- rank ----------------------------------------------------------------------------------------------


class Bare:
    """Run the engine alone: read, tokenise if wanted, and write precomputed rankings."""

    def __init__(self, ranker: Ranker, ranked: str, tokenise: bool) -> None:
        self.ranker, self.ranked, self.tokenise = ranker, ranked, tokenise

    def __call__(self, batches: Any) -> Any:
        tagger, names = self.ranker.open()
        labels, scores = (np.load(f"{self.ranked}/{name}.npy", mmap_mode="r") for name in ("labels", "scores"))
        for batch in batches:
            texts = batch.column("text").to_pylist()
            if self.tokenise:
                tagger.encoder.rows([text or "" for text in texts])
            at = batch.column("row").to_numpy()
            found, values = labels[at], scores[at]
            voted = found >= 0
            offsets = np.zeros(len(at) + 1, np.int32)
            np.cumsum(voted.sum(axis=1), out=offsets[1:])
            lists = (names.take(pa.array(found[voted])), pa.array(values[voted]))
            ranked, scored = (pa.ListArray.from_arrays(pa.array(offsets), column) for column in lists)
            yield batch.append_column("ranked", ranked).append_column("scores", scored)


class Through:
    """Pass batches through Python unchanged."""

    def __call__(self, batches: Any) -> Any:
        yield from batches


def compare_rank(work: Path, limit: int = 1_000_000, rounds: int = ROUNDS, save: Save = print) -> dict[str, Any]:
    """Rank rows, alternating with the same job without ranking."""
    rows = [row for number, row in enumerate(sets.finna_rows("fi")) if number < limit]
    write_rows(iter(rows), work / "docs.parquet")
    sample = rows[: min(limit, 200_000)]
    tagger = Tagger(**TEXT).fit([text for text, _ in sample], [names for _, names in sample])
    tagger.save(work / "model")
    ranking = tagger.rank_arrays([text for text, _ in rows], K)
    np.save(work / "labels.npy", ranking.indices)
    np.save(work / "scores.npy", ranking.scores)
    state = tagger.state_hash()
    n_labels, n_features = tagger.n_labels, tagger.n_features
    del tagger, ranking, rows, sample
    best: dict[str, float] = {}
    least: dict[str, float] = {}
    watch = MemoryWatch()
    written: dict[str, int] = {}
    with cluster(work) as spark:
        frame = spark.read.parquet(str(work / "docs.parquet")).select("row", "text")
        ranked = rank(frame, work / "model", K)
        by = Ranker(str(work / "model"), state, K, "text", "ranked", "scores")

        def bare(tokenise: bool) -> Any:
            return map_in_arrow(frame, Bare(by, str(work), tokenise), ranked.schema)

        def store(which: Any, name: str) -> None:
            which.write.mode("overwrite").parquet(str(work / "out" / name))
            written[name] = sum(path.stat().st_size for path in (work / "out" / name).glob("*.parquet"))

        jobs = {
            "read": lambda: frame.write.format("noop").mode("overwrite").save(),
            "read and hand over": lambda: map_in_arrow(frame, Through(), frame.schema).write.format("noop")
            .mode("overwrite").save(),
            "bare without tokenising": lambda: store(bare(False), "plain"),
            "bare": lambda: store(bare(True), "bare"),
            "rank": lambda: store(ranked, "rank"),
        }  # fmt: skip
        jobs["rank"]()  # both have mapped the model before time is measured
        for _ in range(rounds):
            for name, job in jobs.items():
                begin, spent = time.perf_counter(), watch.processor_seconds()
                job()
                best[name] = min(best.get(name, math.inf), time.perf_counter() - begin)
                least[name] = min(least.get(name, math.inf), watch.processor_seconds() - spent)
        differing = spark.read.parquet(str(work / "out" / "bare")).exceptAll(
            spark.read.parquet(str(work / "out" / "rank"))
        )
        same = differing.count() == 0
    shares = {  # of the executors' CPU time, which other work on the machine does not affect
        "read": least["read and hand over"],
        "tokenise": least["bare"] - least["bare without tokenising"],
        "rank": least["rank"] - least["bare"],
        "write": least["bare without tokenising"] - least["read and hand over"],
    }
    result = {
        "rows": limit,
        "model": {"labels": n_labels, "features": n_features},
        "k": K,
        "rounds": rounds,
        "best_seconds": {name: round(value, 2) for name, value in best.items()},
        "least_processor_seconds": {name: round(value, 2) for name, value in least.items()},
        "rank_to_bare": round(best["rank"] / best["bare"], 3),
        "rank_to_bare_by_processor": round(least["rank"] / least["bare"], 3),
        "shares": {name: round(value / least["rank"], 3) for name, value in shares.items()},
        "bytes_written": written,
        "same_rows": same,
    }
    save(result)
    return result


# -- growth --------------------------------------------------------------------------------------------


def grow(
    work: Path, sizes: Sequence[int] = SIZES, shard_counts: Sequence[int] = SHARD_COUNTS, save: Save = print
) -> dict[str, Any]:
    """Train on the smallest number of rows with increasing numbers of shards, then on increasing numbers of rows."""
    rows = list(sets.finna_rows("fi"))
    result: dict[str, Any] = {"runs": [], "shards": []}
    with cluster(work) as spark:
        write_rows(resampled(rows, sizes[0]), work / "docs.parquet")
        for shards in shard_counts:
            params = {"passes": 1, "rounds": MERGES}  # the same for any number of shards; not only from an empty base
            found = measured_fit(spark, work / "docs.parquet", work / "model", shards, ranker_params=params)
            result["shards"].append(found)
            save(result)
        for n in sizes:
            write_rows(resampled(rows, n), work / "docs.parquet")
            params = {"passes": 1}  # the default for a million rows, but not for fewer
            result["runs"].append(
                measured_fit(spark, work / "docs.parquet", work / "model", SHARDS, ranker_params=params)
            )
            if len(result["runs"]) > 1:
                result |= exponents(result["runs"])
            save(result)
    return result


def exponents(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the exponents with which figures grow with the number of rows."""
    processor = ("executor_processor_seconds", "task_processor_seconds")
    found: dict[str, Any] = {"exponents_of_rows": [run["rows"] for run in runs]}
    rows = np.log(found["exponents_of_rows"])
    for name in ("seconds", *processor, "shuffle_bytes", "features", "edges"):
        found[f"{name}_exponent"] = round(float(np.polyfit(rows, np.log([run[name] for run in runs]), 1)[0]), 3)
    return found


COMMANDS: dict[str, Callable[..., dict[str, Any]]] = {"fit": compare_fit, "rank": compare_rank, "growth": grow}


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.spark", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=tuple(COMMANDS))
    parser.add_argument("--limit", type=int, help="for fit and rank: use only the first rows")
    parser.add_argument("--rounds", type=int, help="for rank: number of rounds")
    parser.add_argument("--sizes", type=int, nargs="+", help="for growth: numbers of rows")
    parser.add_argument("--shard-counts", type=int, nargs="+", help="for growth: numbers of shards, of the fewest rows")
    arguments = parser.parse_args()
    given = {name: value for name, value in vars(arguments).items() if name != "command" and value is not None}
    import pyspark

    versions = {"numpy": np.__version__, "pyarrow": pa.__version__, "pyspark": pyspark.__version__}
    head = {"machine": machine_line(), "versions": versions, "engine": f"local-cluster[{EXECUTORS},1,{MEGABYTES}]"}

    def save(found: dict[str, Any]) -> None:
        """Write the figures so far, so that a long run that is interrupted leaves its figures."""
        RESULTS.mkdir(exist_ok=True)
        text = json.dumps({**head, **found}, indent=1)
        (RESULTS / f"spark-{arguments.command}.json").write_text(text + "\n")

    with tempfile.TemporaryDirectory(prefix="abound-spark-") as work:
        found = COMMANDS[arguments.command](Path(work), save=save, **given)
    save(found)
    print(json.dumps({**head, **found}, indent=1))


if __name__ == "__main__":
    main()
