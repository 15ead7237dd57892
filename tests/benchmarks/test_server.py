"""A short run of the server's benchmark."""

import contextlib
import shutil
import sqlite3
import sys

import pytest

from benchmarks import server


@pytest.mark.data
@pytest.mark.skipif(sys.platform != "linux" or shutil.which("wrk") is None, reason="load comes from wrk")
def test_every_part_is_measured(data_folder, monkeypatch):
    for name, value in (("N_TRAIN", 2_000), ("N_TEST", 200), ("ROUNDS", 1), ("SECONDS", 1)):
        monkeypatch.setattr(server, name, value)
    figures = server.run(["rank", "p99", "learns"])
    assert 0.05 < figures["rank"]["ratio"] < 1.5  # of a server that only parses and answers
    assert figures["rank"]["answer_bytes"] > 200
    # Other tests run meanwhile, so few corrections may be learned in the second. More than scheduled would be a defect.
    assert 5 < figures["p99"]["learns_a_second"] <= 1.2 * server.LEARNS_A_SECOND
    assert figures["p99"]["ratio_best"] > 0.2
    assert figures["learns"]["records_a_commit"] > 1.5  # of 16 connections, several share a commit
    assert 0 < figures["learns"]["ratio"] < 1


def test_bare_commits_are_counted(tmp_path):
    assert server.bare_commits(tmp_path / "bare.sqlite", [[b"a"], [b"b", b"c"]] * 10) > 0
    with contextlib.closing(sqlite3.connect(tmp_path / "bare.sqlite")) as database:
        [(table,)] = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        assert database.execute(f"SELECT count(*) FROM {table}").fetchone() == (30,)  # noqa: S608
