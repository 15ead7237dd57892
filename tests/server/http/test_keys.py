"""Keys that several processes add and remove concurrently."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from abound.server import Home
from abound.server.http.endpoints import Scope
from abound.server.http.keys import KeyAuthenticator, KeyFile, _hash
from abound.server.http.problems import Problem
from tests.server.streams import base

ROUNDS = 6
AT_ONCE = 5
# Waits until its stdin says go, so that all processes begin at the same moment, and imports nothing meanwhile.
PROGRAM = """
import sys
from abound.server.http.keys import KeyFile
file = KeyFile(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
for action, name in zip(sys.argv[2::2], sys.argv[3::2]):
    print(file.add(name, "admin") if action == "add" else file.remove(name), flush=True)
"""


def begin(home, *actions):
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(home), *actions],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.fixture
def home(tmp_path):
    return Home.create(tmp_path / "home", base())


def test_keys_that_are_changed_at_once_are_all_kept_or_gone(home):
    file = KeyFile(home.path)
    for number in range(AT_ONCE):
        file.add(f"old {number}", "admin")
    actions = [
        [word for i in range(ROUNDS) for word in ("add", f"new {number} {i}")] + ["remove", f"old {number}"]
        for number in range(AT_ONCE)
    ]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        processes = list(pool.map(lambda mine: begin(home.path, *mine), actions))
        outputs = list(pool.map(lambda process: process.communicate("go\n", timeout=60), processes))
    assert [process.returncode for process in processes] == [0] * AT_ONCE, [errors for _, errors in outputs]
    printed = {_hash(line.encode()) for said, _ in outputs for line in said.split() if line.startswith("abound_")}
    assert len(printed) == ROUNDS * AT_ONCE
    keys = json.loads(file.path.read_text())
    assert {key["sha256"] for key in keys} == printed
    assert not any(key["name"].startswith("old") for key in keys)


def test_a_lock_that_is_held_for_too_long_is_said_so(home, monkeypatch):
    from abound.errors import JournalError
    from abound.store.locks import FileLock

    monkeypatch.setattr("abound.server.http.keys.LOCK_SECONDS", 0.1)
    with FileLock(home.path / "keys.lock"), pytest.raises(JournalError, match="another process is changing"):
        KeyFile(home.path).add("me", "read")


def test_a_key_that_is_removed_while_a_server_starts_is_refused(home, monkeypatch):
    file = KeyFile(home.path)
    file.add("kept", "read")
    secret = file.add("gone", "admin")
    monkeypatch.setattr("abound.server.http.keys.RECHECK_SECONDS", 0.0)

    class Slow(KeyFile):
        """A file of keys that is changed just after it was read, once."""

        is_changed = False

        def read(self):
            found = super().read()
            if not self.is_changed:
                self.is_changed = True
                file.remove("gone")
            return found

    door = KeyAuthenticator(Slow(home.path))
    with pytest.raises(Problem, match="401"):
        door.check({b"authorization": b"Bearer " + secret.encode()}, Scope.READ)
