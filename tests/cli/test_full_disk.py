"""What the command line says of a disk that is full, and what it leaves there."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from abound import Tagger
from tests.cli.running import Run, write_rows

pytestmark = pytest.mark.skipif(os.name == "nt", reason="mounts and /dev/full are POSIX's")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB, where this process may make one."""
    place = tmp_path / "disk"
    place.mkdir()
    try:
        options = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
        made = subprocess.run(options, capture_output=True, check=False).returncode == 0
    except OSError:
        made = False
    if not made:
        pytest.skip("this process may not mount a file system")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=False)


def test_a_model_that_does_not_fit_is_told_by_its_path_and_leaves_nothing(disk: Path, docs: Path, run: Run) -> None:
    target = disk / "model"
    failed = run("fit", docs, "--model", target)
    assert failed.code == 1
    assert failed.err.strip().splitlines()[-1] == (
        f"abound: {target} cannot be written: No space left on device; free some space and run the command again"
    )
    assert not target.exists()


def test_what_a_killed_fit_has_left_is_replaced(tmp_path: Path, docs: Path, model: Path, run: Run) -> None:
    (model / "manifest.json").unlink()  # the last file that is written
    assert run("fit", docs, "--model", model, "--force").code == 0
    assert Tagger.load(model).n_rows == 60
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").touch()
    assert "with other files" in run("fit", docs, "--model", tmp_path / "mine", "--force").err


def test_a_file_that_does_not_fit_is_told_by_its_path(disk: Path, tmp_path: Path, run: Run) -> None:
    target = disk / "copy.jsonl"
    failed = run("convert", write_rows(tmp_path / "many.jsonl", 2_000), target)
    assert failed.code == 1
    assert f"{target} cannot be written: No space left on device" in failed.err
    assert not list(disk.iterdir())
