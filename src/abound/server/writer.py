"""The one process that writes: it commits records in groups, applies them, and has snapshots made."""

import logging
import queue
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import NamedTuple

from abound.closing import Closing
from abound.errors import AboundError, JournalBusy, JournalInUse, JournalUnavailable
from abound.server.home import Home
from abound.server.replay import Progress, unapplied
from abound.server.snapshotter import start_snapshot
from abound.store.journal import Journal, Receipt
from abound.store.journal.records import LABEL_EDITS, Record

LOG = logging.getLogger(__name__)
GROUP_SIZE = 64  # records that share a commit
MAX_QUEUED = 10_000  # records that may wait for one
SNAPSHOT_EVERY = 10_000
SNAPSHOT_COST = 3_000_000  # of records to replay, see `cost.py`: some seconds
BYTES_PER_COST = 200  # a large model, which takes long to load and to write, may have more to replay


class _Request(NamedTuple):
    record: Record
    key: str | None
    answer: "Future[Receipt]"


class Writer(Closing):
    """Own a journal: a record that `submit` answered is on the disk, and the replica knows it.

    Records that arrive while a commit is under way share the next one. A record that could not be applied is refused
    before it is written. While a disk is full or fails, submitting raises JournalUnavailable and ranking goes on; so it
    does over a home that cannot be written to at all when it is opened. A record that is written and cannot be applied
    after all, for want of memory as an example, is treated the same way: the replica goes back to the record before,
    and nothing is learnt until the record is skipped.

    Parameters
    ----------
    home : Home
    closed : bool
        Whether labels must be added before they are learnt.
    snapshot_every : int or None
        After how many records a snapshot is written in the background and the journal compacted, or earlier, if they
        would take some seconds to replay; None for never.
    report : callable, optional
        Called with a sentence for what an operator should know: a snapshot that failed, or was found damaged. Such
        sentences go to the log if it is left out.
    progress : callable, optional
        Told of each record that is applied while this opens, and of the last one that there is; what it raises ends
        the opening.

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
        snapshot_every: int | None = SNAPSHOT_EVERY,
        report: Callable[[str], None] | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.home = home
        self.closed = closed
        self.snapshot_every = snapshot_every
        self._report = report or LOG.warning
        self._refusal: JournalUnavailable | None = None  # why nothing can be learnt
        problems: list[str] = []
        self.journal = self._open_journal(problems)
        try:
            if self.journal.writes:
                problems += filter(None, [home.make_private()])
                home.remove_leftovers(self.journal)
            self.replica, lease = home.open_replica(self.journal, problems, progress)
            lease.release()  # the writer is the one who compacts, and has applied all there is
            if self.journal.writes:
                self._compact(problems)
        except BaseException:
            self.journal.close()
            raise
        if self.replica.unapplied is not None:
            self._refusal = self.replica.unapplied
            problems.append(str(self._refusal))
        for words in problems:
            self._report(words)
        self._waiting: queue.Queue[_Request | None] = queue.Queue(MAX_QUEUED)
        self._closing = threading.Lock()
        self._closed = False
        self._snapshots_tried = max(home.snapshots())
        self._cost_tried = 0  # what `replica.cost` was then
        self._snapshot: threading.Thread | None = None
        self._snapshot_process: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._run, name="abound-writer", daemon=True)
        self._thread.start()

    def _open_journal(self, problems: list[str]) -> Journal:
        try:
            return Journal(self.home.journal_path, write=True)
        except JournalInUse:
            raise
        except JournalUnavailable as error:
            journal = Journal(self.home.journal_path)
            self._refusal = JournalUnavailable(f"{error}; there was no way to write when the server was started")
            problems.append(f"{error}; the home is opened to rank only, and nothing is learnt until the next start")
            return journal

    def _compact(self, problems: list[str]) -> None:
        """Drop what processes that died had no time to drop, or crash after crash would fill the disk."""
        try:
            self.home.compact(self.journal, needed=self.replica.snapshot)
        except (AboundError, OSError) as error:
            problems.append(f"what is not needed any more could not be dropped: {error}")

    # -- what others call ----------------------------------------------------------------------------

    def submit(self, record: Record, key: str | None = None) -> "Future[Receipt]":
        """Have a record written and applied; the future gives its receipt, or says why not.

        Raises
        ------
        JournalBusy
            If too many records wait.
        JournalUnavailable
            If the writer is closed.
        """
        request = _Request(record, key, Future())
        with self._closing:
            if self._closed:
                raise JournalUnavailable("the writer is closed")
            try:
                self._waiting.put_nowait(request)
            except queue.Full:
                raise JournalBusy(f"{MAX_QUEUED:,} records wait to be written; try again later") from None
        return request.answer

    @property
    def refusal(self) -> JournalUnavailable | None:
        """Why nothing can be learnt until the server is started again, or None."""
        return self._refusal

    @property
    def queued(self) -> int:
        """How many records wait to be written."""
        return self._waiting.qsize()

    def close(self) -> None:
        """Write and apply what waits, then let another process write; a snapshot under way is given up."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
        self._waiting.put(None)
        self._thread.join()
        if self._snapshot is not None:
            if self._snapshot_process is not None:
                self._snapshot_process.kill()
            self._snapshot.join()
        self.journal.close()

    # -- the writing thread --------------------------------------------------------------------------

    def _run(self) -> None:
        is_open = True
        self._snapshot_if_due()  # what was replayed just now need not be replayed again
        while is_open:
            requests = [self._waiting.get()]
            while len(requests) < GROUP_SIZE and requests[-1] is not None:
                try:
                    requests.append(self._waiting.get_nowait())
                except queue.Empty:
                    break
            is_open = requests[-1] is not None
            self._take([request for request in requests if request is not None])
            self._snapshot_if_due()

    def _take(self, requests: list[_Request]) -> None:
        """Write and apply requests in order, in as few commits as can be."""
        group: list[_Request] = []
        for request in requests:
            if not request.answer.set_running_or_notify_cancel():
                continue
            is_surgery = isinstance(request.record, LABEL_EDITS)
            if is_surgery or any(request.key is not None and request.key == other.key for other in group):
                # Whether it can be applied, or was written before, shows only when those before it have been.
                self._commit(group)
                group = []
            if self._is_new(request):
                group.append(request)
                if is_surgery:
                    self._commit(group)
                    group = []
        self._commit(group)

    def _is_new(self, request: _Request) -> bool:
        """Answer a request that was written before or is refused; tell whether it is neither."""
        try:
            if self._refusal is not None:
                raise self._refusal
            self.replica.check_usable()
            sequence = self.journal.find(request.record, request.key)
            if sequence is None:
                self.replica.check(request.record, closed=self.closed)
                return True
            request.answer.set_result(Receipt(sequence, True))
        except Exception as error:
            request.answer.set_exception(error)
        return False

    def _commit(self, group: list[_Request]) -> None:
        if not group:
            return
        try:
            receipts = self.journal.append([(request.record, request.key) for request in group])
        except Exception as error:
            for request in group:
                request.answer.set_exception(error)
            return
        for request, receipt in zip(group, receipts, strict=True):
            if self._refusal is None:
                self._apply(receipt.sequence, request.record)
            if self._refusal is None:
                request.answer.set_result(receipt)
            else:  # it is committed, and waits with the one that could not be applied
                request.answer.set_exception(self._refusal)

    def _apply(self, sequence: int, record: Record) -> None:
        """Apply a record that was committed; if that fails, go back to the state before it, and learn no more."""
        try:
            self.replica.apply(sequence, record)
            return
        except Exception as error:
            words = repr(error)
        self._refusal = unapplied(self.journal, sequence, words)
        self._report(str(self._refusal))
        try:
            self.home.reload(self.replica, self.journal, self._refusal)
        except Exception as error:  # the replica stays broken, and says so to whoever ranks
            self._report(f"the state before record {sequence} cannot be loaded: {error!r}")

    # -- snapshots -----------------------------------------------------------------------------------

    def _snapshot_if_due(self) -> None:
        if self._is_due() and (self._snapshot is None or not self._snapshot.is_alive()):
            self._snapshot = threading.Thread(target=self._snapshot_until_done, daemon=True)
            self._snapshot.start()

    def _is_due(self) -> bool:
        if self.snapshot_every is None or not self.journal.writes or self._closed:
            return False
        costly = max(SNAPSHOT_COST, self.replica.tagger.nbytes // BYTES_PER_COST)
        return (
            self.replica.sequence - self._snapshots_tried >= self.snapshot_every
            or self.replica.cost - self._cost_tried >= costly
        )

    def _snapshot_until_done(self) -> None:
        """Have snapshots written until none is due: records that come meanwhile may be many, and the last for long."""
        while self._is_due():
            self._snapshots_tried, self._cost_tried = self.replica.sequence, self.replica.cost
            self.snapshot(self._snapshots_tried)

    def snapshot(self, sequence: int) -> bool:
        """Have a snapshot of a sequence written by another process, then compact; tell whether it was."""
        try:
            with self._closing:
                if self._closed:
                    return False
                process = self._snapshot_process = start_snapshot(self.home, sequence)
            with process:
                _, errors = process.communicate()
            if self._closed:
                return False
            if process.returncode != 0:
                words = errors.decode(errors="replace").strip().splitlines()[-1:] or [f"exit {process.returncode}"]
                self._report(f"the snapshot of record {sequence} failed: {words[0]}")
                return False
            self.home.compact(self.journal)
        except (AboundError, OSError, subprocess.SubprocessError) as error:
            self._report(f"the snapshot of record {sequence} failed: {error}")
            return False
        return True
