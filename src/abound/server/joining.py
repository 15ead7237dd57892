"""Give a machine its home of a journal in PostgreSQL: a copy of the records, and the models that they are based on."""

import shutil
from collections.abc import Callable
from pathlib import Path

from abound.errors import AboundError, JournalError, JournalUnavailable, ModelError
from abound.server.home import SNAPSHOT_NAME, Home, HomeOrigin, lineage_of_manifest
from abound.server.replica import Replica
from abound.server.sharing import base_name, fetch_base, snapshots_at
from abound.store.directory import JOURNAL, MANIFEST, is_home, read_manifest
from abound.store.journal import Journal
from abound.store.journal.file import shared_with
from abound.store.journal.postgres import PostgresJournal
from abound.store.journal.shared import copy_database, fill_database
from abound.store.places import Place
from abound.tagger import Tagger

# What an unfinished home may have, and what a person may have copied from another home.
OWN_NAMES = {"snapshots", "snapshots.lock", "bases", "keys.json", "key-uses", "origin.json", "queues.sqlite"}


def join(
    path: Path,
    url: str,
    *,
    model: Path | None = None,
    place: Place | None = None,
    report: Callable[[str], None],
) -> Home:
    """Return the home of this machine for a journal in a database; make both if they do not exist.

    Parameters
    ----------
    path : path
        The directory of the home. A home that was served by one machine before is taken over, with all its records.
    url : str
        Where the database is.
    model : path, optional
        The model that the records are based on. It is needed for a new database, and for a new home if no place has its
        snapshots.
    place : Place, optional
        Where snapshots are kept for new machines.
    report : callable
        Called with messages for the operator.
    """
    if is_home(path) and Journal.was_made(path / JOURNAL):
        home = Home(path)
        if shared_with(home.journal_path) is None:
            _move_to_database(home, url, report)
        return home
    with _open_or_create(url) as database:
        return _new_home(path, database, model, place, report)


def _move_to_database(home: Home, url: str, report: Callable[[str], None]) -> None:
    """Write the records of a home to an empty database; a database that has them already is left as it is."""
    if PostgresJournal.exists(url):
        return
    with Journal(home.journal_path, write=True) as journal, fill_database(url, journal) as database:
        origin = home.origin()
        if origin is not None:
            database.note_base("", origin.state_hash)
        report(f"the {journal.last - journal.start:,} records of {home.path} were copied to {database.name}")


def _open_or_create(url: str) -> PostgresJournal:
    if not PostgresJournal.exists(url):
        try:
            return PostgresJournal.create(url)
        except JournalError:
            if not PostgresJournal.exists(url):  # another machine may have created it at the same time
                raise
    return PostgresJournal(url)


def _new_home(
    path: Path, database: PostgresJournal, model: Path | None, place: Place | None, report: Callable[[str], None]
) -> Home:
    _check_empty(path)
    home = Home.begin(path)
    home.make_private()
    for folder in ("snapshots", "bases"):  # of an attempt that was interrupted
        shutil.rmtree(path / folder, ignore_errors=True)
    base = database.lineage().base
    snapshot = None if place is None else _fetch_snapshot(home, place, database, report)
    for name in {"", base}:
        if place is not None and base_name(database.id, name) in place.names(f"{database.id}/bases"):
            fetch_base(home, place, database.id, name)
    is_needed = snapshot is None and not home.snapshot_path(0).exists()
    _use_model(home, database, model, is_needed=is_needed)
    if base and snapshot is None and not home.base_path(base).exists():
        raise ModelError(f"the records of {database.name} are based on a refit, whose model --snapshots must have")
    report(f"{database.last - database.start:,} records are being copied from {database.name}")
    copy_database(home.journal_path, database, database.start)
    begins = "the model before the first record" if snapshot is None else f"the snapshot of record {snapshot:,}"
    report(f"{path} begins with {begins}; {database.name} has {database.last:,} records")
    return home


def _check_empty(path: Path) -> None:
    """Raise FileExistsError if a directory has anything but what an interrupted attempt has left, keys and queues."""
    if not path.is_dir():
        return
    names = {one.name for one in path.iterdir() if not one.name.startswith((".", "journal."))}
    snapshots = (path / "snapshots").iterdir() if (path / "snapshots").is_dir() else ()
    if names - OWN_NAMES or not all(SNAPSHOT_NAME.fullmatch(one.name) or one.name.startswith(".") for one in snapshots):
        raise FileExistsError(f"{path} is not empty; name a new or an empty directory")


def _fetch_snapshot(home: Home, place: Place, database: PostgresJournal, report: Callable[[str], None]) -> int | None:
    """Copy the newest snapshot of a place that fits the records; return its sequence, or None if there is none."""
    lineage, start, last = database.lineage(), database.start, database.last
    for one in reversed(snapshots_at(place, database.id)):
        try:
            if one.sequence > last or (one.sequence >= start and not one.fits(database.checksum(one.sequence))):
                report(f"the snapshot of record {one.sequence} is ignored: {database.name} has lost that record")
                continue
            if one.sequence < start or lineage_of_manifest(place.manifest(one.name), one.name) != lineage.upto(
                one.sequence
            ):
                continue
            home.snapshot_path(one.sequence).parent.mkdir(mode=0o700, exist_ok=True)
            place.get(one.name, home.snapshot_path(one.sequence))
        except JournalUnavailable:
            raise
        except AboundError as error:  # it is damaged, or was removed meanwhile; an older one is as good
            report(f"the snapshot of record {one.sequence} cannot be used: {error}")
            continue
        return one.sequence
    return None


def _use_model(home: Home, database: PostgresJournal, model: Path | None, *, is_needed: bool) -> None:
    """Make a model the first snapshot of a home, if it is the one that the records are based on and is not there."""
    known = database.base_hash("")
    if model is None or not (model / MANIFEST).is_file():
        if is_needed:
            raise ModelError(
                f"name the model that the records of {database.name} are based on; no place given by --snapshots has it"
            )
        return
    state_hash, fitted = str(read_manifest(model)["state_hash"]), (model / MANIFEST).stat().st_mtime
    if known is None and database.last == 0:
        database.note_base("", state_hash)
    elif known != state_hash:
        instead = "name that model, or a place with its snapshots" if is_needed else "leave it out to use the snapshots"
        raise ModelError(
            f"{model} is not the model that the records of {database.name} are based on: its state hash is "
            f"{state_hash[:12]}, and not {str(known)[:12]}; {instead}"
        )
    tagger = Tagger.load(model)
    home.note_origin(HomeOrigin(state_hash, tagger.n_rows, fitted))
    if not home.snapshot_path(0).exists():
        home.write_snapshot(Replica(tagger, journal=database.id))
