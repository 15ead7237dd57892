"""Random schedules of learning, label edits, undo, forget, snapshots and compaction, with processes that are killed.

After each, the state of the home is the replay of the records that count, hash for hash, and no file of the home has a
word of a forgotten text.
"""

import gzip
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from abound.errors import AboundError
from abound.server import Follower, Home, Replica, Writer
from abound.store.journal import Journal
from abound.store.journal.records import Forget, Learn, Undo
from tests.server.streams import base, lesson, stream

SCHEDULES = 200
LIVES = 3  # processes that write to a home one after another; all but the last are killed
STEPS = 12  # of each process
EDITS = [record for record in stream(40) if not isinstance(record, Learn)]


def secret(number: int) -> str:
    return f"secret{number}word"


def step(writer: Writer, chance: random.Random, say) -> None:
    """Do something at random, and say what was acknowledged."""
    kind = chance.choices(["learn", "edit", "undo", "forget", "snapshot", "compact"], [6, 2, 2, 1, 1, 1])[0]
    last = writer.journal.last
    try:
        if kind == "learn":
            for _ in range(chance.randint(1, 6)):
                number = chance.randrange(10**9)
                one = lesson(number % 1000)
                text = f"{one.text} {secret(number)}"
                receipt = writer.submit(Learn(text, one.accepted, one.rejected, one.added)).result(100)
                say("learn", receipt.sequence, number)
        elif kind == "edit":
            say("edit", writer.submit(chance.choice(EDITS)).result(100).sequence)
        elif kind == "undo" and last:
            numbers = chance.sample(range(1, last + 1), min(last, chance.randint(1, 2)))
            say("undo", writer.change(Undo(tuple(numbers))).result(100).sequence, *numbers)
        elif kind == "forget" and last:
            number = chance.randint(1, last)
            say("forget", writer.change(Forget((number,))).result(100).sequence, number)
        elif kind == "snapshot":
            writer.snapshot(writer.replica.sequence)
        elif kind == "compact":
            writer.home.compact(writer.journal, undo_records=chance.choice([0, 5, 10_000]))
    except AboundError as error:  # such as an edit that makes no sense now
        say("refused", str(error).replace("\n", " "))


def live(path: str, seed: str) -> None:
    """Open a home and do random steps, until somebody kills this process."""
    chance = random.Random(seed)
    with Writer(Home(path), snapshot_every=chance.choice([None, 5])) as writer:
        print("open", flush=True)
        for _ in range(STEPS):
            step(writer, chance, lambda *words: print(*words, flush=True))
    print("closed", flush=True)


def run_life(home: Home, seed: str, kill_after: float | None) -> list[list[str]]:
    """Run `live` in another process; return what it said before it was killed."""
    code = "import sys; from tests.server.test_schedules import live; live(*sys.argv[1:])"
    command = [sys.executable, "-W", "ignore", "-c", code, str(home.path), seed]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as process:
        lines = [process.stdout.readline()]
        assert lines == ["open\n"]
        if kill_after is not None:
            time.sleep(kill_after)
            os.kill(process.pid, signal.SIGKILL)
        lines += process.stdout.read().splitlines()
    assert kill_after is not None or process.returncode == 0
    return [line.split() for line in lines if line]


def replay(journal: Journal) -> str:
    """Return the hash of the state that the records that count lead to."""
    excluded, replica, sequence = set(journal.lineage().excluded), Replica(base()), 0
    for stored in journal.read(0):
        if stored.sequence not in excluded:
            sequence += 1
            replica.apply(sequence, stored.record)
    return replica.state_hash()


def check(home: Home, said: list[list[str]]) -> None:
    """Compare a home with what was acknowledged."""
    with Follower(home) as follower, Journal(home.journal_path) as journal:
        assert follower.replica.sequence == journal.last
        assert follower.replica.state_hash() == replay(journal)
        assert list(journal.damage()) == []
        controls = journal.controls()
        forgotten = {number for one in controls.values() if isinstance(one, Forget) for number in one.records}
        records = {stored.sequence: stored for stored in journal.read(0)}
        texts = {}
        for kind, *values in said:
            if kind in ("learn", "edit", "undo", "forget"):
                number = int(values[0])
                assert number in records
            if kind == "learn":
                texts[int(values[0])] = secret(int(values[1]))
                if int(values[0]) not in forgotten:
                    assert secret(int(values[1])) in records[int(values[0])].record.text
            if kind in ("undo", "forget"):
                assert controls[int(values[0])].records == tuple(sorted(map(int, values[1:])))
    found = b""
    for path in home.path.rglob("*"):
        if path.is_file():
            raw = path.read_bytes()
            found += gzip.decompress(raw) if path.suffix == ".gz" else raw
    for number in forgotten & set(texts):
        assert texts[number].encode() not in found


def run_schedule(number: int, folder: Path) -> None:
    chance = random.Random(f"schedule {number}")
    home = Home.create(folder / "home", base())
    said: list[list[str]] = []
    for life in range(LIVES):
        is_last = life == LIVES - 1
        said += run_life(home, f"{number}-{life}", None if is_last else chance.uniform(0.0, 4.0))
        if is_last:
            assert said[-1] == ["closed"]
        with Writer(home):  # as the next start does
            pass
        check(home, said)
    shutil.rmtree(folder / "home")


@pytest.mark.parametrize("number", range(2))
def test_the_state_is_the_replay_of_what_remains(number, tmp_path):
    run_schedule(number, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(2, SCHEDULES))
def test_the_state_is_the_replay_of_what_remains_in_all_schedules(number, tmp_path):
    run_schedule(number, tmp_path)
