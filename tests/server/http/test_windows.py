"""Counts that processes share: any minute has at most the limit, and the death of a process loses nothing for ever."""

import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from abound.server.http import windows
from abound.server.http.windows import MINUTE, NANOSECONDS, UNDER_WAY, WINDOW, Full, InProgress, Window


class Clock:
    """A clock that the test sets."""

    def __init__(self, monkeypatch, now=1000 * NANOSECONDS):
        self.now = now
        monkeypatch.setattr(windows, "_now", lambda: self.now)

    def pass_(self, seconds):
        self.now += round(seconds * NANOSECONDS)


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


def most_in_a_minute(times):
    """Return the most times in any 60 s."""
    times = sorted(times)
    ends = np.searchsorted(times, np.array(times) + MINUTE, side="left")
    return int((ends - np.arange(len(times))).max())


def test_no_minute_has_more_than_the_limit(tmp_path, clock):
    window, done, waits = Window(tmp_path / "w", 7), [], []
    rng = random.Random(0)
    for _ in range(3000):
        clock.pass_(rng.expovariate(1))
        try:
            taken = window.take()
        except Full as full:
            waits.append(full.seconds)
            if rng.random() < 0.3:
                clock.pass_(full.seconds)
                window.end(window.take())  # as it was told
                done.append(clock.now)
            continue
        clock.pass_(rng.expovariate(10))
        window.end(taken)
        done.append(clock.now)
    assert most_in_a_minute(done) == 7
    assert min(waits) == 1
    assert max(waits) <= 61
    span = (done[-1] - done[0]) / WINDOW
    assert len(done) > 6 * span  # the limit is used


def test_a_slow_action_counts_until_a_minute_after_its_end(tmp_path, clock):
    window = Window(tmp_path / "w", 1)
    taken = window.take()
    clock.pass_(30)
    window.end(taken)
    clock.pass_(40)
    with pytest.raises(Full) as full:
        window.take()
    assert full.value.seconds == 21
    clock.pass_(20.5)
    window.take()


def test_several_actions_are_admitted_together_or_not_at_all(tmp_path, clock):
    window = Window(tmp_path / "w", 5)
    window.end(window.take(3))
    clock.pass_(1)
    with pytest.raises(Full) as full:
        window.take(3)
    assert full.value.seconds == 60
    window.end(window.take(2))
    clock.pass_(59.6)
    window.take(3)


def test_what_was_given_back_does_not_count(tmp_path, clock):
    window = Window(tmp_path / "w", 1)
    for _ in range(5):
        window.give_back(window.take())
    window.take()
    with pytest.raises(Full):
        window.take()


def test_an_action_that_never_ends_counts_for_a_limited_time(tmp_path, clock):
    window = Window(tmp_path / "w", 1)
    window.take()
    clock.pass_((UNDER_WAY + WINDOW) / NANOSECONDS - 1)
    with pytest.raises(Full):
        window.take()
    clock.pass_(1)
    window.take()


def test_times_before_a_restart_of_the_system_do_not_count(tmp_path, clock):
    window = Window(tmp_path / "w", 1)
    window.end(window.take())
    clock.now = 5 * NANOSECONDS
    window.end(window.take())
    with pytest.raises(Full):
        window.take()


def test_the_first_minute_of_a_system_is_as_any_other(tmp_path, clock):
    clock.now = 5 * NANOSECONDS
    window = Window(tmp_path / "w", 2)
    window.give_back(window.take())
    window.end(window.take())
    window.end(window.take())
    with pytest.raises(Full):
        window.take()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell their starts apart")
def test_times_of_an_earlier_start_never_count_again(tmp_path, monkeypatch):
    window = Window(tmp_path / "w", 1)
    window.end(window.take())
    with pytest.raises(Full):
        window.take()
    assert windows._boot_offset() == windows._OFFSET
    monkeypatch.setattr(windows, "_OFFSET", windows._OFFSET ^ (1 << 60))  # a system that now runs as long as that one
    window.take()


def test_earlier_actions_count_after_the_limit_has_changed(tmp_path, clock):
    window = Window(tmp_path / "w", 4)
    window.end(window.take(4))
    window.limit = 6
    window.end(window.take(2))
    for limit in (6, 2):
        window.limit = limit
        with pytest.raises(Full):
            window.take()
    clock.pass_(WINDOW / NANOSECONDS)
    window.take(2)
    with pytest.raises(Full):
        window.take()


def _take_all(path, limit, results):
    window, count = Window(path, limit), 0
    for _ in range(400):
        try:
            window.end(window.take())
            count += 1
        except Full:
            pass
    results.put(count)


def test_processes_together_have_one_limit(tmp_path):
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    processes = [context.Process(target=_take_all, args=(tmp_path / "w", 500, results)) for _ in range(4)]
    for process in processes:
        process.start()
    assert sum(results.get(timeout=120) for _ in processes) == 500
    for process in processes:
        process.join()


HOLDER = """
import sys
from pathlib import Path
from abound.server.http.windows import InProgress
InProgress(Path(sys.argv[1]), 100).take(60)
print("taken", flush=True)
sys.stdin.read()
"""


def test_the_bytes_of_a_process_that_dies_do_not_count(tmp_path):
    path = tmp_path / "m"
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout.readline() == "taken\n"
        mine = InProgress(path, 100)
        mine.take(40)
        with pytest.raises(Full):
            mine.take(1)
        os.kill(process.pid, signal.SIGKILL)
        ends = time.monotonic() + 30
        while windows.started(process.pid) is not None:  # a process that was not waited for has ended, too
            assert time.monotonic() < ends
        mine.take(60)
    other = InProgress(path, 100)  # of the same process
    with pytest.raises(Full):
        other.take(1)
    mine.end(100)
    other.take(100)
    other.end(100)
    assert set(path.read_bytes()) == {0}


RESTARTING = """
import os, sys
from pathlib import Path
from abound.server.http.windows import Full, InProgress

mine = InProgress(Path(sys.argv[1]), 100)
mine.take(60)
if len(sys.argv) == 2:
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:], "again"])
try:
    InProgress(Path(sys.argv[1]), 100).take(60)
except Full:
    print("full")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the start of a process is looked at in /proc")
def test_the_bytes_of_a_program_that_was_restarted_in_place_do_not_count(tmp_path):
    command = [sys.executable, "-c", RESTARTING, str(tmp_path / "m")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "full\n"


def test_a_file_that_another_process_holds_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(windows, "LOCK_SECONDS", 0.05)
    window = Window(tmp_path / "w", 1)
    with windows.locked_file(window.path, 8), pytest.raises(TimeoutError):
        window.take()
