"""Two PostgreSQL servers of which one replicates the other, synchronously; they exchange their roles by failovers.

The primary acknowledges a commit after its standby has written it to its log. If the primary is killed and the standby
promoted, nothing that was acknowledged is lost. The promoted server blocks all commits until it has a standby, too.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import psycopg

from tests.store.postgres import USER, Cluster, give

SYNCHRONOUS = "synchronous_standby_names=*"
SETTINGS = (
    "synchronous_commit=on",
    "wal_keep_size=256MB",
    "max_wal_senders=8",
    "hot_standby=on",
    "fsync=off",  # processes are killed here; no machine loses its power
    "shared_buffers=16MB",
    "dynamic_shared_memory_type=mmap",  # in the data directory, and removed with it
)
DEADLINE_SECONDS = 60
LOSS_SECONDS = 1.0


class Node(Cluster):
    """One of the two servers; with a primary, its standby. It keeps its port over all roles."""

    def __init__(self, folder, *settings, primary=None):
        self._primary = primary
        super().__init__(folder, *settings)

    @property
    def data(self):
        return self.folder / "data"

    def kill(self):
        """Kill all of its processes, as the loss of a machine does."""
        lines = (self.data / "postmaster.pid").read_text().splitlines()
        first = int(lines[0])
        os.kill(first, signal.SIGSTOP)  # it starts no more processes
        children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
        for pid in (first, *map(int, children)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        ends = time.monotonic() + DEADLINE_SECONDS
        while any(_is_running(pid) for pid in (first, *children)):
            assert time.monotonic() < ends, "a killed process of PostgreSQL is still there"
            time.sleep(0.02)
        with contextlib.suppress(IndexError):  # its shared memory outlives it
            subprocess.run(["ipcrm", "-m", lines[6].split()[1]], check=False, capture_output=True)

    def disconnect(self):
        """Stop receiving what the primary writes."""
        with (self.data / "postgresql.auto.conf").open("a") as file:
            file.write("primary_conninfo = ''\n")
        self.run("pg_ctl", "-D", self.data, "reload")

    def promote(self):
        """Make a primary out of a standby."""
        self.run("pg_ctl", "-D", self.data, "-w", "-t", DEADLINE_SECONDS, "promote")

    def create(self):
        """Write the data directory, as a copy of the primary's."""
        if self._primary is None:
            super().create()
            return
        options = ["-X", "stream", "-R", "--checkpoint=fast", "--no-sync", "-D", self.data]
        self.run("pg_basebackup", "-h", "127.0.0.1", "-p", self._primary.port, "-U", USER, *options)

    def follow(self, primary):
        """Begin anew as a standby of a primary."""
        shutil.rmtree(self.data, ignore_errors=True)
        self._primary = primary
        self.create()
        self.start()


class Pair:
    """A primary and its standby.

    Parameters
    ----------
    folder : path
    is_lossy : bool
        Replicate asynchronously, so that a failover loses the commits of the last second.

    Attributes
    ----------
    nodes : list of Node
        Both, in a fixed order.
    """

    def __init__(self, folder, *, is_lossy=False):
        folder, self._is_lossy = Path(folder), is_lossy
        settings = SETTINGS if is_lossy else (*SETTINGS, SYNCHRONOUS)
        give(folder)
        with contextlib.ExitStack() as stack:
            self.primary = stack.enter_context(Node(folder / "first", *settings))
            self.standby = stack.enter_context(Node(folder / "second", *settings, primary=self.primary))
            self.nodes = [self.primary, self.standby]
            self.wait()
            self._stack = stack.pop_all()

    def url(self, ports, database="postgres"):
        """Return the URL of a database that is at one of some ports of this machine."""
        return f"postgresql://{USER}@" + ",".join(f"127.0.0.1:{port}" for port in ports) + f"/{database}"

    def wait(self):
        """Wait until the standby has everything, so that the primary may be killed."""
        ends = time.monotonic() + DEADLINE_SECONDS
        query = "SELECT state, sync_state FROM pg_stat_replication"
        expected = [("streaming", "async" if self._is_lossy else "sync")]
        with psycopg.connect(self.primary.url, autocommit=True) as connection:
            while connection.execute(query).fetchall() != expected:
                assert time.monotonic() < ends, "the standby does not follow"
                time.sleep(0.1)

    def fail_over(self):
        """Kill the primary, promote the standby, and make a standby out of the killed one; return the seconds.

        The first figure is the time without a primary, the second one that without commits.
        """
        begun = time.monotonic()
        if self._is_lossy:
            self.standby.disconnect()
            time.sleep(LOSS_SECONDS)
        self.primary.kill()
        self.standby.promote()
        promoted = time.monotonic()
        self.primary, self.standby = self.standby, self.primary
        self.standby.follow(self.primary)
        self.wait()
        return promoted - begun, time.monotonic() - begun

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stack.close()


def _is_running(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"  # its parent in a container may never wait for it
