"""Back up a home while it is being served, and restore it, also to an earlier record.

manifest.json          what the last complete backup consists of: the checksum of each file; written last
objects/<sha256>       the files by their checksums, so that each content is copied once

The files of a home do not change, except the journal and the queues, which SQLite copies consistently. A backup that is
interrupted leaves the one before it as it was. Files that the home no longer has, such as forgotten content, are
removed.
"""

import contextlib
import hashlib
import json
import os
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from abound.errors import BackupError
from abound.server.home import ORIGIN, OUTCOMES, PRIVATE_DIRECTORY, PRIVATE_FILE, SNAPSHOT_NAME, Home
from abound.server.queues import QUEUES, Queues
from abound.store.directory import JOURNAL, MANIFEST, sync_directory, write_file
from abound.store.journal import Journal
from abound.store.journal.archive import SEGMENT_NAME
from abound.store.journal.copying import copy_journal
from abound.store.journal.records import Control, Forget
from abound.store.locks import FileLock

FORMAT, VERSION = "abound backup", 1
LOCK = "lock"
KEYS = "keys.json"
SINGLE_FILES = (KEYS, ORIGIN, OUTCOMES)
FOLDERS = ("archive", "bases", "snapshots")
ATTEMPTS = 5  # if records are undone or forgotten during a backup, it begins again
COPIED_BYTES = 1 << 22  # per step
PLAIN_NAME = re.compile(r"\w[\w.-]*")
SHA256 = re.compile(r"[0-9a-f]{64}")


class Copied(NamedTuple):
    """What a backup consists of, and how much of it was copied.

    Attributes
    ----------
    sequence : int
        The last record.
    files, bytes : int
        All files.
    copied, copied_bytes : int
        Files that were not in the backup before.
    removed : int
        Files that the home no longer has.
    has_keys : bool
        Whether the API keys are included; they are stored as hashes.
    """

    sequence: int
    files: int
    bytes: int
    copied: int
    copied_bytes: int
    removed: int
    has_keys: bool


class Restored(NamedTuple):
    """The last record of a restored home, and that of its backup."""

    sequence: int
    backup_sequence: int


class _Entry(NamedTuple):
    sha256: str
    bytes: int
    mtime_ns: int


# -- backing up --------------------------------------------------------------------------------------


def back_up(home: Home, target: Path) -> Copied:
    """Copy a home to a directory, or update its earlier backup there.

    Raises
    ------
    BackupError
        If the directory has something else, or the backup of another journal.
    """
    target.mkdir(mode=PRIVATE_DIRECTORY, parents=True, exist_ok=True)
    _check_target(target)
    with _locked(target):
        (target / "objects").mkdir(mode=PRIVATE_DIRECTORY, exist_ok=True)
        before = _read_manifest(target) if (target / MANIFEST).exists() else None
        for _ in range(ATTEMPTS):
            found = _copy(home, target, before)
            if found is not None:
                break
        else:
            raise BackupError(f"{home.path} was changed during the backup {ATTEMPTS} times; try again later")
        content, copied = found
        known = {entry.sha256 for entry in _entries(content).values()}
        _write_manifest(target, content)
        removed = [path for path in (target / "objects").iterdir() if path.name not in known]
        for path in removed:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        sync_directory(target / "objects")
        lost = sum(not path.name.startswith(".") for path in removed)
        return copied._replace(removed=lost)


def _check_target(target: Path) -> None:
    """Raise BackupError if a directory has something else than a backup, which may be unfinished."""
    others = {path.name for path in target.iterdir() if not path.name.startswith((".writing-", LOCK))}
    if others and not others <= {MANIFEST, "objects"}:
        raise BackupError(f"{target} is not empty and is not a backup; name a new directory")


@contextlib.contextmanager
def _locked(target: Path) -> Iterator[None]:
    try:
        lock = FileLock(target / LOCK)
    except BlockingIOError:
        raise BackupError(f"another process is writing a backup to {target}; wait for it") from None
    with lock:
        yield


def _copy(home: Home, target: Path, before: dict[str, Any] | None) -> tuple[dict[str, Any], Copied] | None:
    """Copy the journal, then the other files; return None if the journal's lineage changed meanwhile."""
    with tempfile.TemporaryDirectory(prefix=".writing-", dir=target / "objects") as folder:
        path = Path(folder) / JOURNAL
        _copy_database(home.journal_path, path)
        with Journal(path) as journal:
            identity, last, controls, meta = journal.id, journal.last, journal.controls(), journal.meta
        if before is not None and before["journal"] != identity:
            raise BackupError(f"{target} is the backup of another journal; name a new directory")
        objects = _Objects(target / "objects", {} if before is None else _entries(before))
        files = {JOURNAL: objects.add(JOURNAL, path)}
        if home.queues_path.exists():
            _copy_database(home.queues_path, Path(folder) / QUEUES)
            files[QUEUES] = objects.add(QUEUES, Path(folder) / QUEUES)
    gone = set()
    for name, source in _files(home, last):
        try:
            files[name] = objects.add(name, source)
        except FileNotFoundError:  # compaction has removed it, so it is not needed
            gone.add(_model_of(name))
    files = {name: entry for name, entry in files.items() if _is_complete(name, files, gone)}
    if _controls(home) != controls or not _has_archive(files, meta.archive_base, meta.base):
        return None
    content = {"format": FORMAT, "version": VERSION, "journal": identity, "sequence": last, "files": files}
    n_bytes = sum(entry.bytes for entry in files.values())
    return content, Copied(last, len(files), n_bytes, objects.copied, objects.copied_bytes, 0, KEYS in files)


def _copy_database(source: Path, target: Path) -> None:
    uri = f"{source.resolve().as_uri()}?mode=ro"
    try:
        with (
            contextlib.closing(sqlite3.connect(uri, uri=True, timeout=10)) as old,
            contextlib.closing(sqlite3.connect(target)) as new,
        ):
            old.backup(new)
            new.execute("VACUUM")  # free pages may still have forgotten content
            new.execute("PRAGMA journal_mode=DELETE").fetchall()  # one file, without a write-ahead log
    except sqlite3.Error as error:
        raise BackupError(f"{source} cannot be copied: {error}") from None


def _controls(home: Home) -> dict[int, Control]:
    with Journal(home.journal_path) as journal:
        return journal.controls()


def _files(home: Home, last: int) -> Iterator[tuple[str, Path]]:
    """Yield the names and paths of all files of a home but the journal, without snapshots of later records."""
    for name in SINGLE_FILES:
        if (home.path / name).is_file():
            yield name, home.path / name
    for folder in FOLDERS:
        for path in sorted((home.path / folder).rglob("*")):
            parts = path.relative_to(home.path).parts
            is_later = folder == "snapshots" and SNAPSHOT_NAME.fullmatch(parts[1]) and int(parts[1]) > last
            if path.is_file() and not path.name.startswith(".") and not is_later:
                yield "/".join(parts), path


def _model_of(name: str) -> str:
    """Return the directory of the model that a file belongs to, or the name of another file."""
    return "/".join(name.split("/")[:2]) if name.startswith(("bases/", "snapshots/")) else name


def _is_complete(name: str, files: dict[str, _Entry], gone: set[str]) -> bool:
    """Return whether a file is not of a model that is being written or was removed meanwhile."""
    model = _model_of(name)
    return model not in gone and (model == name or f"{model}/{MANIFEST}" in files)


def _has_archive(files: dict[str, _Entry], start: int, base: int) -> bool:
    """Return whether the archive has all records after `start` up to `base`."""
    names = [SEGMENT_NAME.fullmatch(name.partition("/")[2]) for name in files if name.startswith("archive/")]
    for first, last in sorted((int(match[1]), int(match[2])) for match in names if match is not None):
        if first == start + 1:
            start = last
    return start >= base


class _Objects:
    """Files by checksum; a file that was copied before and has not changed since is not read again."""

    def __init__(self, folder: Path, known: dict[str, _Entry]) -> None:
        self._folder, self._known = folder, known
        self.copied = self.copied_bytes = 0

    def add(self, name: str, path: Path) -> _Entry:
        """Copy a file, unless it is there."""
        status, known = path.stat(), self._known.get(name)
        unchanged = known is not None and (known.bytes, known.mtime_ns) == (status.st_size, status.st_mtime_ns)
        if known is not None and unchanged and (self._folder / known.sha256).is_file():
            return known
        checksum, writing = hashlib.sha256(), self._folder / f".writing-{os.getpid()}"
        with open(path, "rb") as source, open(writing, "wb", opener=_private) as file:
            while piece := source.read(COPIED_BYTES):
                checksum.update(piece)
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
            size = file.tell()
        entry = _Entry(checksum.hexdigest(), size, status.st_mtime_ns)
        if not (self._folder / entry.sha256).exists():
            self.copied, self.copied_bytes = self.copied + 1, self.copied_bytes + size
        os.replace(writing, self._folder / entry.sha256)
        return entry


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, PRIVATE_FILE)


# -- the manifest ------------------------------------------------------------------------------------


def is_backup(path: Path) -> bool:
    """Return whether a directory is a backup of a home, intact or not, and not a model."""
    try:
        return bool(json.loads((path / MANIFEST).read_bytes())["content"]["format"] == FORMAT)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _write_manifest(target: Path, content: dict[str, Any]) -> None:
    sync_directory(target / "objects")
    files = {name: entry._asdict() for name, entry in content["files"].items()}
    whole = {**content, "files": files}
    raw = json.dumps({"checksum": _checksum(whole), "content": whole}, sort_keys=True, indent=1).encode()
    write_file(target / MANIFEST, raw + b"\n", PRIVATE_FILE)


def _checksum(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _read_manifest(target: Path) -> dict[str, Any]:
    try:
        outer = json.loads((target / MANIFEST).read_bytes())
        content: dict[str, Any] = outer["content"]
        if (content["format"], content["version"]) != (FORMAT, VERSION):
            raise BackupError(f"{target} is not a backup that this version of abound can read")
        if _checksum(content) != outer["checksum"]:
            raise BackupError(f"the {MANIFEST} of {target} does not match its checksum, so the backup is damaged")
    except FileNotFoundError:
        raise BackupError(f"{target} is not a backup: it has no {MANIFEST}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise BackupError(f"the {MANIFEST} of {target} cannot be read: {error}") from None
    return content


def _entries(content: dict[str, Any]) -> dict[str, _Entry]:
    """Return the files of a manifest by name; raise BackupError if a name does not belong to a home."""
    entries = {}
    for name, entry in content["files"].items():
        entries[name] = entry if isinstance(entry, _Entry) else _Entry(**entry)
        folder, *rest = name.split("/")
        is_file = not rest and name in (JOURNAL, QUEUES, *SINGLE_FILES)
        is_inside = folder in FOLDERS and rest and all(map(PLAIN_NAME.fullmatch, rest))
        if not (is_file or is_inside) or not SHA256.fullmatch(entries[name].sha256):
            raise BackupError(f"the backup has a file {name!r}, which does not belong to a home")
    return entries


# -- restoring ---------------------------------------------------------------------------------------


def restore(backup: Path, path: Path, upto: int | None = None, before: int | None = None) -> Restored:
    """Restore a home from a backup to a new directory, with a new timeline.

    Parameters
    ----------
    backup : Path
    path : Path
        An empty directory, or one that does not exist.
    upto : int, optional
        The last record. By default, the last one of the backup.
    before : int, optional
        Leave out records after this time, in microseconds since 1970.

    Raises
    ------
    BackupError
        If the backup is damaged or does not have the record, or if records were forgotten after it.
    """
    content = _read_manifest(backup)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise BackupError(f"{path} is not empty; name a new or an empty directory")
    path.mkdir(mode=PRIVATE_DIRECTORY, parents=True, exist_ok=True)
    path.chmod(PRIVATE_DIRECTORY)
    try:
        return _restore(backup, path, content, upto, before)
    except BaseException:
        for left in path.iterdir():
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        raise


def _restore(backup: Path, path: Path, content: dict[str, Any], upto: int | None, before: int | None) -> Restored:
    copy = path / f"backup-{JOURNAL}"  # until the home is complete
    for name, entry in _entries(content).items():
        _fetch(backup, entry, copy if name == JOURNAL else path / name)
    with Journal(copy) as journal:
        last = journal.last if upto is None else upto
        if before is not None:
            times = ((stored.time, stored.sequence) for stored in journal.read(journal.start))
            last = max((sequence for time, sequence in times if time <= before), default=journal.start)
        if not journal.start <= last <= journal.last:
            raise BackupError(f"{backup} has the records {journal.start + 1} to {journal.last}, and not {last}")
        _check_forgotten(journal, last)
        if copy_journal(journal, path / JOURNAL, last) != last:
            raise BackupError(f"the journal in {backup} is damaged before record {last}")
    for file in path.glob(f"{copy.name}*"):
        file.unlink()
    home = Home(path)
    with Queues(home.queues_path) as queues:
        queues.reopen_after(last)
    for sequence in home.snapshots():
        if sequence > last:
            shutil.rmtree(home.snapshot_path(sequence))
    with Journal(home.journal_path, write=True) as journal:
        journal.archive.remove_after(journal.base)
    sync_directory(path)
    return Restored(last, content["sequence"])


def _check_forgotten(journal: Journal, last: int) -> None:
    """Raise an error if records were forgotten after the last one to restore, whose content is gone."""
    for sequence, record in journal.controls().items():
        if sequence > last and isinstance(record, Forget) and min(record.records) <= last:
            raise BackupError(f"record {sequence} forgot earlier ones; restore to record {sequence} or a later one")


def _fetch(backup: Path, entry: _Entry, target: Path) -> None:
    """Copy a file from a backup, and compare it with its checksum."""
    target.parent.mkdir(mode=PRIVATE_DIRECTORY, parents=True, exist_ok=True)
    checksum = hashlib.sha256()
    try:
        with open(backup / "objects" / entry.sha256, "rb") as source, open(target, "xb", opener=_private) as file:
            while piece := source.read(COPIED_BYTES):
                checksum.update(piece)
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
    except FileNotFoundError:
        raise BackupError(f"{backup} has lost the file of {target.name}, so the backup is damaged") from None
    if checksum.hexdigest() != entry.sha256:
        raise BackupError(f"the file of {target.name} in {backup} does not match its checksum: the backup is damaged")
