"""Replay the journal on a replica, from its sequence to a later one."""

import contextlib
from collections.abc import Callable

from abound.errors import CompactedAway, UnappliedRecord
from abound.server.history import WINDOW
from abound.server.replica import Replica
from abound.store.journal import Journal

Progress = Callable[[int, int], None]  # called with the last applied record and the last record of the journal


def follow(replica: Replica, journal: Journal, upto: int | None = None, progress: Progress | None = None) -> None:
    """Apply the records that a replica has not applied yet, except skipped ones, up to a sequence or to the end.

    Raises
    ------
    UnappliedRecord
        If a record cannot be applied, for any reason; the replica is then unusable.
    """
    skips, last = journal.skips(), journal.last
    replica.history.since = max(replica.history.since, last - WINDOW)  # outcomes before it would be dropped anyway
    for stored in journal.read(replica.sequence):
        if upto is not None and stored.sequence > upto:
            return
        cause = None
        try:
            if stored.sequence in skips:
                replica.skip(stored.sequence)
            else:
                replica.apply(stored.sequence, stored.record)
        except Exception as error:
            cause = repr(error)
        if cause is not None:  # outside the handler, so that the exception's frames are released
            raise unapplied_error(journal, stored.sequence, cause)
        if progress is not None:
            progress(stored.sequence, max(last, stored.sequence))


def unapplied_error(journal: Journal, sequence: int, cause: str) -> UnappliedRecord:
    """Return the error of a record that cannot be applied, with the remedy."""
    return UnappliedRecord(
        f"record {sequence} cannot be applied ({cause}), and ranking continues at record {sequence - 1}; stop the "
        f"server, run `abound journal skip {journal.path.parent} {sequence}`, and start it again"
    )


def restore_history(replica: Replica, journal: Journal) -> None:
    """Restore the history of the records in a replica's snapshot, as far as the journal still has them."""
    skips = journal.skips()
    with contextlib.suppress(CompactedAway):  # compacted meanwhile: the history is shorter
        for stored in journal.read(journal.base):
            if stored.sequence > replica.sequence:
                return
            if stored.sequence not in skips:
                replica.history.note(stored.sequence, stored.record)
