"""The socket between the writer and a worker: small messages, each with a length prefix.

A worker sends records to write and its metrics. The writer answers each message, and sends every worker the sequence of
the last record.
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
from abound.store.journal import Receipt
from abound.store.journal.records import MAX_BYTES

MAX_MESSAGE_BYTES = 2 * MAX_BYTES
_LENGTH = struct.Struct(">I")


class Submit(msgspec.Struct, tag=True):
    """A record to write."""

    number: int
    record: bytes
    key: str | None
    who: str | None
    source: str | None


class Starting(msgspec.Struct, tag=True):
    """The worker is running and opens the home."""


class Report(msgspec.Struct, tag=True):
    """The state of a worker; with a number, it requests the state of all workers."""

    state: WorkerState
    number: int | None = None


class Written(msgspec.Struct, tag=True):
    """The receipt of a record."""

    number: int
    sequence: int
    repeated: bool
    new_labels: tuple[str | int | float, ...] = ()
    resolved: dict[str, str | int | float] = {}

    def receipt(self) -> Receipt:
        """Return the writer's receipt."""
        return Receipt(self.sequence, self.repeated, self.new_labels, self.resolved)

    @classmethod
    def of(cls, number: int, receipt: Receipt) -> "Written":
        """Return the message of a receipt."""
        return cls(number, receipt.sequence, receipt.repeated, receipt.new_labels, dict(receipt.resolved))


class Refused(msgspec.Struct, tag=True):
    """Why a record was not written."""

    number: int
    kind: str
    message: str

    def error(self) -> AboundError:
        """Return the writer's exception."""
        kind = getattr(errors, self.kind, JournalError)
        error: AboundError = kind(self.message)
        return error

    @classmethod
    def of(cls, number: int, error: BaseException) -> "Refused":
        """Return the message of an exception."""
        return cls(number, type(error).__name__, str(error))


class Known(msgspec.Struct, tag=True):
    """The answer to a report with a number."""

    number: int
    facts: Facts


class Applied(msgspec.Struct, tag=True):
    """The sequence of the last record; sent at least every second, as a sign that the writer is alive.

    `refusal` is why nothing can be learned at the moment, or None; `token` is that of the journal.
    `unready` says which worker does not answer, if there is one.
    """

    sequence: int
    refusal: str | None
    token: str
    unready: str | None = None


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
        return cls(*await asyncio.open_unix_connection(sock=end, limit=MAX_MESSAGE_BYTES))

    def send(self, message: FromWorker | FromWriter) -> None:
        """Send a message; it is dropped if the other process has ended."""
        if not self._writer.is_closing():
            raw = _ENCODER.encode(message)
            self._writer.write(_LENGTH.pack(len(raw)) + raw)

    @property
    def unsent(self) -> int:
        """How many bytes the other end has not received yet."""
        return self._writer.transport.get_write_buffer_size()

    async def frames(self) -> AsyncIterator[bytes]:
        """Yield messages until the other end is closed."""
        try:
            while True:
                (length,) = _LENGTH.unpack(await self._reader.readexactly(_LENGTH.size))
                yield await self._reader.readexactly(length)
        except (asyncio.IncompleteReadError, ConnectionError):
            return

    def close(self) -> None:
        """Close the socket."""
        self._writer.close()
