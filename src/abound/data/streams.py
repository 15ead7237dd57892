"""Bytes in and out: compression, standard streams, progress, atomic files."""

import bz2
import gzip
import io
import lzma
import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from abound.data.extras import require

COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")
STANDARD = "-"
# Large enough that the Python-level readinto of the decompressors is called rarely.
_BUFFER = 1 << 18


def compression_of(path: str) -> str:
    """Return the compression suffix of a path, or an empty string."""
    suffix = os.path.splitext(path)[1].lower()
    return suffix if suffix in COMPRESSIONS else ""


class Counted(io.RawIOBase):
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


class _ZstdRaw(io.RawIOBase):
    """Decompress Zstandard frames, and notice when the last one is cut short.

    The zstandard package's own stream reader takes a file that is cut short for its end.
    """

    def __init__(self, source: BinaryIO) -> None:
        self._zstd = require("zstandard", "zstd", ".zst files")
        self._source = source
        self._frame = self._zstd.ZstdDecompressor().decompressobj()
        self._input = b""
        self._output = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        while not self._output:
            data = self._input or self._source.read(1 << 16)
            if not data:
                if not self._frame.eof:
                    raise EOFError("no end of frame")
                return 0
            if self._frame.eof:
                self._frame = self._zstd.ZstdDecompressor().decompressobj()
            try:
                self._output = memoryview(self._frame.decompress(data))
            except self._zstd.ZstdError as error:
                raise OSError(str(error)) from error
            self._input = self._frame.unused_data
        part = self._output[: len(buffer)]
        buffer[: len(part)] = part
        self._output = self._output[len(part) :]
        return len(part)


@contextmanager
def open_input(path: str) -> Iterator[tuple[BinaryIO, Counted]]:
    """Open a file, or standard input for '-', decompressed by its suffix.

    Yields
    ------
    stream : BinaryIO
        The decompressed bytes.
    counted : Counted
        How many compressed bytes were read so far.
    """
    if path == STANDARD:
        counted = Counted(sys.stdin.buffer, owned=False)
    else:
        counted = Counted(open(path, "rb", buffering=0), owned=True)  # noqa: SIM115  closed by Counted
    with counted:
        suffix = compression_of(path)
        buffered = io.BufferedReader(counted, _BUFFER)
        if not suffix:
            yield buffered, counted
            return
        with _decompressed(buffered, suffix) as raw:
            # The buffer on top reads lines in C; the readline of the decompressors is Python, and slower.
            yield io.BufferedReader(raw, _BUFFER), counted


def _decompressed(stream: Any, suffix: str) -> Any:
    if suffix == ".gz":
        return gzip.GzipFile(fileobj=stream, mode="rb")
    if suffix == ".bz2":
        return bz2.BZ2File(stream)
    if suffix == ".xz":
        return lzma.LZMAFile(stream)
    return _ZstdRaw(stream)


def _compressed(stream: BinaryIO, suffix: str) -> Any:
    if suffix == ".gz":
        # No time and no name inside: the same records give the same bytes.
        return gzip.GzipFile(filename="", fileobj=stream, mode="wb", mtime=0)
    if suffix == ".bz2":
        return bz2.BZ2File(stream, "wb")
    if suffix == ".xz":
        return lzma.LZMAFile(stream, "wb")
    zstandard = require("zstandard", "zstd", ".zst files")
    return zstandard.ZstdCompressor().stream_writer(stream, closefd=False)


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
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def _maybe_compressed(stream: BinaryIO, suffix: str) -> Iterator[BinaryIO]:
    if not suffix:
        yield stream
        return
    with _compressed(stream, suffix) as out:
        yield out
