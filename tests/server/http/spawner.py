"""Start many servers one after another by forking, without importing everything each time.

`python -m tests.server.http.spawner` reads a line of JSON for each server from stdin, forks, and answers with the
process id; `{"wait": pid}` is answered with the exit code.
"""

import contextlib
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from abound.client import Client

ROOT = Path(__file__).resolve().parents[3]


def free_port():
    """Return a port outside the ephemeral range: a client that connects to a port in it could connect to itself."""
    while True:
        port = random.randint(15_000, 30_000)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


class Spawner:
    """The process that forks."""

    def __init__(self):
        self.alive = set()
        command = [sys.executable, "-m", "tests.server.http.spawner"]
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def ask(self, message):
        self._process.stdin.write(json.dumps(message) + "\n")
        return json.loads(self._process.stdout.readline())

    def start(self, home, **settings):
        return Spawned(self, home, settings)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for pid in self.alive:  # of a test that failed
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


class Spawned:
    """A forked server."""

    def __init__(self, spawner, home, settings):
        self._spawner = spawner
        self.log = Path(home) / "test.log"
        self.log.write_bytes(b"")
        self.pid = spawner.ask({"home": str(home), "log": str(self.log), **settings})
        spawner.alive.add(self.pid)
        ends = time.monotonic() + 180
        while not (found := re.search(r"on (http://\S+:(\d+))", self.log.read_text())):
            assert time.monotonic() < ends, self.log.read_text()
            time.sleep(0.005)
        self.url, self.port = found[1], int(found[2])

    def client(self, **options):
        return Client(self.url, **options)

    def workers(self):
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return [int(pid) for pid in children if b"http.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()]

    def kill(self, *, exclusive_writer=False):
        if exclusive_writer:
            os.kill(self.pid, signal.SIGKILL)
        else:
            os.killpg(self.pid, signal.SIGKILL)
        return self.wait()

    def stop(self):
        os.kill(self.pid, signal.SIGTERM)
        return self.wait()

    def wait(self):
        self._spawner.alive.discard(self.pid)
        return self._spawner.ask({"wait": self.pid})


def _serve(log, **settings):
    from abound.server.http.serve import run
    from abound.server.http.settings import Settings

    os.setsid()
    file = os.open(log, os.O_WRONLY | os.O_APPEND)
    for standard in (1, 2):
        os.dup2(file, standard)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    run(Settings(**settings), lambda words: os.write(file, f"{words}\n".encode()))


def main():
    import abound.server.http.serve  # noqa: F401  what forking saves

    for line in sys.stdin:
        message = json.loads(line)
        if "wait" in message:
            _, status = os.waitpid(message["wait"], 0)
            answer = os.waitstatus_to_exitcode(status)
        else:
            answer = os.fork()
            if answer == 0:
                code = 1
                try:
                    _serve(**message)
                    code = 0
                except BaseException as error:
                    sys.stderr.write(f"{error!r}\n")
                finally:
                    sys.stderr.flush()
                    os._exit(code)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
