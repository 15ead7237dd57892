"""Run numbered tasks and row streams on Spark, and say how far they are."""

import json
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from abound.data.extras import require

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

Progress: TypeAlias = Callable[[str, int, int], None]  # stage, tasks done, tasks
Batches: TypeAlias = "Iterator[pa.RecordBatch]"
RESULT = "result string"
SECONDS_BETWEEN_LOOKS = 0.5


def check_frame(df: Any) -> None:
    """Raise unless `df` is a DataFrame whose jobs can be followed and whose tasks run on executors of ours."""
    sql = require("pyspark.sql", "spark", "Spark jobs")
    if not isinstance(df, sql.DataFrame):
        raise TypeError(f"df must be a DataFrame of Spark, got {type(df).__name__}")
    if not hasattr(df.sparkSession, "_jsparkSession"):
        raise ValueError("a session of Spark Connect has no executors that could be followed; use a classic session")


def check_column(df: "DataFrame", name: str, what: str, kinds: tuple[str, ...]) -> None:
    """Raise unless a column is there and is of a kind that can be used."""
    types = dict(df.dtypes)
    if name not in types:
        raise ValueError(f"there is no column {name!r} for {what}; there are {', '.join(types)}")
    if not types[name].startswith(kinds):
        raise ValueError(f"column {name!r} for {what} must be of type {' or '.join(kinds)}, but is {types[name]}")


def task_numbers(batches: Batches) -> Iterator[int]:
    """Yield the task numbers that came in."""
    for batch in batches:
        yield from batch.column(0).to_pylist()


def result_batch(result: dict[str, Any]) -> "pa.RecordBatch":
    """Return a task's result as a batch of one row."""
    import pyarrow as pa

    return pa.record_batch([pa.array([json.dumps(result)], pa.string())], names=["result"])


def map_in_arrow(frame: "DataFrame", function: Callable[[Batches], Batches], schema: Any) -> "DataFrame":
    """Call `mapInArrow`, which warns of new versions of pandas although nothing goes through pandas here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        return frame.mapInArrow(function, schema)


class Tasks:
    """A function of a task's number that returns a result, as `mapInArrow` takes it."""

    def __init__(self, work: Callable[[int], dict[str, Any]]) -> None:
        self.work = work

    def __call__(self, batches: Batches) -> Batches:
        """Do the tasks whose numbers come in."""
        for number in task_numbers(batches):
            with measure_task() as figures:
                result = self.work(number)
            yield result_batch({**result, **figures})


@contextmanager
def measure_task() -> Iterator[dict[str, float]]:
    """Note the processor seconds and the peak memory of what is done inside, as far as the system tells.

    A process is used for many tasks and keeps what they have mapped, so what is added to it is noted, too.
    """
    figures: dict[str, float] = {}
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    begin, wall, held = time.process_time(), time.perf_counter(), memory_bytes("VmRSS")
    yield figures
    figures["cpu_seconds"], figures["seconds"] = time.process_time() - begin, time.perf_counter() - wall
    figures["peak_bytes"] = memory_bytes("VmHWM")
    figures["added_bytes"] = max(0, figures["peak_bytes"] - held)


def memory_bytes(name: str) -> int:
    """Return what the system says of this process: VmRSS now, VmHWM at most since the peak began anew; or 0."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith(f"{name}:")), 0)


def run_tasks(
    spark: "SparkSession", n: int, work: Callable[[int], dict[str, Any]], stage: str, progress: Progress | None = None
) -> list[dict[str, Any]]:
    """Run tasks 0 .. n-1, one a partition, and return their results in the order of their numbers."""
    frame = spark.range(0, n, 1, numPartitions=n)
    return collect(map_in_arrow(frame, Tasks(work), RESULT), stage, progress)


def collect(frame: "DataFrame", stage: str, progress: Progress | None = None) -> list[dict[str, Any]]:
    """Return the results of a frame of results, and say how far its tasks are meanwhile."""
    with report_progress(frame.sparkSession, stage, progress):
        return [json.loads(row[0]) for row in frame.collect()]


@contextmanager
def report_progress(spark: "SparkSession", stage: str, progress: Progress | None) -> Iterator[None]:
    """Tell `progress` now and then how many tasks of the jobs that start inside are done."""
    context = spark.sparkContext
    group = f"abound {stage} {os.getpid()} {time.monotonic_ns()}"
    tracker, done = context.statusTracker(), threading.Event()

    def look() -> None:
        finished = total = 0
        for job in tracker.getJobIdsForGroup(group):
            info = tracker.getJobInfo(job)
            for number in info.stageIds if info else ():
                found = tracker.getStageInfo(number)
                if found:
                    finished, total = finished + found.numCompletedTasks, total + found.numTasks
        if total and progress is not None:
            progress(stage, finished, total)

    def watch() -> None:
        while not done.wait(SECONDS_BETWEEN_LOOKS):
            look()

    watcher = threading.Thread(target=watch, daemon=True)
    context.setJobGroup(group, f"abound: {stage}")
    if progress is not None:
        watcher.start()
    try:
        yield
        look()
    finally:
        done.set()
        if progress is not None:
            watcher.join()
        for name in ("spark.jobGroup.id", "spark.job.description"):  # later jobs of the caller are not ours
            context.setLocalProperty(name, None)  # type: ignore[arg-type]  # as in Java: it is removed
