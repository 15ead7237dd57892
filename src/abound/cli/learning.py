"""Learn files and streams of documents in chunks, with progress and a memory limit."""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from abound.cli.common import note, show_size
from abound.cli.inputs import Inputs, chunks
from abound.cli.memory import SAMPLE_ROWS, SAMPLE_SHARE, Point, available_memory, forecast
from abound.cli.progress import Progress
from abound.cli.vectors import vectors_of
from abound.tagger.training import PROGRESSIVE_ROWS, TESTED_PER_CHUNK, Training
from abound.text.language import settings_from_params
from abound.texts import Text

if TYPE_CHECKING:
    from abound.data import Document
    from abound.tagger import Tagger

CHUNK = 2_000
DOCUMENTS_CHUNK = 16
FIRST_CHUNK = 500  # small, so that the memory forecast has an early point to measure growth from
Names: TypeAlias = dict[str, list[str]]


@dataclass
class LearnStats:
    """Statistics of a training run."""

    rows: int = 0
    unlabelled: int = 0
    seconds: float = 0.0
    hits: deque[bool] = field(default_factory=lambda: deque(maxlen=PROGRESSIVE_ROWS))
    dropped: Counter[str] = field(default_factory=Counter)
    trained: dict[str, Any] = field(default_factory=dict)  # how `fit` trained: passes, second stage

    @property
    def progressive_p1(self) -> float | None:
        """The share of the last tested rows whose first label was right before they were learned."""
        return sum(self.hits) / len(self.hits) if self.hits else None

    def as_dict(self) -> dict[str, Any]:
        """Return the values to print."""
        return {
            "rows": self.rows,
            "rows_without_label": self.unlabelled,
            "seconds": round(self.seconds, 3),
            "rows_per_second": round(self.rows / self.seconds, 1) if self.seconds else None,
            "progressive_p1": self.progressive_p1,
            "dropped": dict(self.dropped) or None,
            **self.trained,
        }


def learn_stream(
    tagger: "Tagger", inputs: Inputs, max_bytes: int | None = None, names: Names | None = None, title: str = "learning"
) -> LearnStats:
    """Learn the names of labels, then all rows that are not held out, in order and in one pass."""
    stats, forecaster = LearnStats(), _Forecaster(inputs.share, max_bytes)
    with Progress(title, inputs.share) as progress:
        tagger.learn_names(names or {})
        for chunk in chunks(inputs.training_rows(), *_sizes(inputs)):
            stats.hits.extend(_test(tagger, chunk))
            for is_correction, rows in groupby(chunk, _is_correction):
                learn_rows(tagger, list(rows), is_correction)
            _count(stats, chunk)
            _prune(tagger, stats, max_bytes)
            forecaster.see(Point(stats.rows, tagger.n_features + tagger.n_edges, tagger.nbytes))
            right = stats.progressive_p1
            progress.update(stats.rows, "" if right is None else f"P@1 {right:.3f}")
        stats.seconds = progress.seconds
    inputs.note_skipped()
    _note_excess(tagger, max_bytes)
    return stats


def learn_files(
    tagger: "Tagger",
    inputs: Inputs,
    folder: Path,
    max_bytes: int | None = None,
    names: Names | None = None,
    *,
    keep_examples: bool = True,
) -> LearnStats:
    """Count all rows that are not held out, store them in a temporary file in `folder`, and train on them.

    Rows with wrong labels are learned after that, as corrections, in order.
    """
    stats = LearnStats()
    corrections: list[Document] = []
    training = Training(tagger, names, folder=folder, max_bytes=max_bytes, keep_examples=keep_examples)
    with Progress("reading", inputs.share) as progress:
        for chunk in chunks(inputs.training_rows(), _sizes(inputs)[0]):
            corrections += filter(_is_correction, chunk)
            rows = [document for document in chunk if not document.wrong]
            training.add(*_examples(rows), _weights(rows), tagger.given_codes(vectors_of(rows), len(rows)))
            _count(stats, chunk)
            progress.update(stats.rows)
        training.finish_counting()
        stats.seconds = progress.seconds
    inputs.note_skipped()
    language = tagger.language or "none" if training.detected is None else training.detected.sentence()
    note(f"language: {language}; {settings_from_params(tagger.encoder.params()).sentence(tagger.language)}")
    weights = training.report().get("fields", {})
    if weights:
        note(f"fields: {', '.join(f'{name} (weight {weight:g})' for name, weight in weights.items())}")
    done = 0.0
    forecaster = _Forecaster(lambda: min(1.0, done), max_bytes)

    def watch(learned: int, share: float) -> None:
        nonlocal done
        done = learned / max(1, training.n_rows)  # of the first pass, in which the model grows
        if tagger.ranker.n_shards == 1:
            forecaster.see(Point(learned, tagger.n_edges, tagger.nbytes))
        right, stats.hits = training.progressive_p1, training.hits
        progress.update(learned, "" if right is None else f"P@1 {right:.3f}")
        shares[0] = share

    shares = [0.0]
    with Progress("training", lambda: shares[0]) as progress:
        training.learn(
            watch,
            lambda number, n: progress.begin(
                f"trying how to learn few labels, trial {number} of {n}" if number else "learning all rows"
            ),
        )
        learn_rows(tagger, corrections, is_correction=True)
        stats.seconds += progress.seconds
    if corrections:
        note(f"{len(corrections):,} rows with wrong labels were learned after the others, as corrections")
    stats.hits = training.hits
    stats.dropped.update({name: count for name, count in training.dropped.items() if count})
    if training.second_stage_dropped:
        note("the second stage exceeds the memory limit and was dropped; labels are ranked by votes only")
    stats.trained = training.report()
    _note_excess(tagger, max_bytes)
    return stats


def _sizes(inputs: Inputs) -> tuple[int, int]:
    """Return the number of rows in a chunk and in the first one; documents may be books, and take long to read."""
    return (DOCUMENTS_CHUNK, DOCUMENTS_CHUNK) if inputs.has_documents else (CHUNK, FIRST_CHUNK)


def _examples(chunk: Sequence["Document"]) -> tuple[list[Text], list[tuple[str, ...]]]:
    return [document.text for document in chunk], [document.labels for document in chunk]


def learn_held_out(tagger: "Tagger", inputs: Inputs) -> None:
    """Learn the rows that were held out, in order and in one pass."""
    for chunk in chunks(inputs.held_out(), *_sizes(inputs)):
        for is_correction, rows in groupby(chunk, _is_correction):
            learn_rows(tagger, list(rows), is_correction)


def _is_correction(document: "Document") -> bool:
    return bool(document.wrong)


def learn_rows(tagger: "Tagger", rows: Sequence["Document"], is_correction: bool) -> None:
    """Learn rows in order, as examples or as corrections with wrong labels, which the ranking must show."""
    if rows:
        wrong = _known_wrong(tagger, rows) if is_correction else None
        how: dict[str, Any] = {"insist": is_correction, "sample_weight": _weights(rows), "labels_are": "ids"}
        how["vectors"] = vectors_of(rows)
        tagger.learn_many(*_examples(rows), wrong=wrong, **how)


def _known_wrong(tagger: "Tagger", rows: Sequence["Document"]) -> list[list[str]]:
    """Return the wrong labels of rows without those that are not known: nothing can be learned from them."""
    learned: set[str] = set()
    kept: list[list[str]] = []
    for document in rows:
        kept.append([label for label in document.wrong if label in learned or tagger.has_label(label)])
        learned.update(document.labels)
    n_unknown = sum(len(document.wrong) for document in rows) - sum(map(len, kept))
    if n_unknown:
        note(f"{n_unknown:,} wrong labels are not known to the model, and were ignored")
    return kept


def _weights(chunk: Sequence["Document"]) -> list[float] | None:
    weights = [document.weight for document in chunk]
    return None if all(weight == 1.0 for weight in weights) else weights


def _count(stats: LearnStats, chunk: Sequence["Document"]) -> None:
    stats.rows += len(chunk)
    stats.unlabelled += sum(not document.labels and not document.wrong for document in chunk)


def _prune(tagger: "Tagger", stats: LearnStats, max_bytes: int | None) -> None:
    if max_bytes is not None and tagger.nbytes > max_bytes:
        dropped = tagger.prune(max_bytes)
        stats.dropped.update({name: dropped[name] for name in ("terms", "edges")})


def _note_excess(tagger: "Tagger", max_bytes: int | None) -> None:
    if max_bytes is not None and tagger.nbytes > max_bytes:  # even an almost empty model exceeds a very low limit
        note(f"the model takes {show_size(tagger.nbytes)}; the limit is {show_size(max_bytes)}; raise --max-memory")


def _test(tagger: "Tagger", chunk: Sequence["Document"]) -> Iterable[bool]:
    """Rank some rows of a chunk, evenly spread, before they are learned; return whether each first label is right."""
    labelled = [document for document in chunk if document.labels]
    if not tagger.n_rows or not labelled:
        return ()
    tested = labelled[:: -(-len(labelled) // TESTED_PER_CHUNK)]
    rankings = tagger.rank_many([document.text for document in tested], k=1, vectors=vectors_of(tested))
    return [
        bool(ranking) and ranking[0].label in document.labels
        for ranking, document in zip(rankings, tested, strict=True)
    ]


class _Forecaster:
    """Print once, from the first rows, a forecast of the memory that all rows will take."""

    def __init__(self, share: Callable[[], float | None], max_bytes: int | None) -> None:
        self._share = share
        self._max_bytes = max_bytes
        self._points: list[Point] = []
        self._done = False

    def see(self, point: Point) -> None:
        """Record the size after some rows, and print the forecast once there are enough rows."""
        share = self._share()
        if self._done or share is None:
            return
        self._points.append(point)
        if len(self._points) > 1 and point.rows >= SAMPLE_ROWS and share >= SAMPLE_SHARE:
            self._done = True
            if share < 1:
                self._print(point.rows, round(point.rows / share))

    def _print(self, rows: int, expected: int) -> None:
        n_bytes, free = forecast(self._points, expected), available_memory()
        words = f"forecast from {rows:,} rows: at most about {show_size(n_bytes)} of memory for about {expected:,} rows"
        if self._max_bytes is not None and n_bytes > self._max_bytes:
            words += f"; the model is kept below {show_size(self._max_bytes)} by dropping its least useful parts"
        elif free is not None and n_bytes - self._points[-1].n_bytes > free:
            words += f", more than the {show_size(free)} that are free; set a limit with --max-memory"
        note(words)
