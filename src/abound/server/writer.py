"""The one process that writes: it commits records in groups, applies them, and has snapshots made."""

import logging
import queue
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import NamedTuple

from abound.errors import AboundError, JournalBusy, JournalUnavailable
from abound.server.home import Home, Progress
from abound.server.snapshotter import start_snapshot
from abound.store.journal import Journal, Receipt
from abound.store.journal.records import SURGERY, Record

LOG = logging.getLogger(__name__)
GROUP = 64  # records that share a commit
WAITING = 10_000  # records that may wait for one
SNAPSHOT_EVERY = 10_000


class _Request(NamedTuple):
    record: Record
    key: str | None
    answer: "Future[Receipt]"


class Writer:
    """Own a journal: a record that `submit` answered is on the disk, and the replica knows it.

    Records that arrive while a commit is under way share the next one. A record that could not be applied is refused
    before it is written. While a disk is full or fails, submitting raises JournalUnavailable and ranking goes on.

    Parameters
    ----------
    home : Home
    closed : bool
        Whether labels must be added before they are learnt.
    snapshot_every : int or None
        After how many records a snapshot is written in the background and the journal compacted; None for never.
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
        self.journal = Journal(home.journal_path, write=True)
        try:
            home.tidy()
            problems: list[str] = []
            self.replica, lease = home.open_replica(self.journal, problems, progress)
            lease.release()  # the writer is the one who compacts, and has applied all there is
        except BaseException:
            self.journal.close()
            raise
        for words in problems:
            self._report(words)
        self._waiting: queue.Queue[_Request | None] = queue.Queue(WAITING)
        self._closing = threading.Lock()
        self._closed = False
        self._snapshots_tried = max(home.snapshots())
        self._snapshot: threading.Thread | None = None
        self._snapshot_process: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._run, name="abound-writer", daemon=True)
        self._thread.start()

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
                raise JournalBusy(f"{WAITING:,} records wait to be written; try again later") from None
        return request.answer

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

    def __enter__(self) -> "Writer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- the writing thread --------------------------------------------------------------------------

    def _run(self) -> None:
        is_open = True
        while is_open:
            requests = [self._waiting.get()]
            while len(requests) < GROUP and requests[-1] is not None:
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
            is_surgery = isinstance(request.record, SURGERY)
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
            self.replica._check_whole()
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
            try:
                self.replica.apply(receipt.sequence, request.record)
            except Exception as error:  # the replica is broken now; what is committed waits for a restart
                request.answer.set_exception(error)
            else:
                request.answer.set_result(receipt)

    # -- snapshots -----------------------------------------------------------------------------------

    def _snapshot_if_due(self) -> None:
        due = self.snapshot_every is not None and self.replica.sequence - self._snapshots_tried >= self.snapshot_every
        if due and (self._snapshot is None or not self._snapshot.is_alive()):
            self._snapshots_tried = self.replica.sequence
            thread = threading.Thread(target=self.snapshot, args=(self.replica.sequence,), daemon=True)
            thread.start()
            self._snapshot = thread

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
