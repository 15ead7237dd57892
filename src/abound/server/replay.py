"""Replay the journal on a replica, from its sequence to a later one."""

import contextlib
from collections.abc import Callable

from abound.errors import CompactedAway, UnappliedRecord
from abound.server.history import REMEMBERED, WINDOW, History
from abound.server.replica import Replica
from abound.store.journal import Journal, Lineage, StoredRecord
from abound.store.journal.file import shared_with
from abound.store.journal.records import CONTROLS

Progress = Callable[[int, int], None]  # called with the last applied record and the last record of the journal


class OtherLineage(Exception):  # noqa: N818
    """A record was undone, forgotten or refitted, so that a state cannot be brought up to date record by record."""


def follow(
    replica: Replica,
    journal: Journal,
    upto: int | None = None,
    progress: Progress | None = None,
    *,
    lineage: Lineage | None = None,
    check: Callable[[Replica, StoredRecord], bool] | None = None,
) -> None:
    """Apply the records that a replica has not applied yet, except excluded ones, up to a sequence or to the end.

    Parameters
    ----------
    replica : Replica
    journal : Journal
    upto : int, optional
    progress : callable, optional
    lineage : Lineage, optional
        What the state is made of. By default, that of the journal at `upto`.
    check : callable, optional
        Called before a record is applied; if it returns False, the record is left out.

    Raises
    ------
    UnappliedRecord
        If a record cannot be applied, for any reason; the replica is then unusable.
    OtherLineage
        If the lineage of the journal has changed meanwhile.
    """
    excluded = set((journal.lineage(upto) if lineage is None else lineage).excluded)
    last = journal.last
    replica.history.since = max(replica.history.since, last - WINDOW)  # outcomes before it would be dropped anyway
    for stored in journal.read(replica.sequence):
        if upto is not None and stored.sequence > upto:
            return
        if lineage is None and isinstance(stored.record, CONTROLS):
            check_lineage(replica, journal.lineage(stored.sequence))
        cause = None
        try:
            if stored.sequence in excluded:
                replica.skip(stored.sequence)
            elif check is None or check(replica, stored):
                replica.apply(stored.sequence, stored.record, stored.time)
            else:
                replica.skip(stored.sequence)
        except Exception as error:
            cause = repr(error)
        if cause is not None:  # outside the handler, so that the exception's frames are released
            raise unapplied_error(journal, stored.sequence, cause)
        if progress is not None:
            progress(stored.sequence, max(last, stored.sequence))


def check_lineage(replica: Replica, lineage: Lineage) -> None:
    """Raise OtherLineage if a replica's state is not made of what it should be made of."""
    if replica.lineage != lineage.upto(replica.sequence):
        raise OtherLineage(f"the state at record {replica.sequence} is outdated")


def unapplied_error(journal: Journal, sequence: int, cause: str) -> UnappliedRecord:
    """Return the error of a record that cannot be applied, with the remedy."""
    database = shared_with(journal.path)
    remedy = f"stop the server, run `abound journal skip {journal.path.parent} {sequence}`, and start it again"
    if database is not None:
        remedy = (
            f"run `abound journal skip {database} {sequence}` if it is so on all machines, otherwise restart this one"
        )
    return UnappliedRecord(
        f"record {sequence} cannot be applied ({cause}), and ranking continues at record {sequence - 1}; {remedy}"
    )


def restore_history(replica: Replica, journal: Journal) -> None:
    """Restore the history of the last records in a replica's snapshot."""
    note_records(replica.history, journal, history_start(journal), replica.sequence, replica.lineage)


def history_start(journal: Journal) -> int:
    """Return the record after which decisions are remembered."""
    return max(journal.start, journal.last - REMEMBERED)


def note_records(history: History, journal: Journal, after: int, upto: int, lineage: Lineage) -> None:
    """Note the decisions of records, except those that do not count."""
    excluded = set(lineage.excluded)
    with contextlib.suppress(CompactedAway):  # compacted meanwhile: the history is shorter
        for stored in journal.read(after):
            if stored.sequence > upto:
                return
            if stored.sequence not in excluded:
                history.note(stored.sequence, stored.record, stored.time)
