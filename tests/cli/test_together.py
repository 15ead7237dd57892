"""Several commands at once on one model directory, as real processes."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from abound import Tagger
from abound.store.locks import lock_directory
from tests.cli.running import Run

pytestmark = pytest.mark.skipif(os.name == "nt", reason="directories are locked on POSIX only")
COMMAND = [sys.executable, "-c", "from abound.cli import main; main()"]


def start(*arguments: object, stdin: int | None = subprocess.DEVNULL) -> "subprocess.Popen[str]":
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process: "subprocess.Popen[str]", text: str | None = None) -> tuple[int, str, str]:
    out, err = process.communicate(text, timeout=120)
    return process.returncode, out, err


def wait_for(path: Path) -> None:
    for _ in range(400):
        if path.exists():
            return
        time.sleep(0.05)
    pytest.fail(f"{path} did not appear")


def test_corrections_taught_at_once_are_all_kept(model: Path) -> None:
    taught = [start("learn", model, "--text", f"word{number}", "--label", f"label{number}") for number in range(8)]
    assert [finish(process)[0] for process in taught] == [0] * 8
    tagger = Tagger.load(model)
    assert {f"label{number}" for number in range(8)} <= set(tagger.ranker.labels_.names)
    assert [tagger.rank(f"word{number}", k=1)[0].label for number in range(8)] == [f"label{n}" for n in range(8)]


def test_judgements_taught_at_once_are_all_kept(model: Path) -> None:
    text = "a red apple and a green pear"
    taught = [start("feedback", model, "--text", text, "--accept", "fruit") for _ in range(4)]
    assert [finish(process)[0] for process in taught] == [0] * 4
    together, alone = Tagger.load(model), Tagger.load(model)
    alone.bands = None
    for _ in range(4):
        alone.feedback(text, ["fruit"])
    assert together.bands is not None
    assert alone.bands is not None
    assert together.bands.report() == alone.bands.report()


def test_one_that_waits_says_so_and_goes_on(model: Path) -> None:
    with lock_directory(model):
        waiting = start("learn", model, "--text", "zebra", "--label", "animal")
        assert waiting.stderr is not None
        assert waiting.stderr.readline() == f"another process is writing to {model}; waiting for it\n"
        other = Tagger.load(model)
        other.learn("giraffe", ["tall"])
        other.save(model)
        assert waiting.poll() is None
    assert finish(waiting)[0] == 0
    assert {"tall", "animal"} <= set(Tagger.load(model).ranker.labels_.names)


@pytest.mark.parametrize("command", ["fit", "merge"])
def test_a_second_model_for_the_same_directory_is_refused(
    command: str, tmp_path: Path, docs: Path, model: Path, run: Run
) -> None:
    target = tmp_path / "new"
    first = start("fit", "-", "--format", "jsonl", "--model", target, stdin=subprocess.PIPE)
    try:
        wait_for(target)
        time.sleep(0.5)  # from the directory to its lock
        inputs = (docs,) if command == "fit" else (model, model)
        refused = run(command, *inputs, "--model", target)
        assert refused.code == 1
        assert f"another process is writing a model to {target}" in refused.err
        assert finish(first, docs.read_text(encoding="utf-8"))[0] == 0
    finally:
        first.kill()
    assert Tagger.load(target).n_rows == 60
    assert "already contains a model" in run(command, *inputs, "--model", target).err


def test_a_fit_that_fails_or_is_killed_leaves_nothing_in_the_way(tmp_path: Path, docs: Path, run: Run) -> None:
    target = tmp_path / "deep" / "new"
    assert run("fit", tmp_path / "none.jsonl", "--model", target).code == 1
    assert not target.parent.exists()
    killed = start("fit", "-", "--format", "jsonl", "--model", target, stdin=subprocess.PIPE)
    wait_for(target)
    killed.kill()
    finish(killed)
    assert run("fit", docs, "--model", target).code == 0
