"""Settle deliveries: teach the changes of annotations, then undo what they supersede, which takes seconds.

One process of a home settles at a time; the others leave their deliveries to it. A delivery that cannot be settled now,
for example because the disk is full, is tried again. One that can never be settled is removed and reported.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

from abound.errors import JournalError, JournalUnavailable, RefusedRecord
from abound.server.deliveries import SOURCE, Deliveries, Delivery, TaughtAnnotations
from abound.server.http.problems import Problem
from abound.store.journal import Origin, Receipt
from abound.store.journal.records import Control, Record, Undo
from abound.store.locks import FileLock

LOG = logging.getLogger(__name__)
ANSWER_SECONDS = 0.6  # for which a sender waits; Label Studio gives up after 1 second
POLL_SECONDS = 0.05  # while another process settles
RETRY_SECONDS = 2.0  # after a failure, doubled after each one
MAX_RETRY_SECONDS = 60.0
REASON = "the annotation was changed or deleted"
Teach: TypeAlias = Callable[[Record, str | None, Origin], Awaitable[Receipt]]
Exclude: TypeAlias = Callable[[Control, str | None, Origin], Awaitable[Receipt]]


async def _refuse(_: Record, __: str | None, ___: Origin) -> Receipt:
    raise JournalUnavailable("the model is closed")


class Settler:
    """Settle the deliveries of a home.

    Parameters
    ----------
    journal_path : path
        The journal of the home.
    teach, exclude : callable
        Write a record, or one that undoes others, and wait until it is applied.
    """

    def __init__(self, journal_path: Path, teach: Teach, exclude: Exclude) -> None:
        self._deliveries = Deliveries(journal_path.parent)
        self._taught = TaughtAnnotations(journal_path)
        self._teach, self._exclude = teach, exclude
        self._senders: dict[str, asyncio.Future[None]] = {}
        self._running: asyncio.Task[None] | None = None
        self._undoing: dict[str, asyncio.Task[None]] = {}
        self._reading, self._one_undo = asyncio.Lock(), asyncio.Lock()
        self._arrived = asyncio.Event()
        self._unreadable: set[str] = set()

    @property
    def is_busy(self) -> bool:
        """Whether deliveries are being settled."""
        return self._running is not None

    def start(self) -> None:
        """Settle the deliveries that earlier processes left, if there are any."""
        if self._running is None and self._deliveries.names():
            self._running = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        """Stop settling; what is left is settled after the next start."""
        for task in (self._running, *self._undoing.values()):
            if task is not None:
                task.cancel()
                await asyncio.wait([task])
        self._teach = self._exclude = _refuse  # so that their owner, which has this object, is freed at once

    async def submit(self, delivery: Delivery) -> bool:
        """Write a delivery, and wait a short time; return whether it is settled already.

        Raises
        ------
        Exception
            If it can never be settled.
        """
        name = await asyncio.to_thread(self._deliveries.add, delivery)
        sender = self._senders[name] = asyncio.get_running_loop().create_future()
        self._arrived.set()
        if self._running is None:
            self._running = asyncio.get_running_loop().create_task(self._run())
        await asyncio.wait([sender], timeout=ANSWER_SECONDS)
        self._senders.pop(name, None)
        if sender.done():
            sender.result()
        return sender.done()

    # -- the task ------------------------------------------------------------------------------------

    async def _run(self) -> None:
        pause = RETRY_SECONDS
        try:
            while True:
                try:
                    if await self._settle_all():
                        return
                    pause = RETRY_SECONDS
                except Exception as error:  # nothing is lost: the deliveries are on disk
                    LOG.warning("what Label Studio sent is not learned yet; next attempt in %g s: %s", pause, error)
                    await asyncio.sleep(pause)
                    pause = min(2 * pause, MAX_RETRY_SECONDS)
        finally:
            self._running = None

    async def _settle_all(self) -> bool:
        """Settle all deliveries if no other process does; return whether none is left."""
        try:
            lock = FileLock(self._deliveries.lock_path)
        except BlockingIOError:
            await asyncio.sleep(POLL_SECONDS)
            return not self._waiting()
        with lock:
            while names := self._waiting():
                self._arrived.clear()
                for name in names:
                    if name not in self._undoing:
                        await self._settle(name)
                if self._undoing:
                    await self._wait_for_undo()
        return True

    def _waiting(self) -> list[str]:
        """Return the deliveries that are not settled; tell the senders of those that are."""
        names = [name for name in self._deliveries.names() if name not in self._unreadable]
        for name in self._senders.keys() - {*names}:
            self._answer(name)
        return names

    async def _wait_for_undo(self) -> None:
        """Wait until an undo is done, or another delivery arrives; raise the error of an undo."""
        arrived = asyncio.ensure_future(self._arrived.wait())
        try:
            await asyncio.wait([arrived, *self._undoing.values()], return_when=asyncio.FIRST_COMPLETED)
        finally:
            arrived.cancel()
        for name, task in [pair for pair in self._undoing.items() if pair[1].done()]:
            del self._undoing[name]
            task.result()

    async def _settle(self, name: str) -> None:
        """Teach what a delivery says, and begin to undo what it supersedes."""
        try:
            delivery = await asyncio.to_thread(self._deliveries.read, name)
        except ValueError as error:
            self._unreadable.add(name)
            LOG.error("the delivery %s is damaged, and is not learned: %s", name, error)
            return
        if delivery is None:
            return
        try:
            superseded = await self._learn(delivery)
        except (RefusedRecord, Problem) as error:
            await self._refuse(name, error)
            return
        if superseded:
            self._undoing[name] = asyncio.get_running_loop().create_task(self._undo(name, delivery))
        else:
            await self._finish(name)

    async def _learn(self, delivery: Delivery) -> bool:
        """Teach what is new, and return whether it supersedes something."""
        await self._follow()
        self._taught.check(delivery)
        origin = Origin(delivery.who, SOURCE)
        for change in delivery.changes:
            if await asyncio.to_thread(self._taught.teaches, change):
                assert change.record is not None
                await self._teach(change.record, change.key, origin)
        await self._follow()
        return bool(self._taught.superseded(delivery))

    async def _undo(self, name: str, delivery: Delivery) -> None:
        refused: tuple[int, ...] = ()
        async with self._one_undo:  # the next one must see that these records do not count any more
            while True:
                await self._follow()
                records = self._taught.superseded(delivery)
                if not records:
                    break
                try:
                    await self._exclude(Undo(records, REASON), None, Origin(delivery.who, SOURCE))
                except JournalError as error:
                    if not isinstance(error, RefusedRecord) and type(error) is not JournalError:
                        raise
                    if records == refused:  # unless somebody else has undone some of them meanwhile
                        await self._refuse(name, error)
                        return
                    refused = records
        await self._finish(name)

    async def _follow(self) -> None:
        async with self._reading:
            await asyncio.to_thread(self._taught.follow)

    # -- answers -------------------------------------------------------------------------------------

    async def _finish(self, name: str) -> None:
        await asyncio.to_thread(self._deliveries.remove, name)
        self._answer(name)

    async def _refuse(self, name: str, error: Exception) -> None:
        """Remove a delivery that can never be settled; a problem that may pass is raised instead."""
        if isinstance(error, Problem) and error.status in (429, 503):
            raise error
        LOG.error("what Label Studio sent is refused: %s", error)
        await asyncio.to_thread(self._deliveries.remove, name)
        self._answer(name, error)

    def _answer(self, name: str, error: Exception | None = None) -> None:
        sender = self._senders.pop(name, None)
        if sender is not None and not sender.done():
            if error is None:
                sender.set_result(None)
            else:
                sender.set_exception(error)
