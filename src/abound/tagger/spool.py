"""Store counted texts with their labels, in memory or in a file, and read them in training order.

Rows arrive in file order. Batches of rows are sorted by key and stored as runs. Then the rows of a range of keys are
read from every run and merged. Reading is sequential within a run. The order of the rows does not depend on the number
of runs or on where they are stored.
"""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from abound.components.rows import Rows, Targets, chosen_entries, cut, join_pointers
from abound.components.weighting import copies_of
from abound.kernels.batch import Batch
from abound.text import TextEncoder
from abound.text.encoder import TermCounts
from abound.training.source import RowSource, sort_keys

BUCKET_BITS = 8  # leading bits of a key that select its bucket; a bucket is read at once
RUN_ENTRIES = 4 << 20  # terms of a run: about 24 MB, and twice as much while it is sorted
PIECE = 2048  # rows to return at once; several small buckets are read together


class Chunk(NamedTuple):
    """Counted rows, their labels and their keys."""

    keys: NDArray[np.uint64]
    indptr: NDArray[np.int64]
    terms: NDArray[np.int32]
    occurrences: NDArray[np.uint16]
    label_indptr: NDArray[np.int64]
    labels: NDArray[np.int32]
    weights: NDArray[np.float64]  # empty if all are 1

    def sorted_by_key(self) -> "Chunk":
        """Return the same rows in the order of their keys."""
        order = np.argsort(self.keys, kind="stable")
        indptr, entries = chosen_entries(self.indptr, order)
        label_indptr, labels = chosen_entries(self.label_indptr, order)
        return Chunk(
            self.keys[order],
            indptr,
            self.terms[entries],
            self.occurrences[entries],
            label_indptr,
            self.labels[labels],
            self.weights[order] if len(self.weights) else self.weights,
        )

    def between(self, start: int, stop: int) -> "Chunk":
        """Return rows start .. stop-1."""
        terms, labels = (slice(int(at[start]), int(at[stop])) for at in (self.indptr, self.label_indptr))
        return Chunk(
            self.keys[start:stop],
            self.indptr[start : stop + 1] - self.indptr[start],
            self.terms[terms],
            self.occurrences[terms],
            self.label_indptr[start : stop + 1] - self.label_indptr[start],
            self.labels[labels],
            self.weights[start:stop] if len(self.weights) else self.weights,
        )


def _joined(chunks: list[Chunk]) -> Chunk:
    if len(chunks) == 1:
        return chunks[0]
    return Chunk(
        np.concatenate([chunk.keys for chunk in chunks]),
        join_pointers([chunk.indptr for chunk in chunks]),
        np.concatenate([chunk.terms for chunk in chunks]),
        np.concatenate([chunk.occurrences for chunk in chunks]),
        join_pointers([chunk.label_indptr for chunk in chunks]),
        np.concatenate([chunk.labels for chunk in chunks]),
        _joined_weights(chunks),
    )


def _joined_weights(chunks: list[Chunk]) -> NDArray[np.float64]:
    if not any(len(chunk.weights) for chunk in chunks):
        return chunks[0].weights
    return np.concatenate([chunk.weights if len(chunk.weights) else np.ones(len(chunk.keys)) for chunk in chunks])


def new_numbers(wanted: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return the new number of each term after pruning, -1 for dropped terms, and a final -1.

    The final -1 is for terms that were dropped earlier, so that the maps of two prunings can be composed.
    """
    return np.append(np.where(wanted, np.cumsum(wanted) - 1, -1), -1).astype(np.int32)


class _Stored(NamedTuple):
    """An array in the file."""

    offset: int
    dtype: np.dtype[Any]


Column: TypeAlias = NDArray[Any] | _Stored


class _Run(NamedTuple):
    columns: tuple[Column, ...]  # those of a Chunk
    bounds: NDArray[np.int64]  # rows of bucket b: bounds[b]:bounds[b+1]
    generation: int  # of the term numbers
    is_weighted: bool


class Spool(RowSource):
    """The rows of one training, in training order.

    Parameters
    ----------
    encoder : TextEncoder
        It has counted the texts, and it weights them when they are read.
    seed : int
        Random seed of the training order.
    folder : path, optional
        Directory of a temporary file for the rows. The file has no name, so it disappears with the process, even
        after a crash. By default, rows are kept in memory.
    """

    def __init__(self, encoder: TextEncoder, seed: int, folder: Path | None = None) -> None:
        self.n_rows = 0
        self.n_labels = 0
        self._encoder, self._seed, self._folder = encoder, seed, folder
        self._file: IO[bytes] | None = None
        if folder is not None:
            self._file = TemporaryFile(dir=folder, prefix=".abound-rows-")  # noqa: SIM115 -- `close` closes it
        self._lock = threading.Lock()  # shards read from threads
        self._waiting: list[Chunk] = []
        self._n_waiting = 0
        self._runs: list[_Run] = []
        self._maps: list[NDArray[np.int32] | None] = [None]  # from each generation of term numbers to the latest
        self._copies: NDArray[np.int64] | None = None  # of the rows in training order; computed if there are weights

    def close(self) -> None:
        """Release memory and disk space."""
        self._runs, self._waiting = [], []
        if self._file is not None:
            self._file.close()

    def __del__(self) -> None:
        self.close()

    # -- writing -----------------------------------------------------------------------------------

    def add(self, counted: TermCounts, targets: Targets, weights: NDArray[np.float64] | None = None) -> None:
        """Store counted texts, the numbers of their labels, and their weights."""
        n = len(counted[0]) - 1
        keys = sort_keys(np.arange(self.n_rows, self.n_rows + n), self._seed)
        given = np.zeros(0) if weights is None else weights
        self._waiting.append(Chunk(keys, *counted, targets.indptr, targets.ids, given))
        self._n_waiting += len(counted[1])
        self.n_rows += n
        if self._n_waiting >= RUN_ENTRIES:
            self.flush()

    def flush(self) -> None:
        """Write the waiting rows as a run."""
        if not self._waiting:
            return
        chunk = _joined(self._waiting).sorted_by_key()
        self._waiting, self._n_waiting = [], 0
        buckets = (chunk.keys >> np.uint64(64 - BUCKET_BITS)).astype(np.int64)
        bounds = np.searchsorted(buckets, np.arange((1 << BUCKET_BITS) + 1))
        columns: tuple[Column, ...] = chunk if self._file is None else tuple(self._store(array) for array in chunk)
        self._runs.append(_Run(columns, bounds, len(self._maps) - 1, len(chunk.weights) > 0))

    def _store(self, array: NDArray[Any]) -> _Stored:
        assert self._file is not None
        offset = self._file.seek(0, 2)
        try:
            self._file.write(np.ascontiguousarray(array).view(np.uint8).data)
            self._file.flush()
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self._folder)) from None
        return _Stored(offset, array.dtype)

    def renumber(self, numbers: NDArray[np.int32]) -> None:
        """Apply new term numbers of the encoder; see `new_numbers`."""
        self.flush()
        self._maps = [numbers if known is None else numbers[known] for known in self._maps]
        self._maps.append(None)

    # -- reading -----------------------------------------------------------------------------------

    def n_copies(self, start: int, stop: int) -> int:
        """Return how many rows those at positions start .. stop-1 are if each is repeated by its weight."""
        if not any(run.is_weighted for run in self._runs):
            return stop - start
        if self._copies is None:
            keys = [self._take(run.columns[0], 0, int(run.bounds[-1])) for run in self._runs]
            copies = [copies_of(self._weights(run, 0, int(run.bounds[-1]))) for run in self._runs]
            self._copies = np.concatenate(copies)[np.argsort(np.concatenate(keys), kind="stable")]
        return int(self._copies[start:stop].sum())

    def _weights(self, run: _Run, start: int, stop: int) -> NDArray[np.float64]:
        return self._take(run.columns[-1], start, stop) if run.is_weighted else np.ones(stop - start)

    def parts(self, start: int, stop: int) -> Iterator[Batch]:
        """Yield the rows at positions start .. stop-1 of the training order in batches; call `flush` first."""
        for chunk, first, last in self._chunks(start, stop):
            yield cut(self._weighted(chunk, self._encoder.weigh), first, last)

    def unseen(self, start: int, stop: int) -> Batch:
        """Return the same rows as they would be if they had not been counted."""
        return self._weighted(
            _joined([chunk.between(first, last) for chunk, first, last in self._chunks(start, stop)]),
            self._encoder.weigh_unseen,
        )

    def _chunks(self, start: int, stop: int) -> Iterator[tuple[Chunk, int, int]]:
        """Yield the rows at positions start .. stop-1 of the training order: chunks, and which of their rows."""
        edges = sum((run.bounds for run in self._runs), np.zeros((1 << BUCKET_BITS) + 1, np.int64))
        bucket = max(0, int(np.searchsorted(edges, start, side="right")) - 1)
        while start < stop:
            last = max(bucket + 1, int(np.searchsorted(edges, edges[bucket] + PIECE, side="right")) - 1)
            last = min(last, int(np.searchsorted(edges, stop)))
            chunk = self._read(bucket, last)
            first, end = int(edges[bucket]), min(int(edges[last]), stop)
            if end > start:
                yield chunk, start - first, end - first
            start, bucket = max(start, end), last

    def _weighted(self, chunk: Chunk, weigh: Callable[[TermCounts], Any]) -> Batch:
        rows = Rows(*weigh((chunk.indptr, chunk.terms, chunk.occurrences)))
        targets = Targets(chunk.label_indptr, chunk.labels, self.n_labels)
        return Batch(rows, targets, weights=chunk.weights if len(chunk.weights) else None)

    def _read(self, first: int, last: int) -> Chunk:
        """Return the rows of buckets first .. last-1."""
        chunk = _joined([self._slice(run, int(run.bounds[first]), int(run.bounds[last])) for run in self._runs])
        return chunk.sorted_by_key() if len(self._runs) > 1 else chunk

    def _slice(self, run: _Run, start: int, stop: int) -> Chunk:
        keys, indptr, terms, occurrences, label_indptr, labels, _ = run.columns
        of_terms, of_labels = self._take(indptr, start, stop + 1), self._take(label_indptr, start, stop + 1)
        spans = [(int(pointers[0]), int(pointers[-1])) for pointers in (of_terms, of_labels)]
        taken, known = self._take(terms, *spans[0]), self._maps[run.generation]
        return Chunk(
            self._take(keys, start, stop),
            of_terms - of_terms[0],
            taken if known is None else known[taken],
            self._take(occurrences, *spans[0]),
            of_labels - of_labels[0],
            self._take(labels, *spans[1]),
            self._weights(run, start, stop) if run.is_weighted else np.zeros(0),
        )

    def _take(self, column: Column, start: int, stop: int) -> NDArray[Any]:
        if isinstance(column, np.ndarray):
            return column[start:stop]
        assert self._file is not None
        with self._lock:
            self._file.seek(column.offset + start * column.dtype.itemsize)
            data = self._file.read((stop - start) * column.dtype.itemsize)
        return np.frombuffer(data, column.dtype)
