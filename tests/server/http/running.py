"""Start `abound serve` as a separate process."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

from abound.client import Client

ROOT = Path(__file__).resolve().parents[3]


class Running:
    """A server on a free port, or on the port of an earlier server, in a separate session."""

    def __init__(self, home, *arguments, port=0, program=("-m", "abound", "serve"), env=None, pass_fds=()):
        command = [sys.executable, *program, str(home), "--port", str(port), *map(str, arguments)]
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**os.environ, **(env or {})},
            pass_fds=pass_fds,
        )
        self.said = []
        for line in self.process.stderr:
            self.said.append(line)
            found = re.search(r"on (http://\S+:(\d+))", line)
            if found:
                self.url, self.port = found[1], int(found[2])
                break
        else:
            raise AssertionError("".join(self.said))
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        with contextlib.suppress(ValueError):
            self.said.extend(self.process.stderr)

    def client(self, **options):
        return Client(self.url, **options)

    def workers(self):
        """Return the process ids of the workers."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        commands = {int(pid): Path(f"/proc/{pid}/cmdline").read_bytes() for pid in children}
        return [pid for pid, command in commands.items() if b"abound.server.http.worker" in command]

    def kill(self):
        """Kill it and all processes that it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self._end()

    def stop(self, timeout=120):
        """Make it drain and exit; return its exit code."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout)
        self._end()
        return self.process.returncode

    def _end(self):
        self.process.wait(120)
        self._reader.join(120)
        self.process.stderr.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
