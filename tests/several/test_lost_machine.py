"""The machine of the database is lost: it neither answers nor refuses, unlike one whose server was killed.

Needs root, to make two network namespaces: one of the database, and one of a server.
"""

import os
import subprocess
import sys
import tempfile
import time

import pytest

from tests.store.postgres import USER, Cluster, programs

NEAR, FAR = "10.77.0.1", "10.77.0.2"
CLIENT = """
import sys
from abound.errors import JournalUnavailable
from abound.store.journal.postgres import PostgresJournal
from abound.store.journal.records import Learn
with PostgresJournal.create(sys.argv[1]) as journal:
    print(journal.append([(Learn("one", added=["a"]), "1")]), flush=True)
    sys.stdin.readline()
    try:
        journal.append([(Learn("two", added=["a"]), "2")])
    except JournalUnavailable as error:
        print(error, flush=True)
"""


class FarCluster(Cluster):
    """A cluster in a network namespace."""

    def __init__(self, folder, namespace):
        self._namespace = namespace
        super().__init__(folder, f"listen_addresses={FAR}")

    @property
    def url(self):
        return f"postgresql://{USER}@{FAR}:{self.port}/postgres"

    def create(self):
        super().create()
        with (self.folder / "data" / "pg_hba.conf").open("a") as file:
            file.write(f"host all all {NEAR}/32 trust\n")

    def prefix(self):
        return ["ip", "netns", "exec", self._namespace, *super().prefix()]


def ip(*arguments):
    return subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True).stdout


@pytest.fixture
def namespaces():
    """Two network namespaces with a cable between them."""
    near, far = f"abound-near-{os.getpid()}", f"abound-far-{os.getpid()}"
    made = []
    try:
        try:
            for name in (near, far):
                ip("netns", "add", name)
                made.append(name)
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("may not make network namespaces")
        ip("link", "add", "near", "netns", near, "type", "veth", "peer", "name", "far", "netns", far)
        for name, device, address in ((near, "near", NEAR), (far, "far", FAR)):
            ip("-n", name, "addr", "add", f"{address}/24", "dev", device)
            ip("-n", name, "link", "set", device, "up")
        hardware = ip("netns", "exec", far, "cat", "/sys/class/net/far/address").strip()
        # Otherwise the near one would soon be told that there is no such host.
        ip("-n", near, "neigh", "replace", FAR, "lladdr", hardware, "dev", "near", "nud", "permanent")
        yield near, far
    finally:
        for name in made:
            ip("netns", "del", name)


@pytest.mark.skipif(programs() is None, reason="needs PostgreSQL")
def test_a_lost_machine_is_noticed_within_seconds(namespaces):
    pytest.importorskip("psycopg")
    near, far = namespaces
    place = tempfile.TemporaryDirectory(prefix="abound-postgres-", dir="/tmp", ignore_cleanup_errors=True)
    with place as folder, FarCluster(folder, far) as cluster:
        command = ["ip", "netns", "exec", near, sys.executable, "-c", CLIENT, cluster.url]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with subprocess.Popen(command, text=True, **pipes) as client:
            try:
                assert client.stdout.readline() == "[Receipt(sequence=1, repeated=False)]\n"
                ip("-n", far, "addr", "del", f"{FAR}/24", "dev", "far")
                begun = time.monotonic()
                said, _ = client.communicate("\n", timeout=60)
            finally:
                client.kill()
        assert "is unavailable" in said
        assert time.monotonic() - begun < 30
