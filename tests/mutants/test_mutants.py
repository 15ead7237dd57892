"""Test what decides the figures of the mutation tests: which lines count, which tests run, and what is reported."""

import subprocess
import sys

import pytest

from tests.mutants.__main__ import latest, report
from tests.mutants.covering import Covering
from tests.mutants.running import changed, outcome_of
from tests.mutants.sources import GROUPS, ROOT, files, quiet_lines


def test_lines_that_do_nothing_have_no_mutants():
    text = 'import os\n\n\ndef twice(x):\n    """Return 2 x.\n\n    >>> twice(1)\n    2\n    """\n'
    text += "    y: int\n    return 2 * x\n"
    assert quiet_lines(text) == {1, 5, 6, 7, 8, 9, 10}


def test_every_file_under_test_and_every_test_exists():
    found = list(files())
    assert len(found) > 40
    assert {group for group, _ in found} == set(GROUPS)
    for place in (*(path for _, path in found), *(test for tests in GROUPS.values() for test in tests)):
        assert (ROOT / place).exists(), place


def test_the_tests_of_a_line_run_first_to_last_by_duration(tmp_path):
    covering = Covering({"a.py": {1: ["slow", "fast"], 2: ["other"]}}, {"slow": 2.0, "fast": 0.1, "other": 0.5})
    covering.save(tmp_path / "kept.json")
    again = Covering.load(tmp_path / "kept.json")
    assert again.tests_of("a.py", 1) == ["fast", "slow"]
    assert again.tests_of("a.py", 3) == ["fast", "other", "slow"]  # a line of the module itself
    assert again.tests_of("b.py", 1) == []


def test_tests_that_fail_without_a_mutant_are_left_out():
    covering = Covering({"a.py": {1: ["broken", "fast"], 2: ["broken"]}}).without({"broken"})
    assert covering.lines == {"a.py": {1: ["fast"], 2: []}}
    assert covering.tests_of("a.py", 1) == ["fast"]


def test_survivors_are_listed_and_time_limits_count_as_killed():
    outcomes = [
        {"path": "src/abound/metrics/a.py", "line": 1, "outcome": "killed"},
        {"path": "src/abound/metrics/a.py", "line": 2, "outcome": "killed by the time limit"},
        {"path": "src/abound/store/b.py", "line": 3, "outcome": "survived", "before": "x + 1", "after": "x - 1"},
        {"path": "src/abound/store/b.py", "line": 4, "outcome": "not covered"},
    ]
    lines = report(outcomes)
    assert lines[0].startswith("metrics: 2 of 2 killed, 100.0%")
    assert lines[1].startswith("store: 0 of 2 killed, 0.0%")
    assert lines[2].startswith("all: 2 of 4 killed, 50.0%")
    assert "src/abound/store/b.py:3 survived: x + 1  ->  x - 1" in lines


def test_the_last_outcome_of_a_mutant_counts():
    one = {"path": "a.py", "operator": "x", "occurrence": 0}
    other = one | {"occurrence": 1, "outcome": "survived"}
    found = latest([one | {"outcome": "survived"}, other, one | {"outcome": "killed"}])
    assert [outcome["outcome"] for outcome in found] == ["killed", "survived"]


def test_the_changed_line_is_shown():
    assert changed("a\nb\nc", "a\nB\nc") == {"line": 2, "before": "b", "after": "B"}


def test_a_mutant_is_killed_only_by_tests_that_ran():
    assert [outcome_of(code) for code in (0, 1, 2, 3, 4, -11)] == ["survived", *["killed"] * 5]
    with pytest.raises(RuntimeError, match="no test"):
        outcome_of(5)


TEST = "def test_right():\n    assert 1 + 1 == 2\n\n\ndef test_wrong():\n    assert 1 + 1 == 3\n"


def test_tests_run_in_a_fork_and_failing_ones_are_found(tmp_path):
    script = tmp_path / "test_one.py"
    script.write_text(TEST)
    tests = [f"{script}::test_{name}" for name in ("right", "wrong")]
    (tmp_path / "covering").mkdir()
    Covering({"a.py": {1: tests}}).save(tmp_path / "covering" / "c.json")
    program = (
        "import sys; from pathlib import Path; from tests.mutants.covering import Covering; "
        "from tests.mutants.running import Runner; folder = Path(sys.argv[1]); "
        "runner = Runner(folder, Covering.load(folder / 'c.json')); "
        "print([test.rpartition('::')[2] for test in runner.leave_out_failing()])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "covering")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "['test_wrong']\n", done.stderr
