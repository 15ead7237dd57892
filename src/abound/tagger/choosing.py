"""Rank deeper until enough labels are chosen."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from abound.components.rows import Rows
from abound.hierarchy.links import Chooser
from abound.rankers.ranking import Ranking

SPARE = 32  # extra ranks at first, for labels that are not chosen
WIDER = 4  # factor by which the width grows if it was too small
MOST_RANKED = 1 << 21  # ranks in memory at once
T = TypeVar("T")


def rank_chosen(rank: Callable[[Rows, int], Ranking], rows: Rows, k: int, chooser: Chooser, n_labels: int) -> Ranking:
    """Rank the k best chosen labels of each row, with the scores and probabilities that they have among all labels.

    Parameters
    ----------
    rank : callable
        Ranks the best labels of rows.
    rows : Rows
    k : int
    chooser : Chooser
    n_labels : int
        Number of labels of the ranker.
    """
    if not chooser.chooses:
        return rank(rows, k)
    width = min(k, max(1, n_labels))
    labels = np.full((rows.n_rows, width), -1, np.int32)
    scores, likely = np.zeros((rows.n_rows, width)), np.zeros((rows.n_rows, width))
    waiting, depth = np.arange(rows.n_rows), k + SPARE
    last = rank(rows.select(waiting[:0]), k)
    while len(waiting):
        wider = []
        step = max(1, MOST_RANKED // min(depth, max(1, n_labels)))
        for start in range(0, len(waiting), step):
            part = waiting[start : start + step]
            last = rank(rows.select(part), depth)
            for ranked, row in enumerate(part.tolist()):
                found = last.indices[ranked]
                places = chooser.positions(found.tolist(), k)
                if len(places) < k and depth < n_labels and found[-1] >= 0:
                    wider.append(row)
                    continue
                labels[row, : len(places)], scores[row, : len(places)] = found[places], last.scores[ranked, places]
                if last.probabilities is not None:
                    likely[row, : len(places)] = last.probabilities[ranked, places]
        waiting, depth = np.array(wider, np.int64), depth * WIDER
    return Ranking(labels, scores, last.names, None if last.probabilities is None else likely)


def choose(
    ranked: Callable[[int], Sequence[T]], number_of: Callable[[T], int], k: int, chooser: Chooser, n_labels: int
) -> list[T]:
    """Return the k best chosen entries of one ranking.

    Parameters
    ----------
    ranked : callable
        Returns the given number of entries, best first, or all there are.
    number_of : callable
        Returns the label number of an entry.
    k, chooser, n_labels
        As for `rank_chosen`.
    """
    depth = k + SPARE
    while True:
        entries = ranked(min(depth, max(1, n_labels)))
        places = chooser.positions([number_of(entry) for entry in entries], k)
        if len(places) >= k or len(entries) < depth or depth >= n_labels:
            return [entries[place] for place in places]
        depth *= WIDER
