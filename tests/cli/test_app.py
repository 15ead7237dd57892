"""What all commands share: usage, errors, streams, pipes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import abound
from abound.errors import pip_install
from abound.version import kernel_build
from tests.cli.running import Run

COMMANDS = ("fit", "learn", "rank", "feedback", "evaluate", "explain", "info", "merge", "convert")


def start(*arguments: object, code: str = "from abound.cli import main; main()") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_the_version_is_printed_with_the_build_of_the_kernels(run: Run) -> None:
    result = run("--version")
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines() == [f"abound {abound.__version__}", kernel_build()]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_has_an_example(run: Run, command: str) -> None:
    result = run(command, "--help")
    assert result.code == 0
    assert f"\n    abound {command} " in result.out  # on lines of their own, to be copied


def test_help_shows_the_defaults_of_the_tagger(run: Run) -> None:
    words = " ".join(run("fit", "--help").out.split())
    assert "Ranking algorithm. [default: cascade]" in words
    assert "Longest word n-gram. [default: 2]" in words


@pytest.mark.parametrize(
    ("arguments", "nearest"),
    [
        (["fit", "x.jsonl", "--model", "m", "--formt", "csv"], "--format"),
        (["rank", "m", "text", "--treshold", "1"], "--threshold"),
        (["evalute"], "evaluate"),
    ],
)
def test_a_misspelt_option_is_refused_with_the_nearest(run: Run, arguments: list[str], nearest: str) -> None:
    result = run(*arguments)
    assert (result.code, result.out) == (2, "")
    assert arguments[0 if len(arguments) == 1 else -2] in result.err
    assert nearest in result.err


def test_a_malformed_line_is_told_with_file_and_line(run: Run, docs: Path, tmp_path: Path) -> None:
    docs.write_text(docs.read_text() + '{"text": 5, "labels": []}\n')
    result = run("fit", docs, "--model", tmp_path / "m")
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith(f"abound: {docs}:61: the text must be a string")
    assert not (tmp_path / "m").exists()
    skipped = run("fit", docs, "--model", tmp_path / "m", "--on-error", "skip")
    assert (skipped.code, skipped.json["skipped"], skipped.json["rows"]) == (0, 1, 60)
    assert f"skipped 1 malformed lines of {docs}; the first: {docs}:61:" in skipped.err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"title": "a", "labels": []}', "name the right one with --text-field ..."),
        ('{"text": "a"}', "or --labels-field '' for documents without labels"),
    ],
)
def test_errors_speak_of_options(run: Run, tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "x.jsonl").write_text(text)
    assert words in run("fit", tmp_path / "x.jsonl", "--model", tmp_path / "m").err


def test_a_format_that_cannot_be_told(run: Run, tmp_path: Path) -> None:
    (tmp_path / "docs.dat").touch()
    result = run("fit", tmp_path / "docs.dat", "--model", tmp_path / "m")
    assert result.code == 1
    assert "pass --format ..., one of annif" in result.err


def test_features_are_no_texts(run: Run, tmp_path: Path) -> None:
    (tmp_path / "rows.svm").write_text("1 1:2\n")
    result = run("fit", tmp_path / "rows.svm", "--format", "svmlight", "--model", tmp_path / "m")
    assert result.code == 1
    assert "format 'svmlight'" in result.err
    assert "has no texts; formats with texts: annif" in result.err


def test_a_missing_file_is_one_sentence(run: Run, tmp_path: Path) -> None:
    result = run("fit", tmp_path / "no.jsonl", "--model", tmp_path / "m")
    assert (result.code, result.err) == (1, f"abound: {tmp_path / 'no.jsonl'}: No such file or directory\n")


def test_a_bug_is_one_sentence_too(run: Run, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("abound.cli.info.load_tagger", lambda _: 1 + "1")  # type: ignore[operator]
    result = run("info", model)
    assert result.code == 1
    assert result.err.startswith("abound: unexpected TypeError: ")
    assert result.err.endswith("; --debug shows the traceback\n")


@pytest.mark.parametrize("arguments", [("--debug", "info", "nowhere"), ("info", "nowhere", "--debug")])
def test_debug_shows_the_traceback(arguments: tuple[str, ...]) -> None:
    process = start(*arguments)
    _, err = process.communicate()
    assert process.returncode == 1
    assert "Traceback" in err


def test_a_missing_extra_names_its_command() -> None:
    hidden = "import sys; sys.modules['typer'] = None; from abound.cli import main; main()"
    process = start("info", "m", code=hidden)
    out, err = process.communicate()
    assert (process.returncode, out) == (1, "")
    assert err == f"abound: the command line needs typer and rich: {pip_install('cli')}\n"


def test_a_closed_pipe_ends_quietly(model: Path, docs: Path) -> None:
    docs.write_text(docs.read_text() * 200)
    process = start("rank", model, docs)
    assert process.stdout is not None
    assert process.stdout.readline().startswith('{"row": 0')
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait() != 0


def test_a_pipe_closed_at_once_is_quiet_too(model: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    process = subprocess.run(
        [sys.executable, "-c", "from abound.cli import main; main()", "info", model],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        env=buffered,
    )
    os.close(writing)
    assert process.stderr == ""


def test_ranking_imports_neither_scikit_learn_nor_rich(model: Path) -> None:
    code = (
        "import sys; from abound.cli import main\n"
        "try: main()\n"
        "finally: print({'sklearn', 'scipy', 'rich', 'pandas'} & set(sys.modules), file=sys.stderr)"
    )
    process = start("rank", model, "a text", code=code)
    _, err = process.communicate()
    assert err == "set()\n"
