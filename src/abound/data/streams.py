"""Byte streams: compression, standard streams, progress, atomic files."""

import bz2
import gzip
import io
import lzma
import os
import secrets
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from abound.data.extras import require

COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")
STANDARD = "-"
# Bytes to read at once: enough that the decompressors' readinto, which is Python code, is called rarely.
READ_BYTES = 1 << 18
_XZ_MEMORY = 1 << 28  # bytes; `xz -9` needs a quarter of it


def source_name(path: str) -> str:
    """Return a path for messages."""
    return "<stdin>" if path == STANDARD else path


def compression_of(path: str) -> str:
    """Return the compression suffix of a path, or an empty string."""
    suffix = os.path.splitext(path)[1].lower()
    return suffix if suffix in COMPRESSIONS else ""


class CountingStream(io.RawIOBase):
    """A raw stream that counts the bytes read from another stream.

    Parameters
    ----------
    inner : BinaryIO
        The stream to read from.
    owned : bool
        Whether closing this stream also closes `inner`; standard input stays open.
    """

    def __init__(self, inner: Any, owned: bool) -> None:
        self._inner = inner
        self._owned = owned
        # readinto of a buffered stream waits for a full buffer; readinto1 returns what a pipe has.
        self._readinto = getattr(inner, "readinto1", inner.readinto)
        self.count = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return whether the inner stream can seek."""
        return self._owned and bool(self._inner.seekable())

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Seek in the inner stream, which Parquet needs."""
        return int(self._inner.seek(offset, whence))

    def tell(self) -> int:
        """Return the inner stream's position."""
        return int(self._inner.tell())

    def readinto(self, buffer: Any, /) -> int:
        """Read into `buffer` from the inner stream, and count the bytes."""
        n_bytes = int(self._readinto(buffer) or 0)
        self.count += n_bytes
        return n_bytes

    def close(self) -> None:
        """Close this stream, and the inner one if it is owned."""
        if self._owned:
            self._inner.close()
        super().close()


class _Frames(io.RawIOBase):
    """Decompress consecutive frames, no more than requested at a time, and detect truncated frames.

    Unlike the classes of the standard library, it limits the memory of xz and accepts only zeros after the end.

    Parameters
    ----------
    source : BinaryIO
        The compressed bytes.
    new : callable
        Returns the decompressor of a frame.
    errors : type of exception
        The error that the decompressor raises for damaged input.
    """

    def __init__(self, source: BinaryIO, new: Callable[[], Any], errors: type[Exception]) -> None:
        self._source = source
        self._new, self._errors = new, errors
        self._frame = new()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        while True:
            data = b""
            if self._frame.eof:
                data = self._after_frame()
                if not data:
                    return 0
                self._frame = self._new()
            elif self._frame.needs_input:
                data = self._source.read(1 << 16)
                if not data:
                    raise EOFError("no end of frame")
            try:
                part = self._frame.decompress(data, len(buffer))
            except self._errors as error:
                raise OSError(str(error)) from error
            if part:
                buffer[: len(part)] = part
                return len(part)

    def _after_frame(self) -> bytes:
        data = self._frame.unused_data.lstrip(b"\0")
        while not data and (more := self._source.read(1 << 16)):
            data = more.lstrip(b"\0")
        return bytes(data)


@contextmanager
def open_input(path: str) -> Iterator[tuple[BinaryIO, CountingStream]]:
    """Open a file, or standard input for '-', decompressed by its suffix.

    Yields
    ------
    stream : BinaryIO
        The decompressed bytes.
    counted : CountingStream
        Counts the compressed bytes read so far.
    """
    if path == STANDARD:
        counted = CountingStream(sys.stdin.buffer, owned=False)
    else:
        counted = CountingStream(open(path, "rb", buffering=0), owned=True)  # noqa: SIM115  closed by CountingStream
    with counted:
        suffix = compression_of(path)
        buffered = io.BufferedReader(counted, READ_BYTES)
        if not suffix:
            yield buffered, counted
            return
        with _decompressed(buffered, suffix) as raw:
            # The buffer reads lines in C; the readline of the decompressors is Python code and slower.
            yield io.BufferedReader(raw, READ_BYTES), counted


def _decompressed(stream: Any, suffix: str) -> Any:
    if suffix == ".gz":
        return gzip.GzipFile(fileobj=stream, mode="rb")
    if suffix == ".bz2":
        return _Frames(stream, bz2.BZ2Decompressor, OSError)
    if suffix == ".xz":
        return _Frames(stream, partial(lzma.LZMADecompressor, memlimit=_XZ_MEMORY), lzma.LZMAError)
    zstd = _zstd()
    return _Frames(stream, zstd.ZstdDecompressor, zstd.ZstdError)


def _zstd() -> Any:
    """Return the zstd module of Python 3.14 or later, or its backport."""
    name = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    return require(name, "zstd", ".zst files")


def _compressed(stream: BinaryIO, suffix: str) -> Any:
    if suffix == ".gz":
        # Without time and name, the same records give the same bytes.
        return gzip.GzipFile(filename="", fileobj=stream, mode="wb", mtime=0)
    if suffix == ".bz2":
        return bz2.BZ2File(stream, "wb")
    if suffix == ".xz":
        return lzma.LZMAFile(stream, "wb")
    return _zstd().ZstdFile(stream, "wb")


@contextmanager
def open_output(path: str) -> Iterator[BinaryIO]:
    """Open a file to write atomically, or standard output for '-'.

    The data is written to a temporary file beside the target, which is renamed at the end. If the block raises an
    error, the target is unchanged. A target that is not a regular file (a pipe, /dev/null) is written directly.
    """
    if path == STANDARD:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = Path(os.path.realpath(path))  # replace the file that a link points to, not the link
    suffix = compression_of(path)
    if target.exists() and not target.is_file():
        with open(target, "wb") as stream, _maybe_compressed(stream, suffix) as out:
            yield out
        return
    temporary = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as stream:
            with _maybe_compressed(stream, suffix) as out:
                yield out
            stream.flush()
            os.fsync(stream.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except OSError as error:
        if error.errno is not None and error.filename is None:  # the error of a full disk does not name the file
            error.filename = path
        raise
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def _maybe_compressed(stream: BinaryIO, suffix: str) -> Iterator[BinaryIO]:
    if not suffix:
        yield stream
        return
    with _compressed(stream, suffix) as out:
        yield out
