"""The figures of /metrics, summed over all workers."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

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


class Measured(NamedTuple):
    """A model with its name if there are several, the state of its workers, and figures about it."""

    name: str | None
    facts: Facts
    figures: Mapping[str, float]


class _Collector:
    def __init__(self, models: Sequence[Measured], figures: Mapping[str, float]) -> None:
        self._models = models
        self._figures = figures
        self._labels = ["model"] if any(model.name is not None for model in models) else []

    def collect(self) -> Iterator[Metric]:
        yield from self._requests()
        yield self._gauge("abound_journal_sequence", "The last record of the journal.", lambda facts: facts.last)
        meaning = "1, or 0 if nothing can be learned until a restart."
        yield self._gauge("abound_journal_learns", meaning, lambda facts: facts.learns)
        yield self._gauge("abound_journal_queued", "Records waiting to be written.", lambda facts: facts.queued)
        meaning = "The last record that a worker has applied."
        yield self._worker_gauge("abound_worker_sequence", meaning, lambda worker: worker.sequence)
        meaning = "The record that a worker cannot apply, or 0."
        yield self._worker_gauge("abound_worker_unapplied", meaning, lambda worker: worker.unapplied)
        meaning = "Requests waiting for the journal."
        yield self._worker_gauge("abound_worker_waiting", meaning, lambda worker: worker.waiting)
        for name in sorted({name for model in self._models for name in model.figures}):
            values = [(_labels(model), model.figures[name]) for model in self._models if name in model.figures]
            yield _gauge(f"abound_model_{name}", f"The model's {name}.", values, self._labels)
        for name, value in self._figures.items():
            yield _gauge(f"abound_{name}", f"The server's {name}.", [([], value)])

    def _requests(self) -> Iterator[Metric]:
        labels = [*self._labels, "endpoint"]
        answers = CounterMetricFamily("abound_requests", "Requests answered.", labels=[*labels, "status"])
        seconds = HistogramMetricFamily("abound_request_seconds", "Time to an answer.", labels=labels)
        for model in self._models:
            counts = Counts()
            counts.add_all(model.facts.past)
            for worker in model.facts.workers:
                counts.add_all(worker.counts)
            for endpoint, by_status in sorted(counts.answers.items()):
                for status, count in sorted(by_status.items()):
                    answers.add_metric([*_labels(model), endpoint, str(status)], count)
                total, buckets = 0, []
                for bound, count in zip((*map(str, BUCKETS), "+Inf"), counts.seconds[endpoint], strict=True):
                    total += count
                    buckets.append((bound, total))
                seconds.add_metric([*_labels(model), endpoint], buckets, counts.totals[endpoint])
        yield answers
        yield seconds

    def _gauge(self, name: str, meaning: str, value: Callable[[Facts], float]) -> Metric:
        open_models = [model for model in self._models if model.facts.workers]
        return _gauge(name, meaning, [(_labels(model), value(model.facts)) for model in open_models], self._labels)

    def _worker_gauge(self, name: str, meaning: str, value: Callable[[WorkerState], float]) -> Metric:
        values = [
            ([*_labels(model), str(worker.pid)], value(worker))
            for model in self._models
            for worker in model.facts.workers
        ]
        return _gauge(name, meaning, values, [*self._labels, "pid"])


def _labels(model: Measured) -> list[str]:
    return [] if model.name is None else [model.name]


def _gauge(name: str, meaning: str, values: Iterable[tuple[list[str], float]], labels: Iterable[str] = ()) -> Metric:
    gauge = GaugeMetricFamily(name, meaning, labels=list(labels))
    for label_values, value in values:
        gauge.add_metric(label_values, value)
    return gauge


def exposition(models: Sequence[Measured], figures: Mapping[str, float] = MappingProxyType({})) -> bytes:
    """Return all metrics of models and of the server in Prometheus' text format."""
    registry = CollectorRegistry()
    registry.register(_Collector(models, figures))
    return generate_latest(registry)
