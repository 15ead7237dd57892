"""A process that ranks: it follows the journal, and sends records to the writer.

The writer starts it as `python -m abound.server.http.worker SETTINGS LISTENER LINK QUIET`; it inherits two sockets.
"""

import asyncio
import itertools
import logging
import os
import queue
import signal
import socket
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec

from abound.errors import AboundError, JournalUnavailable
from abound.server.follower import RESTART_SECONDS, Follower
from abound.server.home import Home
from abound.server.http.app import make_app
from abound.server.http.link import FROM_WRITER, Applied, Known, Link, Refused, Report, Starting, Submit, Written
from abound.server.http.listener import Drain, HttpServer
from abound.server.http.logs import configure
from abound.server.http.metrics import Facts, WorkerState
from abound.server.http.problems import busy
from abound.server.http.service import Service
from abound.server.http.settings import Settings, authenticator_of, observers_of, opinions_of
from abound.server.http.sockets import accept_connections
from abound.server.http.starting import Gate, Opening, warm
from abound.server.replay import Progress
from abound.store.journal import Origin, Receipt
from abound.store.journal.records import Record, encode_record
from abound.tagger.label_quality import read_quality

LOG = logging.getLogger(__name__)
REPORT_SECONDS = 1.0
MAX_FAILURES = 3  # to catch up, after which a worker is replaced
SILENT_SECONDS = 5.0  # after which a silent writer counts as hung
MAX_UNSENT = 64 << 20  # bytes that the writer has not received yet
GONE_SECONDS = 2.0  # for which a worker continues without the writer, to finish its requests


class RemoteJournalClient:
    """Access to the journal through the link to the writer.

    Attributes
    ----------
    journal_end : int
        The sequence of the last record, as last reported by the writer.
    refusal : str or None
        Why nothing can be learned at the moment, as last reported by the writer.
    unready : str or None
        Which worker does not answer, as last reported by the writer.
    token : str
        That of the journal, as reported by the writer; "" until it has opened the home.
    """

    def __init__(self, link: Link, path: Path, *, closed: bool, is_shared: bool = False) -> None:
        self._link = link
        self.is_shared = is_shared
        self._numbers = itertools.count()
        self._receipts: dict[int, asyncio.Future[Receipt]] = {}
        self._facts: dict[int, asyncio.Future[Facts]] = {}
        self._own: Callable[[], WorkerState] | None = None
        self._last_message = time.monotonic()
        self._writer_open = asyncio.Event()
        self.journal_end = 0
        self.refusal: str | None = None
        self.unready: str | None = None
        self.closed = closed
        self.path = path
        self.token = ""

    def check(self) -> None:
        """Raise JournalUnavailable if the writer has been silent for a while, or receives nothing."""
        silent = time.monotonic() - self._last_message
        if silent > SILENT_SECONDS:
            raise JournalUnavailable(f"the writer process has not answered for {silent:.0f} seconds")
        if self._link.unsent > MAX_UNSENT:
            raise JournalUnavailable("the writer process does not read its messages")

    def check_ready(self) -> None:
        """Raise JournalUnavailable if the writer is silent, and Problem if a worker is."""
        self.check()
        if self.unready is not None:
            raise busy(503, self.unready)

    def submit(self, record: Record, key: str | None, origin: Origin) -> Awaitable[Receipt]:
        """Write a record."""
        self.check()
        raw, number = encode_record(record), next(self._numbers)
        future = self._receipts[number] = asyncio.get_running_loop().create_future()
        self._link.send(Submit(number, raw, key, *origin))
        return future

    async def last(self) -> int:
        """Return the sequence of the last record."""
        assert self._own is not None
        return (await self.facts(self._own())).last

    async def facts(self, own: WorkerState) -> Facts:
        """Return the state of all workers, from the writer."""
        self.check()
        number = next(self._numbers)
        future: asyncio.Future[Facts] = asyncio.get_running_loop().create_future()
        self._facts[number] = future
        self._link.send(Report(own, number))
        return await future

    async def wait_for_writer(self) -> int:
        """Wait until the writer has opened the home; return the sequence of the last record."""
        await self._writer_open.wait()
        return self.journal_end

    def begin(self, own: Callable[[], WorkerState]) -> None:
        """Report this worker's state from now on; the first report is sent immediately."""
        self._own = own
        self._link.send(Report(own()))

    async def report(self) -> None:
        """Send this worker's state to the writer periodically."""
        while True:
            self._link.send(Starting() if self._own is None else Report(self._own()))
            await asyncio.sleep(REPORT_SECONDS)

    async def listen(self, applied: Callable[[int], None]) -> None:
        """Handle the writer's messages until it ends."""
        async for raw in self._link.frames():
            self._last_message = time.monotonic()
            message = FROM_WRITER.decode(raw)
            match message:
                case Applied():
                    self.journal_end, self.refusal, self.token = message.sequence, message.refusal, message.token
                    self.unready = message.unready
                    self._writer_open.set()
                    applied(message.sequence)
                case Written():
                    _resolve(self._receipts, message.number, message.receipt())
                case Refused():
                    _resolve(self._receipts, message.number, message.error())
                case Known():
                    _resolve(self._facts, message.number, message.facts)
        gone = JournalUnavailable("the writer process has ended")
        for number in list(self._receipts):
            _resolve(self._receipts, number, gone)
        for number in list(self._facts):
            _resolve(self._facts, number, gone)


def _resolve(waiting: "dict[int, asyncio.Future[Any]]", number: int, result: object) -> None:
    future = waiting.pop(number)
    if future.done():  # the request was cancelled
        return
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)


class FollowerThread:
    """The thread that applies new records to the replica.

    Parameters
    ----------
    follower : Follower

    Attributes
    ----------
    has_failed : bool
        Whether the replica could not apply a record that the writer has applied, or could repeatedly not catch up.
    """

    def __init__(self, follower: Follower) -> None:
        self.replica = follower.replica
        self.has_failed = False
        self._failures = 0  # in a row
        self._follower = follower
        self._sequences: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="abound-follower", daemon=True)
        self._thread.start()

    def catch_up(self, sequence: int) -> None:
        """Apply the records up to a sequence, in the background."""
        if sequence > self.replica.sequence:
            self._sequences.put(sequence)

    def _run(self) -> None:
        while (sequence := self._sequences.get()) is not None:
            if sequence <= self.replica.sequence:
                continue
            try:
                self._follower.catch_up(sequence)
                self._failures = 0
            except Exception as error:  # the writer announces the record again, so this thread must continue
                is_expected = isinstance(error, AboundError | OSError)
                LOG.error("record %d cannot be applied yet: %s", sequence, error, exc_info=not is_expected)
                self._failures += 1  # such as a lack of memory for two states
            is_stuck = self.replica.unapplied is not None and self.replica.sequence < sequence
            self.has_failed = is_stuck or self.replica.is_broken or self._failures >= MAX_FAILURES

    def close(self) -> None:
        """Stop following."""
        self._sequences.put(None)
        self._thread.join()
        self._follower.close()


class Worker:
    """A process that answers requests.

    Parameters
    ----------
    settings : Settings
    listener : socket
        The listening socket.
    link : Link
        The link to the writer.
    quiet : float
        Seconds for which no connection is accepted, unless the home is opened earlier.
    """

    def __init__(self, settings: Settings, listener: socket.socket, link: Link, quiet: float) -> None:
        self._settings = settings
        self._quiet = quiet
        self._link = link
        self._journal_client = RemoteJournalClient(
            link, Home(settings.home).journal_path, closed=settings.closed, is_shared=settings.is_shared
        )
        self._gate = Gate(observers_of(settings))
        self._listener = listener
        self._server = HttpServer(self._gate, listener, settings.client_connections)
        self._follower: FollowerThread | None = None
        self._started = time.monotonic()
        self._ending: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()
        self._drain = Drain(self._gate, self._server, listener)
        self._loop.add_signal_handler(signal.SIGTERM, self._drain.begin)

    async def work(self) -> None:
        """Serve until a signal comes or the writer ends."""
        tasks = [self._loop.create_task(self._listen()), self._loop.create_task(self._journal_client.report())]
        opening = Opening(self._open, self._gate.update)
        starting = self._loop.create_task(self._start(opening))
        await self._drain.let_wait(starting, self._quiet)
        if not self._drain.begun.is_set():
            accept_connections(self._listener)  # a worker that was ended in this slot has refused them
        serving = self._loop.create_task(self._server.serve())
        await asyncio.wait([serving, starting], return_when=asyncio.FIRST_COMPLETED)
        if starting.done() and starting.exception() is not None:
            os._exit(_failed(starting.exception()))
        await serving
        self._gate.close()
        for task in [*tasks, starting]:
            task.cancel()
        self._link.close()
        if self._follower is None:
            os._exit(0)  # the opening only reads, so it can be abandoned
        self._follower.close()

    def _open(self, progress: Progress) -> Follower:
        follower = Follower(Home(self._settings.home), progress)
        warm(follower.replica)
        if self._settings.quality is not None:
            follower.replica.rate_labels(read_quality(self._settings.quality))
        return follower

    async def _start(self, opening: "Opening[Follower]") -> None:
        follower = self._follower = FollowerThread(await opening.future)
        last = await self._journal_client.wait_for_writer()
        follower.catch_up(last)
        service = Service(
            follower.replica, self._journal_client, self._settings.name, opinions=opinions_of(self._settings)
        )
        app = make_app(service, authenticator_of(self._settings), self._settings.origins)
        while follower.replica.sequence < last and follower.replica.unapplied is None:
            self._gate.update(follower.replica.sequence, last)
            await asyncio.sleep(0.01)
        self._gate.open(app)
        self._journal_client.begin(service.state)

    async def _listen(self) -> None:
        await self._journal_client.listen(self._applied)
        self._loop.call_later(GONE_SECONDS, os._exit, 1)
        self._server.stop()

    def _applied(self, sequence: int) -> None:
        follower = self._follower
        if follower is None:
            return
        follower.catch_up(sequence)
        is_due = follower.replica.is_broken or time.monotonic() - self._started > RESTART_SECONDS
        if follower.has_failed and is_due and self._ending is None:
            self._ending = self._loop.create_task(self._end())

    async def _end(self) -> None:
        """End this worker, so that the supervisor replaces it: the replacement starts from the newest snapshot."""
        assert self._follower is not None
        LOG.error("worker %d failed after record %d, and ends", os.getpid(), self._follower.replica.sequence)
        self._gate.drain()
        await asyncio.sleep(Drain.QUIET_SECONDS)  # for which answers announce the end of their connections
        self._server.stop()


def _failed(error: BaseException | None) -> int:
    """Log why the worker cannot start; return the exit code."""
    is_expected = isinstance(error, AboundError | OSError)
    LOG.error("a worker cannot start: %s", error, exc_info=None if is_expected else error)
    logging.shutdown()
    return 1


async def _work(settings: Settings, listener: socket.socket, end: socket.socket, quiet: float) -> None:
    await Worker(settings, listener, await Link.over(end), quiet).work()


def _main(settings: str, listener: str, link: str, quiet: str) -> None:
    decoded = msgspec.json.decode(settings, type=Settings)
    configure(decoded.logs)
    ours, end = socket.socket(fileno=int(listener)), socket.socket(fileno=int(link))
    asyncio.run(_work(decoded, ours, end, float(quiet)))
    logging.shutdown()
    # Without the interpreter's shutdown: a granian thread that needs the interpreter meanwhile would print a panic.
    os._exit(0)


if __name__ == "__main__":
    _main(*sys.argv[1:])
