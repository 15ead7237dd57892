"""A PostgreSQL cluster in a temporary directory, listening on a loopback port."""

import contextlib
import os
import pwd
import secrets
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.server.http.spawner import free_port

PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name))
USER = "postgres"  # PostgreSQL refuses to run as root


def programs():
    """Return the directory of PostgreSQL's programs; None if it is not installed."""
    found = shutil.which("initdb")
    return Path(found).resolve().parent if found else (PROGRAMS[-1] if PROGRAMS else None)


def give(folder):
    """Give a folder to the user that PostgreSQL runs as."""
    if os.getuid() == 0:
        owner = pwd.getpwnam(USER)
        os.chown(folder, owner.pw_uid, owner.pw_gid)


class Cluster:
    """A running server with one database."""

    def __init__(self, folder, *settings):
        self.folder = Path(folder)
        self.port = free_port()
        self.folder.mkdir(parents=True, exist_ok=True)
        give(self.folder)
        self.create()
        self._settings = [f"port={self.port}", "listen_addresses=127.0.0.1", "unix_socket_directories=", *settings]
        self.start()

    @property
    def url(self):
        return f"postgresql://{USER}@127.0.0.1:{self.port}/postgres"

    def prefix(self):
        """Return what precedes a command so that PostgreSQL accepts the user."""
        return ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"] if os.getuid() == 0 else []

    def run(self, program, *arguments, check=True):
        command = [*self.prefix(), str(programs() / program), *map(str, arguments)]
        return subprocess.run(command, check=check, cwd=self.folder, capture_output=True, timeout=120, text=True)

    def create(self):
        """Write the data directory."""
        self.run("initdb", "-D", self.folder / "data", "-A", "trust", "-U", USER, "--no-sync", "-E", "UTF8")

    def start(self):
        options = " ".join(f"-c {setting}" for setting in self._settings)
        log = self.folder / "log"
        self.run("pg_ctl", "-D", self.folder / "data", "-w", "-l", log, "-o", options, "start")

    def stop(self, mode="fast"):
        self.run("pg_ctl", "-D", self.folder / "data", "-w", "-m", mode, "stop", check=False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.stop("immediate")


def journals():
    """Return the module of journals in PostgreSQL."""
    return pytest.importorskip("abound.store.journal.postgres")


class PostgresJournals:
    """Journals in a database."""

    def __init__(self, cluster, folder):
        name = f"test_{secrets.token_hex(8)}"
        with pytest.importorskip("psycopg").connect(cluster.url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        self.url = f"{cluster.url.rpartition('/')[0]}/{name}"
        self._marker = folder / "marker"

    def create(self, **options):
        journals().PostgresJournal.create(self.url, **options).close()
        return self.open()

    def open(self):
        return journals().PostgresJournal(self.url, marker=self._marker)

    def read(self):
        return self.open()

    def change(self, statement, *values):
        with pytest.importorskip("psycopg").connect(self.url, autocommit=True) as connection:
            connection.execute(statement, values)
