"""The figures of /metrics, summed over all workers."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator

import msgspec
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

BUCKETS = (0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0, 5.0)  # seconds
TEXT = "text/plain; version=0.0.4; charset=utf-8"


class Counts(msgspec.Struct):
    """The requests of a process by endpoint and status, and their durations."""

    answers: dict[str, dict[int, int]] = msgspec.field(default_factory=dict)  # by "METHOD path", by status
    seconds: dict[str, list[int]] = msgspec.field(default_factory=dict)  # per bucket, and above the last
    totals: dict[str, float] = msgspec.field(default_factory=dict)

    def add(self, endpoint: str, status: int, seconds: float) -> None:
        """Count one answer."""
        by_status = self.answers.get(endpoint)
        if by_status is None:
            by_status = self.answers[endpoint] = {}
            self.seconds[endpoint] = [0] * (len(BUCKETS) + 1)
            self.totals[endpoint] = 0.0
        by_status[status] = by_status.get(status, 0) + 1
        self.seconds[endpoint][bisect_left(BUCKETS, seconds)] += 1
        self.totals[endpoint] += seconds

    def add_all(self, other: "Counts") -> None:
        """Add the counts of another process."""
        for endpoint, by_status in other.answers.items():
            mine = self.answers.setdefault(endpoint, {})
            for status, count in by_status.items():
                mine[status] = mine.get(status, 0) + count
            before = self.seconds.get(endpoint, [0] * (len(BUCKETS) + 1))
            self.seconds[endpoint] = [a + b for a, b in zip(before, other.seconds[endpoint], strict=True)]
            self.totals[endpoint] = self.totals.get(endpoint, 0.0) + other.totals[endpoint]


class WorkerState(msgspec.Struct):
    """The state of a worker."""

    pid: int
    sequence: int
    waiting: int
    counts: Counts
    unapplied: int = 0  # the record that it cannot apply, if there is one


class Facts(msgspec.Struct):
    """The state of the writer and of all workers, and the counts of workers that have ended."""

    last: int
    queued: int
    workers: list[WorkerState]
    past: Counts = msgspec.field(default_factory=Counts)
    learns: bool = True  # False if nothing can be learned until the server is started again


class _Collector:
    def __init__(self, facts: Facts, model: dict[str, float]) -> None:
        self._facts = facts
        self._model = model

    def collect(self) -> Iterator[Metric]:
        counts = Counts()
        counts.add_all(self._facts.past)
        for worker in self._facts.workers:
            counts.add_all(worker.counts)
        answers = CounterMetricFamily("abound_requests", "Requests answered.", labels=["endpoint", "status"])
        seconds = HistogramMetricFamily("abound_request_seconds", "Time to an answer.", labels=["endpoint"])
        for endpoint, by_status in sorted(counts.answers.items()):
            for status, count in sorted(by_status.items()):
                answers.add_metric([endpoint, str(status)], count)
            total, buckets = 0, []
            for bound, count in zip((*map(str, BUCKETS), "+Inf"), counts.seconds[endpoint], strict=True):
                total += count
                buckets.append((bound, total))
            seconds.add_metric([endpoint], buckets, counts.totals[endpoint])
        yield answers
        yield seconds
        yield _gauge("abound_journal_sequence", "The last record of the journal.", [([], self._facts.last)])
        meaning = "1, or 0 if nothing can be learned until a restart."
        yield _gauge("abound_journal_learns", meaning, [([], self._facts.learns)])
        yield _gauge("abound_journal_queued", "Records waiting to be written.", [([], self._facts.queued)])
        workers = [([str(worker.pid)], worker.sequence) for worker in self._facts.workers]
        yield _gauge("abound_worker_sequence", "The last record that a worker has applied.", workers, ["pid"])
        unapplied = [([str(worker.pid)], worker.unapplied) for worker in self._facts.workers]
        yield _gauge("abound_worker_unapplied", "The record that a worker cannot apply, or 0.", unapplied, ["pid"])
        waiting = [([str(worker.pid)], worker.waiting) for worker in self._facts.workers]
        yield _gauge("abound_worker_waiting", "Requests waiting for the journal.", waiting, ["pid"])
        for name, value in self._model.items():
            yield _gauge(f"abound_model_{name}", f"The model's {name}.", [([], value)])


def _gauge(name: str, meaning: str, values: Iterable[tuple[list[str], float]], labels: Iterable[str] = ()) -> Metric:
    gauge = GaugeMetricFamily(name, meaning, labels=list(labels))
    for label_values, value in values:
        gauge.add_metric(label_values, value)
    return gauge


def exposition(facts: Facts, model: dict[str, float]) -> bytes:
    """Return all metrics in Prometheus' text format."""
    registry = CollectorRegistry()
    registry.register(_Collector(facts, model))
    return generate_latest(registry)
