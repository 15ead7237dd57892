"""The slow suites are found by their names, and their results become a table."""

import subprocess
import sys

import pytest

from benchmarks.hardening import suites, tables


def test_every_suite_names_a_test():
    for _, (path, *_), _ in suites.SUITES.values():
        file, _, name = path.partition("::")
        assert f"\ndef {name}(" in (suites.ROOT / file).read_text(), path


def test_the_suite_of_kills_leaves_out_the_short_test():
    _, tests, _ = suites.SUITES["kills"]
    chosen = tests[: tests.index("-n")]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--collect-only", "-m", "slow", *chosen]
    done = subprocess.run(command, cwd=suites.ROOT, capture_output=True, text=True, check=False)
    assert sum("[200-" in line for line in done.stdout.splitlines()) == 10, done.stdout[-2000:]


@pytest.mark.parametrize(
    ("last", "counts"),
    [
        ("1 failed, 1199 passed in 3.00s", {"failed": 1, "passed": 1199, "skipped": 0}),
        ("10 passed, 2 skipped, 1 deselected in 3.00s", {"failed": 0, "passed": 10, "skipped": 2}),
        ("1 failed, 8 passed, 2 errors in 3.00s", {"failed": 3, "passed": 8, "skipped": 0}),
        ("1 failed, 1 deselected in 3.00s", {"failed": 1, "passed": 0, "skipped": 0}),
    ],
)
def test_the_last_line_of_a_suite_is_read(monkeypatch, last, counts):
    output = f"200 kills, 1,000 acknowledged\n..\n{last}\n"
    monkeypatch.setattr(suites.subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 0, output, ""))
    found = suites.run("kills")
    assert {key: found[key] for key in counts} == counts
    assert found["printed"] == ["200 kills, 1,000 acknowledged"]


def test_a_suite_that_does_not_run_is_reported(monkeypatch):
    monkeypatch.setattr(suites.subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 4, "no tests", "oh"))
    with pytest.raises(SystemExit, match="kills did not run"):
        suites.run("kills")


def test_numbers_of_equal_lines_are_summed():
    lines = ["200 kills, 1,000 acknowledged, 0 lost", "200 kills, 2,345 acknowledged, 0 lost"]
    assert tables.summed(lines) == ["400 kills, 3,345 acknowledged, 0 lost"]
    assert tables.summed(lines[:1]) == lines[:1]
