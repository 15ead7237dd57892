"""Clients that teach and read at several servers, and note what they did and saw."""

import contextlib
import http.client
import json
import random
import threading
import time
from collections import Counter, deque
from typing import NamedTuple

from tests.several.linearizability import History, Learned, Seen

N_CLIENTS = 12
READ_TIMEOUT = 15.0  # seconds; a server waits at most five for a sequence
IMPATIENT, PATIENT = 3.0, 40.0  # seconds; a server answers a learn after 30 at the latest
PATIENT_SHARE = 0.3  # the others ask another server while the first one may still write the record
PAUSE_SECONDS = 0.02
RECENT = 300  # learns that are read again


class Answer(NamedTuple):
    """What a server answered; without an answer, the status is 0 and `problem` tells why."""

    status: int
    body: dict
    sequence: int
    asked: float
    answered: float
    process: str
    problem: str = ""
    retry_after: str | None = None


class Failed(NamedTuple):
    """A request that was not answered, or a read that was not answered with 200."""

    machine: object
    what: str
    asked: float
    answered: float


def text_of(key):
    """Return a text whose words no other text has, so that a model ranks nothing for it before it has learned it."""
    return f"alpha{key} beta{key} gamma{key}".replace("-", "x")


def label_of(key):
    return f"label {key}"


class Clients:
    """Threads that ask servers.

    Attributes
    ----------
    history : History
    counts : Counter
        Answers by kind of request and status.
    problems : list of str
        Answers that no server may give.
    acknowledged : list of float
        When learns were acknowledged.
    seconds : list of float
        How long each of them took with all of its repetitions.
    """

    def __init__(self, machines, seed=0):
        self.machines = machines
        self.history = History()
        self.counts, self.problems, self.acknowledged, self.seconds = Counter(), [], [], []
        self._failed = []
        self._recent = deque(maxlen=RECENT)
        self._ends, self._gives_up = threading.Event(), threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(seed, i), daemon=True) for i in range(N_CLIENTS)]

    def start(self):
        for thread in self._threads:
            thread.start()

    def end(self, seconds):
        """Begin nothing more, and wait some seconds until everything is acknowledged."""
        self._ends.set()
        ends = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0, ends - time.monotonic()))
        self._gives_up.set()
        for thread in self._threads:
            thread.join(PATIENT + READ_TIMEOUT)

    def failed(self):
        """Return the requests that failed at a server that was ready all the time."""
        return [
            f"{failed.what} by {failed.machine.name} after {failed.answered - failed.asked:.1f} s at {failed.asked:.3f}"
            for failed in self._failed
            if failed.machine.was_up(failed.asked, failed.answered)
        ]

    def _run(self, seed, number):
        try:
            with Client(self, number, random.Random(f"{seed} {number}")) as client:
                serial = 0
                while not self._ends.is_set():
                    serial += 1
                    client.work(f"{number}-{serial}")
                    time.sleep(PAUSE_SECONDS)
        except Exception as error:
            self.problems.append(f"client {number}: {error!r}")
            raise

    # -- what clients note ---------------------------------------------------------------------------

    def begin(self, key):
        self._recent.append(key)

    def recent(self, chance):
        return chance.choice(list(self._recent))

    def gives_up(self):
        return self._gives_up.is_set()

    def note_learn(self, learned):
        self.history.learns.append(learned)
        if learned.answered is not None:
            self.acknowledged.append(learned.answered)
            self.seconds.append(learned.answered - learned.asked)

    def note_failed(self, machine, answer, kind):
        self._failed.append(Failed(machine, f"{kind}: {answer.status} {answer.problem}", answer.asked, answer.answered))


class Client:
    """One client with connections of its own."""

    def __init__(self, clients, number, chance):
        self._clients, self._number, self._chance = clients, number, chance
        self._connections, self._n_opened = {}, Counter()

    def work(self, key):
        """Teach a text, read it at another server, and read a recent text anywhere."""
        learned, machine = self._learn(key)
        self._clients.note_learn(learned)
        if learned.sequence is not None:
            others = [one for one in self._clients.machines if one is not machine]
            self._read(self._chance.choice(others or [machine]), key, learned.sequence)
        self._read(self._chance.choice(self._clients.machines), self._clients.recent(self._chance), 0)

    def _learn(self, key):
        """Repeat a learn at any server until it is acknowledged."""
        body, headers = {"text": text_of(key), "added": [label_of(key)]}, {"Idempotency-Key": key}
        self._clients.begin(key)
        first = time.monotonic()
        while not self._clients.gives_up():
            machine = self._chance.choice(self._clients.machines)
            timeout = PATIENT if self._chance.random() < PATIENT_SHARE else IMPATIENT
            answer = self._ask(machine, "/v1/learn", body, headers, timeout)
            self._clients.counts[f"learn {answer.status or answer.problem}"] += 1
            if answer.status == 200:
                sequence, process = answer.body["sequence"], answer.process
                return Learned(key, first, answer.answered, sequence, process, answer.sequence), machine
            if not answer.status and (timeout == PATIENT or answer.problem != "TimeoutError"):
                self._clients.note_failed(machine, answer, "learn")
            if answer.status and (answer.status not in (429, 503) or not answer.retry_after):
                self._clients.problems.append(f"learn {key} at {machine.name}: {answer.status} {answer.body}")
            time.sleep(self._chance.uniform(0.05, 0.5))
        return Learned(key, first, None, None), None

    def _read(self, machine, key, minimum):
        headers, kind = ({"X-Abound-Sequence": str(minimum)}, "minimum") if minimum else ({}, "read")
        answer = self._ask(machine, "/v1/rank", {"text": text_of(key), "k": 3}, headers, READ_TIMEOUT)
        self._clients.counts[f"{kind} {answer.status or answer.problem}"] += 1
        if answer.status == 200:
            is_shown = [one["label"] for one in answer.body["labels"]][:1] == [label_of(key)]
            asked, answered = answer.asked, answer.answered
            seen = Seen(key, asked, answered, answer.sequence, is_shown, minimum, answer.process)
            self._clients.history.reads.append(seen)
        elif not (minimum and answer.status in (412, 503)):
            self._clients.note_failed(machine, answer, kind)

    def _ask(self, machine, path, body, headers, timeout):
        before, asked = machine.process, time.monotonic()
        headers = {"Content-Type": "application/json", **headers}
        try:
            found, content = self._exchange(machine, before, path, json.dumps(body), headers, timeout)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self._close(machine)
            return Answer(0, {}, 0, asked, time.monotonic(), before, type(error).__name__)
        answered, after = time.monotonic(), machine.process
        process = before if before == after else f"{before} or {after}"
        if machine.workers > 1:  # a connection belongs to one of them
            process = f"{process}, connection {self._number}-{self._n_opened[machine]}"
        sequence, retry_after = int(found.getheader("X-Abound-Sequence", "0")), found.getheader("Retry-After")
        said = str(content.get("detail", ""))
        return Answer(found.status, content, sequence, asked, answered, process, said, retry_after)

    def _exchange(self, machine, process, path, body, headers, timeout):
        """Return an answer and its content; a connection that the server has closed meanwhile is made again."""
        connection = self._connection(machine, process, timeout)
        was_open = connection.sock is not None
        self._n_opened[machine] += not was_open
        try:
            connection.request("POST", path, body, headers)
            found = connection.getresponse()
        except (ConnectionError, http.client.RemoteDisconnected):
            connection.close()
            if not was_open:
                raise
            self._n_opened[machine] += 1
            connection.request("POST", path, body, headers)
            found = connection.getresponse()
        return found, json.loads(found.read())

    def _connection(self, machine, process, timeout):
        """Return a connection to a process; one to an earlier process is of no use."""
        opened_to, connection = self._connections.get(machine, (None, None))
        if opened_to != process:
            self._close(machine)
            connection = http.client.HTTPConnection("127.0.0.1", machine.port)
            self._connections[machine] = process, connection
        connection.timeout = timeout
        if connection.sock is not None:
            connection.sock.settimeout(timeout)
        return connection

    def _close(self, machine):
        _, connection = self._connections.pop(machine, (None, None))
        if connection is not None:
            with contextlib.suppress(OSError):
                connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for machine in list(self._connections):
            self._close(machine)
