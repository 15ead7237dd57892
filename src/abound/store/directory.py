"""A model is a directory: manifest.json and plain .npy files.

The manifest lists every file with its type, shape and checksum, and is itself checksummed. Data files carry
their checksum in their name, so a new version never overwrites an old file; replacing manifest.json is the one
step that makes it current, and it is atomic. Nothing read here is believed before it is checked, nothing is
unpickled, and arrays come back as private maps of their files.
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
FORMAT_VERSION = 2
READABLE = (1, 2)  # of version 1: taggers have a mode, and may have stopped to count words after `fit`
MANIFEST = "manifest.json"
MANIFEST_MAX_BYTES = 1 << 20
MAX_FILES = 200  # of a model; the largest kind has about fifty
HASHED_BYTES = 1 << 22  # at a time
MAX_HOLES = 1 << 26  # bytes of all files that no disk holds; hashing them costs time, writing them costs nothing
KEY = re.compile(r"[a-z][a-z_]{0,40}")
DATA_FILE = re.compile(r"[a-z][a-z_]{0,40}-[0-9a-f]{16}\.npy")

DTYPES: dict[str, np.dtype[Any]] = {
    "uint8": np.dtype("|u1"),
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
    """An array that is written block by block, because a second copy would not fit."""

    dtype: np.dtype[Any]
    length: int
    blocks: Callable[[], Iterator[NDArray[Any]]]


Source: TypeAlias = NDArray[Any] | Blocks


def _dtype_name(dtype: np.dtype[Any]) -> str:
    for name, known in DTYPES.items():
        if known == dtype:
            return name
    raise TypeError(f"a model file cannot hold {dtype}; known are {', '.join(DTYPES)}")


def _header(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """Return the .npy header, always the same for the same type and shape."""
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
    """Hash a state a piece at a time; return the hash. The state must be the same whenever this goes on."""
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
    """Hash a state in its canonical form: what a model directory of it would hold."""
    steps = hash_steps(kind, arrays)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return str(end.value)


def _combine(kind: str, digests: Mapping[str, str]) -> str:
    lines = [kind, *(f"{key} {digests[key]}" for key in sorted(digests))]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _canonical(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


# -- writing -----------------------------------------------------------------------------------------


def sync_directory(path: Path) -> None:
    """Have the names in a directory on the disk."""
    if os.name == "nt":  # a directory cannot be opened there, nor does its entry need a sync
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _temporary(path: Path) -> Iterator[tuple[BinaryIO, Path]]:
    """Open a new file beside its later name; it is removed unless it was renamed."""
    descriptor, name = tempfile.mkstemp(prefix=".writing-", dir=path)
    try:
        with open(descriptor, "wb") as file:
            yield file, Path(name)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


def _finish(file: BinaryIO, temporary: Path, target: Path) -> None:
    file.flush()
    os.fsync(file.fileno())
    os.chmod(temporary, 0o644)
    os.replace(temporary, target)


def write_array(path: Path, key: str, source: Source) -> dict[str, Any]:
    """Write one file of a model directory, and return what its manifest must say of it."""
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
    """Write a model directory, or replace the model in one, so that a crash leaves the old or the new one.

    Parameters
    ----------
    path : path
        The directory; it is made if there is none.
    content : mapping
        What the manifest says beside the files; must hold ``kind`` and be JSON.
    arrays : mapping from name to array or Blocks
        The state, in its canonical form.
    """
    path = Path(path)
    with exclusive_writer(path):
        if not is_free(path) and not (path / MANIFEST).exists():
            raise FileExistsError(f"{path} is not empty and holds no model; give a new or an empty directory")
        try:
            write_manifest(path, content, {key: write_array(path, key, source) for key, source in arrays.items()})
        except BaseException as error:
            if isinstance(error, OSError) and error.errno is not None and error.filename is None:
                error.filename = os.fspath(path)  # a full disk does not say what did not fit
            with contextlib.suppress(OSError, ModelError):
                remove_unlisted(path, read_manifest(path)["files"] if (path / MANIFEST).exists() else {})
            raise


def is_free(path: Path) -> bool:
    """Tell whether a directory holds nothing but what a writer that died has left of a model."""
    if (path / MANIFEST).exists():
        return False
    return all(file.name.startswith(".writing-") or DATA_FILE.fullmatch(file.name) for file in path.iterdir())


def link_array(path: Path, key: str, source: Path, old_key: str, entry: Mapping[str, Any]) -> None:
    """Put a file of another model directory into this one, by a second name for it or, where there is none, a copy."""
    name = f"-{entry['sha256'][:16]}.npy"
    target = path / (key + name)
    if target.exists():
        return
    try:
        os.link(source / (old_key + name), target)
    except FileExistsError:
        return
    except OSError:  # another disk, or one that knows no links
        with _temporary(path) as (file, temporary), open(source / (old_key + name), "rb") as old:
            shutil.copyfileobj(old, file)
            _finish(file, temporary, target)


def write_manifest(path: Path, content: Mapping[str, Any], files: Mapping[str, Mapping[str, Any]]) -> str:
    """Make files that `write_array` wrote the model of a directory; return the state hash.

    A file that no longer belongs to the model is removed.
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


def remove_unlisted(path: Path, files: Mapping[str, Mapping[str, Any]]) -> None:
    """Remove the arrays in a directory that its manifest, whose files are given, does not list."""
    current = {f"{key}-{file['sha256'][:16]}.npy" for key, file in files.items()}
    for old in path.iterdir():
        if DATA_FILE.fullmatch(old.name) and old.name not in current:
            with contextlib.suppress(OSError):  # Windows keeps a file that is still mapped; the next write removes it
                old.unlink()


# -- reading -----------------------------------------------------------------------------------------


# Without O_NONBLOCK, opening a pipe would wait for somebody to write into it.
_PLAIN = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_BINARY", "O_NONBLOCK", "O_CLOEXEC"))


def _open_plain(path: Path) -> BinaryIO:
    """Open a regular file; a link, a pipe, a directory or a device is refused."""
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


def _holes(file: BinaryIO, size: int, most: int) -> int:
    """Return how many bytes of a file stand on no disk; counting stops beyond `most`."""
    if not hasattr(os, "SEEK_HOLE"):  # Windows makes holes only where it is told to
        return 0
    descriptor, at, found = file.fileno(), 0, 0
    while at < size and found <= most:
        hole = os.lseek(descriptor, at, os.SEEK_HOLE)
        if hole >= size:
            break
        try:
            at = os.lseek(descriptor, hole, os.SEEK_DATA)
        except OSError:  # nothing but a hole up to the end
            at = size
        found += at - hole
    os.lseek(descriptor, 0, os.SEEK_SET)
    return found


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("a key occurs twice")
    return dict(pairs)


def read_manifest(path: Path) -> dict[str, Any]:
    """Return what the manifest of a model directory says, without a look at its other files."""
    try:
        with _open_plain(path / MANIFEST) as file:
            raw = file.read(MANIFEST_MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        raise UnknownFormat(f"{path} is no model: it has no {MANIFEST}") from None
    if len(raw) > MANIFEST_MAX_BYTES:
        raise DamagedModel(f"{MANIFEST} is larger than {MANIFEST_MAX_BYTES:,} bytes")
    try:
        outer = json.loads(raw, object_pairs_hook=_without_repeats)
        content, checksum = outer["content"], outer["checksum"]
        canonical = _canonical(content)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DamagedModel(f"{MANIFEST} cannot be read: {error}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise UnknownFormat(f"{path} is no model: {MANIFEST} does not say {FORMAT!r}")
    version = content.get("format_version")
    if type(version) is not int or version not in READABLE:
        readable = " and ".join(map(str, READABLE))
        raise UnknownFormat(f"{path} has format version {version!r}; this version of abound reads {readable}")
    if hashlib.sha256(canonical).hexdigest() != checksum:
        raise DamagedModel(f"{MANIFEST} does not match its checksum")
    return content


def _described(key: str, entry: Any) -> tuple[np.dtype[Any], tuple[int, ...], str]:
    """Return type, shape and checksum from a manifest's entry, each checked for form."""
    if not KEY.fullmatch(key) or not isinstance(entry, dict):
        raise DamagedModel(f"{MANIFEST} has a bad entry for a file")
    dtype, shape, checksum = DTYPES.get(str(entry.get("dtype"))), entry.get("shape"), str(entry.get("sha256"))
    if dtype is None or not isinstance(shape, list) or not 1 <= len(shape) <= 2:
        raise DamagedModel(f"{MANIFEST} gives {key} a type or a shape that no model has")
    if any(type(n) is not int or not 0 <= n < 1 << 48 for n in shape):
        raise DamagedModel(f"{MANIFEST} gives {key} an impossible shape")
    if not re.fullmatch("[0-9a-f]{64}", checksum):
        raise DamagedModel(f"{MANIFEST} gives {key} no proper checksum")
    return dtype, tuple(shape), checksum


def _map_array(path: Path, key: str, entry: Any, most_holes: int) -> tuple[NDArray[Any], mmap.mmap, int]:
    """Return an array, the bytes of its whole file, and how many of them are holes."""
    dtype, shape, checksum = _described(key, entry)
    name = f"{key}-{checksum[:16]}.npy"
    header = _header(dtype, shape)
    n_bytes = dtype.itemsize
    for n in shape:
        n_bytes *= n
    with _open_plain(path / name) as file:
        if os.fstat(file.fileno()).st_size != len(header) + n_bytes:
            raise DamagedModel(f"{name} has not the size that its shape {shape} needs")
        holes = _holes(file, len(header) + n_bytes, most_holes)
        if holes > most_holes:
            raise DamagedModel(f"{name} is mostly a hole: it promises bytes that no disk holds")
        if file.read(len(header)) != header:
            raise DamagedModel(f"the header of {name} does not match {MANIFEST}")
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    array = np.frombuffer(mapped, dtype, n_bytes // dtype.itemsize, len(header)).reshape(shape)
    return array, mapped, holes


def _map_all(path: Path, content: dict[str, Any], verify: bool) -> dict[str, NDArray[Any]]:
    """Map every file, and only then read them: what is cheap to refuse is refused first."""
    arrays, whole, holes = {}, {}, 0
    for key, entry in content["files"].items():
        arrays[key], whole[key], found = _map_array(path, key, entry, MAX_HOLES - holes)
        holes += found
    checksums = {key: entry["sha256"] for key, entry in content["files"].items()}
    if content.get("state_hash") != _combine(str(content.get("kind")), checksums):
        raise DamagedModel(f"the state hash in {MANIFEST} is not that of its files")
    for key, checksum in checksums.items() if verify else ():
        if hashlib.sha256(whole[key]).hexdigest() != checksum:
            raise DamagedModel(f"{key}-{checksum[:16]}.npy does not match its checksum")
    return arrays


def read_model(path: str | os.PathLike[str], *, verify: bool = True) -> Model:
    """Read a model directory; its arrays are private maps of the files, read when touched.

    Parameters
    ----------
    path : path
        The directory.
    verify : bool
        Compare every file with its checksum, which reads the whole of it.

    Raises
    ------
    UnknownFormat, DamagedModel
        With what was found, in one sentence.
    """
    path = Path(path)
    for attempt in (1, 2, 3):
        content = read_manifest(path)
        files = content.get("files")
        if not isinstance(files, dict) or not isinstance(content.get("kind"), str):
            raise DamagedModel(f"{MANIFEST} lists no files, or does not say what kind of model they are")
        if len(files) > MAX_FILES:
            raise DamagedModel(f"{MANIFEST} lists {len(files)} files; a model has at most {MAX_FILES}")
        try:
            return Model(content, _map_all(path, content, verify))
        except FileNotFoundError as error:
            # Between our two steps a writer may have replaced the model: then the manifest is another one now.
            if attempt == 3 or read_manifest(path) == content:
                raise DamagedModel(f"{Path(error.filename).name} is missing") from None
    raise AssertionError("unreachable")
