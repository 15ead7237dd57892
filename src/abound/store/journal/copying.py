"""Copy a journal up to a record: to salvage a damaged one, or to restore a backup to a point in time."""

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from abound.errors import CompactedAway, DamagedJournal, JournalError
from abound.store.directory import sync_directory
from abound.store.journal.commit_marker import CommitMarker
from abound.store.journal.journal import Journal
from abound.store.journal.rows import TABLES_VERSION, Meta, Row
from abound.store.locks import FileLock

SUFFIXES = ("", "-wal", "-shm", ".head")  # of a journal's files


class Salvaged(NamedTuple):
    """What was kept and what was lost.

    Attributes
    ----------
    first, last : int
        The first and the last record that are kept.
    acknowledged : int
        The last record that is known to have been acknowledged.
    problems : list of str
        The damage.
    aside : Path
        The directory with the old files.
    """

    first: int
    last: int
    acknowledged: int
    problems: list[str]
    aside: Path


def copy_journal(journal: Journal, target: Path, upto: int | None = None, *, start: int | None = None) -> int:
    """Write the records of a journal up to a sequence, or to the first damage, to a new file; return the last one.

    The copy has the same id and another timeline, and needs the archive up to its `base` beside it. Of the records
    that were archived, it takes those of the segment in which it ends into its file. Archived records up to `start` are
    left out.
    """
    meta = journal.meta
    if meta.version < TABLES_VERSION:
        raise JournalError(f"{journal.path} has an older format; start the server once to convert it")
    meta = meta if start is None else meta._replace(archive_base=start)
    upto = journal.last if upto is None else upto
    if not meta.archive_base <= upto:
        raise JournalError(f"the journal begins after record {meta.archive_base}, and cannot end at {upto}")
    if upto < meta.base:
        base, checksum = _archived_base(journal, meta, upto)
        meta = meta._replace(base=base, base_checksum=checksum)
    rows = _rows(journal, meta, upto)
    meta = meta._replace(timeline=secrets.token_hex(4), erased=min(meta.erased, upto))
    last = Journal.write_copy(target, meta, rows, journal)
    sync_directory(target.parent)
    return last


def _archived_base(journal: Journal, meta: Meta, upto: int) -> tuple[int, bytes]:
    """Return the last record of the archive's segments that are kept whole, and its checksum."""
    for segment in journal.archive.chain(meta.archive_base, meta.base):
        if segment.last > upto:
            return segment.first - 1, journal.archive.read(segment)[0]
    raise AssertionError("the archive ends at the base")


def _rows(journal: Journal, meta: Meta, upto: int) -> Iterator[Row]:
    """Yield verified rows up to a record or the first damage."""
    with contextlib.suppress(DamagedJournal, CompactedAway):
        for row in journal.rows(meta.base):
            if row.sequence > upto:
                return
            yield row


def salvage(path: str | os.PathLike[str]) -> Salvaged | None:
    """Replace a damaged journal by one with the records before the damage; None if it is not damaged.

    If the archive is damaged, the records up to the end of the damaged segment are lost to exports, undo and refit;
    the state, which is in a snapshot, is not concerned. The old files are kept in a directory beside the journal. If
    the journal's description cannot be read, a backup has to be restored.
    """
    path = Path(path)
    try:
        lock = FileLock(path.with_name(path.name + ".lock"))
    except BlockingIOError:
        raise JournalError(f"{path} has a writer; stop the server first") from None
    with lock, Journal(path) as journal:
        problems = list(journal.damage())
        if not problems:
            return None
        acknowledged = max(CommitMarker(path.with_name(path.name + ".head")).read(journal.id), journal.last)
        target = path.with_name(path.name + ".salvaged")
        for suffix in SUFFIXES:
            target.with_name(target.name + suffix).unlink(missing_ok=True)
        start = _intact_archive(journal)
        last = copy_journal(journal, target, start=start)
        aside = _move_aside(path)
        for segment in journal.archive.segments(start):
            os.replace(segment.path, aside / segment.path.name)
        for suffix in SUFFIXES:
            if target.with_name(target.name + suffix).exists():
                os.replace(target.with_name(target.name + suffix), path.with_name(path.name + suffix))
        sync_directory(path.parent)
    return Salvaged(start + 1, last, acknowledged, problems, aside)


def _intact_archive(journal: Journal) -> int:
    """Return the last record of the last segment that is damaged, or the record before the first one that is kept."""
    start = journal.start
    try:
        chain = journal.archive.chain(start, journal.base)
    except DamagedJournal:
        return journal.base
    for segment in chain:
        try:
            previous, rows = journal.archive.read(segment)
        except DamagedJournal:
            start = segment.last
            continue
        for row in rows:
            if not row.is_intact(previous):
                start = segment.last
            previous = row.checksum
    return start


def _move_aside(path: Path) -> Path:
    number = 1
    while (aside := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    aside.mkdir(mode=0o700)
    for suffix in SUFFIXES:
        file = path.with_name(path.name + suffix)
        if file.exists():
            os.replace(file, aside / file.name)
    return aside
