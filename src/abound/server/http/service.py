"""What the endpoints talk to: a replica that is kept up to date, and a way to the journal."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Protocol

from abound.server.http.metrics import Counts, Facts, WorkerState
from abound.server.http.problems import Problem, busy
from abound.server.replica import Replica
from abound.server.writer import Writer
from abound.store.journal import Receipt
from abound.store.journal.records import Learn, Record

MAX_WAITING = 1000  # requests of a process that wait for the journal
MAX_WAITING_BYTES = 64 << 20  # of their texts
MAX_BATCHES = 4  # that are ranked at a time; their answers are large
MAX_WAITING_BATCHES = 32
LONGEST_WAIT = 5.0  # seconds, for a sequence, or for what the writer knows
LONGEST_WRITE = 30.0  # seconds


class JournalClient(Protocol):
    """A way to the journal."""

    closed: bool

    @property
    def refusal(self) -> str | None:
        """Why nothing can be learnt until the server is started again, or None."""

    def submit(self, record: Record, key: str | None) -> Awaitable[Receipt]:
        """Have a record written."""

    async def last(self) -> int:
        """Return the sequence of the last record that was written."""

    async def facts(self, own: WorkerState) -> Facts:
        """Return what is known of all workers, of this one what it says now."""

    def check(self) -> None:
        """Raise JournalUnavailable if whoever writes does not answer."""


class Service:
    """A replica and the way to its journal, as one process has them.

    Parameters
    ----------
    replica : Replica
    journal_client : JournalClient
    """

    def __init__(self, replica: Replica, journal_client: JournalClient) -> None:
        self.replica = replica
        self.journal_client = journal_client
        self.closed = journal_client.closed
        self.version = version("abound")
        self.draining = False
        self.waiting = 0
        self.waiting_bytes = 0
        self.counts = Counts()
        self._batches = asyncio.Semaphore(MAX_BATCHES)
        self._n_batches = 0
        self._hashing = asyncio.Lock()
        self._hashed: tuple[str, int] | None = None
        self._reached: list[tuple[int, asyncio.Future[None]]] = []
        self._loop = asyncio.get_running_loop()
        replica.listeners.append(self._tell)

    def state(self) -> WorkerState:
        """Return what this process tells of itself."""
        sequence, is_stuck = self.replica.sequence, self.replica.unapplied is not None
        return WorkerState(os.getpid(), sequence, self.waiting, self.counts, sequence + 1 if is_stuck else 0)

    @property
    def refusal(self) -> str | None:
        """Why nothing can be learnt here until the server is started again, or None."""
        unapplied = self.replica.unapplied
        return self.journal_client.refusal if unapplied is None else str(unapplied)

    async def facts(self) -> Facts:
        """Return what is known of all workers."""
        async with _within(LONGEST_WAIT, "the process that writes does not answer"):
            return await self.journal_client.facts(self.state())

    async def learn(self, record: Record, key: str | None) -> Receipt:
        """Have a record written, and wait until this process knows it too."""
        size = len(record.text) if isinstance(record, Learn) else 0
        if self.waiting >= MAX_WAITING or self.waiting_bytes + size > MAX_WAITING_BYTES:
            raise busy(429, f"{self.waiting:,} requests wait for the journal; try again later")
        self.waiting += 1
        self.waiting_bytes += size
        try:
            words = f"nothing was written for {LONGEST_WRITE:g} seconds; send the same again, with the same key"
            async with _within(LONGEST_WRITE, words):
                receipt = await self.journal_client.submit(record, key)
            await self._applied(receipt.sequence)
            return receipt
        finally:
            self.waiting -= 1
            self.waiting_bytes -= size

    @asynccontextmanager
    async def batches(self) -> AsyncIterator[None]:
        """Wait until few enough batches are being ranked."""
        if self._n_batches >= MAX_BATCHES + MAX_WAITING_BATCHES:
            raise busy(429, f"{self._n_batches} batches wait to be ranked; try again later")
        self._n_batches += 1
        try:
            async with self._batches:
                yield
        finally:
            self._n_batches -= 1

    async def hash_and_sequence(self) -> tuple[str, int] | None:
        """Return the hash of the state and its sequence, the same to all who ask; None if a record came meanwhile."""
        async with self._hashing:
            if self._hashed is None or self._hashed[1] != self.replica.sequence:
                self._hashed = await asyncio.to_thread(self.replica.hash_in_steps)
            return self._hashed

    # -- waiting for a sequence ----------------------------------------------------------------------

    async def reach(self, sequence: int) -> None:
        """Wait until a record that a client has seen is applied here."""
        if self.replica.sequence >= sequence:
            return
        if self.waiting >= MAX_WAITING:
            raise busy(429, f"{MAX_WAITING:,} requests wait; try again later")
        self.waiting += 1
        try:
            async with _within(LONGEST_WAIT, "the process that writes does not answer"):
                last = await self.journal_client.last()
            if sequence > last:
                raise Problem(412, f"the journal ends at record {last}; there is no record {sequence} yet")
            if not await self._applied(sequence):
                raise busy(503, f"record {sequence} is not applied yet; this process is at {self.replica.sequence}")
        finally:
            self.waiting -= 1

    async def _applied(self, sequence: int) -> bool:
        if self.replica.sequence >= sequence:
            return True
        future = self._loop.create_future()
        self._reached.append((sequence, future))
        if self.replica.sequence >= sequence:  # reached between the two lines above
            self._wake(self.replica.sequence)
        try:
            await asyncio.wait_for(future, LONGEST_WAIT)
        except TimeoutError:
            return False
        return True

    def _tell(self, sequence: int) -> None:
        if self._reached and not self._loop.is_closed():  # from the thread that applies
            self._loop.call_soon_threadsafe(self._wake, sequence)

    def _wake(self, sequence: int) -> None:
        for _, future in (pair for pair in self._reached if pair[0] <= sequence):
            if not future.done():
                future.set_result(None)
        self._reached = [pair for pair in self._reached if not pair[1].done()]


@asynccontextmanager
async def _within(seconds: float, words: str) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise busy(503, words) from None


class LocalJournalClient:
    """The writer of this very process."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self.closed = writer.closed

    @property
    def refusal(self) -> str | None:
        """Why nothing can be learnt until the server is started again, or None."""
        return None if self._writer.refusal is None else str(self._writer.refusal)

    def submit(self, record: Record, key: str | None) -> Awaitable[Receipt]:
        """Have a record written."""
        return asyncio.wrap_future(self._writer.submit(record, key))

    async def last(self) -> int:
        """Return the sequence of the last record."""
        return self._writer.journal.last

    async def facts(self, own: WorkerState) -> Facts:
        """Return what is known of this process."""
        return Facts(self._writer.journal.last, self._writer.queued, [own], learns=self._writer.refusal is None)

    def check(self) -> None:
        """Do nothing: the writer is a thread of this process."""
