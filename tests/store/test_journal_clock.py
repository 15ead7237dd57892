"""Keys live as long as promised, whatever the wall clock does; the journals are real."""

import time

import pytest

from abound.store.journal import KEY_LIFE, Journal, Receipt
from abound.store.journal.records import Learn

DAY = 24 * 3600
YEAR = 365 * DAY


def learn(i):
    return Learn(f"text {i}", added=[f"label {i}"])


@pytest.fixture
def clock(monkeypatch):
    """Set the wall clock and the monotonic clock by hand."""

    class Clock:
        wall, counter = time.time_ns(), time.monotonic_ns()

        def jump(self, seconds):
            self.wall += int(seconds * 10**9)

        def pass_by(self, seconds):
            self.jump(seconds)
            self.counter += int(seconds * 10**9)

    found = Clock()
    monkeypatch.setattr(time, "time_ns", lambda: found.wall)
    monkeypatch.setattr(time, "monotonic_ns", lambda: found.counter)
    return found


@pytest.fixture
def path(tmp_path):
    Journal.create(tmp_path / "journal.sqlite").close()
    return tmp_path / "journal.sqlite"


def send(path, numbers):
    with Journal(path, write=True) as journal:
        return [journal.append([(learn(i), f"key {i}")])[0] for i in numbers]


def test_a_clock_that_runs_ahead_and_back_doubles_nothing(path, clock):
    assert send(path, range(4)) == [Receipt(i + 1, False) for i in range(4)]
    clock.jump(YEAR)
    assert send(path, [4]) == [Receipt(5, False)]  # the clock's mistake gets into the journal
    assert send(path, range(5)) == [Receipt(i + 1, True) for i in range(5)]
    with Journal(path, write=True) as journal:
        journal.compact(5)
    clock.jump(-YEAR)
    assert send(path, range(5)) == [Receipt(i + 1, True) for i in range(5)]


def test_a_clock_that_jumps_while_a_journal_is_open_doubles_nothing(path, clock):
    with Journal(path, write=True) as journal:
        for jump in (0, YEAR, -3 * YEAR, 2 * YEAR):
            clock.jump(jump)
            found = [journal.append([(learn(i), f"key {i}")])[0] for i in range(4)]
            assert [receipt.sequence for receipt in found] == [1, 2, 3, 4]
            assert all(receipt.repeated for receipt in found) == bool(jump)
            journal.compact(0)
        assert list(journal.damage()) == []


def test_keys_made_while_the_clock_was_ahead_die_in_time(path, clock):
    clock.jump(YEAR)
    send(path, [0])
    clock.jump(-YEAR)
    with Journal(path, write=True) as journal:
        clock.pass_by(KEY_LIFE - DAY)
        assert journal.find(learn(0), "key 0") == 1
        clock.pass_by(DAY + 1)
        assert journal.find(learn(0), "key 0") is None
        assert journal.append([(learn(0), "key 0")]) == [Receipt(2, False)]


def test_a_key_dies_after_its_life_however_often_a_journal_is_opened(path, clock):
    send(path, [0])
    for _ in range(15):
        clock.pass_by(KEY_LIFE / 14)
        with Journal(path, write=True) as journal:
            journal.append([(learn(1), None)])
    with Journal(path, write=True) as journal:
        assert journal.find(learn(0), "key 0") is None
        journal.compact(0)
        assert journal._connection.execute("SELECT count(*) FROM key").fetchone() == (0,)
        assert list(journal.damage()) == []


def test_a_flapping_clock_kills_no_key_in_several_openings(path, clock):
    send(path, [0])
    for _ in range(7):
        clock.jump(YEAR)
        assert send(path, [0]) == [Receipt(1, True)]
        clock.jump(-YEAR)
        send(path, [1])


def test_a_record_has_the_time_of_the_clock(path, clock):
    send(path, [0])
    clock.jump(-YEAR)
    send(path, [1])
    with Journal(path) as journal:
        first, second = journal.read()
    assert first.time - second.time == YEAR * 1_000_000
    assert (first.sequence, second.sequence) == (1, 2)
