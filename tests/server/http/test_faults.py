"""A disk that is full or fails: nothing is acknowledged, ranking continues, and learning resumes when it recovers."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from abound.errors import ServerError
from abound.server import Home, Writer
from tests.server.http.running import Running
from tests.server.streams import base, trained

COMPILER = shutil.which("cc")
SOURCE = Path(__file__).resolve().parents[1] / "failing.c"


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    if sys.platform != "linux" or COMPILER is None:
        pytest.skip("a failing disk needs Linux and a C compiler")
    path = tmp_path_factory.mktemp("library") / "failing.so"
    subprocess.run([COMPILER, "-shared", "-fPIC", "-O1", "-o", str(path), str(SOURCE), "-ldl"], check=True)
    return path


@pytest.mark.parametrize(("how", "workers"), [("sync", 1), ("full", 1), ("sync", 2)])
def test_a_disk_that_fails(tmp_path, library, how, workers):
    home, flag = Home.create(tmp_path / "home", base()), tmp_path / "flag"
    env = {"LD_PRELOAD": str(library), "FAIL_FLAG": str(flag), "FAIL_ROOT": str(home.path)}
    acknowledged = []
    with Running(home.path, "--workers", workers, env=env) as server, server.client(retries=0) as client:
        client.learn("an apple pie", added=["dessert"], key="before")
        acknowledged.append("before")
        flag.write_text(how)
        for number in range(5):
            with pytest.raises(ServerError) as caught:
                client.learn(f"text {number}", added=["lost"], key=f"failed {number}")
            assert caught.value.status == 503
            assert caught.value.retry_after >= 1
            assert client.rank("an apple pie")[0].label == "dessert"
        flag.unlink()
        with server.client(retries=8) as patient:
            assert patient.learn("a new text", added=["kept"], key="after").sequence == 2
            assert patient.learn("text 3", added=["kept"], key="failed 3").sequence == 3
            assert [found.label for found in patient.labels("lost")] == []
        acknowledged += ["after", "failed 3"]
        assert server.stop() == 0
    with Writer(home) as writer:
        stored = list(writer.journal.read(0))
        assert [one.key for one in stored] == acknowledged
        assert writer.replica.state_hash() == trained([one.record for one in stored]).state_hash()


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
def test_the_failing_disk_fails(tmp_path, library):
    flag, root = tmp_path / "flag", tmp_path / "root"
    root.mkdir()
    program = "import os,sys; f = open(sys.argv[1], 'w'); f.write('x'); f.flush(); os.fsync(f.fileno())"
    env = {**os.environ, "LD_PRELOAD": str(library), "FAIL_FLAG": str(flag), "FAIL_ROOT": str(root)}
    for how, word in (("sync", "Input/output"), ("full", "No space"), (None, "")):
        if how is None:
            flag.unlink()
        else:
            flag.write_text(how)
        command = [sys.executable, "-c", program, str(root / "file")]
        run = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        assert (run.returncode == 0) == (how is None)
        assert word in run.stderr
