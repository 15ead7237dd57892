"""Rankers that know how likely their labels are right, because they rank some rows before they learn them."""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from abound.calibration import Calibration
from abound.components.rows import Rows, cut, empty_ranking, join
from abound.components.weighting import n_copies, repeated
from abound.kernels.batch import Batch
from abound.kernels.calibration import N_COMPARED
from abound.rankers.composed import Composed
from abound.rankers.ranking import Ranking
from abound.training.source import RowSource, sort_keys

ALL_JUDGED, ONE_OF = 500, 64  # so many rows of a stream are ranked before they are learned, and later one in so many
GROUP = 50  # held-out rows that are ranked before they are learned


class Calibrated(Composed):
    """A ranker with probabilities.

    Attributes
    ----------
    calibration_ : Calibration
        It learns from rows that are ranked before the ranker learns them.
    """

    calibration_: Calibration
    n_rows_seen_: int

    @abstractmethod
    def learn(self, batch: Batch) -> None:
        """Learn rows in order."""

    @abstractmethod
    def new_like_this(self) -> "Calibrated":
        """Return a ranker with the same parameters and labels that has learned nothing."""

    @property
    def calibrates(self) -> bool:
        """Whether learning teaches the calibration, too."""
        return False

    # -- ranking -----------------------------------------------------------------------------------

    def rank_rows(self, rows: Rows, k: int) -> Ranking:
        """Rank the best labels of rows that were validated."""
        n_labels = len(self.labels_)
        if not self.calibration_.is_ready:
            return Ranking(*self._ranked(rows, k, n_labels), self.labels_.names)
        labels, scores = self._ranked(rows, max(k, N_COMPARED), n_labels)
        probabilities = self.calibration_.probabilities(labels, scores)
        if k < labels.shape[1]:
            labels, scores, probabilities = labels[:, :k].copy(), scores[:, :k].copy(), probabilities[:, :k].copy()
        return Ranking(labels, scores, self.labels_.names, probabilities)

    def rank_scores(self, rows: Rows, k: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Rank the best labels of rows that were validated, without probabilities."""
        return self._ranked(rows, k, len(self.labels_))

    def _ranked(self, rows: Rows, k: int, n_labels: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        labels, scores = empty_ranking(rows.n_rows, min(k, max(1, n_labels)))
        self.head.rank(rows, n_labels, labels, scores)
        return labels, scores

    # -- learning ----------------------------------------------------------------------------------

    def learn_held_out(self, source: RowSource, n_held_out: int) -> None:
        """Learn the last rows of a source, which no pass has visited, and calibrate on them.

        They are ranked and learned in small groups, each ranked before it is learned: learning makes scores more
        extreme, and the calibration has to fit the final model. Weights do not count in the calibration: a probability
        is a share of rows.
        """
        first, n_labels = source.n_rows - n_held_out, len(self.labels_)
        unseen, rankings = source.unseen(first, source.n_rows), []
        rows = join(list(source.unwatched(first, source.n_rows)))  # groups do not depend on how a source cuts its rows
        for start in range(0, n_held_out, GROUP):
            stop = min(start + GROUP, n_held_out)
            part = cut(unseen, start, stop)
            rankings.append(self.compared(part, n_labels))
            if source.watched_ranks:
                source.watch_ranking(*self._ranked(part.rows, source.watched_ranks, n_labels))
            self.learn(cut(rows, start, stop))
        self.calibration_.fit(*(np.concatenate(arrays) for arrays in zip(*rankings, strict=True)))

    def calibrate_on_few(self, source: RowSource, names: Batch | None) -> None:
        """Calibrate on few rows: another ranker learns them one by one, and ranks each of the later half before."""
        probe, rankings = self.new_like_this(), []
        if names is not None:
            probe.learn(names)
        for number, row in enumerate(_single_rows(source)):
            if number >= source.n_rows // 2:
                rankings.append(probe.compared(row, len(self.labels_)))
                if source.watched_ranks:
                    source.watch_ranking(*probe.rank_scores(row.rows, source.watched_ranks))
            probe.learn(row)
        if rankings:
            self.calibration_.fit(*(np.concatenate(arrays) for arrays in zip(*rankings, strict=True)))

    def learn_online(self, batch: Batch) -> None:
        """Learn rows in order; some are ranked before, and what they say about the ranking teaches the calibration.

        Which rows these are depends on how many the ranker has seen, so that it does not matter how rows are cut into
        batches. The rows of the batch are counted already. A row of weight 2 is learned as two rows.
        """
        n_before = self.n_rows_seen_ - n_copies(batch)
        for rows in repeated(batch):
            self._learn_online(rows, n_before)
            n_before += rows.n_rows

    def _learn_online(self, batch: Batch, n_before: int) -> None:
        start, n_known = 0, batch.n_known
        for row in self._judged(batch, n_before):
            if row > start:
                self.learn(cut(batch, start, row, n_known))
                n_known = max(n_known, int(batch.targets.ids[: batch.targets.indptr[row]].max(initial=-1)) + 1)
            self._judge(cut(batch, row, row + 1, n_known), n_known)
            start = row
        self.learn(cut(batch, start, batch.n_rows, n_known) if start else batch)

    def _judged(self, batch: Batch, n_before: int) -> list[int]:
        if not self.calibrates:
            return []
        numbers = n_before + np.arange(batch.n_rows)
        chosen = (numbers < ALL_JUDGED) | (sort_keys(numbers, 0) % np.uint64(ONE_OF) == 0)
        return np.flatnonzero(chosen).tolist()

    def _judge(self, row: Batch, n_known: int) -> None:
        """Teach the calibration by one row that is about to be learned; new labels say nothing about its ranking."""
        right = row.targets.ids[row.targets.ids < n_known]
        wrong = np.zeros(0, np.int32) if row.wrong is None else row.wrong[1]
        if not len(right) and not len(wrong):
            return
        labels, scores = self._ranked(row.rows, N_COMPARED, n_known)
        self.calibration_.update(labels, scores, *judgements(labels, right, wrong))

    def compared(self, batch: Batch, n_labels: int) -> tuple[Any, Any, Any]:
        """Rank rows and tell which labels are right."""
        labels, scores = self._ranked(batch.rows, N_COMPARED, n_labels)
        return labels, scores, self.tell_right(labels, batch)

    @staticmethod
    def tell_right(labels: NDArray[np.int32], batch: Batch) -> NDArray[np.bool_]:
        """Return which ranked labels are labels of their rows."""
        indptr, ids, _ = batch.targets
        wide = np.int64(1) << 32
        own = np.repeat(np.arange(batch.n_rows), np.diff(indptr)) * wide + ids
        return np.isin(np.arange(batch.n_rows)[:, None] * wide + labels, own) & (labels >= 0)


def judgements(
    labels: NDArray[np.int32], right: ArrayLike, wrong: ArrayLike, *, only_named: bool = False
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which ranked labels are right, and which of them were judged.

    Labels beside the right ones count as wrong, named or not: if only named ones counted, low ranks would be judged
    only where they are right. If no label is right, or with `only_named`, nothing is known about other labels.

    Examples
    --------
    >>> judgements(np.array([[3, 1, 2, -1]], np.int32), [1], [3])
    (array([[False,  True, False, False]]), array([[ True,  True,  True, False]]))
    """
    is_right = _among(labels, right)
    return is_right, labels >= 0 if np.size(right) and not only_named else is_right | _among(labels, wrong)


def _among(labels: NDArray[np.int32], few: ArrayLike) -> NDArray[np.bool_]:
    """Return which labels are among a few; `np.isin` takes ten times as long for one row."""
    found: NDArray[np.bool_] = (labels[..., None] == np.asarray(few)).any(axis=-1)
    return found


def _single_rows(source: RowSource) -> Iterator[Batch]:
    for batch in source.unwatched(0, source.n_rows):
        for row in range(batch.n_rows):
            yield cut(batch, row, row + 1)
