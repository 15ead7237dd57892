"""Run a server under load while an operator does everything that operators do; count what fails.

    python -m benchmarks.soak                 # 30 minutes; must be root, to mount a small file system for the home

Clients rank and learn with keys, one of them with a limit of 100 learns a minute. Meanwhile the server is restarted,
its log rotated, the disk of its home filled and freed, its keys replaced, and a backup made every two minutes. Every
backup is restored and compared with the records that were acknowledged before it began. The clients teach texts that
the model knows, so that the model does not grow, and memory should not either.
"""

import argparse
import contextlib
import itertools
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, deque
from pathlib import Path

import httpx

from abound.server import Home
from abound.server.http.allowances import Limits
from abound.server.http.keys import KeyFile
from abound.store.journal import Journal
from abound.store.journal.records import Learn
from benchmarks.machine import machine_line
from benchmarks.restarts import fitted, free_port, rows

RESULTS = Path(__file__).parent / "results" / "soak.json"
DISK_MEGABYTES = 600
WORKERS = 2
N_RANKING, N_LEARNING = 4, 2
LIMIT = 100  # learns a minute of one key
PAUSE_SECONDS = 0.005
# The period of each action, and when it is done first, in minutes.
EVERY = {"restart": (3.0, 1.0), "rotate": (2.0, 0.5), "fill": (5.0, 1.7), "keys": (4.0, 0.8), "backup": (2.0, 0.3)}


class Load:
    """Clients in threads; `counts` are answers by kind of request, status, and whether the disk was full."""

    def __init__(self, url, keys):
        self._url = url
        self._texts = [row["text"] for row in rows()]
        self._labels = [row["labels"] for row in rows()]
        self._ends = threading.Event()
        self.keys = dict(keys)
        self.secrets = set(keys.values())
        self.is_full = False
        self.counts = Counter()
        self.problems = []
        self.acknowledged = {}  # texts by sequence
        self.limited = deque()  # times of acknowledged learns of the limited key
        self.seconds = []
        kinds = ["rank"] * N_RANKING + ["learn"] * N_LEARNING + ["limited"]
        self._threads = [threading.Thread(target=self._run, args=(kind, seed)) for seed, kind in enumerate(kinds)]

    def start(self):
        """Start all clients."""
        for thread in self._threads:
            thread.start()

    def end(self):
        """End all clients."""
        self._ends.set()
        for thread in self._threads:
            thread.join()

    def _run(self, kind, seed):
        random_ = random.Random(seed)
        with httpx.Client(base_url=self._url, timeout=60) as client:
            while not self._ends.is_set():
                row = random_.randrange(len(self._texts))
                try:
                    self._ask(client, kind, row)
                except httpx.HTTPError as error:
                    self.problems.append(f"{time.strftime('%H:%M:%S')} {kind}: {error!r}")
                time.sleep(PAUSE_SECONDS if kind != "limited" else 0.1)

    def _ask(self, client, kind, row):
        headers = {"Authorization": f"Bearer {self.keys[kind]}"}
        text, was_full, begun = self._texts[row], self.is_full, time.monotonic()
        if kind == "rank":
            answer = client.post("/v1/rank", json={"text": text}, headers=headers)
        else:
            body = {"text": text, "added": self._labels[row]}
            answer = client.post("/v1/learn", json=body, headers=headers)
            if answer.status_code == 200:
                self.acknowledged[answer.json()["sequence"]] = text
                if kind == "limited":
                    self.limited.append((begun, time.monotonic()))
        self.seconds.append(time.monotonic() - begun)
        disk = "full disk" if was_full or self.is_full else "free disk"
        self.counts[f"{kind} {answer.status_code} {disk}"] += 1
        is_expected = answer.status_code == 200 or (kind == "limited" and answer.status_code == 429)
        if not is_expected and disk == "free disk":
            self.problems.append(f"{time.strftime('%H:%M:%S')} {kind}: {answer.status_code} {answer.text}")


class Operator:
    """What is done to the server while it works."""

    def __init__(self, folder, server, home, load):
        self._folder, self._server, self._home, self._load = folder, server, home, load
        self._serial = itertools.count(1)
        self.done = Counter()
        self.problems = []
        self.backups = []

    def restart(self):
        """Restart the server in place."""
        self._server.send_signal(signal.SIGUSR2)

    def rotate(self):
        """Rename the log, as logrotate does, and tell the server."""
        log = self._folder / "log.jsonl"
        log.rename(self._folder / f"log.{next(self._serial)}.jsonl")
        self._server.send_signal(signal.SIGHUP)

    def fill(self):
        """Fill the disk for ten seconds."""
        self._load.is_full = True
        ballast = self._home.path.parent / "ballast"
        with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(1 << 16))
        time.sleep(10)
        ballast.unlink()
        time.sleep(6)  # a client is told to retry after five seconds
        self._load.is_full = False

    def keys(self):
        """Replace all keys but the limited one: it would get a new allowance."""
        file, serial = KeyFile(self._home.path), next(self._serial)
        old = [key.name for key in file.read() if key.name != "limited"]
        new = {kind: file.add(f"{kind} {serial}", kind if kind == "learn" else "read") for kind in ("rank", "learn")}
        self._load.secrets |= set(new.values())
        self._load.keys |= new
        time.sleep(3)  # requests with the old keys are answered
        for name in old:
            if name != "admin":
                file.remove(name)

    def backup(self):
        """Make a backup, restore it, and compare it with what was acknowledged before."""
        before = dict(self._load.acknowledged)
        target, restored = self._folder / "backup", self._folder / f"restored-{next(self._serial)}"
        for command in (["backup", self._home.path, target], ["restore", target, restored]):
            made = subprocess.run(
                [sys.executable, "-m", "abound", *map(str, command)], check=False, capture_output=True, text=True
            )
            if made.returncode:
                self.problems.append(f"{command[0]}: {made.stderr}")
                return
        found = texts_of(restored)
        missing = sum(found.get(sequence) != text for sequence, text in before.items())
        self.backups.append({"acknowledged before": len(before), "in the backup": len(found), "missing": missing})
        subprocess.run(["rm", "-rf", str(restored)], check=True)

    def work(self, minutes):
        """Do everything when it is due."""
        begun = time.monotonic()
        due = {name: 60 * first for name, (_, first) in EVERY.items()}
        while (passed := time.monotonic() - begun) < 60 * minutes:
            name = min(due, key=due.get)
            if due[name] > passed:
                time.sleep(min(0.2, due[name] - passed))
                continue
            due[name] += 60 * EVERY[name][0]
            getattr(self, name)()
            self.done[name] += 1


def texts_of(path):
    """Return the texts of all records of a home by their sequence."""
    home = Home(path)
    with Journal(home.journal_path) as journal:
        return {stored.sequence: stored.record.text for stored in journal.read(0) if isinstance(stored.record, Learn)}


class Memory(threading.Thread):
    """Sample the private memory of a process and its children every five seconds."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self._pid = pid
        self.ends = threading.Event()
        self.samples = []
        self.start()

    def run(self):
        """Sample until the end."""
        while not self.ends.wait(5):
            with contextlib.suppress(OSError):
                children = Path(f"/proc/{self._pid}/task/{self._pid}/children").read_text().split()
                self.samples.append(sum(private_of(pid) for pid in (self._pid, *children)))

    def quarters(self):
        """Return the median megabytes of each quarter of the time."""
        size = max(1, len(self.samples) // 4)
        parts = [sorted(self.samples[i * size : (i + 1) * size]) for i in range(4)]
        return [round(part[len(part) // 2] / 2**20) for part in parts if part]


def private_of(pid):
    """Return the private bytes of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) << 10
    return 0


def most_in_a_minute(times):
    """Return the largest number of learns whose admission certainly fell into one minute.

    A learn was admitted between its request and its answer. Two learns are certainly within a minute if the answer of
    the later one came at most 60 s after the request of the earlier one.
    """
    most, window = 0, deque()
    for begun, ended in sorted(times):
        window.append((begun, ended))
        while ended - window[0][0] > 60:
            window.popleft()
        most = max(most, len(window))
    return most


def logged(folder, secrets):
    """Return the number of lines of all logs by event, and of lines that are no JSON or name one of the secrets."""
    events = Counter()
    for file in folder.glob("log*.jsonl"):
        for line in file.read_text("utf-8").splitlines():
            try:
                events[json.loads(line).get("event", "message")] += 1
            except ValueError:
                events["not JSON"] += 1
            events["with a secret"] += any(secret in line for secret in secrets)
    return dict(events)


def soaked(minutes):
    """Run everything; return the figures."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        disk = folder / "disk"
        disk.mkdir()
        options = f"size={DISK_MEGABYTES}m"
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(disk)], check=True)
        stack.callback(subprocess.run, ["umount", "--lazy", str(disk)], check=False)
        home = Home.create(disk / "home", fitted())
        file = KeyFile(home.path)
        keys = {"rank": file.add("rank", "read"), "learn": file.add("learn", "learn")}
        keys |= {
            "limited": file.add("limited", "learn", limits=Limits(learns=LIMIT)),
            "admin": file.add("admin", "admin"),
        }
        port = free_port()
        command = [sys.executable, "-m", "abound", "serve", str(home.path), "--port", str(port)]
        command += ["--workers", str(WORKERS), "--log-file", str(folder / "log.jsonl"), "--log-format", "json"]
        server = subprocess.Popen([*command, "--access-log"], start_new_session=True)
        stack.callback(_kill, server)
        url = f"http://127.0.0.1:{port}"
        _wait(url)
        load = Load(url, keys)
        operator, memory = Operator(folder, server, home, load), Memory(server.pid)
        load.start()
        try:
            operator.work(minutes)
        finally:
            load.end()
            memory.ends.set()
        metrics = httpx.get(f"{url}/metrics", headers={"Authorization": f"Bearer {keys['admin']}"}).text
        server.send_signal(signal.SIGTERM)
        code = server.wait(60)
        final = texts_of(home.path)
        lost = sum(final.get(sequence) != text for sequence, text in load.acknowledged.items())
        seconds = sorted(load.seconds)
        return {
            "minutes": minutes,
            "workers": WORKERS,
            "done": dict(operator.done),
            "answers": dict(sorted(load.counts.items())),
            "failed": load.problems[:20] + operator.problems,
            "failures": len(load.problems) + len(operator.problems),
            "acknowledged": len(load.acknowledged),
            "lost": lost,
            "backups": operator.backups,
            "most learns of the limited key within a minute": most_in_a_minute(load.limited),
            "median and p99 ms": [round(1000 * seconds[int(len(seconds) * part)], 1) for part in (0.5, 0.99)],
            "private MB by quarter": memory.quarters(),
            "log lines": logged(folder, load.secrets),
            "worker restarts": re.findall(r"^abound_worker_restarts_total (\S+)", metrics, re.MULTILINE),
            "exit code": code,
        }


def _kill(server):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(server.pid, signal.SIGKILL)


def _wait(url):
    while True:
        with contextlib.suppress(httpx.HTTPError):
            if httpx.get(url + "/readyz", timeout=60).status_code == 200:
                return
        time.sleep(0.05)


def main():
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--dry", action="store_true", help="do not store the result")
    arguments = parser.parse_args()
    result = {"machine": machine_line(), **soaked(arguments.minutes)}
    print(json.dumps(result, indent=1))
    if not arguments.dry:
        RESULTS.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
