"""Homes on full or read-only disks, and the permissions of homes.

The disks are real: small file systems in memory, which only the superuser can mount.
"""

import json
import os
import shutil
import stat
import subprocess
import sys
import time

import httpx
import pytest

from abound.errors import JournalUnavailable
from abound.server import Follower, Home, Writer
from abound.server.snapshotter import write_snapshot
from abound.store.journal import Journal
from tests.server.http.asgi import talk
from tests.server.http.running import Running
from tests.server.streams import base, lesson, stream, trained

TEACHING = """
import os, sys
from abound.server import Home, Writer
from tests.server.streams import stream

writer = Writer(Home(sys.argv[1]), snapshot_every=None)
for record in stream(12):
    writer.submit(record).result(30)
if sys.argv[2] == "close":
    writer.close()
os._exit(0)
"""


@pytest.fixture
def disk(tmp_path):
    """Return the path of a file system of eight megabytes, and a function that remounts it with options."""
    path = tmp_path / "disk"
    path.mkdir()

    def mount(options):
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(path)]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    if sys.platform != "linux" or os.geteuid() != 0 or not mount("size=8m"):
        pytest.skip("only the superuser of Linux can mount a small disk")
    yield path, lambda options: mount(f"remount,{options}")
    subprocess.run(["umount", "-l", str(path)], check=True)


def taught(path, how):
    """Create a home with twelve records of a process that was closed or killed."""
    home = Home.create(path / "home", base())
    subprocess.run([sys.executable, "-c", TEACHING, str(home.path), how], check=True, timeout=100)
    assert (home.path / "journal.sqlite-wal").exists() == (how == "kill")
    return home


def fill(path):
    with open(path / "filler", "ab", buffering=0) as file:
        for size in (1 << 20, 1 << 12, 1):
            while True:
                try:
                    file.write(bytes(size))
                except OSError:
                    break


def abound(*arguments):
    command = [sys.executable, "-m", "abound", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)


@pytest.mark.parametrize("how", ["close", "kill"])
def test_a_full_disk_does_not_stop_ranking_after_a_restart(disk, how):
    path, _ = disk
    home, said = taught(path, how), []
    fill(path)
    with Writer(home, report=said.append) as writer:
        assert writer.replica.state_hash() == trained(stream(12)).state_hash()
        with pytest.raises(JournalUnavailable):
            writer.submit(lesson(50)).result(30)
        assert writer.replica.rank("a red apple", 1)
        with Follower(home) as follower:
            assert follower.replica.sequence == 12

    async def conversation(client):
        return (
            await client.post("/v1/rank", json={"text": "a red apple"}),
            await client.post("/v1/learn", json={"text": "a pear", "added": ["fruit"]}),
            await client.get("/readyz"),
        )

    fill(path)  # closing may have freed some space
    ranked, refused, ready = talk(home, conversation)
    assert (ranked.status_code, refused.status_code) == (200, 503)
    assert (ready.status_code, ready.json()["status"]) == (200, "ranks only")
    (path / "filler").unlink()
    with Writer(home) as writer:
        assert writer.submit(lesson(50)).result(30).sequence == 13


@pytest.mark.parametrize("how", ["close", "kill"])
def test_a_disk_that_may_only_be_read_is_ranked_from_verified_and_exported(disk, how):
    path, remount = disk
    home, said = taught(path, how), []
    before = sorted((file.name, file.stat().st_size) for file in home.path.rglob("*"))
    assert remount("ro")
    verified, exported = (
        abound("journal", "verify", home.path, "--json"),
        abound("journal", "export", home.path, "--records"),
    )
    assert verified.returncode == 0, verified.stderr
    assert json.loads(verified.stdout)["last"] == 12
    assert [json.loads(line)["sequence"] for line in exported.stdout.splitlines()] == list(range(1, 13))
    with Writer(home, report=said.append) as writer, Follower(home) as follower:
        assert writer.replica.state_hash() == follower.replica.state_hash() == trained(stream(12)).state_hash()
        with pytest.raises(JournalUnavailable, match="was not writable when the server was started"):
            writer.submit(lesson(50)).result(30)
    assert "the server only ranks" in said[0]
    assert before == sorted((file.name, file.stat().st_size) for file in home.path.rglob("*"))
    assert remount("rw")
    with Writer(home) as writer:
        assert writer.submit(lesson(50)).result(30).sequence == 13


@pytest.mark.parametrize("workers", [1, 2])
def test_every_worker_says_that_nothing_is_learnt_from_a_disk_that_may_only_be_read(disk, workers):
    path, remount = disk
    home = taught(path, "close")
    assert remount("ro")
    with Running(home.path, "--workers", workers) as server:
        ends = time.monotonic() + 180
        while (ready := httpx.get(server.url + "/readyz", timeout=120)).status_code == 503:
            assert time.monotonic() < ends, ready.text
            time.sleep(0.05)
        assert ready.json()["status"] == "ranks only"
        assert "the home was not writable when the server was started" in ready.json()["detail"]
        assert "abound_journal_learns 0.0" in httpx.get(server.url + "/metrics", timeout=120).text
        assert httpx.post(server.url + "/v1/rank", json={"text": "a red apple"}, timeout=120).status_code == 200


# -- whose it is -----------------------------------------------------------------------------------


def modes(path):
    """Return the permissions of other users on a home and all its files."""
    return {stat.S_IMODE(found.stat().st_mode) & 0o077 for found in (path, *path.rglob("*"))}


@pytest.mark.skipif(os.name != "posix", reason="there are no such modes here")
def test_a_home_is_nobody_elses_to_read(tmp_path):
    before = os.umask(0)
    try:
        home = Home.create(tmp_path / "home", base())
        assert modes(home.path) == {0}
        with Writer(home) as writer, Follower(home):
            writer.submit(lesson(1)).result(30)
            write_snapshot(home, 1)
            assert modes(home.path) == {0}
        assert stat.S_IMODE(home.path.stat().st_mode) == 0o700
        assert stat.S_IMODE(home.journal_path.stat().st_mode) == 0o600
    finally:
        os.umask(before)


@pytest.mark.skipif(os.name != "posix", reason="there are no such modes here")
def test_a_home_that_could_be_read_is_made_private_and_that_is_said(tmp_path):
    home, said = Home.create(tmp_path / "home", base()), []
    for path in (home.path, *home.path.iterdir()):
        path.chmod(0o755 if path.is_dir() else 0o644)
    with Writer(home, report=said.append):
        assert {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in (home.path, *home.path.iterdir())} == {0}
    assert said == [f"other users could read {home.path}; it is private now"]
    with Writer(home, report=said.append):
        assert len(said) == 1


# -- crash after crash -----------------------------------------------------------------------------

CRASHING = """
import os, sys
from abound.server import Home, Writer
from abound.server.home import Lease
from abound.server.snapshotter import write_snapshot
from tests.server.streams import lesson

home = Home(sys.argv[1])
writer = Writer(home, snapshot_every=None, undo_records=0)
writer.submit(lesson(int(sys.argv[2]))).result(30)
write_snapshot(home, writer.replica.sequence)
lease = Lease(home.path / "in-use", writer.replica.sequence)
os._exit(1)  # before anything is compacted
"""


def test_crash_after_crash_keeps_few_snapshots(tmp_path):
    home = Home.create(tmp_path / "home", base())
    for number in range(6):
        command = [sys.executable, "-c", CRASHING, str(home.path), str(number)]
        assert subprocess.run(command, check=False, timeout=100).returncode == 1
        assert len(home.snapshots()) <= 4  # the first and two others are kept, and one was written since
    with Writer(home, undo_records=0) as writer:
        assert home.snapshots() == [0, 5, 6]
        assert writer.journal.base == 5
        assert list((home.path / "in-use").iterdir()) == []
        assert writer.replica.state_hash() == trained([lesson(i) for i in range(6)]).state_hash()


# -- replay ----------------------------------------------------------------------------------------


def test_records_that_would_take_long_to_replay_are_put_into_a_snapshot(tmp_path, monkeypatch):
    monkeypatch.setattr("abound.server.snapshots.SNAPSHOT_COST", 5_000)
    home = Home.create(tmp_path / "home", base())
    with Journal(home.journal_path, write=True) as journal:
        journal.append([(lesson(i), None) for i in range(20)])
    with Writer(home) as writer:  # immediately, so that the records are not replayed again
        deadline = time.monotonic() + 180
        while home.snapshots() != [0, 20] and time.monotonic() < deadline:
            time.sleep(0.02)
        assert home.snapshots() == [0, 20]
        for i in range(20, 45):
            writer.submit(lesson(i)).result(30)
        while max(home.snapshots()) <= 20 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert max(home.snapshots()) > 20
    with Writer(home) as writer:
        assert writer.replica.cost < 60_000


def test_a_replay_ranks_no_text_in_vain(tmp_path, monkeypatch):
    monkeypatch.setattr("abound.server.replay.WINDOW", 10)
    home, ranked = Home.create(tmp_path / "home", base()), []
    with Journal(home.journal_path, write=True) as journal:
        journal.append([(lesson(i), None) for i in range(50)])
    first_labels = type(trained([]))._first_labels
    monkeypatch.setattr(
        "abound.server.replica.Replica._first_labels", lambda *args: (ranked.append(1), first_labels(*args))[1]
    )
    with Writer(home, snapshot_every=None) as writer:
        assert len(ranked) == 10
        assert writer.replica.history.outcomes[-1].sequence == 50
        writer.submit(lesson(50)).result(30)
        assert len(ranked) == 11


def test_a_home_can_be_copied_while_nobody_serves_it(tmp_path):
    home = Home.create(tmp_path / "home", base())
    with Writer(home) as writer:
        writer.submit(lesson(1)).result(30)
    shutil.copytree(home.path, tmp_path / "copy")
    with Writer(Home(tmp_path / "copy")) as writer:
        assert writer.replica.sequence == 1
