"""When a writer has snapshots written, in another process, and what it removes after them."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from abound.closing import Closing
from abound.errors import AboundError
from abound.server.children import Child
from abound.server.home import UNDO_RECORDS, Home
from abound.server.replica import Replica
from abound.server.snapshotter import start_snapshot
from abound.server.turns import Turns
from abound.store.journal import Journal

SNAPSHOT_EVERY = 2_000
SNAPSHOT_COST = 3_000_000  # of the records to replay, see `cost.py`: a few seconds
BYTES_PER_COST = 200  # a large model takes long to load and to write, so it may have more records to replay


class Keeping(NamedTuple):
    """How many snapshots and records a home keeps; see `Writer`.

    Attributes
    ----------
    snapshot_every : int or None
    undo_records : int
    keep_seconds : float or None
    """

    snapshot_every: int | None = SNAPSHOT_EVERY
    undo_records: int = UNDO_RECORDS
    keep_seconds: float | None = None


def _nothing() -> None:
    pass


class Snapshots(Closing):
    """Write snapshots in the background, one at a time, then remove what is no longer needed.

    Parameters
    ----------
    home : Home
    journal : Journal
        The writer's.
    keeping : Keeping
    report : callable
        Called with a message for the operator.
    share : callable, optional
        Called after each snapshot, and after each change of the lineage; it may raise AboundError or OSError.
    """

    def __init__(
        self,
        home: Home,
        journal: Journal,
        keeping: Keeping,
        report: Callable[[str], None],
        share: Callable[[], None] = _nothing,
    ) -> None:
        self._home = home
        self._journal = journal
        self._keeping = keeping
        self._report = report
        self._share = share
        self._closing = threading.Lock()
        self._is_closed = False
        self._is_paused = False
        self._may_have_gaps = True  # between snapshots
        self._process: Child | None = None
        self._cost_tried = 0  # `replica.cost` at that time
        self._tried = max(home.snapshots())
        self._replica: Replica | None = None
        self._turns: Turns | None = None

    def start(self, replica: Replica, pool: ThreadPoolExecutor) -> None:
        """Begin to write snapshots of a replica's records, in a thread of a pool."""
        self._replica = replica
        self._turns = Turns(pool, self._write_until_done)

    @property
    def is_idle(self) -> bool:
        """Whether no snapshot is being written."""
        return self._turns is None or self._turns.is_idle

    @property
    def process(self) -> Child | None:
        """The process that wrote the last snapshot, or is writing one."""
        return self._process

    def tidy(self, needed: int | None = None) -> None:
        """Remove old snapshots, archive the records before the others, and drop those that are too old."""
        self._home.compact(self._journal, needed, self._keeping.undo_records)
        if self._keeping.keep_seconds is not None:
            dropped = self._home.drop_old(self._journal, self._keeping.keep_seconds)
            if dropped:
                self._report(f"{dropped:,} records are older than they are kept, and were removed from the archive")

    def ask(self) -> None:
        """Write a snapshot if one is due."""
        if self._turns is not None and self._is_due():
            self._turns.ask()

    @contextlib.contextmanager
    def pausing(self) -> Iterator[None]:
        """Cancel a snapshot that is being written, and begin none in this block."""
        assert self._turns is not None
        self._is_paused = True
        try:
            if not self._turns.is_idle and self._process is not None:
                self._process.kill()
            self._turns.cancel()
            yield
        finally:
            self._is_paused = False

    def begin_again(self, sequence: int) -> None:
        """Continue after the snapshot of another lineage."""
        self._tried, self._cost_tried, self._may_have_gaps = sequence, 0, True

    def close(self) -> None:
        """Cancel a snapshot that is being written."""
        with self._closing:
            self._is_closed = True
        if self._process is not None:
            self._process.kill()
        if self._turns is not None:
            self._turns.cancel()
            self._turns.close()
        self._share = _nothing  # so that its owner, which has this object, is freed at once

    def _is_due(self) -> bool:
        every, replica = self._keeping.snapshot_every, self._replica
        if every is None or replica is None or not self._journal.writes or self._is_closed:
            return False
        if self._may_have_gaps:
            return True
        costly = max(SNAPSHOT_COST, replica.tagger.nbytes // BYTES_PER_COST)
        return replica.sequence - self._tried >= every or replica.cost - self._cost_tried >= costly

    def _write_until_done(self) -> None:
        """Write snapshots until none is due: many records may arrive during a snapshot, and none for long after it."""
        replica, every = self._replica, self._keeping.snapshot_every or 1
        assert replica is not None
        if self._may_have_gaps:
            self._try_to_share()
        while self._is_due() and not self._is_paused:
            missing = self._home.missing_snapshot(  # for example after an undo
                self._journal.last, every, self._keeping.undo_records
            )
            self._may_have_gaps = missing is not None
            if missing is None and self._is_due():
                self._cost_tried = replica.cost
                # At a multiple, so that servers that share a journal have snapshots of the same records. Not further,
                # so that the records between two snapshots can be undone quickly.
                missing = self._tried = min(replica.sequence, (self._tried // every + 1) * every)
            if missing is not None and not self.write(missing):
                self._may_have_gaps = False  # until the next change

    def write(self, sequence: int) -> bool:
        """Write a snapshot of a sequence in another process, then compact; return whether it was written."""
        try:
            with self._closing:
                if self._is_closed or self._is_paused:
                    return False
                process = self._process = start_snapshot(self._home, sequence)
            outcome = process.wait()
            if self._is_closed or self._is_paused:
                return False
            if outcome.code != 0:
                self._report(f"the snapshot of record {sequence} failed: {outcome.error}")
                return False
            if self._replica is not None:
                self._home.save_outcomes(self._replica)
            self.tidy()
        except (AboundError, OSError) as error:
            self._report(f"the snapshot of record {sequence} failed: {error}")
            return False
        self._try_to_share()
        return True

    def _try_to_share(self) -> None:
        try:
            self._share()
        except (AboundError, OSError) as error:
            self._report(f"the newest snapshot cannot be shared: {error}")
