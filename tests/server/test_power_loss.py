"""Simulate power failures: every prefix of a writer's file operations, with and without those that were not synced.

A small library is preloaded into the writer's process and records its writes, syncs, renames and removals, those of
SQLite and those of Python alike. Every prefix becomes a disk image, three times: with all that was done, with only
what must be safe, and with a random selection of the rest.
"""

import copy
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from abound.server import Home, Writer
from tests.server.disk import Disk, read_log
from tests.server.streams import base, stream, trained

HERE = Path(__file__).resolve().parent
COMPILER = shutil.which("cc")
N = 24


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Return a home, and the recorded file operations of its writer."""
    if sys.platform != "linux" or COMPILER is None:
        pytest.skip("recording needs Linux and a C compiler")
    folder = tmp_path_factory.mktemp("recorded")
    library, log, root = folder / "recorder.so", folder / "log", folder / "home"
    build = [COMPILER, "-shared", "-fPIC", "-O1", "-o", str(library), str(HERE / "recorder.c"), "-ldl", "-lpthread"]
    subprocess.run(build, check=True)
    Home.create(root, base())
    disk = Disk(root)
    environment = {**os.environ, "LD_PRELOAD": str(library), "RECORD_ROOT": str(root), "RECORD_LOG": str(log)}
    command = [sys.executable, "-m", "tests.server.driver", str(root), "none", "0", str(N), "0"]
    run = subprocess.run(command, cwd=HERE.parents[1], env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return root, disk, read_log(log)


def test_the_recorder_sees_what_matters(recorded):
    _, _, operations = recorded
    kinds = {op.what for op in operations}
    assert kinds >= {"create", "write", "sync", "rename", "unlink", "rmdir", "mkdir", "truncate"}
    assert [int(op.data) for op in operations if op.path == "stdout" and op.data.strip()] == list(range(1, N + 1))
    synced = {Path(op.path).name for op in operations if op.what == "sync"}
    assert {"journal.sqlite", "journal.sqlite-wal", "snapshots", "home"} <= synced


@pytest.mark.parametrize("step", [23, pytest.param(1, marks=pytest.mark.slow)])
def test_nothing_acknowledged_is_lost(recorded, tmp_path, step):
    root, before, operations = recorded
    disk = copy.deepcopy(before)
    records, hashes, acknowledged, target = stream(N), {}, 0, tmp_path / "image"
    for number, op in enumerate(operations):
        if op.path == "stdout":
            acknowledged = max([acknowledged, *map(int, op.data.split())])
            continue
        disk.apply(op)
        if number % step:
            continue
        chance = random.Random(number)
        for luck in (lambda: True, lambda: False, lambda: chance.random() < 0.5):  # noqa: B023
            disk.image(target, root, luck)
            with Writer(Home(target), snapshot_every=None) as writer:
                last, base_ = writer.journal.last, writer.journal.base
                assert acknowledged <= last
                stored = [(s.sequence, s.record) for s in writer.journal.read(base_)]
                assert stored == list(enumerate(records[base_:last], base_ + 1))
                if last not in hashes:
                    hashes[last] = trained(records[:last]).state_hash()
                assert writer.replica.state_hash() == hashes[last]
