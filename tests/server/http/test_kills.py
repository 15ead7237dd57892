"""A server that is killed at random while several clients learn over HTTP loses nothing and applies nothing twice."""

import os
import random
import signal
import sys
import threading
import time

import pytest

from abound.client import Client
from abound.errors import ServerError, ServerUnreachable
from abound.server import Home, Writer
from abound.store.journal import Journal
from tests.server.http.spawner import Spawner, free_port
from tests.server.streams import base, lesson, trained

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="kills processes, and looks them up in /proc")
CLIENTS = 4
SNAPSHOT_EVERY = 500  # more often, servers that live a second would not finish them, and replay more and more
SHARE_OF_SEVERAL = 0.1  # of the servers that have two workers


class Teacher(threading.Thread):
    """A client that sends corrections, each under its own key, and repeats each until it is acknowledged."""

    def __init__(self, url, number):
        super().__init__(daemon=True)
        self.number = number
        self.client = Client(url, timeout=120, retries=0)
        self.acknowledged = {}  # sequence by key
        self.paused = threading.Event()
        self.ended = False
        self.problems = []

    def run(self):
        count = 0
        while not self.ended:
            key, record = f"{self.number}-{count}", lesson(count, self.number)
            try:
                found = self.client.learn(
                    record.text, accepted=record.accepted, rejected=record.rejected, added=record.added, key=key
                )
            except (ServerUnreachable, ServerError) as error:
                if isinstance(error, ServerError) and error.status != 503:  # a worker whose writer was killed
                    self.problems.append(error)
                    return
                time.sleep(0.05)  # a server that starts has something else to do than to refuse requests
                continue
            except Exception as error:
                self.problems.append(error)
                return
            self.acknowledged[key] = found.sequence
            count += 1
        self.client.close()


def take_up(home, records):
    """Add the records that the journal holds to those seen before, by sequence; nothing may have changed."""
    with Journal(home.journal_path) as journal:
        for stored in journal.read(journal.base):
            assert records.setdefault(stored.sequence, (stored.key, stored.record)) == (stored.key, stored.record)


def check(home, records, teachers):
    take_up(home, records)
    assert sorted(records) == list(range(1, len(records) + 1))
    by_key = {key: sequence for sequence, (key, _) in records.items()}
    assert len(by_key) == len(records)  # no key twice
    for teacher in teachers:
        assert teacher.problems == []
        for key, sequence in dict(teacher.acknowledged).items():
            assert by_key[key] == sequence
            assert records[sequence][1] == lesson(int(key.partition("-")[2]), teacher.number)


def kill(server, chance):
    """Kill the server, its writer alone, or only a worker, which is not its end; tell whether it ended."""
    workers = server.workers()
    if workers and chance.random() < 0.3:
        os.kill(chance.choice(workers), signal.SIGKILL)
        time.sleep(chance.random() * 0.1)
    server.kill(exclusive_writer=chance.random() < 0.5)


@pytest.mark.parametrize(
    ("kills", "seed"), [(15, 0), *(pytest.param(200, seed, marks=pytest.mark.slow) for seed in range(1, 11))]
)
def test_killed_at_random_under_load(tmp_path, kills, seed):
    chance, records = random.Random(seed), {}
    home = Home.create(tmp_path / "home", base())
    with Spawner() as spawner:
        port, teachers = free_port(), []
        for number in range(kills):
            workers = 2 if chance.random() < SHARE_OF_SEVERAL else 1
            server = spawner.start(home.path, port=port, workers=workers, snapshot_every=SNAPSHOT_EVERY)
            if not teachers:
                teachers = [Teacher(server.url, i) for i in range(CLIENTS)]
                for teacher in teachers:
                    teacher.start()
            enough = sum(len(t.acknowledged) for t in teachers) + chance.randint(0, 60)
            ends = time.monotonic() + 180
            while sum(len(t.acknowledged) for t in teachers) < enough and time.monotonic() < ends:
                time.sleep(0.001)
            time.sleep(chance.random() * 0.01)  # any moment: within a commit, an apply, a snapshot, an answer
            kill(server, chance)
            take_up(home, records)
            if number % 100 == 99:
                check(home, records, teachers)
        server = spawner.start(home.path, port=port, workers=1)
        for teacher in teachers:
            teacher.ended = True
        for teacher in teachers:
            teacher.join(120)
        assert server.stop() == 0
    check(home, records, teachers)
    n_acknowledged = sum(len(teacher.acknowledged) for teacher in teachers)
    assert n_acknowledged > kills
    in_order = [record for _, (_, record) in sorted(records.items())]
    with Writer(home, snapshot_every=None) as writer:
        assert list(writer.journal.damage()) == []
        assert writer.replica.state_hash() == trained(in_order).state_hash()
    print(f"{kills} kills, {n_acknowledged:,} acknowledged, {len(records):,} records, 0 lost, 0 twice")
