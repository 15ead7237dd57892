"""A model is a directory with manifest.json and plain .npy files.

The manifest lists every file with its type, shape and checksum, and has a checksum itself. The name of a data file
contains its checksum, so a new version never overwrites an old file; it becomes current by the atomic replacement of
manifest.json. All input is validated, nothing is unpickled, and arrays are private memory maps of their files.
"""

import contextlib
import hashlib
import json
import mmap
import os
import re
import shutil
import stat
import struct
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from abound.errors import DamagedModel, ModelError, UnknownFormat
from abound.kernels.pool import EDGE_DTYPE
from abound.kernels.rated import RATED_DTYPE, RATING_DTYPE
from abound.store.locks import exclusive_writer
from abound.store.model import Model

FORMAT = "abound model"
FORMAT_VERSION = 5
# 1: taggers have a mode, and may not count words after `fit`; 2: models have no calibration; 3: one kind of tokenizer,
# and no hierarchy; 4: no second opinion
READABLE = (1, 2, 3, 4, 5)
MANIFEST = "manifest.json"
JOURNAL = "journal.sqlite"  # in the home of a served model
MANIFEST_MAX_BYTES = 1 << 20
MAX_FILES = 200  # of a model; the largest kind has about 50
HASHED_BYTES = 1 << 22  # per step
N_THREADS = 2  # that hash files; most of the time to read or write a model is hashing
MAX_HOLES = 1 << 26  # bytes in holes of sparse files, all files together: free to write, but slow to hash
KEY = re.compile(r"[a-z][a-z_]{0,40}")
DATA_FILE = re.compile(r"[a-z][a-z_]{0,40}-[0-9a-f]{16}\.npy")

DTYPES: dict[str, np.dtype[Any]] = {
    "uint8": np.dtype("|u1"),
    "int8": np.dtype("|i1"),
    "int16": np.dtype("<i2"),
    "int32": np.dtype("<i4"),
    "int64": np.dtype("<i8"),
    "float32": np.dtype("<f4"),
    "float64": np.dtype("<f8"),
    "edge": EDGE_DTYPE,
    "rated edge": RATED_DTYPE,
    "rating": RATING_DTYPE,
}


@dataclass(frozen=True)
class Blocks:
    """An array that is written block by block, to avoid a second copy in memory."""

    dtype: np.dtype[Any]
    length: int
    blocks: Callable[[], Iterator[NDArray[Any]]]


Source: TypeAlias = NDArray[Any] | Blocks


def _dtype_name(dtype: np.dtype[Any]) -> str:
    for name, known in DTYPES.items():
        if known == dtype:
            return name
    raise TypeError(f"a model file cannot contain {dtype}; supported types are {', '.join(DTYPES)}")


def _header(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """Return the .npy header; it depends on the type and the shape only."""
    descr = repr(dtype.descr) if dtype.names else repr(dtype.str)
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape!r}, }}"
    padding = -(10 + len(text) + 1) % 64
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text) + padding + 1) + (text + " " * padding + "\n").encode()


def _pieces(source: Source) -> Iterator[memoryview]:
    """Yield the bytes of a .npy file."""
    if isinstance(source, Blocks):
        yield memoryview(_header(source.dtype, (source.length,)))
        blocks = source.blocks()
    else:
        yield memoryview(_header(source.dtype, source.shape))
        blocks = iter([np.ascontiguousarray(source)])
    for block in blocks:
        if block.size:
            yield block.reshape(-1).view(np.uint8).data


def hash_steps(kind: str, arrays: Mapping[str, Source]) -> Generator[None, None, str]:
    """Hash a state in steps and return the hash; the state must not change between steps."""
    digests: dict[str, str] = {}
    for key, source in arrays.items():
        digest = hashlib.sha256()
        for piece in _pieces(source):
            for start in range(0, len(piece), HASHED_BYTES):
                digest.update(piece[start : start + HASHED_BYTES])
                yield
        digests[key] = digest.hexdigest()
    return _combine(kind, digests)


def state_hash(kind: str, arrays: Mapping[str, Source]) -> str:
    """Hash a state in its canonical form, which is that of a model directory."""
    steps = hash_steps(kind, arrays)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return str(end.value)


def _combine(kind: str, digests: Mapping[str, str]) -> str:
    lines = [kind, *(f"{key} {digests[key]}" for key in sorted(digests))]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def hash_of_files(content: Mapping[str, Any], without: str) -> str:
    """Return the state hash of a manifest's files, except those whose names have a prefix."""
    digests = {key: str(entry["sha256"]) for key, entry in content["files"].items() if not key.startswith(without)}
    return _combine(str(content["kind"]), digests)


def _canonical(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


# -- writing -----------------------------------------------------------------------------------------


def sync_directory(path: Path) -> None:
    """Flush the entries of a directory to disk."""
    if os.name == "nt":  # Windows cannot open a directory, and its entries need no sync
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _temporary(path: Path) -> Iterator[tuple[BinaryIO, Path]]:
    """Open a temporary file in the directory of its final name; it is removed unless it was renamed."""
    descriptor, name = tempfile.mkstemp(prefix=".writing-", dir=path)
    try:
        with open(descriptor, "wb") as file:
            yield file, Path(name)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


def _finish(file: BinaryIO, temporary: Path, target: Path, mode: int = 0o644) -> None:
    file.flush()
    os.fsync(file.fileno())
    os.chmod(temporary, mode)
    os.replace(temporary, target)


def write_file(path: Path, content: bytes, mode: int = 0o644) -> None:
    """Write a small file, or replace it; after a crash, the old or the new content is there."""
    with _temporary(path.parent) as (file, temporary):
        file.write(content)
        _finish(file, temporary, path, mode)
    sync_directory(path.parent)


def copy_file(source: Path, target: Path, mode: int = 0o644) -> None:
    """Copy a file, or replace one by it; the entry of its directory is not flushed to disk yet."""
    with _temporary(target.parent) as (file, temporary), open(source, "rb") as old:
        shutil.copyfileobj(old, file)
        _finish(file, temporary, target, mode)


def write_array(path: Path, key: str, source: Source) -> dict[str, Any]:
    """Write one file of a model directory; return its entry in the manifest."""
    digest = hashlib.sha256()
    with _temporary(path) as (file, temporary):
        for piece in _pieces(source):
            digest.update(piece)
            file.write(piece)
        checksum = digest.hexdigest()
        _finish(file, temporary, path / f"{key}-{checksum[:16]}.npy")
    shape = [source.length] if isinstance(source, Blocks) else list(source.shape)
    return {"dtype": _dtype_name(source.dtype), "shape": shape, "sha256": checksum}


def write_model(path: str | os.PathLike[str], content: Mapping[str, Any], arrays: Mapping[str, Source]) -> None:
    """Write a model directory, or replace its model; after a crash, the old or the new model is there.

    Parameters
    ----------
    path : path
        The directory; it is created if it does not exist.
    content : mapping
        The manifest's content besides the files, as JSON types; it must have ``kind``.
    arrays : mapping from name to array or Blocks
        The state in its canonical form.
    """
    path = Path(path)
    with exclusive_writer(path):
        if not is_free(path) and not (path / MANIFEST).exists():
            raise FileExistsError(f"{path} is not empty and is not a model; name a new or an empty directory")
        try:
            with ThreadPoolExecutor(N_THREADS) as threads:
                files = threads.map(lambda item: write_array(path, *item), arrays.items())
            write_manifest(path, content, dict(zip(arrays, files, strict=True)))
        except BaseException as error:
            if isinstance(error, OSError) and error.errno is not None and error.filename is None:
                error.filename = os.fspath(path)  # the error of a full disk has no file name
            with contextlib.suppress(OSError, ModelError):
                remove_unlisted(path, read_manifest(path)["files"] if (path / MANIFEST).exists() else {})
            raise


def is_free(path: Path) -> bool:
    """Return whether a directory is empty, apart from the files of an interrupted write."""
    if (path / MANIFEST).exists():
        return False
    return all(file.name.startswith(".writing-") or DATA_FILE.fullmatch(file.name) for file in path.iterdir())


def link_array(path: Path, key: str, source: Path, old_key: str, entry: Mapping[str, Any]) -> None:
    """Add a file of another model directory to this one, as a hard link or, if that is impossible, as a copy."""
    name = f"-{entry['sha256'][:16]}.npy"
    target = path / (key + name)
    if target.exists():
        return
    try:
        os.link(source / (old_key + name), target)
    except FileExistsError:
        return
    except OSError:  # another disk, or a file system without hard links
        copy_file(source / (old_key + name), target)


def write_manifest(path: Path, content: Mapping[str, Any], files: Mapping[str, Mapping[str, Any]]) -> str:
    """Write the manifest for files of `write_array`; return the state hash.

    Files that no longer belong to the model are removed.
    """
    whole = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        **content,
        "files": files,
        "state_hash": _combine(content["kind"], {key: file["sha256"] for key, file in files.items()}),
    }
    checksum = hashlib.sha256(_canonical(whole)).hexdigest()
    with _temporary(path) as (file, temporary):
        file.write(json.dumps({"checksum": checksum, "content": whole}, sort_keys=True, indent=1).encode() + b"\n")
        sync_directory(path)
        _finish(file, temporary, path / MANIFEST)
    sync_directory(path)
    remove_unlisted(path, files)
    return str(whole["state_hash"])


def replace_content(path: Path, content: Mapping[str, Any]) -> None:
    """Replace the manifest's content besides the files of a model directory; `content` must have ``kind``."""
    with exclusive_writer(path):
        write_manifest(path, content, read_manifest(path)["files"])


def copy_model(source: Path, path: Path) -> None:
    """Copy a model directory, or replace another one by it; after a crash, the old or the new model is there.

    The files are linked if both directories are on one disk. Files that the manifest does not list are not copied.
    """
    content = read_manifest(source)
    with exclusive_writer(path):
        if not is_free(path) and not (path / MANIFEST).exists():
            raise FileExistsError(f"{path} is not empty and is not a model; name a new or an empty directory")
        for key, entry in content["files"].items():
            link_array(path, key, source, key, entry)
        sync_directory(path)
        write_file(path / MANIFEST, (source / MANIFEST).read_bytes())
        remove_unlisted(path, content["files"])


def data_files(content: Mapping[str, Any]) -> list[str]:
    """Return the names of the files that a manifest lists, each validated."""
    files = content.get("files")
    if not isinstance(files, dict) or len(files) > MAX_FILES:
        raise DamagedModel(f"{MANIFEST} must have a list of at most {MAX_FILES} files")
    return [f"{key}-{_parse_entry(key, entry)[2][:16]}.npy" for key, entry in files.items()]


def remove_unlisted(path: Path, files: Mapping[str, Mapping[str, Any]]) -> None:
    """Remove the arrays of a directory that are not in `files`, the files of its manifest."""
    current = {f"{key}-{file['sha256'][:16]}.npy" for key, file in files.items()}
    for old in path.iterdir():
        if DATA_FILE.fullmatch(old.name) and old.name not in current:
            with contextlib.suppress(OSError):  # Windows cannot remove a mapped file; the next write removes it
                old.unlink()


# -- reading -----------------------------------------------------------------------------------------


# Without O_NONBLOCK, opening a pipe would wait for a writer.
_PLAIN = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_BINARY", "O_NONBLOCK", "O_CLOEXEC"))


def _open_plain(path: Path) -> BinaryIO:
    """Open a regular file; refuse a link, a pipe, a directory or a device."""
    try:
        descriptor = os.open(path, os.O_RDONLY | _PLAIN)
    except (FileNotFoundError, NotADirectoryError):
        raise
    except OSError as error:
        raise DamagedModel(f"{path.name} cannot be opened as a plain file: {error.strerror}") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise DamagedModel(f"{path.name} is not a plain file")
    return open(descriptor, "rb")


def _count_holes(file: BinaryIO, size: int, most: int) -> int:
    """Return how many bytes of a file are in holes; counting stops beyond `most`."""
    if not hasattr(os, "SEEK_HOLE"):  # on Windows, files are sparse only on request
        return 0
    descriptor, at, in_holes = file.fileno(), 0, 0
    while at < size and in_holes <= most:
        hole = os.lseek(descriptor, at, os.SEEK_HOLE)
        if hole >= size:
            break
        try:
            at = os.lseek(descriptor, hole, os.SEEK_DATA)
        except OSError:  # the hole extends to the end
            at = size
        in_holes += at - hole
    os.lseek(descriptor, 0, os.SEEK_SET)
    return in_holes


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("a key occurs twice")
    return dict(pairs)


def is_home(path: str | os.PathLike[str]) -> bool:
    """Return whether a directory is the home of a served model."""
    return (Path(path) / JOURNAL).is_file()


def no_model(path: str | os.PathLike[str]) -> UnknownFormat:
    """Return the error for a path without a manifest."""
    if not Path(path).exists():
        return UnknownFormat(f"there is no model {path}: no such file or directory")
    return UnknownFormat(f"{path} is not a model: it has no {MANIFEST}")


def read_manifest(path: Path) -> dict[str, Any]:
    """Return the content of a model directory's manifest, without reading the other files."""
    try:
        with _open_plain(path / MANIFEST) as file:
            size = os.fstat(file.fileno()).st_size  # a read allocates all that it may return
            raw = file.read(min(size, MANIFEST_MAX_BYTES) + 1)
    except (FileNotFoundError, NotADirectoryError):
        if is_home(path):
            raise UnknownFormat(f"{path} is the home of a served model; load it with abound.load") from None
        raise no_model(path) from None
    if len(raw) > MANIFEST_MAX_BYTES:
        raise DamagedModel(f"{MANIFEST} is larger than {MANIFEST_MAX_BYTES:,} bytes")
    try:
        outer = json.loads(raw, object_pairs_hook=_without_repeats)
        content, checksum = outer["content"], outer["checksum"]
        canonical = _canonical(content)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DamagedModel(f"{MANIFEST} cannot be read: {error}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise UnknownFormat(f"{path} is not a model: the format in {MANIFEST} is not {FORMAT!r}")
    version = content.get("format_version")
    if type(version) is not int or version not in READABLE:
        readable = " and ".join(map(str, READABLE))
        raise UnknownFormat(f"{path} has format version {version!r}; this version of abound reads {readable}")
    if hashlib.sha256(canonical).hexdigest() != checksum:
        raise DamagedModel(f"{MANIFEST} does not match its checksum")
    return content


def _parse_entry(key: str, entry: Any) -> tuple[np.dtype[Any], tuple[int, ...], str]:
    """Return the type, shape and checksum of a manifest's entry, each validated."""
    if not KEY.fullmatch(key) or not isinstance(entry, dict):
        raise DamagedModel(f"{MANIFEST} has an invalid entry for a file")
    dtype, shape, checksum = DTYPES.get(str(entry.get("dtype"))), entry.get("shape"), str(entry.get("sha256"))
    if dtype is None or not isinstance(shape, list) or not 1 <= len(shape) <= 2:
        raise DamagedModel(f"{MANIFEST} has an invalid type or shape for {key}")
    if any(type(n) is not int or not 0 <= n < 1 << 48 for n in shape):
        raise DamagedModel(f"{MANIFEST} has an impossible shape for {key}")
    if not re.fullmatch("[0-9a-f]{64}", checksum):
        raise DamagedModel(f"{MANIFEST} has an invalid checksum for {key}")
    return dtype, tuple(shape), checksum


def _map_array(path: Path, key: str, entry: Any, max_holes: int) -> tuple[NDArray[Any], mmap.mmap, int]:
    """Return an array, the bytes of its file, and how many of them are in holes."""
    dtype, shape, checksum = _parse_entry(key, entry)
    name = f"{key}-{checksum[:16]}.npy"
    header = _header(dtype, shape)
    n_bytes = dtype.itemsize
    for n in shape:
        n_bytes *= n
    with _open_plain(path / name) as file:
        if os.fstat(file.fileno()).st_size != len(header) + n_bytes:
            raise DamagedModel(f"the size of {name} does not match its shape {shape}")
        holes = _count_holes(file, len(header) + n_bytes, max_holes)
        if holes > max_holes:
            raise DamagedModel(f"{name} is a sparse file: most of its bytes are in holes")
        if file.read(len(header)) != header:
            raise DamagedModel(f"the header of {name} does not match {MANIFEST}")
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    array = np.frombuffer(mapped, dtype, n_bytes // dtype.itemsize, len(header)).reshape(shape)
    return array, mapped, holes


def _map_all(path: Path, content: dict[str, Any], verify: bool) -> dict[str, NDArray[Any]]:
    """Map all files before any is read, so that cheap checks come first."""
    arrays, whole, holes = {}, {}, 0
    for key, entry in content["files"].items():
        arrays[key], whole[key], in_file = _map_array(path, key, entry, MAX_HOLES - holes)
        holes += in_file
    checksums = {key: entry["sha256"] for key, entry in content["files"].items()}
    if content.get("state_hash") != _combine(str(content.get("kind")), checksums):
        raise DamagedModel(f"the state hash in {MANIFEST} does not match its files")
    if verify:
        with ThreadPoolExecutor(N_THREADS) as threads:
            found = threads.map(lambda mapped: hashlib.sha256(mapped).hexdigest(), whole.values())
        for (key, checksum), digest in zip(checksums.items(), found, strict=True):
            if digest != checksum:
                raise DamagedModel(f"{key}-{checksum[:16]}.npy does not match its checksum")
    return arrays


def read_model(path: str | os.PathLike[str], *, verify: bool = True) -> Model:
    """Read a model directory; its arrays are private memory maps of the files.

    Parameters
    ----------
    path : path
        The directory.
    verify : bool
        Whether to verify the checksum of every file, which reads it completely.

    Raises
    ------
    UnknownFormat, DamagedModel
        If the directory is not a model, or is damaged.
    """
    path = Path(path)
    for attempt in (1, 2, 3):
        content = read_manifest(path)
        files = content.get("files")
        if not isinstance(files, dict) or not isinstance(content.get("kind"), str):
            raise DamagedModel(f"{MANIFEST} has no list of files or no kind of model")
        if len(files) > MAX_FILES:
            raise DamagedModel(f"{MANIFEST} lists {len(files)} files; a model has at most {MAX_FILES}")
        try:
            return Model(content, _map_all(path, content, verify))
        except FileNotFoundError as error:
            # A writer may have replaced the model after the manifest was read: then the manifest is another one now.
            if attempt == 3 or read_manifest(path) == content:
                raise DamagedModel(f"{Path(error.filename).name} is missing") from None
    raise AssertionError("unreachable")
