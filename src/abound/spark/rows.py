"""Sorted runs of rows on the shared path, with counts of their words and labels.

A DataFrame has no order. Rows are sorted by number into runs, one per partition, and counted. Then they are sorted into
training order. A shard is a range of positions over all runs, so the result does not depend on the input files or on
the partitions of Spark.
"""

from collections.abc import Iterator
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from abound.rankers.labels import LabelIndex
from abound.spark.jobs import (
    RESULT,
    Batches,
    Progress,
    collect,
    map_in_arrow,
    measure_task,
    result_batch,
    run_tasks,
    task_numbers,
)
from abound.spark.shared import new_file, open_model, publish
from abound.store import Model, decode_names, encode_names
from abound.store.directory import Source
from abound.text import TextEncoder
from abound.training.source import sort_keys

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COUNTS = "text and label counts"
FAN = 8  # counts that one task adds
CHUNK = 4096  # rows to encode at once

RowChunk = tuple[list[str], list[list[Any]]]


class WriteRun:
    """Write the rows of a partition, which arrive in order, and count their words and labels."""

    def __init__(self, work: Path, text_params: dict[str, Any]) -> None:
        self.work, self.text_params = work, text_params

    def __call__(self, batches: Batches) -> Batches:
        """Write one run; yield its description or an error."""
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        number = context.partitionId()
        with measure_task() as figures:
            try:
                result = self.write(number, batches)
            except (TypeError, ValueError) as error:
                result = {"rows": 0, "error": str(error)}
        yield result_batch({**result, **figures})

    def write(self, number: int, batches: Batches) -> dict[str, Any]:
        """Write a run and its counts, and return their paths."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        encoder, book = TextEncoder(**self.text_params), LabelIndex()
        encoder.begin_counting()
        path = self.work / "rows" / f"run-{number:05d}.parquet"
        n, first, last, writer = 0, 0, -1, None
        with new_file(path) as writing:
            for batch in batches:
                if not batch.num_rows:
                    continue
                rows = batch.column("row").to_numpy()
                steps = np.diff(rows)
                if np.any(steps <= 0) or (n and rows[0] <= last):
                    repeated = rows[0] if n and rows[0] <= last else rows[1:][steps <= 0][0]
                    raise ValueError(f"row numbers must be unique, but {repeated} occurs twice")
                first, last = (first if n else int(rows[0])), int(rows[-1])
                writer = writer or pq.ParquetWriter(writing, batch.schema, compression="zstd")
                writer.write_batch(batch)
                for start in range(0, batch.num_rows, CHUNK):
                    part = batch.slice(start, CHUNK)
                    encoder.count(part.column("text").to_pylist())
                    labels = part.column("labels").to_pylist()
                    book.count(book.encode(labels, len(labels), learn=True))
                n += batch.num_rows
            if writer is None:  # the empty file is removed below
                pq.write_table(pa.table({}), writing)
            else:
                writer.close()
        if not n:
            path.unlink(missing_ok=True)
            return {"rows": 0}
        counts = self.work / "counts" / f"0-{number:05d}"
        publish(counts, {"kind": COUNTS}, {**encoder.arrays(), **_label_arrays(book)})
        return {"rows": n, "first": first, "last": last, "path": str(path), "counts": str(counts)}


def _label_arrays(book: LabelIndex) -> dict[str, Source]:
    names, offsets = encode_names(book.names)
    return {"label_names": names, "label_offsets": offsets, "label_counts": book.counts[: len(book)]}


def restored_book(model: Model) -> LabelIndex:
    """Return the labels in a directory of counts."""
    names = decode_names(model.arrays["label_names"], model.arrays["label_offsets"])
    return LabelIndex.restore(names, model.arrays["label_counts"])


def write_runs(
    df: "DataFrame", work: Path, text_params: dict[str, Any], n: int, progress: Progress | None
) -> list[dict[str, Any]]:
    """Sort rows (columns row, text, labels) into at most n runs; return their descriptions in order."""
    ordered = df.repartitionByRange(n, "row").sortWithinPartitions("row")
    results = collect(map_in_arrow(ordered, WriteRun(work, text_params), RESULT), "rows", progress)
    for result in results:
        if "error" in result:
            raise ValueError(result["error"])
    runs = sorted((result for result in results if result["rows"]), key=lambda run: run["first"])
    for one, other in pairwise(runs):
        assert one["last"] < other["first"], "two runs overlap"
    return runs


class SendInTrainingOrder:
    """Send the rows of runs with their sort keys for the training order."""

    def __init__(self, runs: list[dict[str, Any]], seed: int, n: int) -> None:
        self.runs, self.seed, self.n = runs, seed, n

    def __call__(self, batches: Batches) -> Batches:
        """Send the runs with the given numbers."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        for number in task_numbers(batches):
            position = sum(run["rows"] for run in self.runs[:number])
            with pq.ParquetFile(self.runs[number]["path"], memory_map=True) as file:
                for batch in file.iter_batches(CHUNK, columns=["text", "labels"]):
                    keys = sort_keys(np.arange(position, position + batch.num_rows), self.seed)
                    position += batch.num_rows
                    parts = (keys >> np.uint64(32)) * np.uint64(self.n) >> np.uint64(32)
                    signed = (keys ^ np.uint64(1 << 63)).view(np.int64)  # Spark has no unsigned numbers
                    columns = [pa.array(parts.astype(np.int32)), pa.array(signed), *batch.columns]
                    yield pa.record_batch(columns, names=["part", "key", "text", "labels"])


class WriteOrdered:
    """Write the rows of a partition, which arrive in the order of their keys."""

    def __init__(self, work: Path) -> None:
        self.work = work

    def __call__(self, batches: Batches) -> Batches:
        """Write one run, and yield its description."""
        import pyarrow.parquet as pq

        with measure_task() as figures:
            first = next((batch for batch in batches if batch.num_rows), None)
            result: dict[str, Any] = {"rows": 0}
            if first is not None:
                part = first.column("part")[0].as_py()
                path = self.work / "rows" / f"ordered-{part:05d}.parquet"
                with new_file(path) as writing, pq.ParquetWriter(writing, first.schema, compression="zstd") as writer:
                    for batch in chain([first], batches):
                        writer.write_batch(batch)
                        result["rows"] += batch.num_rows
                result |= {"path": str(path), "part": part}
        yield result_batch({**result, **figures})


def order_runs(
    spark: "SparkSession",
    runs: list[dict[str, Any]],
    work: Path,
    seed: int,
    labels_type: str,
    progress: Progress | None,
) -> list[dict[str, Any]]:
    """Sort the rows of runs into training order, in as many new runs; return their descriptions in order."""
    n = len(runs)
    schema = f"part int, key bigint, text string, labels {labels_type}"
    sent = map_in_arrow(spark.range(0, n, 1, numPartitions=n), SendInTrainingOrder(runs, seed, n), schema)
    ordered = sent.repartitionById(n, "part").sortWithinPartitions("key")
    results = collect(map_in_arrow(ordered, WriteOrdered(work), RESULT), "order", progress)
    ordered_runs = sorted((result for result in results if result["rows"]), key=lambda run: run["part"])
    assert sum(run["rows"] for run in ordered_runs) == sum(run["rows"] for run in runs), "a row was lost"
    return ordered_runs


class AddCounts:
    """Add the counts of neighbouring runs. Terms and labels keep the order of their first rows."""

    def __init__(self, groups: list[list[str]], targets: list[str], text_params: dict[str, Any]) -> None:
        self.groups, self.targets, self.text_params = groups, targets, text_params

    def __call__(self, number: int) -> dict[str, Any]:
        """Add the counts of one group."""
        first, *others = self.groups[number]
        encoder, model = TextEncoder(**self.text_params), open_model(first)
        encoder.restore(model.arrays)
        book = restored_book(model)
        for path in others:
            other, model = TextEncoder(**self.text_params), open_model(path)
            other.restore(model.arrays)
            encoder.vocabulary.merge(other.vocabulary)
            more = restored_book(model)
            book.add(more.names)
            book.counts[[book.id_of(name) for name in more.names]] += more.counts
        return publish(Path(self.targets[number]), {"kind": COUNTS}, {**encoder.arrays(), **_label_arrays(book)})


def add_counts(
    spark: "SparkSession", paths: list[str], work: Path, text_params: dict[str, Any], progress: Progress | None
) -> tuple[str, list[dict[str, Any]]]:
    """Add the counts of all runs in a tree; return the directory of the total, and statistics of the tasks."""
    level, figures = 0, []
    while len(paths) > 1:
        level += 1
        groups = [paths[start : start + FAN] for start in range(0, len(paths), FAN)]
        targets = [str(work / "counts" / f"{level}-{number:05d}") for number in range(len(groups))]
        figures += run_tasks(spark, len(groups), AddCounts(groups, targets, text_params), "words", progress)
        paths = targets
    return paths[0], figures


def read_rows(runs: list[dict[str, Any]], start: int, stop: int, chunk: int = CHUNK) -> Iterator[RowChunk]:
    """Yield the texts and labels of the rows at positions start .. stop-1 over all runs, in order."""
    import pyarrow.parquet as pq

    first = 0
    for run in runs:
        begin, end = max(start - first, 0), min(stop - first, run["rows"])
        if begin < end:
            at = 0
            with pq.ParquetFile(run["path"], memory_map=True) as file:
                for group in range(file.num_row_groups):
                    n = file.metadata.row_group(group).num_rows
                    if at < end and at + n > begin:
                        table = file.read_row_group(group, columns=["text", "labels"])
                        table = table.slice(max(begin - at, 0), min(end, at + n) - max(begin, at))
                        for batch in table.to_batches(chunk):
                            yield batch.column("text").to_pylist(), batch.column("labels").to_pylist()
                    at += n
        first += run["rows"]
