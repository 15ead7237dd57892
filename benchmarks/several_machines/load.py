"""A client with a fixed rate, which does not wait for answers before it sends the next request."""

import asyncio
import contextlib
import itertools
import json
import secrets
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

CONNECTIONS = 32  # to each server, for each kind of request


class Connection:
    """A connection to a server, made when it is needed."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._host, self._place = parts.netloc, (parts.hostname, parts.port)
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, body: dict[str, Any], key: str | None = None) -> int:
        """Send a request; return the status of the answer."""
        raw = json.dumps(body).encode()
        lines = [f"POST {path} HTTP/1.1", f"Host: {self._host}", "Content-Type: application/json"]
        lines += [f"Content-Length: {len(raw)}", *([] if key is None else [f"Idempotency-Key: {key}"])]
        head = "\r\n".join(lines) + "\r\n\r\n"
        try:
            if self._streams is not None and self._streams[0].at_eof():  # the server has closed an idle connection
                self.close()
            if self._streams is None:
                self._streams = await asyncio.open_connection(*self._place)
            reader, writer = self._streams
            writer.write(head.encode() + raw)
            answer = await reader.readuntil(b"\r\n\r\n")
            length = next(
                int(line.partition(b":")[2])
                for line in answer.split(b"\r\n")
                if line.lower().startswith(b"content-length:")
            )
            await reader.readexactly(length)
        except BaseException:
            self.close()
            raise
        return int(answer.split(b" ", 2)[1])

    def close(self) -> None:
        """Close it; the next request makes another one."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


class Clients:
    """Requests to several servers in turn.

    Parameters
    ----------
    urls : list of str
    rows : list
        Texts and labels.
    """

    def __init__(self, urls: list[str], rows: list[Any]) -> None:
        self._rows = itertools.cycle(rows)
        # Rankings do not wait for connections on which something is being learned.
        self._pools = {kind: [_pool(url) for url in urls] for kind in ("rank", "learn")}
        self.seconds: dict[str, list[float]] = {"rank": [], "learn": []}
        self.failed: list[str] = []

    async def run(self, rates: dict[str, float], seconds: float, counted_after: float) -> None:
        """Send requests of each kind at its rate; those of the first seconds are not counted."""
        begun = time.monotonic()
        tasks = [
            asyncio.create_task(self._send(kind, begun, rate, seconds, counted_after)) for kind, rate in rates.items()
        ]
        await asyncio.gather(*tasks)

    async def _send(self, kind: str, begun: float, rate: float, seconds: float, counted_after: float) -> None:
        pools: Iterator[asyncio.LifoQueue[Connection]] = itertools.cycle(self._pools[kind])
        sent = []
        for number in range(int(rate * seconds)):
            due = begun + number / rate
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            is_counted = due - begun >= counted_after
            sent.append(asyncio.create_task(self._ask(kind, next(pools), next(self._rows), due, is_counted)))
        await asyncio.gather(*sent)

    async def _ask(
        self, kind: str, pool: "asyncio.LifoQueue[Connection]", row: Any, due: float, is_counted: bool
    ) -> None:
        connection = await pool.get()
        try:
            body: dict[str, Any] = {"text": row.text}
            if kind == "learn":
                body["added"] = row.labels
            status = await connection.post(f"/v1/{kind}", body, secrets.token_hex(16) if kind == "learn" else None)
            if status != 200:
                self.failed.append(f"{kind} {status}")
            elif is_counted:
                self.seconds[kind].append(time.monotonic() - due)  # with the time for which it waited to be sent
        except (OSError, asyncio.IncompleteReadError) as error:
            self.failed.append(f"{kind} {error!r}")
        finally:
            pool.put_nowait(connection)

    def close(self) -> None:
        """Close all connections."""
        for pool in itertools.chain(*self._pools.values()):
            with contextlib.suppress(asyncio.QueueEmpty):
                while True:
                    pool.get_nowait().close()


def _pool(url: str) -> "asyncio.LifoQueue[Connection]":
    pool: asyncio.LifoQueue[Connection] = asyncio.LifoQueue()
    for _ in range(CONNECTIONS):
        pool.put_nowait(Connection(url))
    return pool


def percentile(values: list[float], share: float) -> float:
    """Return a percentile in milliseconds."""
    ordered = sorted(values)
    return round(1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))], 2) if ordered else float("nan")
