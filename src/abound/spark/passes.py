"""One round of a pass: shards learn from the last model, and their deltas are merged into parts of the next."""

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import chain, groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from abound.rankers.cascade import CascadeRanker
from abound.rankers.index import IndexRanker
from abound.rankers.labels import LabelBook
from abound.rankers.rows import Part, Rows
from abound.rankers.source import RowSource
from abound.spark.deltas import (
    INDEX,
    PAIRS,
    TABLES,
    Delta,
    IndexMerge,
    PairMerge,
    Shape,
    TableMerge,
    index_deltas,
    pair_deltas,
)
from abound.spark.jobs import Batches, measured, numbers, result_batch
from abound.spark.layout import Layout
from abound.spark.rows import read_rows
from abound.spark.shared import new_folder, open_encoder, open_model, open_ranker, write_json
from abound.spark.wire import MARK, Sent, pack, unpack
from abound.text import TextEncoder

PART_FILES = ("lengths", "totals", "seen", "entries")


class Step(NamedTuple):
    """All that the tasks of one round need to know; it travels with them."""

    base: str  # the model that shards begin with
    target: str  # where the next one goes
    parts: str  # where its parts go before
    counts: str
    text_params: dict[str, Any]
    runs: list[dict[str, Any]]
    spans: list[tuple[int, int]]  # the rows of each shard
    layout: Layout
    shape: Shape
    again: bool
    last: bool  # of several passes
    orders: list[dict[str, Any]] | None  # states of the generators that order the rows of each shard


def figures_of(parts: str | Path, shard: int) -> Path:
    """Return where a shard says what it took."""
    return Path(parts) / f"shard-{shard:05d}.json"


def kinds_of(ranker: IndexRanker) -> tuple[str, ...]:
    """Return what a ranker keeps of features."""
    if not isinstance(ranker, CascadeRanker):
        return (INDEX,)
    kept = {INDEX: ranker._indexed, PAIRS: ranker._pairs is not None, TABLES: ranker._tables is not None}
    return tuple(kind for kind, is_kept in kept.items() if is_kept)


class Learn:
    """Learn shards, and send what has become of the features that they met."""

    def __init__(self, step: Step) -> None:
        self.step = step

    def __call__(self, batches: Batches) -> Batches:
        """Learn the shards whose numbers come in."""
        for shard in numbers(batches):
            yield from pack(self.deltas(shard), shard, self.step.layout)

    def deltas(self, shard: int) -> Iterator[tuple[str, int, Delta]]:
        """Learn one shard; yield its deltas, and leave what it took in a file."""
        with measured() as figures:
            ranker, met = self.learn(shard)
        n_bytes, layout = 0, self.step.layout
        found = []
        if INDEX in self.step.shape.kinds:
            found.append((INDEX, ranker._pool.n_features, index_deltas(ranker._pool, met, layout)))
        if isinstance(ranker, CascadeRanker):
            for kind, pairs in ((PAIRS, ranker._pairs), (TABLES, ranker._tables)):
                if pairs is not None:
                    found.append((kind, pairs.n_features, pair_deltas(pairs, met, layout)))
        for kind, width, deltas in found:
            for delta in deltas:
                n_bytes += delta.nbytes
                yield kind, width, delta
        start, stop = self.step.spans[shard]
        told = {"shard": shard, "rows": stop - start, "delta_bytes": n_bytes, **figures}
        write_json(figures_of(self.step.parts, shard), told)

    def learn(self, shard: int) -> tuple[IndexRanker, NDArray[np.bool_]]:
        """Learn the rows of a shard in order; return the ranker and which features it must send."""
        step, alone, (start, stop) = self.step, self.step.shape.alone, self.step.spans[shard]
        encoder, ranker = open_encoder(step.counts, step.text_params), open_ranker(step.base)
        if not alone:
            ranker = ranker._as_shard()
        n_labels, source = len(ranker.labels_), RunRows(step.runs, encoder, ranker.labels_)
        parts = source.parts(start, stop)
        if step.orders is not None:
            random = np.random.default_rng()
            random.bit_generator.state = step.orders[shard]
            parts = source.shuffled(start, stop, random)
        ranker._learn_parts(parts, stop - start, again=step.again, last=step.last)
        assert len(ranker.labels_) == n_labels, "a row has a label that was not counted"
        return ranker, source.met | alone


class RunRows(RowSource):
    """Rows of the runs on the shared path, which are in training order; it notes the features that they have."""

    def __init__(self, runs: list[dict[str, Any]], encoder: TextEncoder, labels: LabelBook) -> None:
        self.n_rows = sum(run["rows"] for run in runs)
        self.met = np.zeros(encoder.n_terms, bool)
        self._runs, self._encoder, self._labels = runs, encoder, labels

    def parts(self, start: int, stop: int) -> Iterator[Part]:
        """Yield the rows at places start .. stop-1, piece by piece."""
        n_labels = len(self._labels)
        for texts, labels in read_rows(self._runs, start, stop):
            rows = Rows(*self._encoder.rows(texts))
            self.met[rows.indices] = True
            yield rows, self._labels.encode(labels, len(texts), learn=True)._replace(n_known=n_labels)


class Merge:
    """Merge the deltas of a bucket, block by block, and write the bucket's part of the next model."""

    def __init__(self, step: Step) -> None:
        self.step = step

    def __call__(self, batches: Batches) -> Batches:
        """Merge one bucket, whose deltas come in the order of `wire.ORDER`."""
        with measured() as figures:
            sent = unpack(batches)
            first = next(sent, None)
            if first is None:
                return
            bucket, widths = first.bucket, {}
            base = open_model(self.step.base).arrays
            makers: dict[str, type[IndexMerge | PairMerge]] = {INDEX: IndexMerge, PAIRS: PairMerge, TABLES: TableMerge}
            merges = {kind: makers[kind](base, self.step.shape) for kind in self.step.shape.kinds}
            with new_folder(Path(self.step.parts) / f"bucket-{bucket:05d}") as folder:
                for kind, group in groupby(chain([first], sent), key=lambda row: row.kind):
                    if kind != MARK:
                        widths[kind] = self.merge(merges.pop(kind), bucket, group, folder / kind)
                for kind, merge in merges.items():  # no shard has met a feature of this bucket
                    widths[kind] = self.merge(merge, bucket, iter(()), folder / kind)
        yield result_batch({"bucket": bucket, "widths": widths, **figures})

    def merge(self, merge: IndexMerge | PairMerge, bucket: int, sent: Iterator[Sent], folder: Path) -> int:
        """Merge all blocks of a bucket into files; return the number of features that base and shards know."""
        folder.mkdir()
        layout, width = self.step.layout, merge.width
        blocks = groupby(sent, key=lambda row: row.block)
        pending = next(blocks, None)
        with ExitStack() as stack:
            files = {name: stack.enter_context(open(folder / name, "wb")) for name in PART_FILES}
            for block in layout.blocks(bucket):
                deltas: dict[int, Delta] = {}
                if pending is not None and pending[0] == block:
                    for row in pending[1]:
                        assert row.delta is not None
                        deltas[row.shard], width = row.delta, max(width, row.width)
                    pending = next(blocks, None)
                merged = merge.merge(block, *layout.span(block), deltas)
                for name, file in files.items():
                    file.write(np.ascontiguousarray(getattr(merged, name)).view(np.uint8).data)
        assert pending is None, "a delta came to a bucket that does not have its block"
        return width
