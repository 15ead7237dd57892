"""Encode deltas as Arrow rows, which Spark shuffles by bucket and sorts by kind, block and shard.

A shard that is learned again must send the same rows: Spark compares their checksums and aborts a job if some buckets
were already merged from different rows. So the rows contain no measured values, such as times.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from abound.components.blocks import Delta
from abound.components.kinds import component_class
from abound.spark.jobs import Batches
from abound.spark.layout import Layout

if TYPE_CHECKING:
    import pyarrow as pa

MARK = "mark"  # a row without features
ARRAYS = {"features": np.int32, "lengths": np.int32, "totals": np.float64, "seen": np.int64}
SCHEMA = "kind string, bucket int, block int, shard int, width long, "
SCHEMA += "features binary, lengths binary, totals binary, seen binary, entries binary"
ORDER = ("kind", "block", "shard")
BATCH_BYTES = 1 << 22


class Sent(NamedTuple):
    """One row of the shuffle: a delta, or a mark."""

    kind: str
    bucket: int
    block: int
    shard: int
    width: int  # number of features of the shard
    delta: Delta | None


def pack(deltas: Iterable[tuple[str, int, Delta]], shard: int, layout: Layout) -> Batches:
    """Encode the deltas of a shard as batches. Every bucket gets at least one row, so that it is merged."""
    rows: list[tuple[Any, ...]] = [(MARK, bucket, -1, shard, 0, *[b""] * 5) for bucket in range(layout.buckets)]
    n_bytes = 0
    for kind, width, delta in deltas:
        arrays = (np.ascontiguousarray(array).tobytes() for array in delta[1:])
        rows.append((kind, layout.bucket_of(delta.block), delta.block, shard, width, *arrays))
        n_bytes += delta.nbytes
        if n_bytes > BATCH_BYTES:
            yield _batch(rows)
            rows, n_bytes = [], 0
    if rows:
        yield _batch(rows)


def _batch(rows: list[tuple[Any, ...]]) -> "pa.RecordBatch":
    import pyarrow as pa

    numbers = [(name, pa.int32()) for name in ("bucket", "block", "shard")]
    binary = [(name, pa.binary()) for name in (*ARRAYS, "entries")]
    schema = pa.schema([("kind", pa.string()), *numbers, ("width", pa.int64()), *binary])
    columns = zip(*rows, strict=True)
    return pa.record_batch([pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)


def unpack(batches: Batches) -> Iterator[Sent]:
    """Decode batches. Arrays are views of the batches."""
    for batch in batches:
        heads = zip(*(batch.column(i).to_pylist() for i in range(5)), strict=True)
        for row, (kind, bucket, block, shard, width) in enumerate(heads):
            if kind == MARK:
                yield Sent(kind, bucket, block, shard, width, None)
                continue
            buffers = [batch.column(5 + i)[row].as_buffer() for i in range(len(ARRAYS) + 1)]
            arrays: list[Any] = [np.frombuffer(b, t) for b, t in zip(buffers[:-1], ARRAYS.values(), strict=True)]
            arrays.append(np.frombuffer(buffers[-1], component_class(kind).entry))
            yield Sent(kind, bucket, block, shard, width, Delta(block, *arrays))
