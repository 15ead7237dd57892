"""Killed at any point, a writer loses nothing that it acknowledged, and applies nothing twice."""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from abound.server import Home, Writer
from tests.server.driver import POINTS
from tests.server.streams import base, stream, trained

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
ROOT = Path(__file__).resolve().parents[2]
N = 36


def start(home, point="none", hit=1, seed=0):
    command = [sys.executable, "-m", "tests.server.driver", str(home.path), point, str(hit), str(N), str(seed)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def check(home, records, acknowledged):
    """Open a home after a crash: all that was acknowledged is there once, and the state is the journal's."""
    problems = []
    with Writer(home, snapshot_every=None, report=problems.append) as writer:
        last = writer.journal.last
        assert max(acknowledged, default=0) <= last <= len(records)
        stored = [(s.sequence, s.key, s.record) for s in writer.journal.read(writer.journal.base)]
        assert stored == [(i, f"key {i - 1}", records[i - 1]) for i in range(writer.journal.base + 1, last + 1)]
        assert list(writer.journal.damage()) == []
        assert writer.replica.sequence == last
        assert writer.replica.state_hash() == trained(records[:last]).state_hash()
    assert problems == []
    for path in (home.path / "snapshots").iterdir():
        assert (path / "manifest.json").exists()


def kill_and_check(tmp_path, point, hit, seed):
    home, records = Home.create(tmp_path / "home", base()), stream(N, seed)
    process = start(home, point, hit, seed)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL, errors
    check(home, records, [int(line) for line in out.split()])
    # A client that did not hear tries again with the same keys.
    with Writer(home, snapshot_every=None) as writer:
        answers = [writer.submit(record, f"key {i}") for i, record in enumerate(records)]
        assert [answer.result().sequence for answer in answers] == list(range(1, N + 1))
    check(home, records, range(1, N + 1))


@pytest.mark.parametrize("point", POINTS)
def test_killed_at_a_named_point(tmp_path, point):
    chance = random.Random(point)
    most = 2 if "removal" in point else 4
    kill_and_check(tmp_path, point, chance.randint(1, most), chance.randrange(100))


@pytest.mark.slow
@pytest.mark.parametrize("repeat", range(50))
@pytest.mark.parametrize("point", POINTS)
def test_killed_at_a_named_point_often(tmp_path, point, repeat):
    kill_and_check(tmp_path, point, repeat % (3 if "removal" in point else 5) + 1, repeat)


@pytest.mark.parametrize("kills", [5, pytest.param(500, marks=pytest.mark.slow)])
def test_killed_at_random(tmp_path, kills):
    home, records, chance = Home.create(tmp_path / "home", base()), stream(N), random.Random(kills)
    heard = set()
    for _ in range(kills):
        lines = chance.randint(0, N)  # a kill after so many answers falls between two of its steps, wherever it is
        with start(home) as process:
            for _, line in zip(range(lines), process.stdout, strict=False):
                heard.add(int(line))
            process.kill()
            rest = process.stdout.read()  # communicate() would not know what the loop above has read ahead
        heard |= {int(line) for line in rest.split("\n")[:-1]}
        check(home, records, heard)


MAKING = """
import os, signal, sqlite3, sys
from abound.server import Home
from tests.server.streams import base

connect = sqlite3.connect

def seen(statement):
    if statement.startswith(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)

def traced(*arguments, **options):
    connection = connect(*arguments, **options)
    connection.set_trace_callback(seen)
    return connection

sqlite3.connect = traced
Home.create(sys.argv[1], base())
"""


@pytest.mark.parametrize("statement", ["PRAGMA journal_mode", "PRAGMA fullfsync", "CREATE TABLE meta", "COMMIT"])
def test_a_home_whose_making_was_killed_is_finished(tmp_path, statement):
    command = [sys.executable, "-c", MAKING, str(tmp_path / "home"), statement]
    killed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    home = Home.create(tmp_path / "home", base())
    assert home.snapshots() == [0]
    with Writer(home) as writer:
        assert writer.submit(stream(1)[0]).result(30).sequence == 1
