"""A short run of the server's benchmark."""

import shutil
import sys

import pytest

from benchmarks import server


@pytest.mark.data
@pytest.mark.skipif(sys.platform != "linux" or shutil.which("wrk") is None, reason="load comes from wrk")
def test_every_part_is_measured(data_folder, monkeypatch):
    for name, value in (("N_TRAIN", 2_000), ("N_TEST", 200), ("ROUNDS", 1), ("SECONDS", 1)):
        monkeypatch.setattr(server, name, value)
    figures = server.run(["rank", "p99", "learns"])
    assert figures["rank"]["ratio"] > 0.2
    assert figures["p99"]["learns_a_second"] > 10
    assert figures["learns"]["records_a_commit"] >= 1


def test_bare_commits_are_counted(tmp_path):
    assert server.bare_commits(tmp_path / "bare.sqlite", [[b"a"], [b"b", b"c"]] * 10) > 0
