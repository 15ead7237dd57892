"""Find the code blocks of a page, and run them in order as a reader would.

Python blocks share one namespace, shell blocks share one shell, and both run in one folder that contains `examples`. In
a block with `>>>`, the output is compared. `<!-- output -->` before a text block compares it with the output of the
shell block above; `...` matches anything. `<!-- not run: why -->` before a block skips it, and
`<!-- needs: module -->` skips it if the module is missing.
"""

import contextlib
import doctest
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>\w*)[^\n]*\n(?P<code>.*?)^(?P=indent)```[ \t]*$", re.DOTALL | re.MULTILINE
)
MARK = re.compile(r"<!-- (?P<mark>not run: [^>]+|needs: [^>]+|output) -->\s*\Z")
SHELL, PYTHON, QUIET = (
    {"bash", "sh", "shell"},
    {"python", "pycon"},
    {"text", "math", "", "ini", "yaml", "html", "http", "dockerfile"},
)
END = "-- end of block --"
SECONDS = 300  # a block that takes longer is killed
CHECKER, FLAGS = doctest.OutputChecker(), doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass
class Block:
    """One fenced block: its line, its language, its code, and the mark before it."""

    line: int
    language: str
    code: str
    mark: str = ""


def blocks_of(text: str) -> list[Block]:
    """Return the blocks of a page in order."""
    found = []
    for match in FENCE.finditer(text):
        mark = MARK.search(text, 0, match.start())
        line = text.count("\n", 0, match.start()) + 1
        code = textwrap.dedent(match["code"])
        found.append(Block(line, match["language"], code, mark["mark"] if mark else ""))
    return found


class Shell:
    """One bash that runs blocks in order, and is stopped with everything that it started."""

    def __init__(self, folder: Path) -> None:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        variables = {**os.environ, "PATH": path, "COLUMNS": "100"}
        self._errors = (folder / ".stderr").open("w+")
        self._process = subprocess.Popen(
            ["bash", "-euo", "pipefail"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            cwd=folder,
            env=variables,
            text=True,
            start_new_session=True,
        )

    def run(self, code: str) -> str:
        """Run a block and return its output."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{code}\nprintf '\\n%s\\n' '{END}'\n")  # the output may lack its last newline
        self._process.stdin.flush()
        lines: list[str] = []
        timer = threading.Timer(SECONDS, self._kill)
        timer.start()
        for line in self._process.stdout:
            if line.rstrip("\n") == END:
                timer.cancel()
                return "".join(lines)
            lines.append(line)
        timer.cancel()
        self._errors.seek(0)
        raise AssertionError(f"the shell stopped in:\n{code}\n{''.join(lines)}{self._errors.read()[-2000:]}")

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        """Stop the shell and its background processes."""
        self._kill()
        self._process.communicate()
        self._errors.close()


def run_page(text: str, folder: Path) -> list[Block]:
    """Run the blocks of a page in a folder, and return the skipped ones."""
    names: dict[str, Any] = {"__name__": "__main__"}
    shell: Shell | None = None
    printed: str | None = ""  # None: the block that prints was skipped
    left_out = []
    try:
        for block in blocks_of(text):
            if block.mark.startswith("not run") or not has_needed(block.mark):
                left_out.append(block)
                printed = None
            elif block.mark == "output" and printed is None:
                left_out.append(block)
            elif block.mark == "output":
                assert CHECKER.check_output(block.code, printed, FLAGS), f"line {block.line}: printed was\n{printed}"
            elif block.language in SHELL:
                shell = shell or Shell(folder)
                printed = shell.run(block.code)
            elif block.language in PYTHON:
                run_python(block, names)
            elif block.language == "json":
                json.loads(block.code)
            elif block.language == "toml":
                tomllib.loads(block.code)
            else:
                assert block.language in QUIET, (
                    f"line {block.line}: nothing runs {block.language!r}; mark it as not run"
                )
    finally:
        if shell is not None:
            shell.close()
    return left_out


def has_needed(mark: str) -> bool:
    """Return whether the modules that a block needs are installed."""
    kind, _, modules = mark.partition(": ")
    return kind != "needs" or all(is_importable(module) for module in modules.split())


def is_importable(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:
        return False


def run_python(block: Block, names: dict[str, Any]) -> None:
    """Run one Python block; if it has prompts, compare its output."""
    if ">>>" not in block.code:
        exec(compile("\n" * block.line + block.code, "<page>", "exec"), names)  # noqa: S102  our own pages
        return
    test = doctest.DocTestParser().get_doctest(block.code, names, "page", "<page>", block.line)
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    said: list[str] = []
    failed = runner.run(test, out=said.append, clear_globs=False).failed
    names.update(test.globs)
    assert not failed, "".join(said)
