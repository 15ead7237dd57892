"""Bytes in and out: compression, standard streams, progress, atomic files."""

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
# Bytes that are read at once: enough that the Python-level readinto of the decompressors is called rarely.
READ_BYTES = 1 << 18
_XZ_MEMORY = 1 << 28  # bytes; what `xz -9` writes needs a quarter of it


def source_name(path: str) -> str:
    """Return a path as messages name it."""
    return "<stdin>" if path == STANDARD else path


def compression_of(path: str) -> str:
    """Return the compression suffix of a path, or an empty string."""
    suffix = os.path.splitext(path)[1].lower()
    return suffix if suffix in COMPRESSIONS else ""


class CountingStream(io.RawIOBase):
    """A raw stream that counts the bytes taken from another.

    Parameters
    ----------
    inner : BinaryIO
        Where the bytes come from.
    owned : bool
        Whether closing this closes `inner` too; standard input stays open.
    """

    def __init__(self, inner: Any, owned: bool) -> None:
        self._inner = inner
        self._owned = owned
        # readinto of a buffered stream waits for a full buffer; readinto1 hands over what a pipe has.
        self._readinto = getattr(inner, "readinto1", inner.readinto)
        self.count = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return whether the inner stream can seek."""
        return self._owned and bool(self._inner.seekable())

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Move the inner stream; Parquet needs it."""
        return int(self._inner.seek(offset, whence))

    def tell(self) -> int:
        """Return the inner stream's position."""
        return int(self._inner.tell())

    def readinto(self, buffer: Any, /) -> int:
        """Fill `buffer` from the inner stream and count."""
        n_bytes = int(self._readinto(buffer) or 0)
        self.count += n_bytes
        return n_bytes

    def close(self) -> None:
        """Close this, and the inner stream if it is owned."""
        if self._owned:
            self._inner.close()
        super().close()


class _Frames(io.RawIOBase):
    """Decompress frames one after another, at most as much as is asked for, and notice when one is cut short.

    Unlike the standard library's files, it bounds what xz may ask for and takes nothing but zeros after the end.

    Parameters
    ----------
    source : BinaryIO
        The compressed bytes.
    new : callable
        Makes the decompressor of one frame.
    errors : type of exception
        With which that says that its input is damaged.
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
        How many compressed bytes were read so far.
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
            # The buffer on top reads lines in C; the readline of the decompressors is Python, and slower.
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
    """Return the module that Python has from 3.14 on, or the same from elsewhere."""
    name = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    return require(name, "zstd", ".zst files")


def _compressed(stream: BinaryIO, suffix: str) -> Any:
    if suffix == ".gz":
        # No time and no name inside: the same records give the same bytes.
        return gzip.GzipFile(filename="", fileobj=stream, mode="wb", mtime=0)
    if suffix == ".bz2":
        return bz2.BZ2File(stream, "wb")
    if suffix == ".xz":
        return lzma.LZMAFile(stream, "wb")
    return _zstd().ZstdFile(stream, "wb")


@contextmanager
def open_output(path: str) -> Iterator[BinaryIO]:
    """Open a file that appears whole or not at all, or standard output for '-'.

    What is written goes to a temporary file beside the target and takes its name at the end; when the block
    raises, the target stays as it was. A target that is no regular file (a pipe, /dev/null) is written to
    directly.
    """
    if path == STANDARD:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = Path(os.path.realpath(path))  # a link keeps pointing at the file that is replaced
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
        if error.errno is not None and error.filename is None:  # a full disk does not say which file did not fit
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
