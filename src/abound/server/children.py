"""Child processes that end with their parent: an orphan must not write to a home that has another writer."""

import json
import os
import subprocess
import sys
import threading
from typing import Any, NamedTuple


class Outcome(NamedTuple):
    """The exit code of a child, its output, and the last line of its errors."""

    code: int
    output: bytes
    error: str


class Child:
    """Run a module of this package in another process.

    Parameters
    ----------
    module : str
        It calls `receive_task`.
    task : mapping
        JSON types.
    """

    def __init__(self, module: str, task: dict[str, Any]) -> None:
        # The package imports the module before it is run, of which Python warns.
        command = [sys.executable, "-W", "ignore::RuntimeWarning:runpy", "-m", module]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe)
        assert self._process.stdin is not None
        self._pipe, self._process.stdin = self._process.stdin, None  # `communicate` would close it
        self._pipe.write(json.dumps(task).encode() + b"\n")
        self._pipe.flush()

    def wait(self) -> Outcome:
        """Wait until the process ends."""
        with self._process, self._pipe:
            output, errors = self._process.communicate()
        lines = errors.decode(errors="replace").strip().splitlines() or [f"exit {self._process.returncode}"]
        return Outcome(self._process.returncode, output, lines[-1])

    def kill(self) -> None:
        """End the process immediately."""
        self._process.kill()


def receive_task() -> Any:
    """Return the task of this process, which from now on ends with its parent."""
    task = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    return task


def _end_with_parent() -> None:
    while os.read(sys.stdin.fileno(), 1):
        pass
    os._exit(1)
