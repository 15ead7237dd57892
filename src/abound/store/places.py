"""Places that all machines of a cluster reach, for model directories that new machines begin with.

A place is a directory that is mounted everywhere, or a bucket of an object store. A model directory is put there file
by file, its manifest last, so that one without a manifest is incomplete. Because the names of the files contain their
checksums, several machines may put the same model directory at the same time.
"""

import abc
import contextlib
import os
import re
import secrets
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

from abound.errors import AboundError, DamagedModel, ModelError, PlaceUnavailable, UnknownFormat, missing_extra
from abound.store.directory import (
    MANIFEST,
    MANIFEST_MAX_BYTES,
    copy_file,
    data_files,
    read_manifest,
    read_model,
    sync_directory,
)
from abound.store.locks import lock_directory

__all__ = ["Place", "open_place"]

PRIVATE_DIRECTORY, PRIVATE_FILE = 0o700, 0o600  # other users must not read the corrections
N_TRANSFERS = 4  # files that are copied at the same time
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*")
GETTING = ".getting-"  # the prefix of a local directory that is not complete yet
UPLOADS_ARE_ATOMIC = frozenset({"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss"})  # an object is there whole, or not
Item = TypeVar("Item")


class Place(abc.ABC):
    """Model directories at a place that several machines reach; see `open_place`.

    Names are relative paths with "/", such as `snapshots/12`. One of them must not be put and removed at the same time;
    everything else may happen at the same time on several machines.

    Parameters
    ----------
    name : str
        What messages call it, without a password.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def names(self, folder: str) -> list[str]:
        """Return the names of the complete model directories in a folder, such as `folder/12`, in order."""
        return self._directories(folder, complete=True)

    def incomplete(self, folder: str) -> list[str]:
        """Return the names of the other directories in a folder: of interrupted puts and removals, or in progress."""
        return self._directories(folder, complete=False)

    def _directories(self, folder: str, *, complete: bool) -> list[str]:
        if folder:
            _check_name(folder)
        with self._reaching("read"):
            found = [f"{folder}/{one}".lstrip("/") for one in self._below(folder) if NAME.fullmatch(one)]
            return sorted(name for name in found if (MANIFEST in self._sizes(name)) == complete)

    def manifest(self, name: str) -> dict[str, Any]:
        """Return the content of a model directory's manifest.

        Raises
        ------
        ModelError
            If there is no complete model directory of this name, or its manifest is damaged.
        PlaceUnavailable
            If the place cannot be read.
        """
        with tempfile.TemporaryDirectory(prefix="abound-") as folder:
            return self._get_manifest(name, Path(folder))

    def put(self, name: str, path: str | os.PathLike[str]) -> None:
        """Copy a local model directory to the place, unless it is there already; an interrupted copy is completed.

        Raises
        ------
        ModelError
            If the local directory is not an intact model.
        PlaceUnavailable
            If the place cannot be written.
        """
        _check_name(name)
        path = Path(path)
        with self._reaching("read"):
            present = self._sizes(name)
        if MANIFEST in present:
            return
        files = data_files(read_model(path).content)
        missing = [file for file in files if present.get(file) != (path / file).stat().st_size]
        with self._reaching("written"):
            _in_threads(lambda file: self._upload(path / file, f"{name}/{file}"), missing)
            self._upload(path / MANIFEST, f"{name}/{MANIFEST}")

    def get(self, name: str, path: str | os.PathLike[str]) -> None:
        """Copy a model directory to a new local directory, which is there whole or not at all.

        Raises
        ------
        ModelError
            If there is no complete model directory of this name, or it is damaged.
        PlaceUnavailable
            If the place cannot be read, or the disk is full.
        """
        path = Path(path)
        if path.exists():
            raise FileExistsError(f"{path} exists; name a new directory")
        path.parent.mkdir(mode=PRIVATE_DIRECTORY, parents=True, exist_ok=True)
        with _directory_beside(path) as temporary:
            files = data_files(self._get_manifest(name, temporary))
            with self._reaching("read"):
                _in_threads(lambda file: self._get_file(name, file, temporary), files)
            for file in temporary.iterdir():
                _make_durable(file)
            try:
                read_model(temporary)
            except DamagedModel as error:
                raise DamagedModel(f"{name} at {self.name} is damaged: {error}") from None
            sync_directory(temporary)
            temporary.rename(path)
        sync_directory(path.parent)

    def remove(self, name: str) -> None:
        """Remove a model directory, complete or not; its manifest is removed first."""
        _check_name(name)
        with self._reaching("written"):
            self._remove_file(f"{name}/{MANIFEST}")
            self._remove_directory(name)

    def _get_manifest(self, name: str, target: Path) -> dict[str, Any]:
        _check_name(name)
        with self._reaching("read"):
            size = self._sizes(name).get(MANIFEST)
            if size is None:
                raise UnknownFormat(f"{self.name} has no complete model directory {name}")
            if size > MANIFEST_MAX_BYTES:
                raise DamagedModel(
                    f"the {MANIFEST} of {name} at {self.name} is larger than {MANIFEST_MAX_BYTES:,} bytes"
                )
            self._get_file(name, MANIFEST, target)
        try:
            return read_manifest(target)
        except ModelError as error:
            raise type(error)(f"{name} at {self.name} cannot be used: {error}") from None

    def _get_file(self, name: str, file: str, target: Path) -> None:
        try:
            self._download(f"{name}/{file}", target / file)
        except FileNotFoundError:
            raise DamagedModel(f"{name} at {self.name} has no {file}, or was removed meanwhile") from None

    @contextlib.contextmanager
    def _reaching(self, what: str) -> Iterator[None]:
        """Translate the errors of a place."""
        try:
            yield
        except AboundError:
            raise
        except Exception as error:  # each file system of fsspec has classes of its own
            reason = " ".join(str(error).split()) or type(error).__name__
            raise PlaceUnavailable(f"{self.name} cannot be {what}: {reason}") from error

    # -- what each kind of place does ----------------------------------------------------------------

    @abc.abstractmethod
    def _below(self, folder: str) -> list[str]:
        """Return the last parts of the names of a folder's directories; none if there is no such folder."""

    @abc.abstractmethod
    def _sizes(self, name: str) -> dict[str, int]:
        """Return the sizes of a directory's files by their names; none if there is no such directory."""

    @abc.abstractmethod
    def _upload(self, source: Path, target: str) -> None:
        """Copy a local file to the place; it must never be visible in part, and must replace an equal one."""

    @abc.abstractmethod
    def _download(self, source: str, target: Path) -> None:
        """Copy a file of the place; raise FileNotFoundError if there is none."""

    @abc.abstractmethod
    def _remove_file(self, name: str) -> None:
        """Remove a file; do nothing if there is none."""

    @abc.abstractmethod
    def _remove_directory(self, name: str) -> None:
        """Remove a directory with its files; do nothing if there is none."""


class MountedPlace(Place):
    """A directory that is mounted on all machines."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self._root = path

    def _below(self, folder: str) -> list[str]:
        path = self._root / folder
        return [one.name for one in path.iterdir() if one.is_dir()] if path.is_dir() else []

    def _sizes(self, name: str) -> dict[str, int]:
        path, sizes = self._root / name, {}
        for one in path.iterdir() if path.is_dir() else ():
            with contextlib.suppress(FileNotFoundError):  # removed, or a temporary name
                sizes[one.name] = one.stat().st_size
        return sizes

    def _upload(self, source: Path, target: str) -> None:
        path = self._root / target
        for parent in reversed(path.relative_to(self._root).parents):
            self._make_directory(self._root / parent)
        copy_file(source, path, PRIVATE_FILE)
        sync_directory(path.parent)

    def _make_directory(self, path: Path) -> None:
        if not path.is_dir():
            path.mkdir(mode=PRIVATE_DIRECTORY, exist_ok=True)
            sync_directory(path.parent)

    def _download(self, source: str, target: Path) -> None:
        shutil.copyfile(self._root / source, target)

    def _remove_file(self, name: str) -> None:
        path = self._root / name
        if path.exists():
            path.unlink(missing_ok=True)
            sync_directory(path.parent)

    def _remove_directory(self, name: str) -> None:
        if (self._root / name).is_dir():
            shutil.rmtree(self._root / name)


class RemotePlace(Place):
    """A folder of one of fsspec's file systems, such as a bucket."""

    def __init__(self, url: str) -> None:
        super().__init__(_without_password(url))
        self._files, root = _open_url(url)
        self._root = root.rstrip("/")
        self._is_atomic = url.partition("://")[0] in UPLOADS_ARE_ATOMIC

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}".rstrip("/")

    def _entries(self, name: str, kind: str) -> dict[str, int]:
        """Return the names of a directory's entries of a type, with their sizes."""
        self._files.invalidate_cache()  # another machine may have changed it
        try:
            entries = self._files.ls(self._path(name), detail=True)
        except FileNotFoundError:
            return {}
        names = [(str(one["name"]).rstrip("/").rpartition("/")[2], one) for one in entries]
        return {last: int(one.get("size") or 0) for last, one in names if one["type"] == kind}

    def _below(self, folder: str) -> list[str]:
        return list(self._entries(folder, "directory"))

    def _sizes(self, name: str) -> dict[str, int]:
        return self._entries(name, "file")

    def _upload(self, source: Path, target: str) -> None:
        path = self._path(target)
        if self._is_atomic:
            self._files.put_file(str(source), path)
            return
        folder = path.rpartition("/")[0]
        self._files.makedirs(folder, exist_ok=True)
        temporary = f"{folder}/.writing-{secrets.token_hex(8)}"
        try:
            self._files.put_file(str(source), temporary)
            self._files.mv(temporary, path)
        except BaseException:
            with contextlib.suppress(Exception):
                self._files.rm_file(temporary)
            raise

    def _download(self, source: str, target: Path) -> None:
        self._files.get_file(self._path(source), str(target))

    def _remove_file(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._files.rm_file(self._path(name))

    def _remove_directory(self, name: str) -> None:
        self._files.invalidate_cache()
        with contextlib.suppress(FileNotFoundError):
            self._files.rm(self._path(name), recursive=True)


def open_place(where: str) -> Place:
    """Open a place for model directories.

    Parameters
    ----------
    where : str
        A directory, or a URL of fsspec such as `s3://bucket/folder`. The package of a protocol, such as s3fs, reads its
        own settings, for example `AWS_ENDPOINT_URL`. A directory is created by the first put, in an existing one.

    Raises
    ------
    ValueError
        If this is not a directory or a URL.
    ImportError
        If a package is missing that the URL needs.
    """
    if not where:
        raise ValueError("a place for snapshots is a directory or a URL, got an empty string")
    if "://" not in where:
        return _open_directory(Path(where))
    scheme, _, rest = where.partition("://")
    if scheme in ("file", "local"):
        if not rest.startswith("/"):
            raise ValueError(f"{where} has no absolute path; write {scheme}:///directory")
        return _open_directory(Path(unquote(rest)))
    return RemotePlace(where)


def _open_directory(path: Path) -> Place:
    path = path.absolute()
    if path.exists() and not path.is_dir():
        raise ValueError(f"{path} is not a directory, so it cannot be a place for snapshots")
    if not path.parent.is_dir():
        raise ValueError(f"{path} cannot be a place for snapshots: there is no directory {path.parent}")
    return MountedPlace(path)


def _open_url(url: str) -> tuple[Any, str]:
    """Return a file system of fsspec, and the path of a URL in it."""
    try:
        from fsspec.core import url_to_fs
        from fsspec.registry import get_filesystem_class, known_implementations
    except ImportError:
        raise missing_extra("a place at a URL needs fsspec", "fsspec", "fsspec") from None
    protocol, shown = url.partition("://")[0], _without_password(url)
    known = known_implementations.get(protocol)
    try:
        get_filesystem_class(protocol)
    except ImportError as error:
        package = known["class"].partition(".")[0] if known else "fsspec"
        needed = f"{package}: pip install {package}" if package != "fsspec" else f"another package: {error}"
        raise ImportError(f"a place at {protocol}:// needs {needed}", name=package) from None
    except ValueError:
        raise ValueError(
            f"{shown} has the unknown protocol {protocol!r}; s3, gs and abfs are known, for example"
        ) from None
    try:
        # An instance of its own, because listings must not be cached, and because a fork must not share connections.
        files, root = url_to_fs(url, skip_instance_cache=True, use_listings_cache=False)
    except Exception as error:
        raise ValueError(f"{shown} cannot be a place for snapshots: {' '.join(str(error).split())}") from error
    if not root.strip("/"):
        raise ValueError(f"{shown} has no path; write {protocol}://bucket/folder, for example")
    return files, str(root)


def _without_password(url: str) -> str:
    """Return a URL as messages show it.

    Examples
    --------
    >>> _without_password("ftp://abound:secret@files.example/snapshots")
    'ftp://files.example/snapshots'
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return "the place"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _check_name(name: str) -> None:
    if not NAME.fullmatch(name):
        raise ValueError(f"a name at a place has letters, digits, '.', '_' and '-' in parts between '/', got {name!r}")


def _in_threads(function: Callable[[Item], None], items: Iterable[Item]) -> None:
    """Call a function for each item, a few at the same time; after an error, no further call begins."""
    failed = threading.Event()

    def call(item: Item) -> None:
        if failed.is_set():
            return
        try:
            function(item)
        except BaseException:
            failed.set()
            raise

    with ThreadPoolExecutor(N_TRANSFERS) as threads:
        for _ in threads.map(call, items):
            pass


@contextlib.contextmanager
def _directory_beside(path: Path) -> Iterator[Path]:
    """Make a directory beside a path; remove it at the end unless it was renamed, and those of processes that died."""
    for leftover in path.parent.glob(f"{GETTING}*"):
        with contextlib.suppress(BlockingIOError), lock_directory(leftover, _refuse) as locked:
            if locked:
                shutil.rmtree(leftover, ignore_errors=True)
    temporary = path.parent / f"{GETTING}{path.name}-{secrets.token_hex(8)}"
    with lock_directory(temporary):
        temporary.chmod(PRIVATE_DIRECTORY)
        try:
            yield temporary
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def _refuse() -> None:
    raise BlockingIOError("another process writes the directory")


def _make_durable(path: Path) -> None:
    path.chmod(PRIVATE_FILE)
    with open(path, "r+b") as file:
        os.fsync(file.fileno())
