"""Encode the texts of records before they are written, outside of all locks and of the thread that commits."""

import contextlib
import queue
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from abound.closing import Closing
from abound.server.replica import Replica
from abound.server.turns import Turns
from abound.server.vectors import with_vectors
from abound.store.journal.records import Record

ENCODED = 64  # records whose texts are encoded together


class VectorStage(Closing):
    """Add the vectors of texts to records before a writer takes them, in a separate thread and in order.

    Without embeddings, records are passed on at once.

    Parameters
    ----------
    replica : Replica
        Has the tagger whose encoder is used.
    pool : ThreadPoolExecutor
    report : callable
        Called with a message if texts cannot be encoded; they are then learned by their words.
    """

    def __init__(self, replica: Replica, pool: ThreadPoolExecutor, report: Callable[[str], None]) -> None:
        self._replica, self._report = replica, report
        self._waiting: queue.SimpleQueue[tuple[Record, Callable[[Record], None]]] = queue.SimpleQueue()
        self._turns = Turns(pool, self._take_turn)
        self._is_failing = False

    def __len__(self) -> int:
        return self._waiting.qsize()

    def add(self, record: Record, deliver: Callable[[Record], None]) -> None:
        """Call `deliver` with a record that has a vector, after those that were added before."""
        self._waiting.put((record, deliver))
        self._turns.ask()

    def _take_turn(self) -> None:
        taken: list[tuple[Record, Callable[[Record], None]]] = []
        with contextlib.suppress(queue.Empty):
            while len(taken) < ENCODED:
                taken.append(self._waiting.get_nowait())
        records = self._with_vectors([record for record, _ in taken])
        for record, (_, deliver) in zip(records, taken, strict=True):
            deliver(record)
        if not self._waiting.empty():
            self._turns.ask()

    def _with_vectors(self, records: list[Record]) -> list[Record]:
        try:
            encoder = self._replica.tagger.vector_encoder
            if encoder is None or not encoder.encodes_texts:  # the vectors were given with texts
                return records
            found = with_vectors(records, encoder)
            self._is_failing = False
            return found
        except Exception as error:  # of any encoder; a correction must not be lost
            if not self._is_failing:
                self._report(f"texts cannot be encoded, and are learned by their words only: {error}")
            self._is_failing = True
            return records

    def close(self) -> None:
        """Wait until all records are passed on."""
        self._turns.close()
