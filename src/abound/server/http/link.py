"""The socket between the writer and a worker: small messages, each behind its length.

A worker sends records to be written, and what it counted; the writer answers each of them, and tells every worker
how far it has come.
"""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from typing import TypeAlias

import msgspec

from abound import errors
from abound.errors import AboundError, JournalError
from abound.server.http.metrics import Facts, WorkerState
from abound.store.journal.records import MAX_BYTES

LONGEST = 2 * MAX_BYTES  # bytes of a message
_LENGTH = struct.Struct(">I")


class Submit(msgspec.Struct, tag=True):
    """A record that is to be written."""

    number: int
    record: bytes
    key: str | None


class Starting(msgspec.Struct, tag=True):
    """A worker lives, and opens the home."""


class Report(msgspec.Struct, tag=True):
    """What a worker tells of itself; with a number it wants to know of all."""

    state: WorkerState
    number: int | None = None


class Written(msgspec.Struct, tag=True):
    """The receipt of a record."""

    number: int
    sequence: int
    repeated: bool


class Refused(msgspec.Struct, tag=True):
    """Why a record was not written."""

    number: int
    kind: str
    words: str

    def error(self) -> AboundError:
        """Return the exception that the writer met."""
        kind = getattr(errors, self.kind, JournalError)
        found: AboundError = kind(self.words)
        return found

    @classmethod
    def of(cls, number: int, error: BaseException) -> "Refused":
        """Return the message of an exception."""
        return cls(number, type(error).__name__, str(error))


class Known(msgspec.Struct, tag=True):
    """The answer to a report that wanted one."""

    number: int
    facts: Facts


class Applied(msgspec.Struct, tag=True):
    """The journal has records up to this one; said at least every second, so that a worker knows that it is heard.

    If nothing can be learnt until the server is started again, it says why.
    """

    sequence: int
    refusal: str | None


FromWorker: TypeAlias = Submit | Starting | Report
FromWriter: TypeAlias = Written | Refused | Known | Applied
FROM_WORKER: "msgspec.msgpack.Decoder[FromWorker]" = msgspec.msgpack.Decoder(FromWorker)
FROM_WRITER: "msgspec.msgpack.Decoder[FromWriter]" = msgspec.msgpack.Decoder(FromWriter)
_ENCODER = msgspec.msgpack.Encoder()


class Link:
    """One end of the socket, in an event loop."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def over(cls, end: socket.socket) -> "Link":
        """Return the link over a connected socket."""
        return cls(*await asyncio.open_unix_connection(sock=end, limit=LONGEST))

    def send(self, message: FromWorker | FromWriter) -> None:
        """Send a message; one to a process that has gone is dropped."""
        if not self._writer.is_closing():
            raw = _ENCODER.encode(message)
            self._writer.write(_LENGTH.pack(len(raw)) + raw)

    @property
    def unsent(self) -> int:
        """How many bytes the other end has not taken yet."""
        return self._writer.transport.get_write_buffer_size()

    async def frames(self) -> AsyncIterator[bytes]:
        """Yield messages until the other end goes."""
        try:
            while True:
                (length,) = _LENGTH.unpack(await self._reader.readexactly(_LENGTH.size))
                yield await self._reader.readexactly(length)
        except (asyncio.IncompleteReadError, ConnectionError):
            return

    def close(self) -> None:
        """Let go of the socket."""
        self._writer.close()
