"""The writer process, which supervises the workers.

It starts them, writes their records, announces new records to all, and replaces workers that end or hang.
"""

import asyncio
import logging
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any

import msgspec

from abound.errors import JournalUnavailable
from abound.server.http.link import FROM_WORKER, Applied, Known, Link, Refused, Report, Submit, Written
from abound.server.http.metrics import Counts, Facts, WorkerState
from abound.server.http.service import facts_of, submit_to
from abound.server.http.settings import Settings
from abound.server.http.sockets import refuse_connections
from abound.server.http.starting import Opening
from abound.server.replay import Progress
from abound.server.writer import Writer
from abound.store.journal import Origin, Receipt
from abound.store.journal.records import decode_record

LOG = logging.getLogger(__name__)
DRAIN_SECONDS = 20.0  # after which workers that have not ended are killed
SETTLED_SECONDS = 5.0  # a worker that ends earlier is replaced after a pause
BEAT_SECONDS = 1.0
UNREADY_SECONDS = 3.0  # after which a silent worker makes the server not ready
HUNG_SECONDS = 7.0  # after which a silent worker is killed
STARTING_SECONDS = 60.0  # the same while it opens the home, which may block the interpreter for long
QUIET_SECONDS = 5.0  # for which a replacement lets clients wait, before it tells them to retry
LATE_SECONDS = 1.0  # if a heartbeat is later than this, this process was stopped, and not the workers


class Supervisor:
    """Open a writer and run workers until `stop`.

    The workers open the home at the same time; meanwhile they answer that they are starting.

    Parameters
    ----------
    open_writer : callable
        Returns the writer; its argument is called for each record that is applied.
    settings : Settings
    listeners : list of sockets
        One per worker.
    quiet : float
        Seconds for which clients wait during the start, before workers tell them to retry.
    """

    def __init__(
        self,
        open_writer: Callable[[Progress], Writer],
        settings: Settings,
        listeners: list[socket.socket],
        quiet: float = 0.0,
    ) -> None:
        self._open_writer = open_writer
        self._writer: Writer | None = None
        self._settings = settings
        self._listeners = listeners
        self._quiet = quiet
        self._restarts = 0
        self._unready: str | None = None
        self._links: dict[int, Link] = {}
        self._states: dict[int, WorkerState] = {}
        self._last_message: dict[int, float] = {}
        self._past = Counts()  # of workers that have ended
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._stopping = asyncio.Event()
        self._ready = asyncio.Event()
        self._is_announcing = False
        self._loop = asyncio.get_running_loop()

    async def run(self, ready: Callable[[], None]) -> bool:
        """Serve until `stop`; `ready` is called when all workers answer. Return whether the home is closed."""
        workers = [self._loop.create_task(self._keep_running(slot)) for slot in range(len(self._listeners))]
        beating = self._loop.create_task(self._beat())
        opening, is_closed = Opening(self._open_writer, lambda *_: None), True
        try:
            await self._while_running(opening.future)
            if opening.future.done():
                self._begin(opening.future.result())
                await self._while_running(self._loop.create_task(self._ready.wait()))
            if self._ready.is_set():
                ready()
            await self._stopping.wait()
        finally:
            self._stopping.set()
            await self._end(workers)
            beating.cancel()
            is_closed = await opening.close()
        return is_closed

    async def _while_running(self, awaited: "asyncio.Future[Any]") -> None:
        """Wait for a future or for `stop`."""
        stopping = self._loop.create_task(self._stopping.wait())
        await asyncio.wait([awaited, stopping], return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()

    def _begin(self, writer: Writer) -> None:
        self._writer = writer
        writer.replica.listeners.append(self._applied)
        self._announce()

    async def _end(self, workers: "list[asyncio.Task[None]]") -> None:
        for listener in self._listeners:
            refuse_connections(listener)
        for process in self._processes.values():
            process.send_signal(signal.SIGTERM)
        _, late = await asyncio.wait(workers, timeout=DRAIN_SECONDS)
        for process in self._processes.values():
            process.kill()
        if late:
            await asyncio.wait(late)

    def stop(self) -> None:
        """Drain and end the workers; a second call kills them."""
        if self._stopping.is_set():
            for process in self._processes.values():
                process.kill()
        self._stopping.set()

    # -- workers -------------------------------------------------------------------------------------

    async def _keep_running(self, slot: int) -> None:
        """Keep a worker running in a slot: replace it when it ends."""
        while not self._stopping.is_set():
            started = self._last_message[slot] = time.monotonic()
            ours, theirs = socket.socketpair()
            process = self._start(self._listeners[slot], theirs)
            theirs.close()
            self._processes[slot] = process
            link = self._links[slot] = await Link.over(ours)
            if self._writer is not None:
                link.send(_applied(self._writer, self._unready))
            await self._listen(slot, link)
            code = await asyncio.to_thread(process.wait)
            del self._links[slot], self._processes[slot]
            ended = self._states.pop(slot, None)
            if ended is not None:
                self._past.add_all(ended.counts)
            link.close()
            if not self._stopping.is_set():
                self._restarts += 1
                LOG.error("worker %d ended with code %d; another one replaces it", process.pid, code)
                if time.monotonic() - started < SETTLED_SECONDS:
                    await asyncio.sleep(1.0)

    def _start(self, listener: socket.socket, link: socket.socket) -> "subprocess.Popen[bytes]":
        sockets = (listener.fileno(), link.fileno())
        settings = msgspec.json.encode(self._settings.for_worker()).decode()
        quiet = QUIET_SECONDS if self._ready.is_set() else self._quiet
        command = [sys.executable, "-m", "abound.server.http.worker", settings, *map(str, sockets), str(quiet)]
        # A terminal sends Ctrl-C to all processes. Workers inherit the blocked signal, so only this process ends them.
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=sockets)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)

    async def _listen(self, slot: int, link: Link) -> None:
        async for raw in link.frames():
            self._last_message[slot] = time.monotonic()
            message = FROM_WORKER.decode(raw)
            match message:
                case Submit():
                    self._submit(link, message)
                case Report():
                    self._states[slot] = message.state
                    if message.number is not None:
                        link.send(Known(message.number, self.facts()))
                    if len(self._states) == len(self._listeners):
                        self._ready.set()

    async def _beat(self) -> None:
        """Send a heartbeat to the workers, and kill those that are silent."""
        while True:
            due = time.monotonic() + BEAT_SECONDS
            await asyncio.sleep(BEAT_SECONDS)
            now = time.monotonic()
            if now > due + LATE_SECONDS:  # this process was stopped, and has not read their messages yet
                self._last_message = dict.fromkeys(self._last_message, now)
            self._unready = self._silent_worker(now)
            if self._writer is not None:
                self._announce()
            for slot, process in self._processes.items():
                silent = now - self._last_message[slot]
                if silent > (HUNG_SECONDS if slot in self._states else STARTING_SECONDS):
                    LOG.error("worker %d has not answered for %.0f seconds, and is killed", process.pid, silent)
                    process.kill()
                    self._last_message[slot] = now

    def _silent_worker(self, now: float) -> str | None:
        """Return which worker does not answer, in a sentence."""
        for slot, process in self._processes.items():
            silent = now - self._last_message[slot]
            if slot in self._states and silent > UNREADY_SECONDS:
                return f"worker {process.pid} has not answered for {silent:.0f} seconds"
        return None

    def facts(self) -> Facts:
        """Return the state of the writer and of all workers."""
        states, writer = list(self._states.values()), self._writer
        if writer is None:
            return Facts(0, 0, states, self._past, learns=False, restarts=self._restarts)
        return facts_of(writer, states, self._past, self._restarts)

    # -- records -------------------------------------------------------------------------------------

    def _submit(self, link: Link, message: Submit) -> None:
        try:
            if self._writer is None:
                raise JournalUnavailable("the home is still being opened")
            origin = Origin(message.who, message.source)
            answer = submit_to(self._writer, decode_record(message.record), message.key, origin)
        except Exception as error:
            link.send(Refused.of(message.number, error))
            return
        answer.add_done_callback(partial(self._written, link, message.number))

    def _written(self, link: Link, number: int, answer: "Future[Receipt]") -> None:
        """Answer a worker; this is called in the writer's thread."""
        error = answer.exception()
        reply = Written.of(number, answer.result()) if error is None else Refused.of(number, error)
        self._loop.call_soon_threadsafe(link.send, reply)

    def _applied(self, _: int) -> None:
        if not self._is_announcing:  # one message for all records that are applied before it is sent
            self._is_announcing = True
            self._loop.call_soon_threadsafe(self._announce)

    def _announce(self) -> None:
        self._is_announcing = False
        if self._writer is not None:
            message = _applied(self._writer, self._unready)
            for link in self._links.values():
                link.send(message)


def _applied(writer: Writer, unready: str | None) -> Applied:
    refusal = None if writer.refusal is None else str(writer.refusal)
    return Applied(writer.replica.sequence, refusal, writer.journal.token, unready)
