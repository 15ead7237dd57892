"""Ctrl-C at any moment of a server's start ends it without a traceback."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from abound.server import Home
from tests.server.http.running import ROOT
from tests.server.streams import base

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals are POSIX's")
ENDED = (0, 130)  # drained, or interrupted before it served
FRIGHTENING = ("Traceback", "panicked", "Error", "Exception", "never awaited", "core dumped")


def interrupted(home, workers, seconds):
    """Start a server, send Ctrl-C as a terminal does after so many seconds, and return exit code and stderr.

    The clock begins when the command is imported: what the interpreter itself says while it starts is not ours.
    """
    # A shell lets the programs that it starts in the background ignore Ctrl-C, and so the tests, too.
    heeded = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    command = [sys.executable, "-c", f"{heeded}; from abound.cli import main; print('begun', flush=True); main()"]
    with subprocess.Popen(
        [*command, "serve", str(home), "--port", "0", "--workers", str(workers)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONFAULTHANDLER": "1"},
    ) as process:
        assert process.stdout.readline() == "begun\n"
        time.sleep(seconds)
        os.killpg(process.pid, signal.SIGINT)
        try:
            _, errors = process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGABRT)  # prints where it hangs
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    return process.returncode, errors


@pytest.mark.parametrize("starts", [5, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_start_that_is_interrupted_ends_in_peace(tmp_path, workers, starts):
    home = Home.create(tmp_path / "home", base())
    chance = random.Random(workers)
    for number in range(starts):
        seconds = chance.random() * 2.5
        code, errors = interrupted(home.path, workers, seconds)
        assert code in ENDED, (number, seconds, errors)
        assert not any(word in errors for word in FRIGHTENING), (number, seconds, errors)


WHILE_LOADING = """
import atexit, os, signal, sys
from importlib.abc import MetaPathFinder

class Interrupting(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "granian":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
atexit.register(lambda: print("granian._granian" in sys.modules))
from abound.cli import main
main()
"""


def test_what_is_written_in_rust_is_loaded_to_the_end(tmp_path):
    """It panics, now and then, if it is interrupted while it is loaded."""
    home = Home.create(tmp_path / "home", base())
    command = [sys.executable, "-c", WHILE_LOADING, "serve", str(home.path), "--port", "0"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert (run.returncode, run.stdout) == (130, "True\n"), run.stderr
    assert not any(word in run.stderr for word in FRIGHTENING), run.stderr
