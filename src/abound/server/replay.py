"""Bring a replica from where it stands to a later record of its journal."""

import contextlib
from collections.abc import Callable

from abound.errors import CompactedAway, UnappliedRecord
from abound.server.history import WINDOW
from abound.server.replica import Replica
from abound.store.journal import Journal

Progress = Callable[[int, int], None]  # told of the record that was applied last, and of the last one that there is


def follow(replica: Replica, journal: Journal, upto: int | None = None, progress: Progress | None = None) -> None:
    """Apply the records that a replica does not have yet, but for the skipped, up to a sequence or to the end.

    Raises
    ------
    UnappliedRecord
        If one of them cannot be applied, for whatever reason; the replica is broken then.
    """
    skips, last = journal.skips(), journal.last
    replica.history.since = max(replica.history.since, last - WINDOW)  # a replay ranks no text in vain
    for stored in journal.read(replica.sequence):
        if upto is not None and stored.sequence > upto:
            return
        words = None
        try:
            if stored.sequence in skips:
                replica.skip(stored.sequence)
            else:
                replica.apply(stored.sequence, stored.record)
        except Exception as error:
            words = repr(error)
        if words is not None:  # out here, so that what the exception met is let go
            raise unapplied(journal, stored.sequence, words)
        if progress is not None:
            progress(stored.sequence, max(last, stored.sequence))


def unapplied(journal: Journal, sequence: int, words: str) -> UnappliedRecord:
    """Return the error of a record that cannot be applied, with what is to be done about it."""
    return UnappliedRecord(
        f"record {sequence} cannot be applied ({words}), and ranking goes on at record {sequence - 1}; stop the "
        f"server, run `abound journal skip {journal.path.parent} {sequence}`, and start it again"
    )


def restore_history(replica: Replica, journal: Journal) -> None:
    """Remember the records that a replica's snapshot had learnt already, as far as the journal still has them."""
    skips = journal.skips()
    with contextlib.suppress(CompactedAway):  # between two of our steps; then less is remembered
        for stored in journal.read(journal.base):
            if stored.sequence > replica.sequence:
                return
            if stored.sequence not in skips:
                replica.history.note(stored.sequence, stored.record)
