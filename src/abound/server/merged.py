"""Rank with labels that were merged or retired, for about what a ranking costs without them.

A merged label has the sum of its parts' scores. Parts that do not stand near the top are needed for it, too: they are
taken from the same votes, all at once, so that neither many merges nor long texts make anybody wait.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from abound.components.rows import Rows
from abound.server.labels import LabelTable
from abound.store.names import Name
from abound.tagger import Entry, Tagger

SPARE = 32  # places beside those asked for, for labels that are not shown; at least as many as a cascade weighs again
WIDER = 4  # times as many, if they were not enough


class _Scored(NamedTuple):
    score: float
    number: int  # breaks ties, as in any ranking
    label: Name


def rank_rows(tagger: Tagger, labels: LabelTable, rows: Rows, k: int) -> list[list[Entry]]:
    """Rank the best labels of each row as they are shown: merged ones as one, and without the retired.

    A merged label is found if one of its parts gets a vote. Of its parts, those that speak for it are added.
    """
    groups = labels.merged
    parts = tagger.score_rows(rows, groups.members) if len(groups.members) else np.zeros((rows.n_rows, 0))
    return [_rank_row(tagger, labels, rows.row(row), parts[row], k) for row in range(rows.n_rows)]


def _rank_row(tagger: Tagger, labels: LabelTable, row: Rows, parts: NDArray[np.float64], k: int) -> list[Entry]:
    width, n_labels = k + SPARE, max(1, tagger.n_labels)
    while True:
        found = tagger.rank_rows(row, width)
        ids, scores = found.indices[0].tolist(), found.scores[0].tolist()
        ranked = [(number, score) for number, score in zip(ids, scores, strict=True) if number >= 0]
        is_cut = len(ranked) == width < n_labels
        plain = [_Scored(score, number, found.names[number]) for number, score in ranked if number not in labels.hidden]
        if len(plain) >= k or not is_cut:
            break
        width *= WIDER
    best = plain[:k]
    if len(parts):
        best += _merged(labels, dict(ranked), scores[len(ranked) - 1] if is_cut else np.inf, parts, k)
        best.sort(key=lambda one: (-one.score, one.number))
    return [Entry(one.label, one.score, place) for place, one in enumerate(best[:k], 1)]


def _merged(
    labels: LabelTable, ranked: dict[int, float], most: float, parts: NDArray[np.float64], k: int
) -> list[_Scored]:
    """Return the best of the merged labels.

    A part has the score with which it is ranked, also where that was weighed again; one that stands behind all of the
    ranked has its votes, and no more than the last of them.
    """
    groups = labels.merged
    parts = np.minimum(parts, most)
    for number in ranked.keys() & groups.place_of.keys():
        parts[groups.place_of[number]] = ranked[number]
    speaking = np.add.reduceat(np.where(parts > 0, parts, 0.0), groups.starts)
    together = np.where(speaking > 0, speaking, np.fmax.reduceat(parts, groups.starts))
    order = np.lexsort((groups.numbers, -together))[:k]  # what is not found comes last
    return [
        _Scored(float(together[i]), int(groups.numbers[i]), groups.labels[i])
        for i in order.tolist()
        if not np.isnan(together[i])
    ]
