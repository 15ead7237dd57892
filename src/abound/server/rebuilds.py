"""Undo, forget and refit: requests that replace the state by one of another lineage.

A thread collects the requests that wait, rebuilds one state for all of them in another process, and loads it while the
old state ranks and learns. The writer then applies the records that came meanwhile, commits and switches.
"""

import json
import queue
import shutil
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeAlias

from abound.errors import AboundError, JournalError, JournalUnavailable, RefusedRecord
from abound.server.children import Child
from abound.server.history import History
from abound.server.home import Home
from abound.server.rebuilder import Rebuilt, start_rebuild
from abound.server.replay import follow, history_start, note_records
from abound.server.replica import Replica
from abound.store.journal import Journal, Lineage, Origin, Receipt
from abound.store.journal.reading import lineage_of
from abound.store.journal.records import Control, Forget, Refit, Undo

NEAR = 200  # records; the last ones are applied by the writer itself


class Change(NamedTuple):
    """A request: an `Undo`, `Forget` or `Refit` record with its key and origin, and the future of its receipt."""

    record: Control
    key: str | None
    origin: Origin
    answer: "Future[Receipt]"


class Prepared(NamedTuple):
    """A loaded state of another lineage, with the changes that it includes and the path of its snapshot.

    `done` is the future of whether the changes are answered. They are not if another machine has changed the lineage
    meanwhile; the state is then prepared again.
    """

    replica: Replica
    lineage: Lineage
    changes: list[Change]
    path: Path
    sequence: int
    done: "Future[bool]"


Deliver: TypeAlias = Callable[[Prepared], None]
Prepare: TypeAlias = Callable[[Control], None]


def _ignore(_: Prepared | Control) -> None:
    pass


class Rebuilds:
    """Prepare states for changes, one at a time.

    Parameters
    ----------
    home : Home
    journal : Journal
        The writer's.
    deliver : callable
        Takes a prepared state; the writer answers its changes. The next rebuild begins when they are answered.
    prepare : callable, optional
        Called with each change before its state is rebuilt.
    """

    def __init__(self, home: Home, journal: Journal, deliver: Deliver, prepare: Prepare = _ignore) -> None:
        self._home = home
        self._journal = journal
        self._deliver = deliver
        self._before = prepare
        self._waiting: queue.SimpleQueue[Change] = queue.SimpleQueue()
        self._closed = False
        self._child: Child | None = None
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def submit(self, record: Control, key: str | None, origin: Origin) -> "Future[Receipt]":
        """Make a change in the background; return a future with its receipt or its error."""
        answer: Future[Receipt] = Future()
        with self._starting:
            if self._closed:
                raise JournalUnavailable("the writer is closed")
            self._waiting.put(Change(record, key, origin, answer))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="abound-rebuilds", daemon=True)
                self._thread.start()
        return answer

    def close(self) -> None:
        """End a running rebuild; the changes that wait fail, and may be sent again."""
        with self._starting:
            self._closed = True
            child, thread = self._child, self._thread
        if child is not None:
            child.kill()
        if thread is not None:
            thread.join()
        self._deliver = self._before = _ignore  # so that the writer, which has this object, is freed at once

    # -- the thread ----------------------------------------------------------------------------------

    def _run(self) -> None:
        """Make the changes that wait; the thread ends when there are none."""
        while True:
            changes = []
            with self._starting:
                while not self._waiting.empty():
                    changes.append(self._waiting.get())
                if not changes:
                    self._thread = None
                    return
            asked = [] if self._closed else changes
            for change in changes[len(asked) :]:
                change.answer.set_exception(JournalUnavailable("the writer is closed"))
            self._prepare_all(asked)

    def _new(self, changes: list[Change]) -> list[Change]:
        """Answer changes that were written before, or can never be made; return the others."""
        new: list[Change] = []
        for change in changes:
            try:
                known = self._journal.find(change.record, change.key)
                same = [other for other in new if change.key is not None and other.key == change.key]
                if same and same[0].record == change.record:
                    same[0].answer.add_done_callback(partial(_repeat, change.answer))
                elif known is None:
                    check_change(self._journal, self._home, change.record, [other.record for other in new])
                    new.append(change)
                else:
                    change.answer.set_result(Receipt(known, True))
            except AboundError as error:
                change.answer.set_exception(error)
        return new

    def _prepare_all(self, asked: list[Change]) -> None:
        """Prepare one state for all changes; if that is impossible, one for each."""
        changes = asked
        try:
            self._journal.pull()
            while changes := self._new(changes):
                if self._prepare(changes):
                    return
        except RefusedRecord as error:
            if len(changes) > 1:
                for change in changes:
                    self._prepare_all([change])
            else:
                changes[0].answer.set_exception(error)
        except Exception as error:  # such as a full disk, or lack of memory; the changes may be sent again
            for change in (change for change in changes if not change.answer.done()):
                change.answer.set_exception(
                    error if isinstance(error, AboundError) else JournalUnavailable(f"nothing was changed: {error!r}")
                )

    def _prepare(self, changes: list[Change]) -> bool:
        """Prepare a state and have it used; return False if another machine has changed the lineage meanwhile."""
        for change in changes:
            self._before(change.record)
        lineage = self.target([change.record for change in changes])
        path = self._home.rebuilding_path()
        strict = not any(isinstance(change.record, Refit) for change in changes)
        try:
            rebuilt, history = self._rebuild(lineage, path, strict)
            if rebuilt.dependent:
                numbers = ", ".join(map(str, rebuilt.dependent))
                raise RefusedRecord(
                    f"later label edits depend on it, undo them first: records {numbers} ({rebuilt.reason})"
                )
            replica = Replica.load(path, verify=False)  # it was just written
            replica.history = history
            while self._journal.last - replica.sequence > NEAR:
                follow(replica, self._journal, lineage=lineage)
            done: Future[bool] = Future()
            self._deliver(Prepared(replica, lineage, changes, path, rebuilt.sequence, done))
            return done.result()  # the next rebuild must see these records
        finally:
            shutil.rmtree(path, ignore_errors=True)

    def target(self, records: Sequence[Control]) -> Lineage:
        """Return the lineage after changes that are not written yet."""
        controls, first = self._journal.controls(), self._journal.last + 1
        pending = {first + number: record for number, record in enumerate(records)}
        return lineage_of({**controls, **pending}, self._journal.skips())

    def _rebuild(self, lineage: Lineage, path: Path, strict: bool) -> tuple[Rebuilt, History]:
        """Rebuild a state in another process, and its history meanwhile in this one."""
        with self._starting:
            if self._closed:
                raise JournalUnavailable("the writer is closed")
            child = self._child = start_rebuild(self._home, lineage, path, strict=strict)
        history, last = History(), self._journal.last  # the child replays at least as far
        note_records(history, self._journal, history_start(self._journal), last, lineage)
        outcome = child.wait()
        self._child = None
        if outcome.code != 0:
            raise JournalUnavailable(f"the state could not be rebuilt, and nothing was changed: {outcome.error}")
        rebuilt = Rebuilt(**json.loads(outcome.output))
        note_records(history, self._journal, last, rebuilt.sequence, lineage)
        return rebuilt, history


def _repeat(answer: "Future[Receipt]", first: "Future[Receipt]") -> None:
    """Answer a change that was sent twice before it was made."""
    error = first.exception()
    if error is None:
        answer.set_result(Receipt(first.result().sequence, True))
    else:
        answer.set_exception(error)


def check_change(journal: Journal, home: Home, record: Control, pending: Sequence[Control] = ()) -> None:
    """Raise RefusedRecord or JournalError if a change can never be made."""
    if isinstance(record, Refit):
        if not home.base_path(record.base).is_dir():
            raise RefusedRecord(f"{home.path} has no base model {record.base!r}")
        return
    controls, skips = journal.controls(), journal.skips()
    first = journal.last + 1
    lineage = lineage_of({**controls, **{first + n: other for n, other in enumerate(pending)}}, skips)
    forgotten = {number for one in controls.values() if isinstance(one, Forget) for number in one.records}
    for number in record.records:
        if not 0 < number <= journal.last:
            raise RefusedRecord(f"there is no record {number}; the last one is {journal.last}")
        if number in forgotten:
            raise RefusedRecord(f"record {number} was forgotten")
        if number <= journal.start:
            raise JournalError(f"record {number} is no longer kept; the first one that is kept is {journal.start + 1}")
        if isinstance(record, Forget) and number in controls:
            raise RefusedRecord(f"record {number} is about other records and has no content to forget")
        if isinstance(record, Undo) and isinstance(controls.get(number), Forget):
            raise RefusedRecord(f"record {number} removed content for ever, which cannot be undone")
        if isinstance(record, Undo) and number in lineage.excluded:
            by = [n for n, one in controls.items() if isinstance(one, Undo) and number in one.records]
            raise RefusedRecord(
                f"record {number} does not count already" + (f"; record {by[-1]} undid it" if by else "")
            )
