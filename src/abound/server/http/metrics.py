"""The figures of /metrics, summed over all workers."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import msgspec
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from abound.server.durations import Durations

TEXT = "text/plain; version=0.0.4; charset=utf-8"
REASONS = ("unknown", "expired", "scope", "requests", "learns", "memory")  # why a request is refused by its key


class Counts(msgspec.Struct):
    """The requests of a process by endpoint and status, their durations, and the refusals of keys by reason."""

    answers: dict[str, dict[int, int]] = msgspec.field(default_factory=dict)  # by "METHOD path", by status
    seconds: dict[str, Durations] = msgspec.field(default_factory=dict)
    refusals: dict[str, int] = msgspec.field(default_factory=dict)
    opinions: dict[str, int] = msgspec.field(default_factory=dict)  # questions to a service, by result

    def add(self, endpoint: str, status: int, seconds: float) -> None:
        """Count one answer."""
        by_status = self.answers.get(endpoint)
        if by_status is None:
            by_status = self.answers[endpoint] = {}
            self.seconds[endpoint] = Durations()
        by_status[status] = by_status.get(status, 0) + 1
        self.seconds[endpoint].add(seconds)

    def refuse(self, reason: str) -> None:
        """Count a request that was refused because of its key."""
        self.refusals[reason] = self.refusals.get(reason, 0) + 1

    def add_all(self, other: "Counts") -> None:
        """Add the counts of another process."""
        for endpoint, by_status in other.answers.items():
            mine = self.answers.setdefault(endpoint, {})
            for status, count in by_status.items():
                mine[status] = mine.get(status, 0) + count
            self.seconds.setdefault(endpoint, Durations()).add_all(other.seconds[endpoint])
        for reason, count in other.refusals.items():
            self.refusals[reason] = self.refusals.get(reason, 0) + count
        for result, count in other.opinions.items():
            self.opinions[result] = self.opinions.get(result, 0) + count


class WorkerState(msgspec.Struct):
    """The state of a worker."""

    pid: int
    sequence: int
    waiting: int
    counts: Counts
    unapplied: int = 0  # the record that it cannot apply, if there is one
    memory: int | None = None  # private bytes
    opinion_fails: bool | None = None  # whether the service for a second opinion fails; None if there is none


class SnapshotState(NamedTuple):
    """A snapshot: the id of its journal, its sequence and its state hash."""

    journal: str
    sequence: int
    state_hash: str


class WriterState(msgspec.Struct):
    """The state of the process that writes, and of its home.

    Attributes
    ----------
    commits : Durations
        The times of the journal's commits.
    memory : int or None
        Private bytes of the process.
    snapshot_records : int
        Records after the newest snapshot.
    snapshot_age : float or None
        Seconds since the newest snapshot was written; None if there is none.
    disk_free : int or None
        Bytes that the file system of the home has left; None if it does not tell.
    snapshot : SnapshotState or None
        The newest snapshot; None if it cannot be read.
    """

    commits: Durations
    memory: int | None
    snapshot_records: int
    snapshot_age: float | None
    disk_free: int | None
    snapshot: SnapshotState | None = None


class Facts(msgspec.Struct):
    """The state of the writer and of all workers, and the counts of workers that have ended."""

    last: int
    queued: int
    workers: list[WorkerState]
    past: Counts = msgspec.field(default_factory=Counts)
    learns: bool = True  # False if nothing can be learned at the moment
    restarts: int = 0  # of workers that ended or were killed because they did not answer
    writer: WriterState | None = None  # None until the writer has opened the home


class Measured(NamedTuple):
    """A model with its name if there are several, the state of its workers, and figures about it."""

    name: str | None
    facts: Facts
    figures: Mapping[str, float]


_OF_WRITER: tuple[tuple[str, str, Callable[[WriterState], float | None]], ...] = (
    (
        "abound_snapshot_age_seconds",
        "Seconds since the newest snapshot was written.",
        lambda state: state.snapshot_age,
    ),
    ("abound_snapshot_records", "Records after the newest snapshot.", lambda state: state.snapshot_records),
    ("abound_disk_free_bytes", "Bytes that the file system of the home has left.", lambda state: state.disk_free),
)


class _Collector:
    def __init__(self, models: Sequence[Measured], figures: Mapping[str, float]) -> None:
        self._models = models
        self._figures = figures
        self._labels = ["model"] if any(model.name is not None for model in models) else []

    def collect(self) -> Iterator[Metric]:
        yield from self._requests()
        yield self._gauge("abound_journal_sequence", "The last record of the journal.", lambda facts: facts.last)
        meaning = "1, or 0 if nothing can be learned at the moment."
        yield self._gauge("abound_journal_learns", meaning, lambda facts: facts.learns)
        yield self._gauge("abound_journal_queued", "Records waiting to be written.", lambda facts: facts.queued)
        meaning = "Workers that were replaced because they ended or did not answer."
        restarts = CounterMetricFamily("abound_worker_restarts", meaning, labels=self._labels)
        for model in self._models:
            restarts.add_metric(_labels(model), model.facts.restarts)
        yield restarts
        yield from self._opinions()
        yield from self._writers()
        meaning = "The last record that a worker has applied."
        yield self._worker_gauge("abound_worker_sequence", meaning, lambda worker: worker.sequence)
        meaning = "The record that a worker cannot apply, or 0."
        yield self._worker_gauge("abound_worker_unapplied", meaning, lambda worker: worker.unapplied)
        meaning = "Requests waiting for the journal."
        yield self._worker_gauge("abound_worker_waiting", meaning, lambda worker: worker.waiting)
        yield from self._memory()
        for name in sorted({name for model in self._models for name in model.figures}):
            values = [(_labels(model), model.figures[name]) for model in self._models if name in model.figures]
            yield _gauge(f"abound_model_{name}", f"The model's {name}.", values, self._labels)
        for name, value in self._figures.items():
            yield _gauge(f"abound_{name}", f"The server's {name}.", [([], value)])

    def _requests(self) -> Iterator[Metric]:
        labels = [*self._labels, "endpoint"]
        answers = CounterMetricFamily("abound_requests", "Requests answered.", labels=[*labels, "status"])
        seconds = HistogramMetricFamily("abound_request_seconds", "Time to an answer.", labels=labels)
        meaning = "Requests refused because of their key."
        refusals = CounterMetricFamily("abound_key_refusals", meaning, labels=[*self._labels, "reason"])
        for model in self._models:
            counts = Counts()
            counts.add_all(model.facts.past)
            for worker in model.facts.workers:
                counts.add_all(worker.counts)
            for endpoint, by_status in sorted(counts.answers.items()):
                for status, count in sorted(by_status.items()):
                    answers.add_metric([*_labels(model), endpoint, str(status)], count)
                durations = counts.seconds[endpoint]
                seconds.add_metric([*_labels(model), endpoint], durations.cumulative(), durations.seconds)
            for reason in REASONS:
                refusals.add_metric([*_labels(model), reason], counts.refusals.get(reason, 0))
        yield answers
        yield seconds
        yield refusals

    def _opinions(self) -> Iterator[Metric]:
        """Yield the questions to a service for a second opinion, if there is one."""
        meaning = "Questions to the service for a second opinion."
        questions = CounterMetricFamily("abound_second_opinion_requests", meaning, labels=[*self._labels, "result"])
        fails: list[tuple[list[str], float]] = []
        for model in self._models:
            counts = Counts()
            counts.add_all(model.facts.past)
            for worker in model.facts.workers:
                counts.add_all(worker.counts)
            for result, count in counts.opinions.items():
                questions.add_metric([*_labels(model), result], count)
            known = [worker.opinion_fails for worker in model.facts.workers if worker.opinion_fails is not None]
            if known:
                fails.append((_labels(model), float(any(known))))
        if fails:
            yield questions
            meaning = "1 if the last request to the service for a second opinion failed, otherwise 0."
            yield _gauge("abound_second_opinion_failing", meaning, fails, self._labels)

    def _writers(self) -> Iterator[Metric]:
        """Yield the figures of the writers and their homes."""
        states = [(_labels(model), model.facts.writer) for model in self._models if model.facts.writer is not None]
        meaning = "Time of a commit of the journal."
        commits = HistogramMetricFamily("abound_commit_seconds", meaning, labels=self._labels)
        for labels, state in states:
            commits.add_metric(labels, state.commits.cumulative(), state.commits.seconds)
        yield commits
        for name, meaning, value in _OF_WRITER:
            values = [(labels, found) for labels, state in states if (found := value(state)) is not None]
            yield _gauge(name, meaning, values, self._labels)
        hashes: list[tuple[list[str], float]] = [
            ([*labels, *map(str, state.snapshot)], 1.0) for labels, state in states if state.snapshot is not None
        ]
        meaning = "The state of the newest snapshot, which is the same on machines that share a journal."
        yield _gauge("abound_snapshot_state", meaning, hashes, [*self._labels, "journal", "sequence", "hash"])

    def _memory(self) -> Iterator[Metric]:
        """Yield the memory of the processes; several models share one."""
        workers = {str(worker.pid): worker.memory for model in self._models for worker in model.facts.workers}
        known = [([pid], float(memory)) for pid, memory in workers.items() if memory is not None]
        yield _gauge("abound_worker_memory_bytes", "The private memory of a worker.", known, ["pid"])
        writers = [model.facts.writer.memory for model in self._models if model.facts.writer is not None]
        largest = max((memory for memory in writers if memory is not None), default=None)
        values: list[tuple[list[str], float]] = [] if largest is None else [([], float(largest))]
        yield _gauge("abound_writer_memory_bytes", "The private memory of the process that writes.", values)

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
