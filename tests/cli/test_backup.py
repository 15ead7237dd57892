"""`abound backup` and `abound restore`."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from abound import Tagger
from abound.server import Home
from abound.server.http.library import models_of
from tests.cli.running import Run


@pytest.fixture
def home(model: Path, run: Run) -> Path:
    home = Home.create(model.with_name("model.served"), Tagger.load(model)).path
    for number in range(3):
        assert run("learn", home, "--text", f"word{number}", "--label", f"label{number}").code == 0
    return home


def test_a_home_is_backed_up_and_restored(home: Path, run: Run, tmp_path: Path) -> None:
    assert run("keys", "add", home, "mine").code == 0
    done = run("backup", home, tmp_path / "backup")
    assert done.code == 0, done.err
    assert (done.json["sequence"], done.json["has_keys"]) == (3, True)
    assert "keys.json" in done.err
    assert run("backup", home, tmp_path / "backup").json["copied"] == 0
    assert "last record" in run("backup", home, tmp_path / "backup", "--table").out
    assert run("restore", tmp_path / "backup", tmp_path / "again").json["sequence"] == 3
    assert run("rank", tmp_path / "again", "word2", "-k", 1).json["labels"][0]["label"] == "label2"
    assert (tmp_path / "again" / "keys.json").read_bytes() == (home / "keys.json").read_bytes()
    assert run("restore", tmp_path / "backup", tmp_path / "second", "--to", 2).json["sequence"] == 2
    assert run("info", tmp_path / "second").json["corrections"] == 2
    assert "backup" not in models_of(str(tmp_path))
    assert {"again", "second"} <= set(models_of(str(tmp_path)))


def test_a_home_is_restored_to_a_time(home: Path, run: Run, tmp_path: Path) -> None:
    run("backup", home, tmp_path / "backup")
    times = [line["time"] for line in run("journal", "export", home, "--records").lines]
    early = datetime.fromisoformat(times[0]).replace(microsecond=0)
    assert run("restore", tmp_path / "backup", tmp_path / "none", "--to", early.isoformat()).json["sequence"] == 0
    late = datetime.now(UTC).replace(tzinfo=None).isoformat()
    assert run("restore", tmp_path / "backup", tmp_path / "all", "--to", late).json["sequence"] == 3
    assert "restored" in run("restore", tmp_path / "backup", tmp_path / "table", "--table").err
    refused = run("restore", tmp_path / "backup", tmp_path / "all")
    assert refused.code == 1
    assert "is not empty" in refused.err
    assert (
        "--to must be the number of a record or a time"
        in run("restore", tmp_path / "backup", tmp_path / "x", "--to", "noon").err
    )
    assert "is not a backup" in run("restore", home, tmp_path / "x").err
