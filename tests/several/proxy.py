"""A proxy between a server and its databases that can cut it off, in two ways.

`reset` ends all connections with an error and refuses new ones, as a firewall does that rejects. `swallow` keeps them
open and forwards nothing, as a database does that hangs, or a firewall that drops: nobody is told that anything is
wrong. After `heal`, connections that were swallowed either continue where they were or are reset.
"""

import asyncio
import contextlib
import random
import socket
import struct
import threading

from tests.server.http.spawner import free_port

CHUNK = 1 << 16
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: on, 0 seconds


class Proxies:
    """An event loop in a thread that runs all proxies."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()
        self._opened = []

    def new(self, upstreams, seed=0):
        """Return a proxy in front of some ports of this machine."""
        proxy = Proxy(self, upstreams, seed)
        self._opened.append(proxy)
        return proxy

    def run(self, coroutine):
        """Run a coroutine in the loop and return its result."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(30)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for proxy in self._opened:
            self.run(proxy.close())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(30)
        self.loop.close()


class Proxy:
    """Ports that are forwarded to others.

    Attributes
    ----------
    ports : list of int
        One for each upstream.
    """

    def __init__(self, proxies, upstreams, seed):
        self._proxies = proxies
        self._chance = random.Random(seed)
        self._tasks, self._writers, self._servers = set(), set(), []
        self._mode = "open"
        self.ports = []
        proxies.run(self._listen(upstreams))

    async def _listen(self, upstreams):
        self._is_open = asyncio.Event()
        self._is_open.set()
        for upstream in upstreams:
            port = free_port()

            def accept(reader, writer, upstream=upstream):
                task = asyncio.get_running_loop().create_task(self._serve(reader, writer, upstream))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

            self._servers.append(await asyncio.start_server(accept, "127.0.0.1", port))
            self.ports.append(port)

    async def _serve(self, reader, writer, upstream):
        self._writers.add(writer)
        opened = [writer]
        try:
            if self._mode == "reset":
                return
            await self._is_open.wait()
            upstream_reader, upstream_writer = await asyncio.open_connection("127.0.0.1", upstream)
            self._writers.add(upstream_writer)
            opened.append(upstream_writer)
            both = [self._forward(reader, upstream_writer), self._forward(upstream_reader, writer)]
            tasks = [asyncio.ensure_future(one) for one in both]
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
        except OSError:
            pass
        finally:
            for one in opened:
                _reset(one)
                self._writers.discard(one)

    async def _forward(self, reader, writer):
        while chunk := await reader.read(CHUNK):
            await self._is_open.wait()
            writer.write(chunk)
            await writer.drain()

    def cut(self, mode):
        """Cut the connections: `reset` or `swallow`."""
        self._proxies.run(self._cut(mode))

    async def _cut(self, mode):
        self._mode = mode
        self._is_open.clear()
        if mode == "reset":
            self._reset_all()

    def heal(self):
        """Forward again. Connections that were swallowed continue, or are reset; return which."""
        return self._proxies.run(self._heal())

    async def _heal(self):
        was, self._mode = self._mode, "open"
        is_reset = was == "swallow" and self._chance.random() < 0.5
        if is_reset:
            self._reset_all()
        self._is_open.set()
        return "reset" if is_reset else "continued"

    def _reset_all(self):
        for writer in list(self._writers):
            _reset(writer)

    async def close(self):
        """Close everything."""
        for server in self._servers:
            server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _reset(writer):
    connection = writer.get_extra_info("socket")
    with contextlib.suppress(OSError, AttributeError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    writer.transport.abort()
