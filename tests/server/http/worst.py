"""Send the most expensive requests that the limits allow, from several clients, and kill the server from time to time.

    python -m tests.server.http.worst MODEL --requests 500 --kills 5

It prints the longest times for which the event loop was blocked and the model's lock was held, and whether the home
opened after every kill. MODEL is a model directory with at least about 20,000 labels.
"""

import argparse
import contextlib
import http.client
import json
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import numpy as np

from abound import Tagger
from abound.server import Home, Writer
from abound.server.http.limits import MAX_EXPLAINED, MAX_RANKED
from abound.store.journal.records import MergeLabels
from tests.server.http.running import Running

CLIENTS = 8
MOST_SECONDS = 0.25  # of CPU time
GROUPS, MEMBERS = 20, 10  # of labels that are merged first
LONG, EXPLAINED = 500_000, 60_000  # bytes of a text


class Requests:
    """Make random requests near the limits, from the words and labels of a model."""

    def __init__(self, tagger, seed):
        self._chance = random.Random(seed)
        encoder, counts = tagger.encoder, tagger.encoder.vocabulary.counts()
        some = self._chance.sample(range(len(counts)), min(len(counts), 50_000))
        self._any = [encoder.name(term) for term in some]
        self._common = [encoder.name(int(term)) for term in np.argsort(-counts)[:2000]]
        self._labels = [str(name) for name in tagger.ranker.labels_.names]
        self.merged = self._chance.sample(self._labels, min(len(self._labels) // 2, GROUPS * MEMBERS))

    def _text(self, size):
        if self._chance.random() < 0.2:
            return " ".join(self._chance.choices("abcdefghijklmnopqrstuvwxyz", k=min(size // 2, 120_000)))
        words = self._chance.choice([self._any, self._common])
        return " ".join(self._chance.choices(words, k=size // 5))[:size]

    def _some_labels(self, n):
        return self._chance.sample(self._labels, min(n, len(self._labels)))

    def rank(self):
        return "POST", "/v1/rank", {"text": self._text(LONG), "k": 1000}

    def reasons(self):
        size = self._chance.choice([2_000, 10_000, EXPLAINED])
        return "POST", "/v1/rank", {"text": self._text(size), "k": max(1, MAX_EXPLAINED // size), "explain": True}

    def explain(self):
        label = self._chance.choice(self.merged + self._labels[:100])
        return "POST", "/v1/explain", {"text": self._text(EXPLAINED), "label": label}

    def batch(self):
        n, size = self._chance.choice([(MAX_RANKED // 1000, 200), (14, LONG), (20_000, 60)])
        return (
            "POST",
            "/v1/rank/batch",
            {"texts": [self._text(size) for _ in range(n)], "k": MAX_RANKED // n % 1001 or 1},
        )

    def features(self):
        words, n = self._chance.sample(self._any, min(len(self._any), 40_000)), 0
        features = {}
        for word in words:
            n += len(word.encode()) + 8
            if n > 2 * LONG:
                break
            features[word] = 1.0
        return "POST", "/v1/rank", {"features": features, "k": 1000}

    def learn_long(self):
        labels = self._some_labels(self._chance.choice([1, 2, 5]))
        return "POST", "/v1/learn", {"text": self._text(self._chance.choice([100_000, LONG])), "added": labels}

    def learn_labels(self):
        labels = self._some_labels(self._chance.choice([300, 2000]))
        half = len(labels) // 2
        body = {"text": self._text(self._chance.choice([60, 600])), "added": labels[:half], "rejected": labels[half:]}
        return "POST", "/v1/learn", body

    def learn_merged(self):
        body = {"text": self._text(2000), "rejected": self._chance.sample(self.merged, min(20, len(self.merged)))}
        return "POST", "/v1/learn", body

    def look(self):
        label = self._chance.choice(self.merged)
        path = self._chance.choice(["/v1/model?hash=1", "/v1/progress", "/v1/labels?limit=1000", "/v1/labels?prefix=a"])
        return (
            ("GET", path, None)
            if self._chance.random() < 0.7
            else ("PATCH", "/v1/labels", {"retire": {"label": label}, "dry_run": True})
        )

    def draw(self):
        """Return the kind of a request, its method, path and body."""
        kinds = (self.rank, self.reasons, self.explain, self.batch, self.features, self.look)
        kinds += (self.learn_long, self.learn_labels, self.learn_merged)
        kind = self._chance.choice(kinds)
        return kind.__name__, *kind()


class Client(threading.Thread):
    """Send requests until enough were answered; requests cut off by a kill or refused by the limits do not count."""

    def __init__(self, run, requests):
        super().__init__(daemon=True)
        self._run, self._requests = run, requests
        self.problems = []

    def run(self):
        while not self._run.is_over():
            kind, method, path, body = self._requests.draw()
            raw, headers = None if body is None else json.dumps(body), {"Content-Type": "application/json"}
            connection = http.client.HTTPConnection("127.0.0.1", self._run.port, timeout=120)
            started = time.monotonic()
            try:
                with contextlib.closing(connection):
                    connection.request(method, path, raw, headers)
                    answer = connection.getresponse()
                    said = answer.read()
            except (OSError, http.client.HTTPException):
                time.sleep(0.1)
                continue
            self._run.note(kind, answer.status, time.monotonic() - started)
            if answer.status not in (200, 404, 413, 422, 429, 503):
                self.problems.append((kind, answer.status, said[:300]))


class Run:
    """A server under such a load, which is killed a given number of times."""

    def __init__(self, path, tagger, *, requests, kills, seed=0):
        self.wanted, self._kills, self._path = requests, kills, Path(path)
        self.port, self.n_answered, self.statuses, self.slowest = 0, 0, Counter(), Counter()
        self.held, self._mutex = [], threading.Lock()
        makers = [Requests(tagger, f"{seed}-{number}") for number in range(CLIENTS)]
        self.home = Home.create(self._path / "home", tagger)
        merged = makers[0].merged
        with Writer(self.home, snapshot_every=None) as writer:
            for start in range(0, len(merged) - MEMBERS + 1, MEMBERS):
                for label in merged[start + 1 : start + MEMBERS]:
                    writer.submit(MergeLabels(label, merged[start])).result()
        self._clients = [Client(self, maker) for maker in makers]

    def is_over(self):
        return self.n_answered >= self.wanted

    def note(self, kind, status, seconds):
        with self._mutex:
            self.statuses[kind, status] += 1
            if status == 200:
                self.n_answered += 1
                self.slowest[kind] = max(self.slowest[kind], seconds)

    def go(self):
        """Serve until all requests are answered; return the longest times of each server, in order."""
        for number in range(self._kills + 1):
            until = self.wanted * (number + 1) // (self._kills + 1)
            file = self._path / f"held-{number}.json"
            program = ("-m", "tests.server.http.measured")
            # Reopens the home after the previous kill, or raises an error with the server's output.
            with Running(self.home.path, "--snapshot-every", 50, program=program, env={"HELD": str(file)}) as server:
                self.port = server.port
                if number == 0:
                    for client in self._clients:
                        client.start()
                while self.n_answered < until and any(client.is_alive() for client in self._clients):
                    time.sleep(0.02)
                time.sleep(0.5 if number == self._kills else 0)
            self.held.append(json.loads(file.read_text()))
        for client in self._clients:
            client.join(120)
        return self.held

    @property
    def problems(self):
        return [problem for client in self._clients for problem in client.problems]

    def longest(self, what, unit):
        return max(one[what][unit] for one in self.held)

    def where(self, what):
        return max((one[what] for one in self.held), key=lambda one: one["processor"])["where"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--requests", type=int, default=500)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as path:
        run = Run(
            path, Tagger.load(arguments.model), requests=arguments.requests, kills=arguments.kills, seed=arguments.seed
        )
        run.go()
        with Writer(run.home, snapshot_every=None) as writer:
            print(f"{writer.replica.sequence:,} records, the home opens after every one of {arguments.kills} kills")
    for what in ("lock", "loop"):
        processor, clock = run.longest(what, "processor"), run.longest(what, "clock")
        print(f"longest hold of the {what}: {processor:.3f} s of CPU time, {clock:.3f} s of wall-clock time")
        print("  ", *run.where(what), sep="\n    ")
    print({f"{kind} {status}": count for (kind, status), count in sorted(run.statuses.items())})
    print({kind: round(seconds, 1) for kind, seconds in run.slowest.items()})
    print("problems:", run.problems)
    return int(bool(run.problems) or max(run.longest(w, "processor") for w in ("lock", "loop")) > MOST_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
