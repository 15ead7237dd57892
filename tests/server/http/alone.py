"""Measure every step of the most expensive requests that the limits allow, one after another, without a server.

    python -m tests.server.http.alone MODEL --rounds 24

It prints median, 90th percentile and maximum of the CPU time of each step. A step is what a request does between two
chances for other requests. `worst.py` measures the same steps in a server with eight clients.
"""

import argparse
import statistics
import time
from collections import defaultdict

from abound import Tagger
from abound.errors import RefusedRecord
from abound.server.http.ranking import PIECE_FEATURES, PIECE_REASONS
from abound.server.queries import FeatureRow, Reasons, TextRow
from abound.server.replica import Replica
from abound.store.journal.records import Learn, MergeLabels
from tests.server.http.worst import MEMBERS, Requests

LEARNING = {
    "learn_long": "learn a long text",
    "learn_labels": "learn many labels",
    "learn_merged": "reject merged labels",
}


class Steps:
    """The steps of requests to one replica, with their CPU times by name."""

    def __init__(self, tagger, seed):
        self.replica, self.requests = Replica(tagger, journal="alone", sequence=0), Requests(tagger, seed)
        self.seconds = defaultdict(list)
        merged = self.requests.merged
        for start in range(0, len(merged) - MEMBERS + 1, MEMBERS):
            for label in merged[start + 1 : start + MEMBERS]:
                self.replica.apply(self.replica.sequence + 1, MergeLabels(label, merged[start]))

    def time(self, name, do):
        before = time.thread_time()
        result = do()
        self.seconds[name].append(time.thread_time() - before)
        return result

    def loop(self):
        """Always the same work, which shows how much CPU times vary on this machine."""
        self.time("a fixed loop, for comparison", lambda: sum(i * i for i in range(400_000)))

    def rank(self):
        text = self.requests.rank()[2]["text"]
        row = self.time("tokenise a text of 500 kB", lambda: TextRow(self.replica, text))
        self.time("rank it, k=1000", lambda: row.rank(1000))

    def explain(self):
        body = self.requests.reasons()[2]
        text, k = body["text"], body["k"]
        labels = self.time("rank a text to explain", lambda: [e.label for e in self.replica.rank(text, k)])
        if not labels:
            return
        reasons = self.time("votes for all labels", lambda: Reasons(self.replica, text, labels, lambda *_: None))
        steps = reasons.steps(PIECE_REASONS)
        while self.time("words of some labels", lambda: next(steps, None)) is not None:
            pass

    def features(self):
        items = list(self.requests.features()[2]["features"].items())
        row = FeatureRow(self.replica)
        for start in range(0, len(items), PIECE_FEATURES):
            self.time("look up 1,000 features", lambda start=start: row.add(items[start : start + PIECE_FEATURES]))
        self.time("rank 40,000 features, k=1000", lambda: row.rank(1000))

    def learn(self, kind):
        body = getattr(self.requests, kind)()[2]
        record = Learn(body["text"], [], body.get("rejected", []), body.get("added", []))
        try:
            self.replica.check(record)
        except RefusedRecord:
            return
        name = {"learn_long": "learn a long text", "learn_labels": "learn many labels"}.get(
            kind, "reject merged labels"
        )
        self.time(name, lambda: self.replica.apply(self.replica.sequence + 1, record))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--rounds", type=int, default=24)
    arguments = parser.parse_args()
    steps = Steps(Tagger.load(arguments.model), "alone")
    for _ in range(arguments.rounds):
        for _ in range(6):
            steps.loop()
        steps.rank()
        steps.explain()
        steps.features()
        for kind in ("learn_long", "learn_labels", "learn_merged"):
            for _ in range(3):
                steps.learn(kind)
    print("| step | times | median s | 90% s | longest s |\n|---|---|---|---|---|")
    for name, seconds in steps.seconds.items():
        high = sorted(seconds)[int(0.9 * len(seconds))]
        print(f"| {name} | {len(seconds)} | {statistics.median(seconds):.3f} | {high:.3f} | {max(seconds):.3f} |")


if __name__ == "__main__":
    main()
