"""The state of a served model as a tagger: it ranks as the server does."""

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from abound.components.rows import Rows
from abound.hierarchy.links import Chooser
from abound.kernels.calibration import N_COMPARED
from abound.rankers.ranking import Ranking
from abound.server.follower import Follower
from abound.server.home import Home
from abound.server.labels import LabelTable
from abound.server.merged import rank_rows
from abound.server.queries import cut, similar
from abound.server.replica import Replica
from abound.store import Model
from abound.store.directory import Source
from abound.store.journal.records import MergeLabels, RetireLabel
from abound.store.names import Name
from abound.tagger import BandedEntry, Tagger, TextExplanation
from abound.tagger.answers import Precedent
from abound.tagger.arguments import as_items, check_depth
from abound.tagger.naming import LabelsAre, check_labels_are
from abound.texts import Text


class ServedTagger(Tagger):
    """A tagger whose labels were renamed, merged or retired while it was served.

    Merged labels are ranked as one, retired ones are not ranked, and former names are understood. It can be evaluated,
    merged and saved like any tagger. What it learns is not written to the journal.
    """

    replica: Replica

    @classmethod
    def of(cls, replica: Replica) -> Self:
        """Return the state of a replica, which must not be used afterwards."""
        served = cls.__new__(cls)
        served.__dict__ = replica.tagger.__dict__  # both are views of one state: one ranks as shown, one by parts
        served.replica = replica
        return served

    @property
    def table(self) -> LabelTable:
        """The renamed, merged and retired labels."""
        return self.replica.labels

    @property
    def sequence(self) -> int:
        """The last record of the journal that the state includes."""
        return self.replica.sequence

    # -- ranking -------------------------------------------------------------------------------------

    def rank_rows(self, rows: Rows, k: int = 10, chooser: Chooser | None = None) -> Ranking:
        """Rank rows over terms, as labels are shown."""
        plain = self.replica.tagger
        if not self.table.n_hidden:
            return plain.rank_rows(rows, k, chooser)
        check_depth(k)
        rankings = rank_rows(plain, self.table, rows, k, chooser)
        shape = (rows.n_rows, min(k, max(1, self.n_labels)))
        numbers, scores, likely = np.full(shape, -1, np.int32), np.zeros(shape), np.zeros(shape)
        for row, entries in enumerate(rankings):
            numbers[row, : len(entries)] = [self.table.book.id_of(entry.label) for entry in entries]
            scores[row, : len(entries)] = [entry.score for entry in entries]
            likely[row, : len(entries)] = [entry.probability or 0.0 for entry in entries]
        calibrated = self.calibration.is_ready
        return Ranking(numbers, scores, self.table.book.names, likely if calibrated else None)

    def ranking_to_judge(self, text: Text) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return the numbers and scores of the first labels of a text, as labels are shown."""
        ranking = self.rank_arrays([text], N_COMPARED)
        return ranking.indices, ranking.scores

    def chooser(self, only: Any = None, without: Any = None, *, keep_parents: bool = True, **_: Any) -> Chooser:
        """Return what chooses ranked labels; former names of labels are understood."""
        wanted, unwanted = None if only is None else as_items(only), () if without is None else as_items(without)
        return self.replica.chooser(wanted, unwanted, keep_parents=keep_parents)

    def rank_with_bands_many(self, texts: Iterable[Text]) -> list[list[BandedEntry]]:
        """Rank the labels of each text in bands; a merged label has the band of its best part."""
        return cut(self.replica, list(texts))

    def explain_many(self, text: Text, labels: Iterable[Any]) -> list[TextExplanation]:
        """Explain several labels of one text; the votes for the parts of a merged label are joined."""
        return self.replica.explain_many(text, list(labels))

    def similar(self, text: Text, k: int = 3, label: Any = None, *, vector: Any = None) -> list[Precedent]:
        """Return the most similar learned texts, with labels as they are shown; a vector cannot be given."""
        if vector is not None:
            raise ValueError("a served model takes no vectors")
        return similar(self.replica, text, k, label)

    def shown_labels(self, lists: Iterable[Sequence[Any]]) -> list[list[Any]]:
        """Return labels as they are shown: by their current names, and without retired ones."""
        retired = self.table.retired
        return [[name for name in self._resolved(names, "either") if name not in retired] for names in lists]

    def has_label(self, label: Any) -> bool:
        """Return whether a label is known, under its current id or a former one."""
        return self.table.resolve(label) in self.table.book

    def label_of(self, given: Any, labels_are: LabelsAre = "either") -> Any:
        """Return the label that is given by its id, a former id or a name; ValueError if it is ambiguous."""
        return self.replica.names.resolve(given, labels_are)

    @property
    def n_shown(self) -> int:
        """Labels that can be ranked: a merged label counts as one."""
        return self.n_labels - self.table.n_hidden

    @property
    def label_counts(self) -> NDArray[np.int64]:
        """Number of texts of each label that is shown, by label number; those of a merged label's parts are added."""
        counts, shown, groups = super().label_counts, super().label_counts.copy(), self.table.merged
        shown[list(self.table.hidden)] = 0
        if len(groups.members):
            shown[groups.numbers] = np.add.reduceat(counts[groups.members], groups.starts)
        return shown

    def predict(self, texts: Iterable[Text]) -> NoReturn:
        """Raise an error, because scikit-learn's predictions do not know merged and retired labels."""
        raise NotImplementedError("a served model has no predict; use rank or assign")

    # -- learning ------------------------------------------------------------------------------------

    def learn_many(
        self,
        texts: Sequence[Text],
        labels: Sequence[Iterable[Any]],
        *,
        wrong: Sequence[Iterable[Any]] | None = None,
        labels_are: LabelsAre = "either",
        **options: Any,
    ) -> None:
        """Learn texts in order; former names of labels are understood, and retired labels are refused."""
        check_labels_are(labels_are)
        right = [self._learnable(names, labels_are) for names in labels]
        unwanted = None if wrong is None else [self._parts(names, labels_are) for names in wrong]
        super().learn_many(texts, right, wrong=unwanted, labels_are="ids", **options)

    def _resolved(self, labels: Iterable[Any], labels_are: LabelsAre) -> list[Name]:
        return list(dict.fromkeys(self.replica.names.resolve(label, labels_are) for label in labels))

    def _learnable(self, labels: Iterable[Any], labels_are: LabelsAre) -> list[Name]:
        names = self._resolved(labels, labels_are)
        for name in names:
            if name in self.table.retired:
                raise ValueError(f"label {name!r} is retired; add it to use it again")
        return names

    def _parts(self, labels: Iterable[Any], labels_are: LabelsAre) -> list[Name]:
        return [part for label in self._resolved(labels, labels_are) for part in self.table.members(label)]

    def fit(self, *_: Any, **__: Any) -> NoReturn:
        """Raise an error, because a served model is not trained from scratch."""
        raise NotImplementedError("a served model is not trained from scratch; fit a new Tagger")

    def __sklearn_clone__(self) -> Tagger:
        return Tagger(**self.settings.arguments())

    # -- persistence ---------------------------------------------------------------------------------

    def arrays(self) -> dict[str, Source]:
        """Return the learned state and the edited labels as arrays, as a snapshot has them."""
        return self.replica.arrays()


def open_state(home: Home) -> ServedTagger:
    """Return the newest state of a home, whether it is being served or not."""
    with Follower(home) as follower:
        if follower.replica.unapplied is not None:
            raise follower.replica.unapplied
        return ServedTagger.of(follower.replica)


def build_edited(model: Model, **params: Any) -> Tagger:
    """Build the tagger of a model directory with its label edits, if there are any."""
    return _served(Replica.from_model(model, **params))


def merge_edits(merged: Tagger, parts: Sequence[Tagger]) -> Tagger:
    """Return a merged tagger with the label edits of all its parts.

    A label is retired if every part that knows it has retired it. If two parts merged labels in opposite directions,
    the first one counts.
    """
    replica = Replica(merged)
    labels, tables = replica.labels, [part.table for part in parts if isinstance(part, ServedTagger)]
    for alias, target in (pair for table in tables for pair in table.aliases.items()):
        if labels.resolve(alias) != labels.resolve(target):
            labels.apply_edit(MergeLabels(alias, target))
    for label in (label for table in tables for label in table.retired):
        if all(_is_gone(part, label) for part in parts):
            labels.apply_edit(RetireLabel(label))
    labels.regroup()
    for part in parts:
        if isinstance(part, ServedTagger):
            replica.names.add_former(part.replica.names.former)
    return _served(replica)


def _served(replica: Replica) -> Tagger:
    is_edited = replica.labels.aliases or replica.labels.retired or replica.names.former
    return ServedTagger.of(replica) if is_edited else replica.tagger


def _is_gone(part: Tagger, label: Name) -> bool:
    return label not in part.ranker.labels_ or (isinstance(part, ServedTagger) and label in part.table.retired)
