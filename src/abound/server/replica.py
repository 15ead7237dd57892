"""A replica: a model that applies a journal's records in order, and ranks.

The effect of a record depends only on the record and the state before it. All replicas therefore have the same state at
the same sequence, whichever snapshot they started from.
"""

import math
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Self

import numpy as np

from abound.errors import AboundError, DamagedModel, RefusedRecord, UnappliedRecord, UnknownFormat
from abound.hierarchy.links import EXACTLY, Chooser
from abound.ordinal.bands import BAND_NAMES, HIDE
from abound.server.cost import check_cost, replay_cost
from abound.server.editing import apply_edits
from abound.server.fair_lock import FairLock
from abound.server.history import History
from abound.server.labels import LabelTable
from abound.server.merged import rank_rows, rank_to_judge
from abound.server.opinions import Heard, by_number
from abound.server.search import LabelSearch
from abound.server.served_names import Resolved, ServedNames
from abound.server.vectors import known_code
from abound.store import Model, read_model, state_hash, write_model
from abound.store.directory import Source, hash_steps
from abound.store.journal import Lineage
from abound.store.journal.records import LABEL_EDITS, BandFeedback, Learn, Record, edits_of
from abound.store.names import Name
from abound.tagger import Entry, LabelQuality, Tagger, TextExplanation
from abound.tagger.answers import entries_of
from abound.tagger.arguments import check_depth
from abound.texts import Text


class Replica:
    """A tagger at one sequence of a journal.

    Ranking and applying exclude each other, first come, first served, so that no reader sees a partly applied record.

    Parameters
    ----------
    tagger : Tagger
        The replica takes ownership of it.
    journal : str
        The id of the journal.
    sequence : int
        The last record that the tagger has learned.
    """

    def __init__(self, tagger: Tagger, *, journal: str = "", sequence: int = 0) -> None:
        tagger.need_second_opinion()  # a model that has learned nothing must keep its embeddings when it is saved
        self.tagger = tagger
        self.journal = journal
        self.sequence = sequence
        self.snapshot = sequence  # the snapshot that it started from
        self.lineage = Lineage()  # what the state is made of
        self.cost = 0  # of the records that were applied here; see `cost.py`
        self.unapplied: UnappliedRecord | None = None  # the error if the next record could not be applied
        self.labels = LabelTable(tagger.ranker.labels_)
        self.names = ServedNames(tagger, self.labels)
        self.search = LabelSearch(self.labels, self.names)
        self._quality: Sequence[LabelQuality] = ()  # not part of the state
        self._searches = False
        self.history = History()
        self.listeners: list[Callable[[int], None]] = []  # called with each new sequence
        self._lock = FairLock()
        self._applied = threading.Condition()
        self._broken: str | None = None  # a message; an exception would keep its frames in memory

    # -- learning ------------------------------------------------------------------------------------

    def check(self, record: Record, *, closed: bool = False) -> None:
        """Raise RefusedRecord if a record cannot be applied next, or would take too long; see `cost.py`.

        Parameters
        ----------
        record : Record
        closed : bool
            Whether labels must be added before they are learned.
        """
        check_cost(record, self.tagger, self.labels)
        if isinstance(record, Learn):
            self._check_learn(record, closed)
        elif isinstance(record, BandFeedback):
            if self.labels.resolve(record.label) not in self.labels.book:
                raise RefusedRecord(f"label {record.label!r} is not known")
        elif isinstance(record, LABEL_EDITS):
            self.labels.check(record)
        else:
            raise RefusedRecord(
                f"a record of kind {record.kind!r} changes the state as a whole; it is not applied alone"
            )

    def resolve_names(self, record: Record) -> Resolved:
        """Replace the names of labels in a record by their ids; RefusedRecord if one belongs to several labels."""
        with self.reading():
            return self.names.resolve_record(record)

    def needs_earlier(self, record: Record) -> bool:
        """Return whether a record that waits may make this one valid: it rejects a label that is not known yet."""
        if not isinstance(record, Learn) or not record.rejected:
            return False
        with self._lock:
            return any(self._is_unknown(label) for label in record.rejected)

    def _is_unknown(self, label: Name) -> bool:
        labels = self.labels
        known = label in labels.book or label in labels.aliases
        return not known and not (isinstance(label, str) and self.names.find(label))

    def _check_learn(self, record: Learn, closed: bool) -> None:
        right, wrong = self._right(record), self._wrong(record)
        if wrong and not self.tagger.ranker.learns_wrong:
            raise RefusedRecord(f"a {self.tagger.ranker.kind} ranker cannot learn from wrong labels; a cascade can")
        for label in record.rejected:
            if self.labels.resolve(label) not in self.labels.book:
                raise RefusedRecord(f"label {label!r} is not known, so there is nothing to learn from it being wrong")
        for label in right:
            if label in self.labels.retired:
                raise RefusedRecord(f"label {label!r} is retired; add it to use it again")
            if closed and label not in self.labels.book:
                raise RefusedRecord(f"label {label!r} is not known, and the vocabulary is closed")
            if label in wrong:
                raise RefusedRecord(
                    f"label {label!r} is given as both right and wrong for the same text, because of a merge"
                )

    def _right(self, record: Learn) -> list[Name]:
        return self.labels.resolve_all((*record.accepted, *record.added))

    def _wrong(self, record: Learn) -> list[Name]:
        """Return every label whose votes count for a rejected label."""
        rejected = self.labels.resolve_all(record.rejected)
        return [member for label in rejected for member in self.labels.members(label)]

    def apply(self, sequence: int, record: Record, time: int = 0) -> None:
        """Apply the next record; the state does not depend on its time, in microseconds since 1970."""
        with self._lock:
            self.check_usable()
            if sequence != self.sequence + 1:
                raise ValueError(f"the next record is {self.sequence + 1}, got {sequence}")
            try:
                with self._knowing(record):
                    self.history.evaluate(sequence, record, self._first_labels, time)
                    self._apply(record)
                self.history.note(sequence, record, time)
            except BaseException as error:  # the record may be partly applied
                self._broken = repr(error)
                raise
            self.sequence = sequence
            self.cost += replay_cost(record)
        self._notify()

    def _knowing(self, record: Record) -> AbstractContextManager[None]:
        """Return a context in which the text of a record has the vector and the opinion that were written with it.

        The encoder is not asked, so that replicas on other machines, or without the encoder, have the same state.
        """
        if not isinstance(record, Learn | BandFeedback) or record.text is None:
            return nullcontext()
        opinion = record.opinion if isinstance(record, Learn) else None
        if self.tagger.second_opinion is None and opinion is None:
            return nullcontext()
        outside = None if opinion is None else by_number(self.labels, dict(opinion))
        return self.tagger.knowing(record.text, known_code(record, self.tagger.encoder_name), outside)

    def skip(self, sequence: int) -> None:
        """Skip the next record without applying it."""
        with self._lock:
            self.check_usable()
            if sequence != self.sequence + 1:
                raise ValueError(f"the next record is {self.sequence + 1}, got {sequence}")
            self.sequence = sequence
            self.lineage = self.lineage._replace(excluded=(*self.lineage.excluded, sequence))
        self._notify()

    def _notify(self) -> None:
        with self._applied:
            self._applied.notify_all()
        for listener in self.listeners:
            listener(self.sequence)

    def release_state(self) -> None:
        """Free the memory of the state; until `replace_state`, reading raises an error."""
        with self._lock:
            self._broken = self._broken or "it is being reloaded"
            self._adopt(Replica(Tagger(), journal=self.journal, sequence=self.sequence))

    def replace_state(self, other: "Replica") -> None:
        """Take over the state of another replica, which must not be used afterwards."""
        if self._searches:
            other.search.prepare()  # before the lock: this takes long
        other.tagger.share_encoder(self.tagger)
        with self._lock:
            self._adopt(other)
            self.history.drop_labels(self._has_label)
            self.sequence, self.snapshot = other.sequence, other.snapshot
            self.lineage, self.cost = other.lineage, other.cost
            self._broken = None
        self._notify()

    def _adopt(self, other: "Replica") -> None:
        other.history.keep_outcomes(self.history, other.lineage.excluded)
        self.tagger, self.labels = other.tagger, other.labels
        self.names, self.search, self.history = other.names, other.search, other.history
        if self._quality:
            self.search.rate(self._quality)

    def _has_label(self, label: Name) -> bool:
        return self.labels.resolve(label) in self.labels.book

    def restore_outcomes(self, raw: bytes) -> None:
        """Restore how the last corrections were ranked before; ValueError if this is damaged."""
        with self._lock:
            self.history.restore_outcomes(raw, self.sequence, self.lineage.excluded)
            self.history.drop_labels(self._has_label)

    def prepare_search(self) -> None:
        """Build the label search now, and from now on before each change of the state as a whole."""
        self._searches = True
        with self._lock:
            self.search.prepare()

    def rate_labels(self, quality: Sequence[LabelQuality]) -> int:
        """Show the measured quality of labels in searches; return how many of these labels are known."""
        with self._lock:
            self._quality = quality
            return self.search.rate(quality)

    def _apply(self, record: Record) -> None:
        if isinstance(record, Learn):
            right, judge = self._right(record), not self.labels.n_hidden
            if not judge:  # a person judges labels as they are shown, not the parts of merged labels
                self._judge(record.text, right, self.labels.resolve_all(record.rejected))
            self.tagger.learn_ids([record.text], [right], wrong=[self._wrong(record)], insist=True, judge=judge)
        elif isinstance(record, BandFeedback):
            if record.text is not None:
                label, is_wrong = [self.labels.resolve(record.label)], record.wanted == BAND_NAMES[HIDE]
                self._judge(record.text, [] if is_wrong else label, label if is_wrong else [], only_named=True)
        elif isinstance(record, LABEL_EDITS):  # other records change the lineage, and nothing at their place
            touched = apply_edits(self.tagger, self.labels, self.names, edits_of(record))
            self.search.update(touched)

    def _judge(self, text: Text, right: Sequence[Name], wrong: Sequence[Name], *, only_named: bool = False) -> None:
        """Teach calibration and bands by the decisions on a text, which is ranked as it is shown."""
        numbers = [self.labels.book.known([names])[1] for names in (right, wrong)]
        ranking = rank_to_judge(self.tagger, self.labels, text)
        self.tagger.judge_ranking(*ranking, *numbers, only_named=only_named)

    def _first_labels(self, text: Text, k: int) -> list[Name]:
        return [entry.label for entry in self._rank_many([text], k)[0]]

    @property
    def is_broken(self) -> bool:
        """Whether applying a record failed, or the state is being reloaded; this does not take the lock."""
        return self._broken is not None

    def check_usable(self) -> None:
        """Raise AboundError if applying a record failed; this does not take the lock."""
        if self._broken is not None:
            raise AboundError(f"this replica failed at record {self.sequence + 1}: {self._broken}; open it again")

    def wait_for(self, sequence: int, timeout: float | None = None) -> bool:
        """Wait until another thread has applied a record; return whether it has."""
        with self._applied:
            return self._applied.wait_for(lambda: self.sequence >= sequence, timeout)

    # -- ranking -------------------------------------------------------------------------------------

    def reading(self) -> "_Reading":
        """Return a context manager that locks the state and gives its sequence."""
        return _Reading(self, self._lock)

    @contextmanager
    def hearing(self, heard: Heard) -> Iterator[int]:
        """Lock the state, rank with the scores that a service gave to labels of texts, and give the sequence."""
        with self.reading() as sequence:
            opinions = {text: by_number(self.labels, scores) for text, scores in heard.items()}
            with self.tagger.hearing(opinions):
                yield sequence

    def chooser(self, only: Sequence[Any] | None, without: Sequence[Any], *, keep_parents: bool = True) -> Chooser:
        """Return what chooses ranked labels; former names of labels are resolved. ValueError for unknown ones."""
        with self.reading():
            wanted = None if only is None else [self._current(item) for item in only]
            unwanted = [self._current(item) for item in without]
            return self.tagger.chooser(wanted, unwanted, keep_parents=keep_parents, find=self.names.one)

    def _current(self, item: Any) -> Any:
        if isinstance(item, str) and item.startswith(EXACTLY):
            return f"{EXACTLY}{self.labels.resolve(item.removeprefix(EXACTLY))}"
        return self.labels.resolve(item)

    def rank(self, text: Text, k: int = 10) -> list[Entry]:
        """Rank the best labels of a text; merged labels count as one, retired ones are left out.

        The positive scores of a merged label's parts are added; see `merged.py`.
        """
        return self.rank_many([text], k)[0]

    def rank_many(self, texts: Sequence[Text], k: int = 10, chooser: Chooser | None = None) -> list[list[Entry]]:
        """Rank the best labels of each text, all at the same sequence."""
        check_depth(k)
        with self._lock:
            self.check_usable()
            return self._rank_many(texts, k, chooser)

    def _rank_many(self, texts: Sequence[Text], k: int, chooser: Chooser | None = None) -> list[list[Entry]]:
        if not self.labels.n_hidden:
            return entries_of(self.tagger.rank_arrays(texts, k, chooser))
        return rank_rows(self.tagger, self.labels, self.tagger.rows_of(texts), k, chooser)

    def explain(self, text: Text, label: Name) -> TextExplanation:
        """Return the words of a text that vote for a label; see `Tagger.explain`."""
        return self.explain_many(text, [label])[0]

    def explain_many(self, text: Text, labels: Sequence[Name]) -> list[TextExplanation]:
        """Explain several labels of a text; raise ValueError if one is unknown or retired."""
        with self.reading():
            names = self.resolve_labels(labels)
            groups = self.voted_parts(text, names)
            parts = iter(self.tagger.explain_many(text, [member for members in groups for member in members]))
            return [
                merge_explanations(name, [next(parts) for _ in members])
                for name, members in zip(names, groups, strict=True)
            ]

    def resolve_labels(self, labels: Sequence[Name]) -> list[Name]:
        """Return the current labels for names; raise ValueError if one is retired."""
        names = [self.names.resolve(label) for label in labels]
        for name, label in zip(names, labels, strict=True):
            if name in self.labels.retired:
                raise ValueError(f"label {label!r} is retired")
        return names

    def voted_parts(self, text: Text, labels: Sequence[Name]) -> list[list[Name]]:
        """Return, for each label, the parts that have votes in a text, or the first part if none has."""
        groups = [self.labels.members(label) for label in labels]
        members = [member for group in groups if len(group) > 1 for member in group]
        if not members:
            return groups
        numbers = np.array([self.labels.book.id_of(member) for member in members], np.int32)
        scores = iter(self.tagger.score_rows(self.tagger.rows_of([text]), numbers)[0].tolist())
        return [
            ([member for member in group if not math.isnan(next(scores))] or group[:1]) if len(group) > 1 else group
            for group in groups
        ]

    # -- persistence ---------------------------------------------------------------------------------

    def arrays(self) -> dict[str, Source]:
        """Return the state as arrays by name: those of the tagger and edited labels."""
        return {**self.tagger.arrays(), **self.labels.arrays(), **self.names.arrays()}

    def state_hash(self) -> str:
        """Return a hash of the state; it is the same for all replicas at the same sequence."""
        return self.hash_and_sequence()[0]

    def hash_and_sequence(self) -> tuple[str, int]:
        """Return a hash of the state and its sequence."""
        with self.reading():
            return state_hash(self.tagger.kind, self.arrays()), self.sequence

    def hash_in_steps(self) -> tuple[str, int] | None:
        """Return the hash and its sequence, releasing the lock after each piece; None if a record came in between."""
        with self.reading() as sequence:
            steps = hash_steps(self.tagger.kind, self.arrays())
        while True:
            with self.reading() as now:
                if now != sequence:
                    return None
                try:
                    next(steps)
                except StopIteration as end:
                    return end.value, sequence

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a snapshot: a model directory with the id of its journal and its sequence."""
        with self._lock:
            self.check_usable()
            served: dict[str, Any] = {"journal": self.journal, "sequence": self.sequence}
            served |= {"base": self.lineage.base, "skipped": list(self.lineage.excluded)}
            content = {"kind": self.tagger.kind, **self.tagger.content(), "served": served}
            write_model(path, content, self.arrays())

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, verify: bool = True) -> Self:
        """Load a snapshot, or a tagger that was never served; it is at sequence 0 of no journal."""
        model = read_model(path, verify=verify)
        if model.content.get("kind") != Tagger.kind:
            raise UnknownFormat(f"{path} contains a {model.content.get('kind')!r}; only a tagger can be served")
        return cls.from_model(model)

    @classmethod
    def from_model(cls, model: Model, **params: Any) -> Self:
        """Build a replica from a model directory that was read. `params` replace parameters of its ranker."""
        served = model.content.get("served", {"journal": "", "sequence": 0})
        try:
            journal, sequence = served["journal"], served["sequence"]
            if type(journal) is not str or type(sequence) is not int or not 0 <= sequence < 1 << 62:
                raise ValueError(f"it is at record {sequence!r} of journal {journal!r}")
            skipped = served.get("skipped", [])
            if type(skipped) is not list or not all(type(n) is int and 0 < n <= sequence for n in skipped):
                raise ValueError(f"its skipped records are {skipped!r}")
            replica = cls(Tagger.from_model(model, **params), journal=journal, sequence=sequence)
            base = served.get("base", "")
            if type(base) is not str:
                raise ValueError(f"its base model is {base!r}")
            replica.lineage = Lineage(base, tuple(sorted(skipped)))
            replica.labels.restore(model.arrays)
            replica.names.restore(model.arrays)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise DamagedModel(f"the model is not a valid snapshot: {error}") from None
        return replica


class _Reading:
    """Lock a replica and check that it is usable. A class, because a generator would double the time."""

    __slots__ = ("_lock", "_replica")

    def __init__(self, replica: Replica, lock: FairLock) -> None:
        self._replica = replica
        self._lock = lock

    def __enter__(self) -> int:
        self._lock.__enter__()
        try:
            self._replica.check_usable()
            return self._replica.sequence
        except BaseException:
            self._lock.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        self._lock.__exit__()


def merge_explanations(name: Name, parts: list[TextExplanation]) -> TextExplanation:
    """Merge the explanations of a merged label's parts into one."""
    counted = [parts[i] for i in supporting_parts([part.score for part in parts])]
    words = [word for part in counted for word in part.words]
    return TextExplanation(name, sum(part.score for part in counted), words, sum(part.prior for part in counted))


def supporting_parts(scores: list[float]) -> list[int]:
    """Return the parts of a merged label that count: those with a positive score or, if none has, the best one."""
    return [i for i, score in enumerate(scores) if score > 0] or [scores.index(max(scores))]
