"""Executors and drivers are killed with SIGKILL, and the model is the same."""

import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from abound.spark import fit
from tests.spark.killing import STAGES, descendants, executors, fit_with_kills

SHARDS = 3
# Kills meet the first round. Where there is one kill, a second round comes after it, which learns from the first.
TWO_ROUNDS = {"few_labels": 0, "passes": 2, "rounds": 1}
ONE_ROUND = {"few_labels": 0, "passes": 1, "rounds": 1}


@pytest.fixture(scope="module")
def wanted(corpus):
    """The hash of as many shards on this machine, by the passes."""
    return {form["passes"]: corpus.fit("cascade", SHARDS, form).state_hash() for form in (ONE_ROUND, TWO_ROUNDS)}


def check(frame, wanted, folder, stages, seed, monkeypatch, form):
    params = {"ranker": "cascade", "ranker_params": form, "shards": SHARDS}
    report, killed = fit_with_kills(frame, folder, stages, seed, monkeypatch, **params)
    assert tuple(killed) == stages
    assert not set(killed.values()) & set(executors())
    assert report.state_hash == wanted[form["passes"]]


@pytest.mark.parametrize("stage", ["shuffle", pytest.param("write", marks=pytest.mark.slow)])
def test_a_killed_executor_changes_nothing(stage, frame, wanted, tmp_path, monkeypatch):
    check(frame, wanted, tmp_path / "work", (stage,), 0, monkeypatch, TWO_ROUNDS)


@pytest.mark.slow
@pytest.mark.parametrize("stages", [STAGES[::2], STAGES[1::2]], ids=" and ".join)  # no two of them at the same time
@pytest.mark.parametrize("seed", range(1, 11))
def test_executors_killed_at_random_moments_change_nothing(stages, seed, frame, wanted, tmp_path, monkeypatch):
    check(frame, wanted, tmp_path / "work", stages, seed, monkeypatch, ONE_ROUND)


def test_a_killed_driver_is_resumed(spark, corpus, tmp_path):
    source, model = str(tmp_path / "docs.parquet"), tmp_path / "model"
    rows = corpus.shuffled()[:500]
    frame = spark.createDataFrame(rows, "row long, text string, labels array<string>")
    frame.write.parquet(source)
    wanted = fit(frame, tmp_path / "whole", ranker_params={"few_labels": 0, "passes": 3}, shards=2).state_hash
    command = [sys.executable, "-m", "abound", "spark", "fit", source, "--model", str(model), "--shards", "2"]
    command += ["--passes", "3", "--ranker-param", "few_labels=0", "--master", "local[1]"]
    settings = ("driver.bindAddress=127.0.0.1", "ui.enabled=false", "driver.extraJavaOptions=-XX:TieredStopAtLevel=1")
    for setting in settings:
        command += ["--conf", f"spark.{setting}"]
    said = tmp_path / "stderr"
    with open(said, "wb") as errors:
        driver = subprocess.Popen(command, stderr=errors, stdout=subprocess.DEVNULL)
    between, deadline = tmp_path / "model.work" / "model-00001" / "manifest.json", time.monotonic() + 900
    while not between.exists() and driver.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    for pid in (*descendants(driver.pid), driver.pid):  # Python and its Java
        os.kill(pid, signal.SIGKILL)
    assert driver.wait() == -signal.SIGKILL, said.read_text()
    assert between.exists()
    assert not any(model.iterdir())  # the command holds the directory, and has written nothing
    carried = next((tmp_path / "whole").glob("term_names-*.npy"))
    shutil.copy(carried, model)  # as if the driver had been killed again, at the very end
    settings = {"ranker_params": {"few_labels": 0}, "passes": 3, "shards": 2}
    with pytest.raises(FileExistsError, match="holds no model"):
        fit(frame, model, **settings)
    with pytest.raises(FileExistsError, match="continue it with resume=True or --resume"):
        fit(frame, tmp_path / "other", work=tmp_path / "model.work", **settings)
    with pytest.raises(ValueError, match="a training with other rows or parameters"):
        fit(frame.limit(400), model, resume=True, **settings)
    report = fit(frame, model, resume=True, **settings)
    assert report.state_hash == wanted
    assert "rows" not in [stage["stage"] for stage in report.stages]  # what was done is not done again
    assert "learn 1" not in [stage["stage"] for stage in report.stages]


def test_nothing_listens_on_another_address_than_loopback(spark):
    assert spark.range(2).count() == 2
    inodes = set()
    for pid in (*descendants(os.getpid()), os.getpid()):
        try:
            links = [os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")]
        except OSError:
            continue
        inodes |= {link[8:-1] for link in links if link.startswith("socket:[")}
    n_listening, loopback = 0, ("0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000")
    for table in ("tcp", "tcp6"):
        with open(f"/proc/net/{table}") as lines:
            for fields in [line.split() for line in lines][1:]:
                if fields[3] == "0A" and fields[9] in inodes:  # it listens, and is ours
                    n_listening += 1
                    assert fields[1].partition(":")[0] in loopback
    assert n_listening > 3
