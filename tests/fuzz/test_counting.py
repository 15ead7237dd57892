"""Test that a long run can be stopped: its counts remain, and the next run continues from there."""

import json

import pytest

from tests.fuzz import __main__ as fuzz

pytest.importorskip("atheris", reason="its version is written down")


def test_turns_are_added_up_until_the_file_has_enough(tmp_path, monkeypatch):
    path, turns = tmp_path / "fuzz.json", []

    def go(name, runs, seconds):
        turns.append((name, runs))
        return min(runs, 400), True

    monkeypatch.setattr(fuzz, "go", go)
    assert fuzz.run_all(["record", "read-vw"], 1300, 1, path) == 0
    goals = fuzz.wanted(["record", "read-vw"], 1300)
    assert json.loads(path.read_text())["inputs"] == goals
    assert turns == [("record", 1200), ("read-vw", 100), ("record", 800), ("record", 400)]
    fuzz.run_all(["record", "read-vw"], 1300, 1, path)
    assert len(turns) == 4  # nothing is left to do
    fuzz.run_all(["record", "read-vw"], 2600, 1, path)
    assert sum(json.loads(path.read_text())["inputs"].values()) == 2600


def test_a_target_that_failed_has_no_further_turn(tmp_path, monkeypatch):
    path = tmp_path / "fuzz.json"
    monkeypatch.setattr(fuzz, "go", lambda name, runs, _: (0, False) if name == "text" else (runs, True))
    assert fuzz.run_all(["record", "text"], 1000, 1, path) == 1
    assert json.loads(path.read_text())["failed"] == ["text"]
