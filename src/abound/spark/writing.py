"""Write the next model from the parts of its buckets: one task per array, then the manifest."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from abound.components.blocks import StoredArray
from abound.components.kinds import component_class
from abound.spark.jobs import Progress, run_tasks
from abound.spark.layout import Layout
from abound.store.directory import Blocks, link_array, read_manifest, write_array, write_manifest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COPY_BYTES = 1 << 24
Pieces = Callable[[], Iterator[NDArray[Any]]]


class WriteArrays:
    """Write the arrays of the next model from the parts of all buckets, in order."""

    def __init__(self, parts: str, target: str, layout: Layout, widths: Mapping[str, int]) -> None:
        self.parts, self.target, self.layout, self.widths = parts, target, layout, dict(widths)
        self.arrays: dict[str, tuple[str, StoredArray]] = {}
        for kind in self.widths:
            for name, how in component_class(kind).stored_arrays().items():
                self.arrays[name] = (kind, how)

    @property
    def names(self) -> list[str]:
        """Names of the arrays to write."""
        return sorted(self.arrays)

    def __call__(self, number: int) -> dict[str, Any]:
        """Write one array, and return its entry for the manifest."""
        name = self.names[number]
        kind, (file, stored, dtype, field, slots) = self.arrays[name]

        def pieces() -> Iterator[NDArray[Any]]:
            for bucket in range(self.layout.buckets):
                path = Path(self.parts) / f"bucket-{bucket:05d}" / kind / file
                step = max(1, COPY_BYTES // stored.itemsize)
                for start in range(0, path.stat().st_size // stored.itemsize, step):
                    yield np.fromfile(path, stored, step, offset=start * stored.itemsize)

        if file == "entries":
            n, source = sum(len(piece) for piece in pieces()), pieces
            if field is not None:
                source = _fields(pieces, field)
        else:
            n, source = self.widths[kind], _first(pieces, self.widths[kind])
            if file == "lengths":
                n, source = n + 1, _starts(source, slots)
        return {name: write_array(Path(self.target), name, Blocks(dtype, n, source))}


def _fields(pieces: Pieces, field: str) -> Pieces:
    return lambda: (np.ascontiguousarray(piece[field]) for piece in pieces())


def _first(pieces: Pieces, n: int) -> Pieces:
    """Return only the first n entries."""

    def cut() -> Iterator[NDArray[Any]]:
        left = n
        for piece in pieces():
            yield piece[:left]
            left -= min(left, len(piece))

    return cut


def _starts(pieces: Pieces, slots: int) -> Pieces:
    """Turn the lengths of lists into their start offsets, in entries of `slots` slots."""

    def sums() -> Iterator[NDArray[Any]]:
        last = 0
        yield np.zeros(1, np.int64)
        for piece in pieces():
            ends = last + np.cumsum(piece, dtype=np.int64)
            if len(ends):
                last = int(ends[-1])
            yield ends // slots

    return sums


def write_next(
    spark: "SparkSession",
    base: str,
    write: WriteArrays,
    progress: Progress | None,
) -> tuple[str, list[dict[str, Any]]]:
    """Write the next model: its arrays in tasks, the rest from the base; return its state hash and statistics."""
    old, target = Path(base), Path(write.target)
    target.mkdir(parents=True, exist_ok=True)
    results = run_tasks(spark, len(write.names), write, "write", progress)
    content = read_manifest(old)
    files = content.pop("files")
    for key in ("format", "format_version", "state_hash"):
        content.pop(key)
    for key, entry in files.items():
        if key not in write.arrays:
            link_array(target, key, old, key, entry)
    for result in results:
        files |= {key: entry for key, entry in result.items() if key in write.arrays}
    return write_manifest(target, content, files), results
