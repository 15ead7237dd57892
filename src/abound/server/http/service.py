"""The service behind the endpoints: a replica that is kept up to date, and access to the journal."""

import asyncio
import os
import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from abound.errors import ModelError
from abound.server.home import SERVED_SUFFIX, Home
from abound.server.http.encoding import encode
from abound.server.http.metrics import Counts, Facts, SnapshotState, WorkerState, WriterState
from abound.server.http.opinions import Opinions
from abound.server.http.problems import Problem, busy
from abound.server.http.settling import Settler
from abound.server.memory import private_bytes
from abound.server.queues import QUEUES, Queues
from abound.server.replica import Replica
from abound.server.writer import Writer
from abound.store.directory import MANIFEST, read_manifest
from abound.store.journal import Origin, Receipt
from abound.store.journal.records import CONTROLS, Control, EditLabels, Learn, Record
from abound.texts import Text, n_characters
from abound.version import __version__

MAX_WAITING = 1000  # requests of a process that wait for the journal
MAX_WAITING_BYTES = 64 << 20  # of their texts
EDIT_BYTES = 500  # of a label edit, approximately
MAX_BATCHES = 4  # that are ranked concurrently; their answers are large
MAX_WAITING_BATCHES = 32
MAX_EXTRACTIONS = 2  # files that are read concurrently, in a process each
MAX_LISTINGS = 2  # requests for records that read the journal concurrently
MAX_BEHIND = 100  # requests of a process that wait for records which its copy of a shared journal does not have
MAX_QUEUEING = 4  # requests that use the file of the queues concurrently
MAX_FILES = 8  # that arrive, wait or are read
MAX_WAIT_SECONDS = 5.0  # for a sequence, or for an answer of the writer
MAX_WRITE_SECONDS = 30.0
MAX_CHANGE_SECONDS = 25.0  # for an undo or a forgetting; less than the usual timeout of clients
MAX_CHANGES = 100  # of a process that wait
WRITER_SILENT = "the writer process does not answer"


class JournalClient(Protocol):
    """Access to the journal; `path` is its file, and `token` distinguishes it from all others.

    If `is_shared`, other machines write to it, too.
    """

    closed: bool
    is_shared: bool
    path: Path
    token: str

    @property
    def refusal(self) -> str | None:
        """Why nothing can be learned at the moment, or None."""

    def submit(self, record: Record, key: str | None, origin: Origin) -> Awaitable[Receipt]:
        """Write a record."""

    async def last(self) -> int:
        """Return the sequence of the last written record."""

    async def facts(self, own: WorkerState) -> Facts:
        """Return the state of all workers; `own` is the current state of this one."""

    def check(self) -> None:
        """Raise JournalUnavailable if the writer does not answer."""

    def check_ready(self) -> None:
        """Do the same, and raise Problem if a worker does not answer."""


class Service:
    """A replica and access to its journal, in one process.

    Parameters
    ----------
    replica : Replica
    journal_client : JournalClient
    name : str, optional
        The name of the model; by default, that of the home.
    counts : Counts, optional
        The requests that were answered before.
    opinions : Opinions, optional
        A second opinion on texts.
    """

    def __init__(
        self,
        replica: Replica,
        journal_client: JournalClient,
        name: str | None = None,
        counts: Counts | None = None,
        opinions: Opinions | None = None,
    ) -> None:
        self.replica = replica
        self.opinions = opinions
        self.name = name or journal_client.path.parent.name.removesuffix(SERVED_SUFFIX)
        self._fitted: tuple[str, float | None] | None = None
        self.queues = Queues(journal_client.path.with_name(QUEUES))
        self.journal_client = journal_client
        self.closed = journal_client.closed
        self.token = journal_client.token
        self.version = __version__
        self.draining = False
        self.waiting = 0
        self.waiting_bytes = 0
        self._n_behind = 0
        self.counts = Counts() if counts is None else counts
        self._batches = asyncio.Semaphore(MAX_BATCHES)
        self._n_batches = 0
        self.extractions = asyncio.Semaphore(MAX_EXTRACTIONS)
        self._n_files = 0
        self._n_changes = 0
        self.listings = asyncio.Semaphore(MAX_LISTINGS)
        self.queueing = asyncio.Semaphore(MAX_QUEUEING)
        self._hashing = asyncio.Lock()
        self._hashed: tuple[str, int] | None = None
        self._reached: list[tuple[int, asyncio.Future[None]]] = []
        self._loop = asyncio.get_running_loop()
        self.settler = Settler(journal_client.path, self.learn, self.change)
        self.settler.start()
        replica.listeners.append(self._notify)

    async def close(self) -> None:
        """Stop working in the background, when all requests are answered.

        The replica and this object then no longer refer to each other, so that a closed model is freed at once.
        """
        await self.settler.close()
        self.queues.close()
        if self.opinions is not None:
            self.opinions.close()
        self.replica.listeners.remove(self._notify)

    @property
    def encodes_slowly(self) -> bool:
        """Whether the vector of a text takes so long that other requests must be answered meanwhile."""
        encoder = self.replica.tagger.opened_encoder
        return encoder is not None and encoder.is_slow

    @property
    def prepares(self) -> bool:
        """Whether texts are prepared before they are ranked: encoded, or shown to a service."""
        return self.opinions is not None or self.encodes_slowly

    async def encode(self, texts: Sequence[Text]) -> None:
        """Encode one piece of a request."""
        await encode(self.replica, texts)

    def state(self) -> WorkerState:
        """Return the state of this process."""
        sequence, is_stuck = self.replica.sequence, self.replica.unapplied is not None
        unapplied, fails = sequence + 1 if is_stuck else 0, None
        if self.opinions is not None:
            self.counts.opinions, fails = self.opinions.counts, self.opinions.is_failing
        return WorkerState(os.getpid(), sequence, self.waiting, self.counts, unapplied, private_bytes(), fails)

    @property
    def refusal(self) -> str | None:
        """Why this process can learn nothing at the moment, or None."""
        unapplied = self.replica.unapplied
        return self.journal_client.refusal if unapplied is None else str(unapplied)

    def fitted(self) -> float | None:
        """Return when the model was written that the state is based on, in seconds since 1970, if that is known."""
        lineage = self.replica.lineage
        if self._fitted is None or self._fitted[0] != lineage.base:  # it is read once for each model
            self._fitted = (lineage.base, Home(self.journal_client.path.parent).fitted(lineage))
        return self._fitted[1]

    async def facts(self) -> Facts:
        """Return the state of all workers."""
        async with _timeout(MAX_WAIT_SECONDS, WRITER_SILENT):
            return await self.journal_client.facts(self.state())

    async def learn(self, record: Record, key: str | None, origin: Origin) -> Receipt:
        """Write a record, and wait until this process has applied it."""
        size = n_characters(record.text) if isinstance(record, Learn) else 0
        if isinstance(record, EditLabels):
            size = len(record.edits) * EDIT_BYTES
        if self.waiting >= MAX_WAITING or self.waiting_bytes + size > MAX_WAITING_BYTES:
            raise busy(429, f"{self.waiting:,} requests are waiting for the journal; try again later")
        self.waiting += 1
        self.waiting_bytes += size
        try:
            if isinstance(record, Learn) and self.opinions is not None:
                scores = await self.opinions.hear_about(self.replica, record.text)
                record = replace(record, opinion=tuple(scores.items()) if scores else None)
            message = f"nothing was written for {MAX_WRITE_SECONDS:g} seconds; send the same request and key again"
            async with _timeout(MAX_WRITE_SECONDS, message):
                receipt = await self.journal_client.submit(record, key, origin)
            await self._applied(receipt.sequence)
            return receipt
        finally:
            self.waiting -= 1
            self.waiting_bytes -= size

    async def change(self, record: Control, key: str | None, origin: Origin) -> Receipt:
        """Undo or forget records, and wait until this process ranks without them."""
        if self._n_changes >= MAX_CHANGES:
            raise busy(429, f"{self._n_changes:,} changes of earlier records are waiting; try again later")
        self._n_changes += 1
        try:
            message = "the model is still being rebuilt; send the same request and key again to wait for it"
            async with _timeout(MAX_CHANGE_SECONDS, message):
                change = asyncio.ensure_future(self.journal_client.submit(record, key, origin))
                change.add_done_callback(_retrieve)
                receipt = await asyncio.shield(change)  # it goes on after a timeout
            await self._applied(receipt.sequence)
            return receipt
        finally:
            self._n_changes -= 1

    @asynccontextmanager
    async def batches(self) -> AsyncIterator[None]:
        """Limit the number of batches that are ranked concurrently."""
        if self._n_batches >= MAX_BATCHES + MAX_WAITING_BATCHES:
            raise busy(429, f"{self._n_batches} batches are waiting to be ranked; try again later")
        self._n_batches += 1
        try:
            async with self._batches:
                yield
        finally:
            self._n_batches -= 1

    @asynccontextmanager
    async def files(self) -> AsyncIterator[None]:
        """Limit the number of files that this process holds."""
        if self._n_files >= MAX_FILES:
            raise busy(429, f"{self._n_files} files are being read; try again later")
        self._n_files += 1
        try:
            yield
        finally:
            self._n_files -= 1

    async def hash_and_sequence(self) -> tuple[str, int] | None:
        """Return the hash of the state and its sequence, computed once per state; None if a record came meanwhile."""
        async with self._hashing:
            if self._hashed is None or self._hashed[1] != self.replica.sequence:
                self._hashed = await asyncio.to_thread(self.replica.hash_in_steps)
            return self._hashed

    # -- waiting for a sequence ----------------------------------------------------------------------

    async def reach(self, sequence: int) -> None:
        """Wait until this process has applied a record that a client has seen."""
        if self.replica.sequence >= sequence:
            return
        if self.waiting >= MAX_WAITING:
            raise busy(429, f"{MAX_WAITING:,} requests are waiting; try again later")
        self.waiting += 1
        try:
            async with _timeout(MAX_WAIT_SECONDS, WRITER_SILENT):
                last = await self.journal_client.last()
            is_missing = sequence > last
            if is_missing and self.journal_client.is_shared:  # another machine may have written it just now
                is_missing = not await self._copied(sequence)
            if is_missing and self.refusal is not None:  # the database is away, and may have it
                raise busy(503, f"this server is at record {last} and cannot copy later ones: {self.refusal}")
            if is_missing:
                raise Problem(412, f"the journal ends at record {last}; there is no record {sequence} yet")
            if not await self._applied(sequence):
                raise busy(503, f"record {sequence} is not applied yet; this process is at {self.replica.sequence}")
        finally:
            self.waiting -= 1

    async def _copied(self, sequence: int) -> bool:
        """Wait for a record that another machine may have written; return whether this process has applied it."""
        if self._n_behind >= MAX_BEHIND:
            raise busy(503, f"{self._n_behind} requests are waiting for records of other machines; try again")
        self._n_behind += 1
        try:
            return await self._applied(sequence)
        finally:
            self._n_behind -= 1

    async def _applied(self, sequence: int) -> bool:
        if self.replica.sequence >= sequence:
            return True
        future = self._loop.create_future()
        self._reached.append((sequence, future))
        if self.replica.sequence >= sequence:  # applied meanwhile by another thread
            self._wake(self.replica.sequence)
        try:
            await asyncio.wait_for(future, MAX_WAIT_SECONDS)
        except TimeoutError:
            return False
        return True

    def _notify(self, sequence: int) -> None:
        if self._reached and not self._loop.is_closed():  # called from the thread that applies records
            self._loop.call_soon_threadsafe(self._wake, sequence)

    def _wake(self, sequence: int) -> None:
        for _, future in (pair for pair in self._reached if pair[0] <= sequence):
            if not future.done():
                future.set_result(None)
        self._reached = [pair for pair in self._reached if not pair[1].done()]


@asynccontextmanager
async def _timeout(seconds: float, message: str) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise busy(503, message) from None


def submit_to(writer: Writer, record: Record, key: str | None, origin: Origin) -> "Future[Receipt]":
    """Give a record to a writer; those about other records change the state as a whole."""
    if isinstance(record, CONTROLS):
        return writer.change(record, key, origin)
    return writer.submit(record, key, origin)


def facts_of(writer: Writer, workers: list[WorkerState], past: Counts, restarts: int = 0) -> Facts:
    """Return the state of a writer and its home, and of workers, of which some were replaced."""
    home, snapshots = writer.home, writer.home.snapshots()
    newest, age, free = max(snapshots, default=0), None, None
    with suppress(OSError):  # it may be removed meanwhile
        age = max(0.0, time.time() - home.snapshot_path(newest).stat().st_mtime)
    with suppress(OSError):
        free = shutil.disk_usage(home.path).free
    last = writer.journal.last
    state = WriterState(writer.commits, private_bytes(), max(0, last - newest), age, free)
    with suppress(ModelError, OSError):
        path = home.snapshot_path(newest)
        hashed = _state_hash(path, (path / MANIFEST).stat().st_mtime_ns)
        state.snapshot = SnapshotState(writer.journal.id, newest, hashed)
    return Facts(last, writer.queued, workers, past, writer.refusal is None, restarts, state)


@lru_cache(maxsize=256)  # of several models
def _state_hash(snapshot: Path, _written: int) -> str:
    """Return the state hash of a snapshot, which is read once after it was written."""
    return str(read_manifest(snapshot)["state_hash"])


def _retrieve(answer: "asyncio.Future[Receipt]") -> None:
    """Read the error of a change that nobody waits for any more, so that it is not reported as lost."""
    if not answer.cancelled():
        answer.exception()


class LocalJournalClient:
    """Access to the writer of this process."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self.closed = writer.closed
        self.is_shared = writer.journal.is_shared
        self.path = writer.journal.path
        self.token = writer.journal.token

    @property
    def refusal(self) -> str | None:
        """Why nothing can be learned at the moment, or None."""
        return None if self._writer.refusal is None else str(self._writer.refusal)

    def submit(self, record: Record, key: str | None, origin: Origin) -> Awaitable[Receipt]:
        """Write a record."""
        return asyncio.wrap_future(submit_to(self._writer, record, key, origin))

    async def last(self) -> int:
        """Return the sequence of the last record."""
        return self._writer.journal.last

    async def facts(self, own: WorkerState) -> Facts:
        """Return the state of this process."""
        return facts_of(self._writer, [own], Counts())

    def check(self) -> None:
        """Do nothing: the writer is a thread of this process."""

    def check_ready(self) -> None:
        """Do nothing: there is one process."""
