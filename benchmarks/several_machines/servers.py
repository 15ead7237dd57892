"""Servers of a model of 100,000 titles: one with its own journal, or several that share one."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx

from abound import Tagger
from benchmarks import documents, sets

SET = "finna-100k"
READY_SECONDS = 300
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")


def model() -> Path:
    """Return the directory of the model, which is fitted once."""
    path = (sets.CACHE.parent / "several-machines" / SET).absolute()
    if not (path / "manifest.json").exists():
        rows = documents.final(SET).train
        path.parent.mkdir(parents=True, exist_ok=True)
        Tagger(language="en").fit([row.text for row in rows], [row.labels for row in rows]).save(path)
    return path


def held() -> documents.Rows:
    """Return titles that the model has not learned."""
    return documents.final(SET).held


class Server:
    """`abound serve` in a process group of its own, at a port that stays the same."""

    def __init__(self, folder: Path, name: str, *options: object) -> None:
        with socket.create_server(("127.0.0.1", 0)) as one:
            self.port = one.getsockname()[1]
        self.home, self.log = folder / name, folder / f"{name}.log"
        where = ["--state", self.home, "--port", self.port, "--log-file", self.log]
        self._command = [sys.executable, "-m", "abound", "serve", *map(str, [*options, *where])]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it without waiting."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log, start_new_session=True)

    def wait(self, path: str = "/readyz") -> None:
        """Wait until a path answers with 200."""
        ends = time.monotonic() + READY_SECONDS
        while not self._answers(path):
            if time.monotonic() > ends or self._process is None or self._process.poll() is not None:
                raise RuntimeError(f"the server is not ready: {self.log.read_text()[-2000:]}")
            time.sleep(0.05)

    def _answers(self, path: str) -> bool:
        with contextlib.suppress(httpx.HTTPError):
            return httpx.get(self.url + path, timeout=10).status_code == 200
        return False

    def cpu_seconds(self) -> float:
        """Return the CPU time of its processes."""
        return 0.0 if self._process is None else cpu_of_group(self._process.pid)

    def kill(self) -> None:
        """Kill all of its processes."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(60)

    def forget(self) -> None:
        """Remove its directory."""
        shutil.rmtree(self.home, ignore_errors=True)


def cpu_of_group(group: int) -> float:
    """Return the CPU time of the processes of a group or session that are alive."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            if group in (int(fields[2]), int(fields[3])):
                ticks += int(fields[11]) + int(fields[12])
    return ticks / CLOCK_TICKS


def cpu_of_database(folder: Path) -> float:
    """Return the CPU time of the processes of a PostgreSQL cluster, those that have ended included."""
    postmaster = int((folder / "data" / "postmaster.pid").read_text().split()[0])
    fields = Path(f"/proc/{postmaster}/stat").read_text().rpartition(")")[2].split()
    ended = sum(map(int, fields[13:15]))
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            if postmaster == int(fields[1]) or stat.parent.name == str(postmaster):
                ticks += int(fields[11]) + int(fields[12])
    return (ticks + ended) / CLOCK_TICKS
