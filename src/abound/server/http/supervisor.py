"""The process that writes, with workers around it.

It starts them, takes their records, tells them of others', and replaces those that end or hang.
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
from abound.server.http.listener import refuse_connections
from abound.server.http.metrics import Counts, Facts, WorkerState
from abound.server.http.settings import Settings
from abound.server.http.starting import Opening
from abound.server.replay import Progress
from abound.server.writer import Writer
from abound.store.journal import Receipt
from abound.store.journal.records import decode_record

LOG = logging.getLogger(__name__)
DRAIN_SECONDS = 20.0  # after which workers that do not end are killed
SETTLED_SECONDS = 5.0  # a worker that ends before is not replaced at once
BEAT_SECONDS = 1.0
HUNG_SECONDS = 7.0  # after which a worker that says nothing is killed
STARTING_SECONDS = 60.0  # the same while it opens the home, which may keep the interpreter for long
QUIET_SECONDS = 5.0  # for which a worker that replaces another lets clients wait, before it tells them to try again
LATE_SECONDS = 1.0  # a beat that comes later than this says more of this process than of the workers


class Supervisor:
    """Open a writer, and run workers over it until told to stop.

    Workers open the home at the same time, and answer that they are starting.

    Parameters
    ----------
    open_writer : callable
        Returns the writer; it is given a function that is told of each record that is applied.
    settings : Settings
    listeners : list of sockets
        One for each worker.
    """

    def __init__(
        self, open_writer: Callable[[Progress], Writer], settings: Settings, listeners: list[socket.socket]
    ) -> None:
        self._open_writer = open_writer
        self._writer: Writer | None = None
        self._settings = settings
        self._listeners = listeners
        self._links: dict[int, Link] = {}
        self._states: dict[int, WorkerState] = {}
        self._heard: dict[int, float] = {}
        self._past = Counts()  # what workers counted that have ended
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._stopping = asyncio.Event()
        self._ready = asyncio.Event()
        self._telling = False
        self._loop = asyncio.get_running_loop()

    async def run(self, ready: Callable[[], None]) -> None:
        """Serve until `stop`; `ready` is called when all workers answer."""
        places = [self._loop.create_task(self._keep(place)) for place in range(len(self._listeners))]
        beating = self._loop.create_task(self._beat())
        opening = Opening(self._open_writer, lambda *_: None)
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
            await self._end(places)
            beating.cancel()
            await opening.close()

    async def _while_running(self, awaited: "asyncio.Future[Any]") -> None:
        """Wait for something, or for the end."""
        stopping = self._loop.create_task(self._stopping.wait())
        await asyncio.wait([awaited, stopping], return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()

    def _begin(self, writer: Writer) -> None:
        self._writer = writer
        writer.replica.listeners.append(self._applied)
        self._tell()

    async def _end(self, places: "list[asyncio.Task[None]]") -> None:
        for listener in self._listeners:
            refuse_connections(listener)
        for process in self._processes.values():
            process.send_signal(signal.SIGTERM)
        _, late = await asyncio.wait(places, timeout=DRAIN_SECONDS)
        for process in self._processes.values():
            process.kill()
        if late:
            await asyncio.wait(late)

    def stop(self) -> None:
        """Have the workers drain and end."""
        if self._stopping.is_set():  # asked twice
            for process in self._processes.values():
                process.kill()
        self._stopping.set()

    # -- workers -------------------------------------------------------------------------------------

    async def _keep(self, place: int) -> None:
        """Keep a worker in its place: one that ends is replaced."""
        while not self._stopping.is_set():
            started = self._heard[place] = time.monotonic()
            ours, theirs = socket.socketpair()
            process = self._start(self._listeners[place], theirs)
            theirs.close()
            self._processes[place] = process
            link = self._links[place] = await Link.over(ours)
            if self._writer is not None:
                link.send(_applied(self._writer))
            await self._listen(place, link)
            code = await asyncio.to_thread(process.wait)
            del self._links[place], self._processes[place]
            ended = self._states.pop(place, None)
            if ended is not None:
                self._past.absorb(ended.counts)
            link.close()
            if not self._stopping.is_set():
                LOG.error("worker %d ended with %d; another takes its place", process.pid, code)
                if time.monotonic() - started < SETTLED_SECONDS:
                    await asyncio.sleep(1.0)

    def _start(self, listener: socket.socket, link: socket.socket) -> "subprocess.Popen[bytes]":
        sockets = (listener.fileno(), link.fileno())
        settings = msgspec.json.encode(self._settings).decode()
        quiet = QUIET_SECONDS if self._ready.is_set() else 0.0
        command = [sys.executable, "-m", "abound.server.http.worker", settings, *map(str, sockets), str(quiet)]
        # A terminal sends Ctrl-C to all. Workers inherit that it is blocked, and end when this process says so.
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=sockets)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)

    async def _listen(self, place: int, link: Link) -> None:
        async for raw in link.frames():
            self._heard[place] = time.monotonic()
            message = FROM_WORKER.decode(raw)
            match message:
                case Submit():
                    self._submit(link, message)
                case Report():
                    self._states[place] = message.state
                    if message.number is not None:
                        link.send(Known(message.number, self.facts()))
                    if len(self._states) == len(self._listeners):
                        self._ready.set()

    async def _beat(self) -> None:
        """Tell workers that they are heard, and kill those that are not."""
        while True:
            due = time.monotonic() + BEAT_SECONDS
            await asyncio.sleep(BEAT_SECONDS)
            if self._writer is not None:
                self._tell()
            now = time.monotonic()
            if now > due + LATE_SECONDS:  # this process was stopped, and has not read yet what they said
                self._heard = dict.fromkeys(self._heard, now)
            for place, process in self._processes.items():
                silent = now - self._heard[place]
                if silent > (HUNG_SECONDS if place in self._states else STARTING_SECONDS):
                    LOG.error("worker %d has not answered for %.0f seconds, and is killed", process.pid, silent)
                    process.kill()
                    self._heard[place] = now

    def facts(self) -> Facts:
        """Return what is known of all workers."""
        states, writer = list(self._states.values()), self._writer
        if writer is None:
            return Facts(0, 0, states, self._past, learns=False)
        return Facts(writer.journal.last, writer.queued, states, self._past, learns=writer.refusal is None)

    # -- records -------------------------------------------------------------------------------------

    def _submit(self, link: Link, message: Submit) -> None:
        try:
            if self._writer is None:
                raise JournalUnavailable("the home is still being opened")
            answer = self._writer.submit(decode_record(message.record), message.key)
        except Exception as error:
            link.send(Refused.of(message.number, error))
            return
        answer.add_done_callback(partial(self._written, link, message.number))

    def _written(self, link: Link, number: int, answer: "Future[Receipt]") -> None:
        """Answer a worker, from the thread that writes."""
        error = answer.exception()
        reply = (
            Written(number, answer.result().sequence, answer.result().repeated)
            if error is None
            else Refused.of(number, error)
        )
        self._loop.call_soon_threadsafe(link.send, reply)

    def _applied(self, _: int) -> None:
        if not self._telling:  # one message for all that are applied before it is sent
            self._telling = True
            self._loop.call_soon_threadsafe(self._tell)

    def _tell(self) -> None:
        self._telling = False
        if self._writer is not None:
            message = _applied(self._writer)
            for link in self._links.values():
                link.send(message)


def _applied(writer: Writer) -> Applied:
    return Applied(writer.replica.sequence, None if writer.refusal is None else str(writer.refusal))
