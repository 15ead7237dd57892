"""Measure a tagger on labelled texts: its rankings, its probabilities, and each label."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from abound.calibration.decisions import CONSIDERED, Decision
from abound.hierarchy import Hierarchy
from abound.hierarchy.links import Chooser, without_parents
from abound.metrics.bootstrap import Interval, interval
from abound.metrics.hierarchical import HierarchicalQuality, hierarchical_quality
from abound.metrics.judgement import Judgement, judge
from abound.metrics.label_ranking import DEFAULT_METRICS
from abound.metrics.per_label import label_figures
from abound.metrics.reliability import N_BINS, CalibrationBin, calibration_bins, calibration_error
from abound.rankers.labels import LabelIndex, plain_name
from abound.rankers.ranking import Ranking
from abound.store.names import Name
from abound.tagger.arguments import validate_examples
from abound.tagger.blending import GivenCodes
from abound.tagger.label_quality import LabelQuality
from abound.tagger.parts import TaggerParts
from abound.texts import Text

CALIBRATED = 10  # labels of a ranking whose probabilities are compared with the truth


class NothingToMeasure(ValueError):  # noqa: N818  a clear name without Error
    """No text has a label."""


class AssignedQuality(NamedTuple):
    """How good the assigned labels are: their mean number, precision and recall of all, and mean F1 of a text."""

    per_text: float
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class Evaluation:
    """Rankings of labelled texts, and the metrics of them. Texts without a label are left out.

    Attributes
    ----------
    n_rows : int
        Texts, with and without labels.
    n_unknown : int
        Labelled texts without any label that the tagger knows. They count as wrong.
    k : int
        Ranks that `metrics` considers.
    truth : sparse indicator of shape (n_labelled, n_labels)
    ranking : Ranking
        The ranked labels of the labelled texts: k or 20 of them, whichever is more.
    assigned : ndarray of bool
        Which ranked labels `Tagger.assign` would return. If the tagger has no probabilities, the first of each text.
    """

    n_rows: int
    n_unknown: int
    k: int
    truth: "sp.csr_array[Any]"
    ranking: Ranking
    assigned: NDArray[np.bool_]
    label_counts: NDArray[np.int64]
    n_train_rows: int
    display_names: Mapping[str, Sequence[str]]
    hierarchy: Hierarchy | None = None

    @property
    def n_labelled(self) -> int:
        """Texts with a label."""
        return int(self.truth.shape[0])

    @property
    def has_probabilities(self) -> bool:
        """Whether the tagger is calibrated."""
        return self.ranking.probabilities is not None

    def metrics(self, names: Iterable[str] = DEFAULT_METRICS) -> dict[str, Interval]:
        """Return metrics of the rankings with 95% bootstrap intervals, by name; see `abound.metrics.METRICS`."""
        judgement = self._judge(self.k)
        return {name: interval(name, judgement) for name in names}

    def _judge(self, k: int) -> Judgement:
        first = Ranking(self.ranking.indices[:, :k], self.ranking.scores[:, :k], ())
        return judge(self.truth, first, label_counts=self.label_counts, n_train_rows=self.n_train_rows)

    # -- probabilities -----------------------------------------------------------------------------

    def calibration_bins(self, n_bins: int = N_BINS) -> list[CalibrationBin]:
        """Compare the probabilities of the first ten labels of each text with how many of them are right.

        Returns
        -------
        list of CalibrationBin
            Of about equal size, the least probable first; empty if the tagger has no probabilities.
        """
        if self.ranking.probabilities is None:
            return []
        judgement = self._judge(CALIBRATED)
        likely = self.ranking.probabilities[:, :CALIBRATED][judgement.ranked]
        return calibration_bins(likely, judgement.hits[judgement.ranked], n_bins)

    @cached_property
    def calibration_error(self) -> float | None:
        """The expected calibration error over the first ten labels; None if the tagger has no probabilities."""
        bins = self.calibration_bins()
        return calibration_error(bins) if bins else None

    # -- assigned labels ---------------------------------------------------------------------------

    def assigned_quality(self) -> AssignedQuality:
        """Measure the assigned labels of all texts."""
        hits = self._judge(self.ranking.indices.shape[1]).hits & self.assigned
        right, given, true = hits.sum(axis=1), self.assigned.sum(axis=1), np.diff(self.truth.indptr)
        precision = float(right.sum() / given.sum()) if given.any() else float("nan")
        recall, f1 = float(right.sum() / true.sum()), float((2 * right / (given + true)).mean())
        return AssignedQuality(float(given.mean()), precision, recall, f1)

    def hierarchical_quality(self, ancestor_weight: float = 1.0) -> HierarchicalQuality | None:
        """Measure the assigned labels of all texts together with the labels above them.

        Parameters
        ----------
        ancestor_weight : float
            The weight of a parent; that of its parent is the square, and so on. With 1, all count the same. A concept
            above all others does not count.

        Returns
        -------
        HierarchicalQuality or None
            None if the tagger has no hierarchy.
        """
        if not 0.0 <= ancestor_weight <= 1.0:
            raise ValueError(f"ancestor_weight must be from 0 to 1, got {ancestor_weight}")
        hierarchy, names = self.hierarchy, self.ranking.names
        if hierarchy is None:
            return None
        root = hierarchy.only_root

        def extended(label: int) -> dict[Hashable, float]:
            concept = hierarchy.number_of(names[label])
            if concept is None:
                return {("label", label): 1.0}
            above = hierarchy.ancestors(concept).items()
            return {concept: 1.0, **{node: ancestor_weight**steps for node, steps in above if node != root}}

        true = np.split(self.truth.indices, self.truth.indptr[1:-1])
        given = (row[chosen] for row, chosen in zip(self.ranking.indices, self.assigned, strict=True))
        return hierarchical_quality((row.tolist() for row in true), (row.tolist() for row in given), extended)

    def per_label(self) -> list[LabelQuality]:
        """Measure each label that a text has or was assigned, the lowest F1 first, then the most texts.

        The average precision of a label orders texts by the probability of the label, or by its score if there are no
        probabilities. Texts that do not have the label among their first 20 come last, all tied.
        """
        first, likely = slice(CONSIDERED), self.ranking.probabilities
        names, display = self.ranking.names, self.display_names
        ranking = Ranking(self.ranking.indices[:, first], self.ranking.scores[:, first], ())
        values = None if likely is None else likely[:, first]
        figures = label_figures(self.truth, ranking, self.assigned[:, first], values)
        order = figures.worst_first()
        counts = (figures.support, figures.assigned)
        shares = (figures.precision, figures.recall, figures.f1, figures.average_precision)
        confused = (figures.confused_with, figures.confused_rows)
        columns = [column[order].tolist() for column in (figures.labels, *counts, *shares, *confused)]
        rows = []
        for number, support, assigned, precision, recall, f1, average, other, n_other in zip(*columns, strict=True):
            label = names[number]
            known = display.get(str(label))
            rows.append(
                LabelQuality(
                    label,
                    known[0] if known else None,
                    support,
                    assigned,
                    _or_none(precision),
                    _or_none(recall),
                    f1,
                    _or_none(average),
                    names[other] if other >= 0 else None,
                    n_other,
                )
            )
        return rows


def evaluate_batches(
    tagger: TaggerParts,
    batches: Iterable[tuple[Sequence[Text], Sequence[Iterable[Any]], GivenCodes | None]],
    k: int,
    chooser: Chooser | None = None,
) -> Evaluation:
    """Rank texts and compare them with their labels; texts are not kept.

    Parameters
    ----------
    tagger : Tagger
    batches : iterable of tuples
        Texts, their labels, and their vectors if these are given; see `TaggerParts.given_codes`.
    k : int
        Ranks that the metrics consider.
    chooser : Chooser, optional
        Chooses the labels to rank. Other labels of the texts are left out, too.
    """
    n_rows, labels, rankings = 0, [], []
    chooser = tagger.chooser() if chooser is None else chooser
    for texts, given, codes in batches:
        all_names = chooser.allowed_labels(tagger.shown_labels(validate_examples(texts, given)[1]))
        chosen = [row for row, names in enumerate(all_names) if names]
        n_rows += len(texts)
        if chosen:
            labels += [all_names[row] for row in chosen]
            own = None if codes is None else [codes[row] for row in chosen]
            rows = tagger.rows_of([texts[row] for row in chosen], own)
            rankings.append(tagger.rank_rows(rows, max(k, CONSIDERED), chooser))
    if not n_rows:
        raise NothingToMeasure("there is nothing to measure: there are no rows")
    if not labels:
        raise NothingToMeasure(f"there is nothing to measure: none of the {n_rows:,} rows has a label")
    book = tagger.ranker.labels_
    truth, names = tagger.ranker.truth(labels), [*book.names, *_unknown(book, labels)]
    ranking = _joined(rankings, names, min(max(k, CONSIDERED), truth.shape[1]))
    n_unknown = sum(not any(name in book for name in row) for row in labels)
    return Evaluation(
        n_rows=n_rows,
        n_unknown=n_unknown,
        k=k,
        truth=truth,
        ranking=ranking,
        assigned=_assigned(tagger, ranking),
        label_counts=tagger.label_counts,
        n_train_rows=tagger.n_rows,
        display_names=tagger.label_names,
        hierarchy=tagger.hierarchy,
    )


def _joined(rankings: Sequence[Ranking], names: Sequence[Name], width: int) -> Ranking:
    """Join rankings. They have all labels of the tagger if they have fewer than `width`, and are padded."""
    padding = ((0, 0), (0, max(width - rankings[0].indices.shape[1], 0)))
    indices, scores = ([getattr(ranking, of) for ranking in rankings] for of in ("indices", "scores"))
    likely = [ranking.probabilities for ranking in rankings if ranking.probabilities is not None]
    return Ranking(
        np.pad(np.concatenate(indices), padding, constant_values=-1),
        np.pad(np.concatenate(scores), padding),
        names,
        np.pad(np.concatenate(likely), padding) if likely else None,
    )


def _unknown(book: LabelIndex, labels: Iterable[Iterable[Any]]) -> Iterator[Name]:
    """Yield the labels that are not known, in the order in which `Ranker.truth` numbers them."""
    names = (plain_name(name) for row in labels for name in row)
    yield from dict.fromkeys(name for name in names if name not in book)


def _assigned(tagger: TaggerParts, ranking: Ranking) -> NDArray[np.bool_]:
    assigned = np.zeros(ranking.indices.shape, bool)
    if ranking.probabilities is None:
        assigned[:, :1] = ranking.indices[:, :1] >= 0
    else:
        likely = ranking.probabilities[:, :CONSIDERED]
        first = Decision().assigned(likely, tagger.calibration)
        assigned[:, :CONSIDERED] = without_parents(ranking.indices[:, :CONSIDERED], first, tagger.links)
    return assigned


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else value
