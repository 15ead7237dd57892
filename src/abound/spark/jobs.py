"""Run numbered tasks and row streams on Spark, and report their progress."""

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
    """Raise an error unless `df` is a DataFrame of a classic Spark session."""
    sql = require("pyspark.sql", "spark", "Spark jobs")
    if not isinstance(df, sql.DataFrame):
        raise TypeError(f"df must be a Spark DataFrame, got {type(df).__name__}")
    if not hasattr(df.sparkSession, "_jsparkSession"):
        raise ValueError("the progress of jobs cannot be read in a Spark Connect session; use a classic session")


def check_column(df: "DataFrame", name: str, what: str, kinds: tuple[str, ...]) -> None:
    """Raise an error unless a column exists and has a suitable type."""
    types = dict(df.dtypes)
    if name not in types:
        raise ValueError(f"there is no column {name!r} for {what}; the columns are {', '.join(types)}")
    if not types[name].startswith(kinds):
        raise ValueError(f"column {name!r} for {what} must be of type {' or '.join(kinds)}, but is {types[name]}")


def task_numbers(batches: Batches) -> Iterator[int]:
    """Yield the task numbers in batches."""
    for batch in batches:
        yield from batch.column(0).to_pylist()


def result_batch(result: dict[str, Any]) -> "pa.RecordBatch":
    """Return a task's result as a batch of one row."""
    import pyarrow as pa

    return pa.record_batch([pa.array([json.dumps(result)], pa.string())], names=["result"])


def map_in_arrow(frame: "DataFrame", function: Callable[[Batches], Batches], schema: Any) -> "DataFrame":
    """Call `mapInArrow` without its warning about new versions of pandas, which are not used here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        return frame.mapInArrow(function, schema)


class Tasks:
    """Wrap a function from a task number to a result for `mapInArrow`."""

    def __init__(self, work: Callable[[int], dict[str, Any]]) -> None:
        self.work = work

    def __call__(self, batches: Batches) -> Batches:
        """Run the tasks with the given numbers."""
        for number in task_numbers(batches):
            with measure_task() as figures:
                result = self.work(number)
            yield result_batch({**result, **figures})


@contextmanager
def measure_task() -> Iterator[dict[str, float]]:
    """Measure the CPU seconds and the peak memory of the block, if the system reports them.

    A process runs many tasks and keeps their memory maps, so the memory added by the block is measured, too.
    """
    figures: dict[str, float] = {}
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # reset the peak
    begin, wall, held = time.process_time(), time.perf_counter(), memory_bytes("VmRSS")
    yield figures
    figures["cpu_seconds"], figures["seconds"] = time.process_time() - begin, time.perf_counter() - wall
    figures["peak_bytes"] = memory_bytes("VmHWM")
    figures["added_bytes"] = max(0, figures["peak_bytes"] - held)


def memory_bytes(name: str) -> int:
    """Return the memory of this process: VmRSS is the current value, VmHWM the peak since its reset; 0 if unknown."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith(f"{name}:")), 0)


def run_tasks(
    spark: "SparkSession", n: int, work: Callable[[int], dict[str, Any]], stage: str, progress: Progress | None = None
) -> list[dict[str, Any]]:
    """Run tasks 0 .. n-1, one per partition, and return their results in order."""
    frame = spark.range(0, n, 1, numPartitions=n)
    return collect(map_in_arrow(frame, Tasks(work), RESULT), stage, progress)


def collect(frame: "DataFrame", stage: str, progress: Progress | None = None) -> list[dict[str, Any]]:
    """Collect the results of a frame, and report the progress of its tasks."""
    with report_progress(frame.sparkSession, stage, progress):
        return [json.loads(row[0]) for row in frame.collect()]


@contextmanager
def report_progress(spark: "SparkSession", stage: str, progress: Progress | None) -> Iterator[None]:
    """Call `progress` regularly with the finished tasks of the jobs that start in this context."""
    context = spark.sparkContext
    group = f"abound {stage} {os.getpid()} {time.monotonic_ns()}"
    tracker, done = context.statusTracker(), threading.Event()

    def look() -> None:
        finished = total = 0
        for job in tracker.getJobIdsForGroup(group):
            info = tracker.getJobInfo(job)
            for number in info.stageIds if info else ():
                stage_info = tracker.getStageInfo(number)
                if stage_info:
                    finished += stage_info.numCompletedTasks
                    total += stage_info.numTasks
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
        for name in ("spark.jobGroup.id", "spark.job.description"):  # do not label later jobs of the caller
            context.setLocalProperty(name, None)  # type: ignore[arg-type]  # None removes it
