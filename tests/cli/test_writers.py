"""One writer per directory: every command that writes locks it, or fails with a sentence and a non-zero code."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from abound import Tagger
from abound.server import Home, Writer
from abound.store.journal.records import Learn
from tests.cli.running import Run
from tests.server.http.running import ROOT, Running

pytestmark = pytest.mark.skipif(os.name == "nt", reason="directories are locked on POSIX only")


def run_together(*commands: tuple[object, ...]) -> list[tuple[int, str]]:
    """Run commands at the same time; return the exit code and the messages of each."""
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "abound", *map(str, command)],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for command in commands
    ]
    messages = [process.communicate(timeout=900)[1] for process in started]
    return [(process.returncode, message) for process, message in zip(started, messages, strict=True)]


def check_fits(tmp_path: Path, docs: Path, n_fits: int) -> None:
    target = tmp_path / "new"
    ended = run_together(*[("fit", docs, "--model", target)] * n_fits)
    assert sorted(code for code, _ in ended) == [0] + [1] * (n_fits - 1)
    for code, message in ended:
        refusals = (f"another process is writing a model to {target}", f"{target} already contains a model")
        assert code == 0 or any(refusal in message for refusal in refusals)
    assert Tagger.load(target).n_rows == 60


def test_one_of_two_fits_into_one_directory_succeeds(tmp_path: Path, docs: Path) -> None:
    check_fits(tmp_path, docs, 2)


@pytest.mark.slow
def test_one_of_eight_fits_into_one_directory_succeeds(tmp_path: Path, docs: Path) -> None:
    check_fits(tmp_path, docs, 8)


@pytest.mark.slow
def test_forty_corrections_taught_at_once_are_all_kept(model: Path) -> None:
    before = Tagger.load(model).n_rows
    commands = [("learn", model, "--text", f"word{n}", "--label", f"label{n}") for n in range(40)]
    assert [code for code, _ in run_together(*commands)] == [0] * 40
    tagger = Tagger.load(model)
    assert tagger.n_rows == before + 40
    assert [tagger.rank(f"word{n}", k=1)[0].label for n in range(40)] == [f"label{n}" for n in range(40)]


def test_a_home_that_is_served_has_one_writer(model: Path, docs: Path, run: Run) -> None:
    home = model.with_name("model.served")
    with Running(model) as server, server.client() as client:
        client.learn("a plum", added=["fruit"])
        for command in (("serve", model), ("serve", home), ("journal", "compact", home), ("journal", "skip", home, 1)):
            refused = run(*command)
            assert refused.code == 1, command
            assert "already has a writer" in refused.err, command
        for command in (("fit", docs), ("merge", model, model)):
            refused = run(*command, "--model", home, "--force")
            assert refused.code == 1, command
            assert f"{home} is the home of a served model" in refused.err
        replaced = run("fit", docs, "--model", model, "--force")
        assert replaced.code == 0
        assert f"{home} keeps serving the old model with 1 correction" in replaced.err
        assert client.rank("a plum")[0].label == "fruit"


def test_a_home_of_another_fit_is_reported(model: Path, docs: Path, run: Run) -> None:
    home = model.with_name("model.served")
    with Running(model) as server:
        assert not any("another model" in line for line in server.said)
    with Running(model) as server:
        assert not any("another model" in line for line in server.said)
    assert run("fit", docs, "--model", model, "--force", "--limit", 30).code == 0
    with Running(model) as server:
        assert any(f"{home} was created from another model than {model}" in line for line in server.said)
    with Running(home) as server:  # the home alone has no model to compare
        assert not any("another model" in line for line in server.said)


def test_a_home_of_an_earlier_version_is_compared_by_its_first_snapshot(model: Path, run: Run) -> None:
    home = Home.create(model.with_name("model.served"), Tagger.load(model))
    assert not (home.path / "origin.json").exists()
    origin = home.origin()
    assert origin is not None
    assert origin.state_hash == Tagger.load(model).state_hash()
    with Writer(home) as writer:
        writer.submit(Learn("a plum", added=["fruit"])).result(30)
        assert writer.snapshot(1)
    run("journal", "compact", home.path)
    (home.snapshot_path(0) / "manifest.json").unlink()
    assert home.origin() is None
