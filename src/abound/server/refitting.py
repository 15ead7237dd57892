"""Refit a served model: train a new base model beside it, replay its corrections, and compare the two."""

import contextlib
import secrets
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from abound.server.home import PRIVATE_DIRECTORY, PRIVATE_FILE, Home
from abound.server.replay import follow
from abound.server.replica import Replica
from abound.server.served import ServedTagger
from abound.store.journal import Journal
from abound.store.journal.records import Learn, Refit
from abound.store.locks import lock_directory
from abound.tagger import Tagger

CHUNK = 256  # corrections that are ranked together
TOKEN_BYTES = 8


def fitted_model(home: Home) -> Tagger:
    """Return the model that a home was last fitted with, without its corrections."""
    with Journal(home.journal_path) as journal:
        base = journal.lineage().base
    return Replica.load(home.base_path(base) if base else home.snapshot_path(0)).tagger


@contextlib.contextmanager
def new_base(home: Home) -> Iterator[Path]:
    """Yield a directory for a new base model, and remove it at the end unless a refit record names it.

    Directories that processes left which have ended are removed first.
    """
    home.base_path("").mkdir(mode=PRIVATE_DIRECTORY, exist_ok=True)
    for path in home.base_path("").iterdir():
        with contextlib.suppress(_Busy), lock_directory(path, _refuse):
            _remove_unused(home, path)
    path = home.base_path(secrets.token_hex(TOKEN_BYTES))
    path.mkdir(mode=PRIVATE_DIRECTORY)
    with lock_directory(path):
        try:
            yield path
        finally:
            _remove_unused(home, path)


class _Busy(Exception):  # noqa: N818
    pass


def _refuse() -> None:
    raise _Busy


def _remove_unused(home: Home, path: Path) -> None:
    with Journal(home.journal_path) as journal:
        refits = [record.base for record in journal.controls().values() if isinstance(record, Refit)]
    if path.name not in refits:
        shutil.rmtree(path, ignore_errors=True)


def save_base(tagger: Tagger, path: Path) -> None:
    """Write a base model, which other users cannot read."""
    tagger.save(path)
    for file in path.iterdir():
        file.chmod(PRIVATE_FILE)


def replay_on(home: Home, base: str) -> ServedTagger:
    """Return the state that a home would have on another base model."""
    with Journal(home.journal_path) as journal:
        lineage = journal.lineage()._replace(base=base)
        replica = home.load_replica(journal, lineage=lineage)
        follow(replica, journal, lineage=lineage)
    return ServedTagger.of(replica)


def live_corrections(home: Home) -> list[Learn]:
    """Return the corrections of a home that count."""
    with Journal(home.journal_path) as journal:
        excluded = set(journal.lineage().excluded)
        stored = (one for one in journal.read(journal.start) if one.sequence not in excluded)
        return [one.record for one in stored if isinstance(one.record, Learn)]


def shown(tagger: ServedTagger, corrections: Sequence[Learn]) -> list[bool]:
    """Tell for each correction whether the ranking of its text shows it: its labels first, and no wrong one first.

    Labels that were retired later do not count.
    """
    found: list[bool] = []
    for start in range(0, len(corrections), CHUNK):
        part = corrections[start : start + CHUNK]
        right = [set(row) for row in tagger.shown_labels([(*one.accepted, *one.added) for one in part])]
        wrong = [set(row) for row in tagger.shown_labels([one.rejected for one in part])]
        ranked = tagger.rank_arrays([one.text for one in part], max(1, *map(len, right))).labels.tolist()
        for first, yes, no in zip(ranked, right, wrong, strict=True):
            found.append(set(first[: len(yes)]) == yes if yes else first[0] is None or first[0] not in no)
    return found
