"""One round of a pass: shards start from the last model, and their deltas are merged into parts of the next."""

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import chain, groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from abound.components.blocks import BlockComponent, BlockMerge, Delta, MergeForm
from abound.components.kinds import component_class
from abound.components.rows import Rows
from abound.kernels.batch import Batch
from abound.rankers import Ranker
from abound.rankers.labels import LabelIndex
from abound.spark.jobs import Batches, measure_task, result_batch, task_numbers
from abound.spark.layout import Layout
from abound.spark.rows import read_rows
from abound.spark.shared import new_folder, open_encoder, open_model, open_ranker, write_json
from abound.spark.wire import MARK, Sent, pack, unpack
from abound.text import TextEncoder
from abound.training.local import learn_shard
from abound.training.schedule import Round
from abound.training.source import RowSource

PART_FILES = ("lengths", "totals", "seen", "entries")


class Step(NamedTuple):
    """The parameters of the tasks of one round, which are sent with them."""

    base: str  # the model that shards start from
    target: str  # the directory of the next model
    parts: str  # the directory of its parts
    counts: str
    text_params: dict[str, Any]
    runs: list[dict[str, Any]]
    layout: Layout
    round: Round
    forms: dict[str, MergeForm]  # how each component is merged, by kind
    alone: bool  # with one shard, learn as without shards


def figures_of(parts: str | Path, shard: int) -> Path:
    """Return the path of the statistics of a shard."""
    return Path(parts) / f"shard-{shard:05d}.json"


def block_components(ranker: Ranker) -> list[BlockComponent]:
    """Return the components of a ranker if all of them can be merged in blocks, otherwise an empty list."""
    components = [component for component in ranker.components if isinstance(component, BlockComponent)]
    return components if len(components) == len(ranker.components) else []


class Learn:
    """Learn shards, and send the deltas of the features that occur in them."""

    def __init__(self, step: Step) -> None:
        self.step = step

    def __call__(self, batches: Batches) -> Batches:
        """Learn the shards with the given numbers."""
        for shard in task_numbers(batches):
            yield from pack(self.deltas(shard), shard, self.step.layout)

    def deltas(self, shard: int) -> Iterator[tuple[str, int, Delta]]:
        """Learn one shard, yield its deltas, and write its statistics to a file."""
        with measure_task() as figures:
            ranker, met = self.learn(shard)
        n_bytes, layout = 0, self.step.layout
        spans = [layout.span(block) for block in range(layout.n_blocks)]
        for component in block_components(ranker):
            for delta in component.deltas(met, spans):
                n_bytes += delta.nbytes
                yield component.kind, component.n_features, delta
        start, stop = self.step.round.spans[shard]
        statistics = {"shard": shard, "rows": stop - start, "delta_bytes": n_bytes, **figures}
        write_json(figures_of(self.step.parts, shard), statistics)

    def learn(self, shard: int) -> tuple[Ranker, NDArray[np.bool_]]:
        """Learn the rows of a shard in order; return the ranker and the features to send."""
        step = self.step
        encoder, ranker = open_encoder(step.counts, step.text_params), open_ranker(step.base)
        if not step.alone:
            ranker = ranker.fork(share=True)
        n_labels, source = len(ranker.labels_), RunRows(step.runs, encoder, ranker.labels_)
        learn_shard(ranker, source, step.round, shard)
        assert len(ranker.labels_) == n_labels, "a row has a label that was not counted"
        return ranker, source.met | step.alone


class RunRows(RowSource):
    """Rows of the runs on the shared path, in training order. `met` marks the features that occur."""

    def __init__(self, runs: list[dict[str, Any]], encoder: TextEncoder, labels: LabelIndex) -> None:
        self.n_rows = sum(run["rows"] for run in runs)
        self.met = np.zeros(encoder.n_terms, bool)
        self._runs, self._encoder, self._labels = runs, encoder, labels

    def parts(self, start: int, stop: int) -> Iterator[Batch]:
        """Yield the rows at positions start .. stop-1 in batches."""
        n_labels = len(self._labels)
        for texts, labels in read_rows(self._runs, start, stop):
            rows = Rows(*self._encoder.rows(texts))
            self.met[rows.indices] = True
            yield Batch(rows, self._labels.encode(labels, len(texts), learn=True)._replace(n_known=n_labels))

    def unseen(self, start: int, stop: int) -> Batch:
        """Return rows as they would be if they had not been counted; see `RowSource`."""
        parts = list(read_rows(self._runs, start, stop))
        texts, labels = [text for part, _ in parts for text in part], [names for _, part in parts for names in part]
        targets = self._labels.encode(labels, len(texts), learn=False)
        return Batch(Rows(*self._encoder.weigh_unseen(self._encoder.count_known(texts))), targets)


class Merge:
    """Merge the deltas of a bucket, block by block, and write the bucket's part of the next model."""

    def __init__(self, step: Step) -> None:
        self.step = step

    def __call__(self, batches: Batches) -> Batches:
        """Merge one bucket, whose deltas arrive in the order of `wire.ORDER`."""
        with measure_task() as figures:
            sent = unpack(batches)
            first = next(sent, None)
            if first is None:
                return
            bucket, widths = first.bucket, {}
            base = open_model(self.step.base).arrays
            forms = [(component_class(kind), form) for kind, form in self.step.forms.items()]
            merges = {component.kind: component.block_merge(component, base, form) for component, form in forms}
            with new_folder(Path(self.step.parts) / f"bucket-{bucket:05d}") as folder:
                for kind, group in groupby(chain([first], sent), key=lambda row: row.kind):
                    if kind != MARK:
                        widths[kind] = self.merge(merges.pop(kind), bucket, group, folder / kind)
                for kind, merge in merges.items():  # no shard has a feature of this bucket
                    widths[kind] = self.merge(merge, bucket, iter(()), folder / kind)
        yield result_batch({"bucket": bucket, "widths": widths, **figures})

    def merge(self, merge: BlockMerge, bucket: int, sent: Iterator[Sent], folder: Path) -> int:
        """Merge all blocks of a bucket into files; return the number of features of the base and the shards."""
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
        assert pending is None, "a bucket received a delta of another bucket"
        return width
