"""Ctrl-C at any moment of a server's start ends it without a word that frightens."""

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
ENDED = (0, 130)  # drained as asked, or interrupted before it served
FRIGHTENING = ("Traceback", "panicked", "Error", "Exception", "never awaited", "core dumped")


def interrupted(home, workers, seconds):
    """Start a server, send Ctrl-C as a terminal does after so many seconds, and return exit code and stderr.

    The clock begins when Python runs the command: what the interpreter itself says while it starts is not ours.
    """
    command = [sys.executable, "-c", "print('begun', flush=True); from abound.cli import main; main()"]
    with subprocess.Popen(
        [*command, "serve", str(home), "--port", "0", "--workers", str(workers)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout.readline() == "begun\n"
        time.sleep(seconds)
        os.killpg(process.pid, signal.SIGINT)
        try:
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
