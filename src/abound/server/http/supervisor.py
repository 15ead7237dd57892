"""The process that writes, with workers around it: it starts them, takes their records, and tells them of others'."""

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

import msgspec

from abound.server.http.link import FROM_WORKER, Applied, Known, Link, Refused, Report, Submit, Written
from abound.server.http.listener import turn_away
from abound.server.http.metrics import Facts, WorkerState
from abound.server.http.settings import Settings
from abound.server.writer import Writer
from abound.store.journal import Receipt
from abound.store.journal.records import decode_record

LOG = logging.getLogger(__name__)
DRAIN_SECONDS = 20.0  # after which workers that do not end are killed
SETTLED_SECONDS = 5.0  # a worker that ends before is not replaced at once


class Supervisor:
    """Run workers over a writer until told to stop.

    Parameters
    ----------
    writer : Writer
    settings : Settings
    listeners : list of sockets
        One for each worker.
    """

    def __init__(self, writer: Writer, settings: Settings, listeners: list[socket.socket]) -> None:
        self._writer = writer
        self._settings = settings
        self._listeners = listeners
        self._links: dict[int, Link] = {}
        self._states: dict[int, WorkerState] = {}
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._stopping = asyncio.Event()
        self._ready = asyncio.Event()
        self._telling = False
        self._loop = asyncio.get_running_loop()
        writer.replica.listeners.append(self._applied)

    async def run(self, ready: Callable[[], None]) -> None:
        """Serve until `stop`; `ready` is called when all workers answer."""
        places = [self._loop.create_task(self._keep(place)) for place in range(len(self._listeners))]
        waiting = self._loop.create_task(self._ready.wait())
        stopping = self._loop.create_task(self._stopping.wait())
        await asyncio.wait([waiting, stopping], return_when=asyncio.FIRST_COMPLETED)
        if self._ready.is_set():
            ready()
        await stopping
        for listener in self._listeners:
            turn_away(listener)
        for process in self._processes.values():
            process.send_signal(signal.SIGTERM)
        _, late = await asyncio.wait(places, timeout=DRAIN_SECONDS)
        for process in self._processes.values():
            process.kill()
        if late:
            await asyncio.wait(late)
        waiting.cancel()

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
            started = time.monotonic()
            ours, theirs = socket.socketpair()
            process = self._start(self._listeners[place], theirs)
            theirs.close()
            self._processes[place] = process
            link = self._links[place] = await Link.over(ours)
            await self._listen(place, link)
            code = await asyncio.to_thread(process.wait)
            del self._links[place], self._processes[place]
            self._states.pop(place, None)
            link.close()
            if not self._stopping.is_set():
                LOG.error("worker %d ended with %d; another takes its place", process.pid, code)
                if time.monotonic() - started < SETTLED_SECONDS:
                    await asyncio.sleep(1.0)

    def _start(self, listener: socket.socket, link: socket.socket) -> "subprocess.Popen[bytes]":
        sockets = (listener.fileno(), link.fileno())
        settings = msgspec.json.encode(self._settings).decode()
        command = [sys.executable, "-m", "abound.server.http.worker", settings, *map(str, sockets)]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=sockets)

    async def _listen(self, place: int, link: Link) -> None:
        async for raw in link.frames():
            message = FROM_WORKER.decode(raw)
            match message:
                case Submit():
                    self._submit(link, message)
                case Report():
                    if place not in self._states:
                        link.send(Applied(self._writer.replica.sequence))  # what came while it was loading
                    self._states[place] = message.state
                    if message.number is not None:
                        link.send(Known(message.number, self.facts()))
                    if len(self._states) == len(self._listeners):
                        self._ready.set()

    def facts(self) -> Facts:
        """Return what is known of all workers."""
        return Facts(self._writer.journal.last, self._writer.queued, list(self._states.values()))

    # -- records -------------------------------------------------------------------------------------

    def _submit(self, link: Link, message: Submit) -> None:
        try:
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
        message = Applied(self._writer.replica.sequence)
        for place in self._states:
            self._links[place].send(message)
