"""Measure connections that are refused while a server is restarted, and what its probes answer meanwhile.

    python -m benchmarks.restarts refused            # wrk with 16 connections, five restarts with two workers
    python -m benchmarks.restarts probes             # replay of 100,000 records, and a worker that is stopped

`refused` restarts a server in three ways under the same load: ended and started again, restarted by SIGUSR2, and ended
and started again with a socket that another process keeps open, as systemd does. `probes` asks every 0.1 s.
"""

import argparse
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx

from abound import Tagger
from abound.server import Home
from abound.store.journal import Journal
from abound.store.journal.records import Learn
from benchmarks.machine import machine_line

RESULTS = Path(__file__).parent / "results" / "restarts.json"
TITLES = Path(__file__).parents[1] / "examples" / "finna" / "titles.jsonl"
CONNECTIONS, RESTARTS, PAUSE_SECONDS = 16, 5, 6.0
SCRIPT = """wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.body = '{"text": "Growing roses in cold climates"}'
"""
GROUP_SIZE = 1000  # records per commit while the journal is prepared


def rows():
    """Return the rows of the example data set."""
    with TITLES.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def fitted():
    """Return a tagger of the example data set."""
    found = rows()
    return Tagger().fit([row["text"] for row in found], [row["labels"] for row in found])


class Server:
    """`abound serve` with two workers on a port; `listener` is a socket that this process keeps open for it."""

    def __init__(self, home, port, listener=None, workers=2):
        self._command = [sys.executable, "-m", "abound", "serve", str(home.path), "--port", str(port)]
        self._command += ["--workers", str(workers)]
        self._listener = listener
        self.url = f"http://127.0.0.1:{port}"
        self.process = None

    def start(self):
        """Start it without waiting."""
        command, passed = self._command, ()
        if self._listener is not None:
            passed = (self._listener.fileno(),)
            # The protocol wants the process's own number, which only the process itself knows.
            code = (
                "import os, sys; os.dup2(int(sys.argv[1]), 3); os.environ |= {'LISTEN_FDS': '1', "
                "'LISTEN_PID': str(os.getpid())}; os.execv(sys.argv[2], sys.argv[2:])"
            )
            command = [sys.executable, "-c", code, str(passed[0]), *command]
        self.process = subprocess.Popen(command, pass_fds=passed, stderr=subprocess.DEVNULL, start_new_session=True)

    def wait(self):
        """Wait until it is ready."""
        while True:
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(self.url + "/readyz", timeout=60).status_code == 200:
                    return
            time.sleep(0.02)

    def end(self):
        """End it and wait until it has ended."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)

    def restart(self, way):
        """Restart it in one of the ways."""
        if way == "SIGUSR2":
            self.process.send_signal(signal.SIGUSR2)
        else:
            self.end()
            self.start()

    def kill(self):
        """Kill all of its processes."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(60)


def free_port():
    """Return a port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


def errors_of(output):
    """Return wrk's counts from its output."""
    found = re.search(r"connect (\d+), read (\d+), write (\d+), timeout (\d+)", output)
    names = ("connect", "read", "write", "timeout")
    counts = dict(zip(names, map(int, found.groups()) if found else (0, 0, 0, 0), strict=True))
    failed = re.search(r"Non-2xx or 3xx responses: (\d+)", output)
    counts["other status"] = int(failed[1]) if failed else 0
    return {"requests": int(re.search(r"(\d+) requests in", output)[1]), **counts}


def refused(way):
    """Restart a server five times under wrk; return its counts."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        home = Home.create(Path(folder) / "home", fitted())
        port, listener = free_port(), None
        if way == "passed socket":
            listener = stack.enter_context(socket.create_server(("127.0.0.1", port), backlog=1024))
        server = Server(home, port, listener)
        server.start()
        stack.callback(server.kill)
        server.wait()
        script = Path(folder) / "rank.lua"
        script.write_text(SCRIPT)
        seconds = round(RESTARTS * PAUSE_SECONDS + PAUSE_SECONDS)
        command = ["wrk", "-t2", f"-c{CONNECTIONS}", f"-d{seconds}s", "--timeout", "30s", "-s", str(script)]
        load = subprocess.Popen([*command, f"{server.url}/v1/rank"], stdout=subprocess.PIPE, text=True)
        for _ in range(RESTARTS):
            time.sleep(PAUSE_SECONDS)
            server.restart(way)
        output, _ = load.communicate(timeout=120)
        return errors_of(output)


def replaying(n):
    """Return what the probes answer while `n` records are replayed."""
    with tempfile.TemporaryDirectory() as folder:
        home = Home.create(Path(folder) / "home", fitted())
        lessons = [Learn(row["text"], added=row["labels"]) for row in rows()]
        with Journal(home.journal_path, write=True) as journal:
            for start in range(0, n, GROUP_SIZE):
                group = [lessons[i % len(lessons)] for i in range(start, min(n, start + GROUP_SIZE))]
                journal.append([(record, None) for record in group])
        server = Server(home, free_port())
        begun = time.monotonic()
        server.start()
        try:
            return watched(server, begun)
        finally:
            server.kill()


def watched(server, begun):
    """Ask the probes every 0.1 s until the server is ready; return how often each answer came."""
    answers, details = {}, []
    with httpx.Client(base_url=server.url, timeout=10) as client:
        while True:
            with contextlib.suppress(httpx.ConnectError):
                found = {path: client.get(path) for path in ("/healthz", "/startupz", "/readyz")}
                key = ", ".join(f"{path} {answer.status_code}" for path, answer in found.items())
                answers[key] = answers.get(key, 0) + 1
                if found["/startupz"].status_code == 503:
                    details.append(found["/startupz"].json()["detail"])
                if found["/readyz"].status_code == 200:
                    seconds = round(time.monotonic() - begun, 1)
                    kept = [details[i] for i in (0, len(details) // 2, -1)]
                    return {"seconds": seconds, "answers": answers, "progress": kept}
            time.sleep(0.1)


def stopped_worker():
    """Stop a worker; return after how many seconds /readyz failed, and after how many the server was ready again."""
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Home.create(Path(folder) / "home", fitted()), free_port())
        server.start()
        try:
            server.wait()
            children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
            workers = [pid for pid in children if b"http.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()]
            os.kill(int(workers[0]), signal.SIGSTOP)
            begun = time.monotonic()
            failed = None
            while True:
                try:
                    status = httpx.get(server.url + "/readyz", timeout=1).status_code
                except httpx.TimeoutException:
                    status = 0  # the stopped worker has accepted the connection
                seconds = round(time.monotonic() - begun, 1)
                if status == 503 and failed is None:
                    failed = seconds
                children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text()
                if failed is not None and status == 200 and workers[0] not in children.split():
                    return {"failed after": failed, "ready with another worker after": seconds}
                time.sleep(0.05)
        finally:
            server.kill()


def main():
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["refused", "probes"])
    parser.add_argument("--records", type=int, default=100_000)
    arguments = parser.parse_args()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results["machine"] = machine_line()
    if arguments.what == "refused":
        results["refused"] = {way: refused(way) for way in ("ended and started", "SIGUSR2", "passed socket")}
    else:
        results["replay"] = {"records": arguments.records, **replaying(arguments.records)}
        results["stopped worker"] = stopped_worker()
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
