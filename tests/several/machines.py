"""Servers that share a journal, each a real process with its own directory and its own way to the database."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx

from tests.server.http.spawner import free_port

ROOT = Path(__file__).resolve().parents[2]
READY_SECONDS = 120
WORDS = 300  # characters of a log's line that are shown
PROGRAM = ("-m", "abound")


class Machine:
    """A server that is killed and started again at the same port.

    Parameters
    ----------
    name : str
    folder : Path
        Of its home and its log.
    options : list of str
        Of `abound serve`, the model included.
    proxy : Proxy
        Between it and the database.
    workers : int, optional
        How many of its processes rank.
    program : sequence of str, optional
        What Python runs instead of abound.

    Attributes
    ----------
    number : int
        How often it was started.
    up : list of tuple
        When it was ready, and until when; the last one may be open.
    exits : list of str
        The last line of its log, each time that it ended because it had no home yet and could not make one.
    crashes : list of str
        The same, each time that it ended by itself with a home.
    """

    def __init__(self, name, folder, options, proxy, *, workers=1, program=PROGRAM):
        self.name, self.proxy, self.port = name, proxy, free_port()
        self.home, self.log = folder / name, folder / f"{name}.log"
        where = ["--state", self.home, "--port", self.port, "--log-file", self.log, "--workers", workers]
        self._command = [sys.executable, *program, "serve", *map(str, [*options, *where])]
        self.workers = workers
        self._process = None
        self._lock = threading.RLock()  # one failure at a time
        self._has_home = self._is_stopped = False
        self.number, self.up, self.exits, self.crashes = 0, [], [], []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def process(self):
        """The name of the present process."""
        return f"{self.name}.{self.number}"

    def failing(self):
        """Return a lock for the time in which something is done to the process."""
        return self._lock

    def start(self):
        """Start it without waiting."""
        self.number += 1
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    def wait(self):
        """Wait until it is ready; start it again if it ends."""
        ends = time.monotonic() + READY_SECONDS
        while not self._is_ready():
            assert time.monotonic() < ends, f"{self.name} is not ready: {self.last_words()}"
            if not self.is_alive():
                self._note_end()
                time.sleep(1)
                self.start()
            time.sleep(0.2)
        self._has_home = True
        self.up.append((time.monotonic(), float("inf")))

    def _is_ready(self):
        try:
            return httpx.get(self.url + "/readyz", timeout=5).status_code == 200
        except httpx.HTTPError:
            return False

    def _note_end(self):
        (self.crashes if self._has_home else self.exits).append(self.last_words())

    def last_words(self):
        """Return the last line of its log, not all of it."""
        lines = self.log.read_text("utf-8", "replace").splitlines() if self.log.exists() else []
        return lines[-1][:WORDS] if lines else ""

    def is_alive(self):
        """Return whether the process runs."""
        return self._process is not None and self._process.poll() is None

    def was_up(self, start, end):
        """Return whether it was ready all the time between two moments."""
        return any(since <= start and end < until for since, until in self.up)

    def _is_down(self):
        if self.up and self.up[-1][1] == float("inf"):
            self.up[-1] = (self.up[-1][0], time.monotonic())

    def kill(self):
        """Kill all of its processes."""
        self._is_down()
        if self._process is None:
            return
        if not self.is_alive() and not self._is_stopped:
            self._note_end()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(60)

    def lose(self):
        """Remove its directory, as if the machine was replaced."""
        shutil.rmtree(self.home, ignore_errors=True)
        self._has_home = False

    def pause(self, seconds):
        """Stop all of its processes for some seconds; they know nothing of it."""
        self._is_down()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGSTOP)
            time.sleep(seconds)
            os.killpg(self._process.pid, signal.SIGCONT)

    def stop(self):
        """Make it drain and exit; return its exit code."""
        self._is_down()
        self._is_stopped = True
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(120)

    def state(self):
        """Return the sequence and the hash of its state; None if it does not tell."""
        try:
            answer = httpx.get(self.url + "/v1/model", params={"hash": 1}, timeout=30)
        except httpx.HTTPError:
            return None
        if answer.status_code != 200:
            return None
        return answer.json()["sequence"], answer.json()["state_hash"]
