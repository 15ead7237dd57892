"""Run `abound serve`, and record how long its event loop was blocked and its model's lock was held.

    HELD=FILE python -m tests.server.http.measured HOME --port 0

The file contains the longest times, in seconds of CPU time and of wall-clock time; on a busy machine the latter says
little. It is rewritten all the time, so that a killed server leaves one too.
"""

import asyncio
import json
import os
import sys
import threading
import time
import traceback
from contextvars import ContextVar
from pathlib import Path

from abound.server.fair_lock import FairLock
from abound.server.http.app import App

REMARKABLE = 0.1  # seconds of CPU time; for longer holds, the place in the code is recorded
WRITE_SECONDS = 0.2
OPENING = "abound-opening"  # a thread that replays records before the server is ready: nothing waits for its lock
REQUEST = ContextVar("REQUEST", default="no request")


class Longest:
    """The longest hold of a resource."""

    def __init__(self):
        self.processor = self.clock = 0.0
        self.times = 0
        self.where = []

    def add(self, processor, clock, what):
        self.times += 1
        self.clock = max(self.clock, clock)
        if processor > self.processor:
            self.processor = processor
            if processor > REMARKABLE:
                self.where = [f"{processor:.3f} s", *what()]

    def told(self):
        return {"processor": self.processor, "clock": self.clock, "times": self.times, "where": self.where}


def measure(path):
    lock, loop, begun = Longest(), Longest(), {}
    enter, leave, run, call = FairLock.__enter__, FairLock.__exit__, asyncio.events.Handle._run, App.__call__

    async def called(self, scope, receive, send):
        if scope["type"] == "http":
            REQUEST.set(f"{scope['method']} {scope['path']}")
        await call(self, scope, receive, send)

    def entered(self):
        enter(self)
        mine = begun.setdefault((id(self), threading.get_ident()), [])
        mine.append((time.thread_time(), time.perf_counter()))

    def left(self, *arguments):
        mine = begun[id(self), threading.get_ident()]
        processor, clock = mine.pop()
        if not mine and threading.current_thread().name != OPENING:
            times = time.thread_time() - processor, time.perf_counter() - clock
            lock.add(*times, lambda: [f"{f.filename}:{f.lineno} {f.name}" for f in traceback.extract_stack()[-8:-2]])
        leave(self, *arguments)

    def ran(self):
        processor, clock = time.thread_time(), time.perf_counter()
        run(self)
        loop.add(
            time.thread_time() - processor,
            time.perf_counter() - clock,
            lambda: [self._context.get(REQUEST, "no request"), repr(self)[:300]],
        )

    def write():
        new = Path(f"{path}.new")
        while True:
            new.write_text(json.dumps({"lock": lock.told(), "loop": loop.told()}))
            new.replace(path)
            time.sleep(WRITE_SECONDS)

    FairLock.__enter__, FairLock.__exit__ = entered, left
    asyncio.events.Handle._run, App.__call__ = ran, called
    threading.Thread(target=write, daemon=True).start()


if __name__ == "__main__":
    from abound.cli import main

    measure(os.environ["HELD"])
    main(["serve", *sys.argv[1:]])
