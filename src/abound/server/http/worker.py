"""A process that ranks: it follows the journal, and sends to the writer what is to be learnt.

`python -m abound.server.http.worker SETTINGS LISTENER LINK` is started by the writer, with two sockets to inherit.
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
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from abound.errors import AboundError, JournalUnavailable
from abound.server.follower import Follower
from abound.server.home import Home
from abound.server.http.app import make_app
from abound.server.http.link import FROM_WRITER, Applied, Known, Link, Refused, Report, Submit, Written
from abound.server.http.listener import Drain, HttpServer
from abound.server.http.metrics import Facts, WorkerState
from abound.server.http.served import Served
from abound.server.http.settings import Settings, doorkeeper_of
from abound.store.journal import Receipt
from abound.store.journal.records import Record, encode_record

LOG = logging.getLogger(__name__)
REPORT_SECONDS = 1.0
GONE_SECONDS = 2.0  # for which a worker goes on without the writer, to end what is under way


class Linked:
    """The way to the journal over the link."""

    def __init__(self, link: Link, *, closed: bool) -> None:
        self._link = link
        self._numbers = itertools.count()
        self._receipts: dict[int, asyncio.Future[Receipt]] = {}
        self._facts: dict[int, asyncio.Future[Facts]] = {}
        self._own: Callable[[], WorkerState] | None = None
        self.closed = closed

    def submit(self, record: Record, key: str | None) -> Awaitable[Receipt]:
        """Have a record written."""
        raw, number = encode_record(record), next(self._numbers)
        future = self._receipts[number] = asyncio.get_running_loop().create_future()
        self._link.send(Submit(number, raw, key))
        return future

    async def last(self) -> int:
        """Ask for the sequence of the last record."""
        assert self._own is not None
        return (await self.facts(self._own())).last

    async def facts(self, own: WorkerState) -> Facts:
        """Ask what the writer knows of all workers."""
        number = next(self._numbers)
        future: asyncio.Future[Facts] = asyncio.get_running_loop().create_future()
        self._facts[number] = future
        self._link.send(Report(own, number))
        return await future

    async def report(self, own: Callable[[], WorkerState]) -> None:
        """Tell the writer of this worker now and then."""
        self._own = own
        while True:
            self._link.send(Report(own()))
            await asyncio.sleep(REPORT_SECONDS)

    async def listen(self, applied: Callable[[int], None]) -> None:
        """Take what the writer says until it goes."""
        async for raw in self._link.frames():
            message = FROM_WRITER.decode(raw)
            match message:
                case Applied():
                    applied(message.sequence)
                case Written():
                    _resolve(self._receipts, message.number, Receipt(message.sequence, message.repeated))
                case Refused():
                    _resolve(self._receipts, message.number, message.error())
                case Known():
                    _resolve(self._facts, message.number, message.facts)
        gone = JournalUnavailable("the process that writes has gone")
        for number in list(self._receipts):
            _resolve(self._receipts, number, gone)
        for number in list(self._facts):
            _resolve(self._facts, number, gone)


def _resolve(waiting: "dict[int, asyncio.Future[Any]]", number: int, result: object) -> None:
    future = waiting.pop(number)
    if future.done():  # whoever waited has gone
        return
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)


class Following:
    """The thread that brings the replica up to what the writer says."""

    def __init__(self, follower: Follower) -> None:
        self._follower = follower
        self._told: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="abound-follower", daemon=True)
        self._thread.start()

    def tell(self, sequence: int) -> None:
        """Have records up to this one applied."""
        self._told.put(sequence)

    def _run(self) -> None:
        while (sequence := self._told.get()) is not None:
            if sequence <= self._follower.replica.sequence:
                continue
            try:
                self._follower.catch_up()
            except AboundError as error:
                LOG.error("record %d cannot be applied yet: %s", sequence, error)

    def close(self) -> None:
        """Stop following."""
        self._told.put(None)
        self._thread.join()
        self._follower.close()


async def work(settings: Settings, listener: socket.socket, end: socket.socket) -> None:
    """Serve until a signal comes, or the writer goes."""
    link = await Link.over(end)
    following = Following(await asyncio.to_thread(Follower, Home(settings.home)))
    replica = following._follower.replica
    linked = Linked(link, closed=settings.closed)
    served = Served(replica, linked)
    app = make_app(served, doorkeeper_of(settings))
    server = HttpServer(app, listener)
    drain, loop = Drain(app, server, listener), asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, drain.begin)
    loop.add_signal_handler(signal.SIGINT, lambda: None)  # a terminal sends it to all; the writer passes it on

    async def listen() -> None:
        await linked.listen(following.tell)
        loop.call_later(GONE_SECONDS, os._exit, 1)
        server.stop()

    tasks = [loop.create_task(listen()), loop.create_task(linked.report(served.state))]
    await server.serve()
    for task in tasks:
        task.cancel()
    link.close()
    following.close()


def _main(settings: str, listener: str, link: str) -> None:
    logging.basicConfig(level=logging.WARNING, format="abound: %(message)s")
    found = msgspec.json.decode(settings, type=Settings)
    asyncio.run(work(found, socket.socket(fileno=int(listener)), socket.socket(fileno=int(link))))


if __name__ == "__main__":
    _main(*sys.argv[1:])
