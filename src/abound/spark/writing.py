"""The next model from the parts of its buckets: one task an array, and a manifest that makes it complete."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from abound.kernels.pool import EDGE_DTYPE
from abound.kernels.rated import RATED_DTYPE, RATING_DTYPE
from abound.spark.deltas import INDEX, PAIR_DTYPE, PAIRS, TABLES, PairMerge, TableMerge
from abound.spark.jobs import Progress, run_tasks
from abound.spark.layout import Layout
from abound.store.directory import Blocks, carry_array, read_manifest, write_array, write_manifest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COPY_BYTES = 1 << 24
Pieces = Callable[[], Iterator[NDArray[Any]]]


class WriteArrays:
    """Write the arrays of the next model, each from what all buckets hold of it, in their order."""

    def __init__(self, parts: str, target: str, layout: Layout, widths: Mapping[str, int], rated: bool) -> None:
        self.parts, self.target, self.layout, self.widths = parts, target, layout, dict(widths)
        sightings = ("feature_ratings", RATING_DTYPE) if rated else ("feature_seen", np.dtype("<i8"))
        self.places = 2 if rated else 1
        edge = RATED_DTYPE if rated else EDGE_DTYPE
        # name -> kind, file, type in the file, type in the model, field of it
        arrays: dict[str, tuple[str, str, np.dtype[Any], np.dtype[Any], str | None]] = {
            "edge_indptr": (INDEX, "lengths", np.dtype("<i4"), np.dtype("<i8"), None),
            "edges": (INDEX, "entries", edge, edge, None),
            "feature_totals": (INDEX, "totals", np.dtype("<f8"), np.dtype("<f8"), None),
            sightings[0]: (INDEX, "seen", sightings[1], sightings[1], None),
        }
        for kind, merge in ((PAIRS, PairMerge), (TABLES, TableMerge)):
            arrays[f"{merge.prefix}_indptr"] = (kind, "lengths", np.dtype("<i4"), np.dtype("<i8"), None)
            for name in PAIR_DTYPE.names or ():
                arrays[f"{merge.prefix}_{name}s"] = (kind, "entries", PAIR_DTYPE, PAIR_DTYPE[name], name)
        self.arrays = {name: how for name, how in arrays.items() if how[0] in self.widths}

    @property
    def names(self) -> list[str]:
        """The arrays that are written."""
        return sorted(self.arrays)

    def __call__(self, number: int) -> dict[str, Any]:
        """Write one array, and return what the manifest must say of it."""
        name = self.names[number]
        kind, file, stored, dtype, field = self.arrays[name]

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
                n, source = n + 1, _summed(source, self.places if kind == INDEX else 1)
        return {name: write_array(Path(self.target), name, Blocks(dtype, n, source))}


def _fields(pieces: Pieces, field: str) -> Pieces:
    return lambda: (np.ascontiguousarray(piece[field]) for piece in pieces())


def _first(pieces: Pieces, n: int) -> Pieces:
    """Leave out what comes after the first n."""

    def cut() -> Iterator[NDArray[Any]]:
        left = n
        for piece in pieces():
            yield piece[:left]
            left -= min(left, len(piece))

    return cut


def _summed(pieces: Pieces, places: int) -> Pieces:
    """Turn lengths of lists into where each begins, in entries of so many places."""

    def sums() -> Iterator[NDArray[Any]]:
        last = 0
        yield np.zeros(1, np.int64)
        for piece in pieces():
            found = last + np.cumsum(piece, dtype=np.int64)
            if len(found):
                last = int(found[-1])
            yield found // places

    return sums


def write_next(
    spark: "SparkSession",
    base: str,
    write: WriteArrays,
    progress: Progress | None,
) -> tuple[str, list[dict[str, Any]]]:
    """Write the next model: its arrays by tasks, the rest from the base; return its state hash and what it took."""
    old, target = Path(base), Path(write.target)
    target.mkdir(parents=True, exist_ok=True)
    results = run_tasks(spark, len(write.names), write, "write", progress)
    content = read_manifest(old)
    files = content.pop("files")
    for key in ("format", "format_version", "state_hash"):
        content.pop(key)
    for key, entry in files.items():
        if key not in write.arrays:
            carry_array(target, key, old, key, entry)
    for result in results:
        files |= {key: entry for key, entry in result.items() if key in write.arrays}
    return write_manifest(target, content, files), results
