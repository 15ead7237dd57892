"""The only process of a machine that writes: it commits records in groups, applies them and starts snapshots."""

import contextlib
import logging
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from abound.closing import Closing
from abound.errors import AboundError, JournalBusy, JournalInUse, JournalMoved, JournalUnavailable
from abound.server.durations import Durations
from abound.server.encoding import VectorStage
from abound.server.home import Home
from abound.server.queues import Queues
from abound.server.rebuilds import Prepared, Rebuilds
from abound.server.replay import Progress, follow, unapplied_error
from abound.server.served_names import Resolved
from abound.server.sharing import Sharing
from abound.server.snapshots import Keeping, Snapshots
from abound.server.turns import Threads, Turns
from abound.server.vectors import open_encoder_of
from abound.store.journal import Entry, Journal, Origin, Receipt
from abound.store.journal.records import LABEL_EDITS, Control, Forget, Learn, Record

LOG = logging.getLogger(__name__)
GROUP_SIZE = 64  # records per commit
MAX_QUEUED = 10_000  # records that may wait for a commit
RECOVERY_SECONDS = 1.0  # after which a replica that failed is loaded again, doubled after each failure
MAX_RECOVERY_SECONDS = 60.0
APPLIED_IN_TURN = 32  # records of other machines that this one applies while the others wait
MAX_ATTEMPTS = 5  # to write a group, of which each may fail because other machines have appended meanwhile
NOBODY = Origin()


@dataclass(slots=True)
class _Request:
    record: Record  # as it was sent, without the opinion of a service
    key: str | None
    origin: Origin
    answer: "Future[Receipt]"
    resolved: Resolved
    encoded: Record  # with the vector of its text

    def entry(self) -> Entry:
        """Return what is written: the record with the ids of its labels."""
        record = self.resolved.record
        return Entry(record, self.key, self.origin, None if record is self.record else self.record)


class _Written(NamedTuple):
    request: _Request
    receipt: Receipt


class Writer(Closing):
    """Own a journal: when `submit` has answered, the record is on disk and the replica has applied it.

    Records that arrive during a commit share the next one. A record that cannot be applied is refused before it is
    written. If the disk is full or fails, `submit` raises JournalUnavailable and ranking continues; the same holds for
    a home that is read-only when it is opened. If a written record cannot be applied, for example for lack of memory,
    the replica returns to the record before it, and nothing is learned until the record is skipped. If that state
    cannot be loaded either, requests fail, and the replica is loaded again after a pause, as when the home is opened.

    Parameters
    ----------
    home : Home
    closed : bool
        Whether labels must be added before they are learned.
    snapshot_every : int or None
        Number of records after which a snapshot is written in the background and the journal is compacted. This
        happens earlier if their replay would take a few seconds. None means never.
    undo_records : int
        So many of the last records can be undone within seconds: their snapshots are kept.
    keep_seconds : float, optional
        How long records are kept in the archive; by default, for ever.
    sharing : Sharing, optional
        How other machines take part. By default, the journal belongs to this one.
    report : callable, optional
        Called with a message for the operator, such as a failed or a damaged snapshot. By default, messages go to the
        log.
    progress : callable, optional
        Called for each record that is applied while this opens, with its sequence and that of the last record. If it
        raises, the writer is not opened.
    threads : Threads, optional
        Those of a process with several models; by default, the writer has its own.

    Attributes
    ----------
    commits : Durations
        The times of the journal's commits.

    Examples
    --------
    >>> import tempfile
    >>> from abound import Tagger
    >>> from abound.store.journal.records import Learn
    >>> home = Home.create(tempfile.mkdtemp(), Tagger())
    >>> with Writer(home) as writer:
    ...     receipt = writer.submit(Learn("a red apple", added=["fruit"]), key="click-1").result()
    ...     (receipt.sequence, writer.replica.rank("apple pie")[0].label)
    (1, 'fruit')
    """

    def __init__(
        self,
        home: Home,
        *,
        closed: bool = False,
        snapshot_every: int | None = Keeping().snapshot_every,
        undo_records: int = Keeping().undo_records,
        keep_seconds: float | None = None,
        sharing: Sharing | None = None,
        report: Callable[[str], None] | None = None,
        progress: Progress | None = None,
        threads: Threads | None = None,
    ) -> None:
        self.home = home
        self.closed = closed
        self.commits = Durations()
        self.sharing = sharing or Sharing()
        self._report = report or LOG.warning
        self._refusal: JournalUnavailable | None = None  # why nothing can be learned
        problems: list[str] = []
        self.journal = self._open_journal(problems)
        try:
            if self.journal.writes:
                problems += filter(None, [home.make_private()])
                home.remove_leftovers(self.journal)
            keeping = Keeping(snapshot_every, undo_records, keep_seconds)
            self._snapshots = Snapshots(home, self.journal, keeping, self._report, self.sharing.share)
            self.replica, lease = home.open_replica(self.journal, problems, progress)
            lease.release()  # only the writer compacts, and it has applied all records
            open_encoder_of(self.replica.tagger)
            if self.journal.writes:
                self._compact(problems)
                self._finish_forgetting(problems)
        except BaseException:
            self.journal.close()
            raise
        if self.replica.unapplied is not None:
            self._refusal = self.replica.unapplied
            problems.append(str(self._refusal))
        for problem in problems:
            self._report(problem)
        self._waiting: queue.Queue[_Request | Prepared] = queue.Queue(MAX_QUEUED)
        self._closing = threading.Lock()
        self._closed = False
        self._has_outdated = False  # files of another lineage
        self._recovery_pause, self._recovery_due = RECOVERY_SECONDS, 0.0
        self._rebuilds = Rebuilds(home, self.journal, self._deliver, self.sharing.publish)
        self._own_threads = Threads(writing=1) if threads is None else None
        threads = threads or self._own_threads
        assert threads is not None
        self._snapshots.start(self.replica, threads.snapshots)
        self._vectors = VectorStage(self.replica, threads.encoding, self._report)
        self._turns = Turns(threads.writing, self._take_turn)
        self._turns.ask()  # so that the next start need not replay these records
        self.sharing.start(self._turns.ask, self._report)

    def _open_journal(self, problems: list[str]) -> Journal:
        shared = self.sharing.open(self.home)
        if shared is not None:
            return shared
        try:
            return Journal(self.home.journal_path, write=True)
        except JournalInUse:
            raise
        except JournalUnavailable as error:
            journal = Journal(self.home.journal_path)
            self._refusal = JournalUnavailable(f"{error}; the home was not writable when the server was started")
            problems.append(f"{error}; the server only ranks, and learns nothing until it is started again")
            return journal

    def _compact(self, problems: list[str]) -> None:
        """Remove what dead processes left behind, so that repeated crashes do not fill the disk."""
        try:
            self._snapshots.tidy(needed=self.replica.snapshot)
        except (AboundError, OSError) as error:
            problems.append(f"old snapshots and records could not be removed: {error}")

    def _finish_forgetting(self, problems: list[str]) -> None:
        """Remove what is left of forgotten records besides the journal, if a crash prevented it."""
        forgotten = [number for record in self.journal.controls().values() for number in _forgotten(record)]
        if not forgotten:
            return
        try:
            self.home.save_outcomes(self.replica)
            self._forget_queued(forgotten)
        except (AboundError, OSError) as error:
            problems.append(f"what is left of forgotten records outside of the journal cannot be removed: {error}")

    # -- called by other threads ---------------------------------------------------------------------

    def submit(self, record: Record, key: str | None = None, origin: Origin = NOBODY) -> "Future[Receipt]":
        """Write and apply a record in the background; return a future with its receipt or its error.

        Raises
        ------
        JournalBusy
            If too many records are waiting.
        JournalUnavailable
            If the writer is closed.
        """
        sent = record  # a retry may have another opinion
        if isinstance(record, Learn) and record.opinion is not None:
            sent = replace(record, opinion=None)
        request = _Request(sent, key, origin, Future(), Resolved(record), record)
        with self._closing:
            if self._closed:
                raise JournalUnavailable("the writer is closed")
            if self.queued >= self._waiting.maxsize:
                raise JournalBusy(f"{MAX_QUEUED:,} records are waiting to be written; try again later")
            if not self.replica.tagger.has_encoder and not len(self._vectors):
                self._take(request, record)
            else:
                self._vectors.add(record, partial(self._take, request))
        return request.answer

    def _take(self, request: _Request, encoded: Record) -> None:
        """Let a request wait for its turn, with the vector of its text."""
        request.encoded = encoded
        self._waiting.put(request)
        self._turns.ask()

    def change(self, record: Control, key: str | None = None, origin: Origin = NOBODY) -> "Future[Receipt]":
        """Undo, forget or refit in the background, while ranking and learning go on; return a future.

        A `Forget` record needs no hashes; they are added.

        Raises
        ------
        JournalUnavailable
            If the writer is closed, or cannot write.
        """
        if self._refusal is not None and not self.journal.writes:
            raise self._refusal
        return self._rebuilds.submit(record, key, origin)

    @property
    def refusal(self) -> JournalUnavailable | None:
        """Why nothing can be learned at the moment, or None."""
        if self._refusal is None and self.sharing.failure is not None:
            return JournalUnavailable(self.sharing.failure)
        return self._refusal

    @property
    def queued(self) -> int:
        """How many records are waiting to be written."""
        return self._waiting.qsize() + len(self._vectors)

    def close(self) -> None:
        """Write and apply the waiting records and release the journal; cancel a running snapshot."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
        self.sharing.close()
        self._rebuilds.close()
        self._vectors.close()
        self._turns.close()  # when nothing waits
        self._snapshots.close()
        self.journal.close()
        if self._own_threads is not None:
            self._own_threads.close()

    # -- the writing thread --------------------------------------------------------------------------

    def _take_turn(self) -> None:
        """Write and apply the next group of records, and load a replica again that has failed."""
        if self.replica.is_broken and self._recovery_due <= time.monotonic():
            self._recover()
        requests: list[_Request | Prepared] = []
        with contextlib.suppress(queue.Empty):
            while len(requests) < GROUP_SIZE:
                requests.append(self._waiting.get_nowait())
        self._write(
            [one for one in requests if isinstance(one, _Request) and one.answer.set_running_or_notify_cancel()],
            [one for one in requests if isinstance(one, Prepared)],
        )
        if self._has_outdated:
            self._remove_outdated()
        self._snapshots.ask()
        if not self._waiting.empty():
            self._turns.ask()
        elif self.replica.is_broken:
            self._turns.ask_after(max(0.0, self._recovery_due - time.monotonic()))

    def _write(self, requests: list[_Request], changes: list[Prepared]) -> None:
        """Write and apply requests; other machines that share the journal wait while this one writes."""
        writes, attempts = bool(requests or changes), 0
        while True:
            attempts += 1
            written: list[_Written] = []
            try:
                if writes and self.journal.is_shared:  # before the others must wait
                    with self.sharing.turn(writes=False):
                        self._catch_up()
                with self.sharing.turn(writes=writes):
                    is_independent = bool(requests) and not changes and self._is_independent(requests)
                    if writes and not is_independent and attempts < MAX_ATTEMPTS and self._is_far_behind():
                        continue
                    if not is_independent:
                        self._catch_up()
                    written = self._process([request for request in requests if not request.answer.done()])
                    if changes:
                        self._apply_all(written)
                        written = []
                    for prepared in changes:
                        if not prepared.done.done():
                            self._switch(prepared)
                self._apply_all(written)
                return
            except JournalMoved as error:  # the database has ended the turn of this machine
                if attempts >= MAX_ATTEMPTS:
                    self._refuse(requests, changes, JournalUnavailable(str(error)))
                    return
            except Exception as error:
                if not isinstance(error, JournalUnavailable):
                    self._report(f"nothing can be written: {error!r}")
                self._refuse(requests, changes, error)
                return

    def _is_independent(self, requests: list[_Request]) -> bool:
        """Return whether requests can be checked before the records of other machines are applied.

        A text without wrong labels is valid whatever other texts were learned; only label edits matter.
        """
        if self.closed or not self.journal.is_shared or self.replica.is_broken or self.replica.unapplied is not None:
            return False
        if any(not isinstance(request.record, Learn) or request.record.rejected for request in requests):
            return False
        if self.replica.lineage != self.journal.lineage().upto(self.replica.sequence):
            return False
        return all(isinstance(stored.record, Learn) for stored in self.journal.read(self.replica.sequence))

    def _is_far_behind(self) -> bool:
        """Return whether it takes long to apply the records of other machines."""
        if not self.journal.is_shared or self.replica.unapplied is not None:
            return False
        lineage = self.journal.lineage().upto(self.replica.sequence)
        return self.journal.last - self.replica.sequence > APPLIED_IN_TURN or self.replica.lineage != lineage

    def _refuse(self, requests: list[_Request], changes: list[Prepared], error: Exception) -> None:
        for answer in (
            *(request.answer for request in requests),
            *(change.answer for prepared in changes for change in prepared.changes),
        ):
            if not answer.done():
                answer.set_exception(error)
        for prepared in changes:
            if not prepared.done.done():
                prepared.done.set_result(True)

    def _catch_up(self, upto: int | None = None) -> None:
        """Apply the records of other machines, up to a sequence or to the end."""
        if not self.journal.is_shared or self.replica.is_broken:
            return
        before, sequence = self.replica.lineage, self.replica.sequence
        self.home.catch_up(self.replica, self.journal, upto)
        self._has_outdated |= self.replica.lineage.upto(sequence) != before.upto(sequence)
        if self._refusal is not self.replica.unapplied:
            self._refusal = self.replica.unapplied
            if self._refusal is not None:
                self._report(str(self._refusal))

    def _remove_outdated(self) -> None:
        """Remove what has become outdated because another machine undid or forgot records, or made a refit."""
        problems: list[str] = []
        try:
            with self._snapshots.pausing():
                self.home.remove_outdated(self.journal)
                self._snapshots.begin_again(max(self.home.snapshots()))
            self._has_outdated = False
            self._report(
                "another machine has undone, forgotten or skipped records, or made a refit; "
                f"this one follows at record {self.replica.sequence}"
            )
            self.sharing.erase_copy()
        except (AboundError, OSError) as error:
            problems.append(f"files of an earlier state cannot be removed yet: {error}")
        self._finish_forgetting(problems)
        for problem in problems:
            self._report(problem)

    def _recover(self) -> None:
        """Load the replica as when the home is opened; if that fails, it is due again after a longer pause."""
        try:
            self.home.recover(self.replica, self.journal)
        except Exception as error:
            self._recovery_pause = min(2 * self._recovery_pause, MAX_RECOVERY_SECONDS)
            self._recovery_due = time.monotonic() + self._recovery_pause
            self._report(f"the model cannot be loaded again; next attempt in {self._recovery_pause:g} s: {error!r}")
            return
        self._recovery_pause, self._refusal = RECOVERY_SECONDS, self.replica.unapplied
        self._report(f"the model was loaded again, and is at record {self.replica.sequence}")

    def _process(self, requests: list[_Request]) -> list[_Written]:
        """Write and apply requests in order, in as few commits as possible; return those that are not applied yet."""
        group: list[_Request] = []
        for request in requests:
            is_label_edit = isinstance(request.record, LABEL_EDITS)
            if is_label_edit or any(request.key is not None and request.key == other.key for other in group):
                # The records before it must be applied first, to tell whether it is valid or a repetition.
                self._commit(group)
                group = []
            if group and self.replica.needs_earlier(request.record):
                self._commit(group)
                group = []
            if self._is_new(request):
                group.append(request)
                if is_label_edit:
                    self._commit(group)
                    group = []
        return self._append(group)

    def _is_new(self, request: _Request) -> bool:
        """Answer a request that was written before or is refused; return whether it is neither."""
        try:
            if self._refusal is not None:
                raise self._refusal
            self.replica.check_usable()
            sequence = self.journal.find(request.record, request.key)
            if sequence is None:
                request.resolved = self.replica.resolve_names(request.encoded)
                self.replica.check(request.resolved.record, closed=self.closed)
                return True
            request.answer.set_result(Receipt(sequence, True))
        except Exception as error:
            request.answer.set_exception(error)
        return False

    def _commit(self, group: list[_Request]) -> None:
        self._apply_all(self._append(group))

    def _append(self, group: list[_Request]) -> list[_Written]:
        """Write requests in one commit; those that cannot be written are answered."""
        if not group:
            return []
        try:
            with self._timed():
                receipts = self.journal.append([request.entry() for request in group])
        except JournalMoved:
            raise
        except Exception as error:
            for request in group:
                request.answer.set_exception(error)
            return []
        return [_Written(*pair) for pair in zip(group, receipts, strict=True)]

    def _apply_all(self, written: list[_Written]) -> None:
        """Apply requests that are written, and answer them."""
        for request, receipt in written:
            if receipt.repeated:  # another machine has written it
                request.answer.set_result(receipt)
                continue
            if receipt.sequence > self.replica.sequence + 1:
                self._catch_up(receipt.sequence - 1)
            resolved, book = request.resolved, self.replica.labels.book
            n_known = len(book)
            if self._refusal is None:
                self._apply(receipt.sequence, resolved.record)
            if self._refusal is None:
                made = tuple(book.names[n_known:]) if isinstance(resolved.record, Learn) else ()
                request.answer.set_result(receipt._replace(new_labels=made, resolved=resolved.labels))
            else:  # it is committed, but comes after a record that could not be applied
                request.answer.set_exception(self._refusal)

    @contextlib.contextmanager
    def _timed(self) -> Iterator[None]:
        """Note the time of a commit that succeeds."""
        started = time.monotonic()
        yield
        self.commits.add(time.monotonic() - started)

    def _apply(self, sequence: int, record: Record) -> None:
        """Apply a committed record; if that fails, return to the state before it and stop learning."""
        try:
            self.replica.apply(sequence, record, self.journal.last_time)
            return
        except Exception as error:
            cause = repr(error)
        self._refusal = unapplied_error(self.journal, sequence, cause)
        self._report(str(self._refusal))
        try:
            self.home.reload(self.replica, self.journal, self._refusal)
        except Exception as error:  # the replica stays unusable, and requests get its error
            self._report(f"the state before record {sequence} cannot be loaded: {error!r}")
            self._recovery_due = time.monotonic() + self._recovery_pause

    # -- other lineages ------------------------------------------------------------------------------

    def _deliver(self, prepared: Prepared) -> None:
        self._waiting.put(prepared)
        self._turns.ask()

    def _switch(self, prepared: Prepared) -> None:
        """Commit changes of the lineage, and switch to the state that was prepared for them."""
        if self._rebuilds.target([change.record for change in prepared.changes]) != prepared.lineage:
            prepared.done.set_result(False)  # another machine has changed it meanwhile
            return
        receipts: list[Receipt] = []
        try:
            with self._snapshots.pausing():  # those of the old lineage
                self._adopt(prepared, receipts)
            for change, done in zip(prepared.changes, receipts, strict=True):
                change.answer.set_result(done)
        except Exception as error:
            if isinstance(error, JournalMoved) and not receipts:
                raise
            known = error if isinstance(error, AboundError) else JournalUnavailable(f"the change failed: {error!r}")
            for change in prepared.changes:
                if not change.answer.done():
                    change.answer.set_exception(known)
            if receipts:  # they are written, so the state must follow
                self.home.catch_up(self.replica, self.journal)
        prepared.done.set_result(True)

    def _adopt(self, prepared: Prepared, receipts: list[Receipt]) -> None:
        """Commit changes, append their receipts, and use the state that was prepared for them."""
        fresh = prepared.replica
        follow(fresh, self.journal, lineage=prepared.lineage)
        before = self.replica.state_hash() if any(isinstance(c.record, Forget) for c in prepared.changes) else ""
        for change in prepared.changes:
            entry = Entry(change.record, change.key, change.origin)
            if isinstance(change.record, Forget):
                receipt = Forget(change.record.records, before, fresh.state_hash(), change.record.reason)
                with self._timed():
                    receipts.append(self.journal.forget(entry._replace(record=receipt, sent=change.record)))
            else:
                with self._timed():
                    receipts += self.journal.append([entry])
            fresh.apply(receipts[-1].sequence, change.record)
        self.home.adopt_rebuilt(prepared.path, prepared.sequence, self.journal)
        self._refusal = self.replica.unapplied = None
        self.replica.replace_state(fresh)
        self._snapshots.begin_again(prepared.sequence)
        if before:
            self.journal.erase()
            self.home.save_outcomes(self.replica)
            self._forget_queued(number for change in prepared.changes for number in _forgotten(change.record))

    def _forget_queued(self, records: Iterable[int]) -> None:
        """Remove the texts of forgotten records from the shared queues."""
        with Queues(self.home.queues_path) as queues:
            queues.forget_records(records)

    def snapshot(self, sequence: int) -> bool:
        """Write a snapshot of a sequence in another process, then compact; return whether it was written."""
        return self._snapshots.write(sequence)


def _forgotten(record: Control) -> tuple[int, ...]:
    return record.records if isinstance(record, Forget) else ()
