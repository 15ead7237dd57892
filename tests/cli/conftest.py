import io
import sys
from pathlib import Path

import pytest

from abound.cli import main
from tests.cli.running import Result, Run, write_rows


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command in this process; what it prints goes to a pipe, as far as it knows."""

    def run(*arguments: object, stdin: str = "") -> Result:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), "utf-8"))
        capsys.readouterr()
        with pytest.raises(SystemExit) as caught:
            main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        code = caught.value.code
        return Result(code if isinstance(code, int) else int(code is not None), out, err)

    return run


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "docs.jsonl")


@pytest.fixture
def model(tmp_path: Path, docs: Path, run: Run) -> Path:
    path = tmp_path / "model"
    assert run("fit", docs, "--model", path).code == 0
    return path
