"""A process that ranks beside the writer: a replica that reads the same journal."""

from abound.closing import Closing
from abound.errors import CompactedAway
from abound.server.home import Home
from abound.server.replay import Progress
from abound.store.journal import Journal

LEASE_EVERY = 1000  # records after which older ones are let go


class Follower(Closing):
    """Follow the journal of a home without writing to it.

    Parameters
    ----------
    home : Home
    progress : callable, optional
        Told of each record that is applied while this opens, and of the last one that there is.

    Attributes
    ----------
    replica : Replica
        At the last record that was there when it was opened, or last caught up with.
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
        """Apply what has come since, up to a sequence or to the end; return the sequence of the last record.

        It stops before a record that cannot be applied; `replica.unapplied` tells of it.
        """
        try:
            self._home.catch_up(self.replica, self._journal, upto)
        except CompactedAway:  # there was no room for its lease: a snapshot has what is gone
            self._home.reload(self.replica, self._journal)
            self._home.catch_up(self.replica, self._journal, upto)
        if self.replica.sequence - self._lease.sequence >= LEASE_EVERY:
            self._lease.move(self.replica.sequence)
        return self.replica.sequence

    def close(self) -> None:
        """Let go of the journal."""
        self._lease.release()
        self._journal.close()
