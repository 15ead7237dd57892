"""A replica in another process than the writer, which follows the same journal."""

from abound.closing import Closing
from abound.errors import CompactedAway
from abound.server.home import Home
from abound.server.replay import Progress
from abound.store.journal import Journal

LEASE_EVERY = 1000  # records after which the lease moves on
RESTART_SECONDS = 30.0  # between replacements of a process that cannot apply a record, but still ranks


class Follower(Closing):
    """Follow the journal of a home without writing to it.

    Parameters
    ----------
    home : Home
    progress : callable, optional
        Called for each record that is applied while this opens, with its sequence and that of the last record.

    Attributes
    ----------
    replica : Replica
        Has applied all records up to the last one at opening, or at the last `catch_up`.
    """

    def __init__(self, home: Home, progress: Progress | None = None) -> None:
        self._home = home
        self._journal = Journal(home.journal_path)
        try:
            self.replica, self._lease = home.open_replica(self._journal, progress=progress)
        except BaseException:
            self._journal.close()
            raise
        self._lease.move(self.replica.sequence)

    def catch_up(self, upto: int | None = None) -> int:
        """Apply new records, up to a sequence or to the end; return the sequence of the last applied record.

        This stops before a record that cannot be applied; `replica.unapplied` is then its error.
        """
        try:
            self._home.catch_up(self.replica, self._journal, upto)
        except CompactedAway:  # the lease could not be written: reload from a snapshot
            self._home.reload(self.replica, self._journal)
            self._home.catch_up(self.replica, self._journal, upto)
        if self.replica.sequence - self._lease.sequence >= LEASE_EVERY:
            self._lease.move(self.replica.sequence)
        return self.replica.sequence

    def close(self) -> None:
        """Release the lease and close the journal."""
        self._lease.release()
        self._journal.close()
