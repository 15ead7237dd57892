"""Rank with merged or retired labels, at about the cost of a plain ranking.

The score of a merged label is the sum of its parts' scores. This includes parts that are not near the top. Their scores
come from the same votes, all in one pass, so that many merges or long texts stay fast.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from abound.components.rows import Rows
from abound.hierarchy.links import Chooser
from abound.kernels.calibration import N_COMPARED
from abound.server.labels import LabelTable
from abound.store.names import Name
from abound.tagger import Entry, Tagger
from abound.tagger.choosing import choose
from abound.texts import Text

SPARE = 32  # extra ranks for labels that are not shown; at least the number of candidates that a cascade re-ranks
WIDER = 4  # factor by which the width grows if it was too small


class _Scored(NamedTuple):
    score: float
    number: int  # breaks ties, as in all rankings
    label: Name


def rank_rows(
    tagger: Tagger, labels: LabelTable, rows: Rows, k: int, chooser: Chooser | None = None
) -> list[list[Entry]]:
    """Rank the best labels of each row as they are shown: merged labels as one, without retired ones.

    A merged label is ranked if one of its parts has a vote. Its score is the sum of its parts' positive scores.
    """
    if chooser is not None and chooser.chooses:
        return [_choose(tagger, labels, rows.row(row), k, chooser) for row in range(rows.n_rows)]
    rankings = []
    for best in _best_of_rows(tagger, labels, rows, max(k, N_COMPARED)):  # a probability depends on the other labels
        entries = zip(best[:k], _probabilities(tagger, best), strict=False)
        rankings.append([Entry(one.label, one.score, rank, p) for rank, (one, p) in enumerate(entries, 1)])
    return rankings


def _choose(tagger: Tagger, labels: LabelTable, row: Rows, k: int, chooser: Chooser) -> list[Entry]:
    """Rank deeper until enough labels are chosen; they keep the probabilities that they have among all labels."""

    def ranked(depth: int) -> list[Entry]:
        return rank_rows(tagger, labels, row, depth)[0]

    chosen = choose(ranked, lambda entry: labels.book.id_of(entry.label), k, chooser, tagger.n_labels)
    return [replace(entry, rank=rank) for rank, entry in enumerate(chosen, 1)]


def rank_to_judge(tagger: Tagger, labels: LabelTable, text: Text) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the numbers and scores of a text's best labels as they are shown, each of shape (1, k)."""
    [best] = _best_of_rows(tagger, labels, tagger.rows_of([text]), N_COMPARED)
    numbers = np.array([[one.number for one in best]], np.int32)
    return numbers, np.array([[one.score for one in best]], np.float64)


def _best_of_rows(tagger: Tagger, labels: LabelTable, rows: Rows, k: int) -> Iterator[list[_Scored]]:
    groups = labels.merged
    parts = tagger.score_rows(rows, groups.members) if len(groups.members) else np.zeros((rows.n_rows, 0))
    if tagger.blends:  # scores of words cannot be added to shares
        parts = np.where(np.isnan(parts), parts, 0.0)
    return (_best_of_row(tagger, labels, rows.row(row), parts[row], k) for row in range(rows.n_rows))


def _best_of_row(tagger: Tagger, labels: LabelTable, row: Rows, parts: NDArray[np.float64], k: int) -> list[_Scored]:
    width, n_labels = k + SPARE, max(1, tagger.n_labels)
    while True:
        ranking = tagger.rank_rows(row, width)
        ids, scores = ranking.indices[0].tolist(), ranking.scores[0].tolist()
        ranked = [(number, score) for number, score in zip(ids, scores, strict=True) if number >= 0]
        is_cut = len(ranked) == width < n_labels
        plain = [
            _Scored(score, number, ranking.names[number]) for number, score in ranked if number not in labels.hidden
        ]
        if len(plain) >= k or not is_cut:
            break
        width *= WIDER
    best = plain[:k]
    if len(parts):
        best += _merged(labels, dict(ranked), scores[len(ranked) - 1] if is_cut else np.inf, parts, k)
        best.sort(key=lambda one: (-one.score, one.number))
    return best[:k]


def _probabilities(tagger: Tagger, ranked: list[_Scored]) -> list[float] | list[None]:
    """Return the probabilities of labels in the order in which they are shown."""
    calibration = tagger.calibration
    if not calibration.is_ready or not ranked:
        return [None] * len(ranked)
    numbers = np.array([[one.number for one in ranked]], np.int32)
    likely: list[float] = calibration.probabilities(numbers, np.array([[one.score for one in ranked]]))[0].tolist()
    return likely


def _merged(
    labels: LabelTable, ranked: dict[int, float], most: float, parts: NDArray[np.float64], k: int
) -> list[_Scored]:
    """Return the best merged labels.

    A ranked part has the score of the ranking, including the second stage. A part that is not ranked has the sum of
    its votes, at most the score of the last ranked label.
    """
    groups = labels.merged
    parts = np.minimum(parts, most)
    for number in ranked.keys() & groups.position_of.keys():
        parts[groups.position_of[number]] = ranked[number]
    positive = np.add.reduceat(np.where(parts > 0, parts, 0.0), groups.starts)
    scores = np.where(positive > 0, positive, np.fmax.reduceat(parts, groups.starts))
    order = np.lexsort((groups.numbers, -scores))[:k]  # NaN, a label without votes, comes last
    return [
        _Scored(float(scores[i]), int(groups.numbers[i]), groups.labels[i])
        for i in order.tolist()
        if not np.isnan(scores[i])
    ]
