"""The confidence in a ranked label: log-odds of being accepted, learned online from features without a scale.

A score is judged by its position among all scores seen so far, among the scores of its row, and relative to the scores
with which the same label was accepted and rejected before. So the scores of any ranker can be used, and a change of
their unit or origin changes nothing.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

N_VIEWS = 3  # features of a score: relative to all scores, relative to its row, and its rank
N_FEATURES = 10
PRIOR = 3.0  # pseudo-counts of the average label in each label's statistics
HORIZON = 400.0  # feedback on a label after which its statistics are halved, so that they follow a drift
SCORES_REMEMBERED = 5000.0  # top scores over which origin and unit are averaged
LARGEST = 10.0  # features are clipped to this
FIRST_RATE = 0.15
REJECTED, ACCEPTED = 0, 1


class Views(NamedTuple):
    """Three views of the scores of rows, each of shape (n_rows, k), and the gap to the next score."""

    seen: NDArray[np.float64]
    share: NDArray[np.float64]
    place: NDArray[np.float64]
    gap: NDArray[np.float64]


class RowShape(NamedTuple):
    """The parts of rankings that do not change during learning: scores, and their positions in their row."""

    scores: NDArray[np.float64]
    ranked: NDArray[np.bool_]
    share: NDArray[np.float64]
    place: NDArray[np.float64]
    gap: NDArray[np.float64]

    @classmethod
    def of(cls, scores: NDArray[np.float64], ranked: NDArray[np.bool_]) -> "RowShape":
        """Describe rankings of shape (n_rows, k); a score's share is relative to the row's sum above its last score."""
        last = np.where(ranked, scores, np.inf).min(axis=1, keepdims=True, initial=np.inf)
        above = np.where(ranked, scores - np.where(np.isfinite(last), last, 0.0), 0.0)
        total, n_ranked = above.sum(axis=1, keepdims=True), ranked.sum(axis=1, keepdims=True)
        share = np.where(ranked, 1.0 / np.maximum(n_ranked, 1), 0.0)
        np.divide(above, total, out=share, where=total > 0)
        following = np.concatenate([above[:, 1:], np.zeros((len(above), 1))], axis=1)
        place = np.broadcast_to(-np.log(np.arange(1, scores.shape[1] + 1)), scores.shape)
        return cls(scores, ranked, share, place, np.maximum(above - following, 0.0))

    def row(self, number: int) -> "RowShape":
        """Return one row, without the first axis."""
        return RowShape(*(array[number] for array in self))


class Prepared(NamedTuple):
    """Features of labels, the means of their views by outcome, and their log-odds."""

    features: NDArray[np.float64]
    rejected: NDArray[np.float64]
    accepted: NDArray[np.float64]
    log_odds: NDArray[np.float64]


class Confidence:
    """Log-odds that a ranked label is accepted.

    The state is `arrays()`; a label's number is its index in the arrays whose names start with ``label``.
    """

    def __init__(self) -> None:
        self.weights = np.zeros(N_FEATURES)
        self.weights[0], self.weights[1] = -0.5, 1.0  # the initial weights use a label's acceptance rate
        self.squares = np.ones(N_FEATURES)
        self.scores = np.zeros(3)  # count, mean and mean distance from the mean, of top scores
        self.totals = np.ones((2, 1 + N_VIEWS))  # feedback by outcome: count, and sum of each view
        self.totals[:, 1:] = 0.0
        self.spread = np.ones(1 + N_VIEWS)  # count, and sum of squared distances of each view from its mean
        self.label_counts = np.zeros((0, 2))
        self.label_sums = np.zeros((0, 2 * N_VIEWS))

    ARRAYS = ("weights", "squares", "scores", "totals", "spread", "label_counts", "label_sums")

    def arrays(self) -> dict[str, NDArray[np.float64]]:
        """Return the state."""
        used = int(np.max(np.flatnonzero(self.label_counts.any(axis=1)), initial=-1)) + 1  # without unused capacity
        return {name: getattr(self, name)[: used if name.startswith("label") else None] for name in self.ARRAYS}

    def restore(self, arrays: dict[str, NDArray[np.float64]]) -> None:
        """Restore a state after validating it."""
        fresh = Confidence()
        for name in self.ARRAYS:
            array, wanted = arrays[name], getattr(fresh, name)
            grows = name.startswith("label")
            if array.dtype != np.float64 or array.shape[grows:] != wanted.shape[grows:]:
                raise ValueError(f"{name} of the bands has a wrong type or shape")
            if not np.all(np.isfinite(array)):
                raise ValueError(f"{name} of the bands has values that are not finite")
            setattr(self, name, np.array(array))
        if len(self.label_counts) != len(self.label_sums):
            raise ValueError("the bands' label arrays differ in length")
        if np.any(self.label_counts < 0) or np.any(self.spread < 0) or self.spread[0] == 0:
            raise ValueError("the bands' label arrays have counts below 0")
        if np.any(self.totals[:, 0] < 1) or np.any(self.squares < 1) or self.scores[0] < 0 or self.scores[2] < 0:
            raise ValueError("the bands' sums have values that feedback cannot produce")

    def ensure_labels(self, n: int) -> None:
        """Allocate n labels."""
        if n > len(self.label_counts):
            n = max(n, 2 * len(self.label_counts))
            missing = n - len(self.label_counts)
            self.label_counts = np.pad(self.label_counts, ((0, missing), (0, 0)))
            self.label_sums = np.pad(self.label_sums, ((0, missing), (0, 0)))

    # -- features ------------------------------------------------------------------------------------

    def _views(self, row: "RowShape") -> Views:
        unit = self.scores[2] if self.scores[2] > 0 else np.inf  # without a unit, all views are 0
        seen = np.where(row.ranked, row.scores - self.scores[1], 0.0) / unit
        return Views(
            np.maximum(np.minimum(seen, LARGEST), -LARGEST), row.share, row.place, np.minimum(row.gap / unit, LARGEST)
        )

    def prepare(self, labels: NDArray[np.int64], row: "RowShape") -> "Prepared":
        """Return the features of known labels, and what else `learn` needs; for one row or many."""
        views = self._views(row)
        counts, sums = self.label_counts[labels], self.label_sums[labels]
        average = self.totals[:, 1:] / self.totals[:, :1]
        usual = self.totals[ACCEPTED, 0] / self.totals[:, 0].sum()
        n_rejected, n_accepted = counts[..., REJECTED], counts[..., ACCEPTED]
        record = np.log((n_accepted + PRIOR * usual) / (n_rejected + PRIOR * (1 - usual)))
        rejected = (sums[..., :N_VIEWS] + PRIOR * average[REJECTED]) / (n_rejected[..., None] + PRIOR)
        accepted = (sums[..., N_VIEWS:] + PRIOR * average[ACCEPTED]) / (n_accepted[..., None] + PRIOR)
        features = np.empty((*labels.shape, N_FEATURES))
        features[..., 0] = 1.0
        features[..., 1] = record
        features[..., 5], features[..., 6], features[..., 7] = views.seen, views.share, views.place
        features[..., 8], features[..., 9] = views.gap, record * views.share
        values = features[..., 5:8]
        variance = np.maximum(self.spread[1:] / self.spread[0], 1e-6)
        # Fisher's linear discriminant of each view, for this label.
        discriminant = (accepted - rejected) * (values - (accepted + rejected) / 2) / variance
        features[..., 2:5] = np.maximum(np.minimum(discriminant, LARGEST), -LARGEST)
        return Prepared(features, rejected, accepted, features @ self.weights)

    # -- learning ------------------------------------------------------------------------------------

    def learn(
        self,
        labels: NDArray[np.int64],
        prepared: "Prepared",
        ends: tuple[float, float],
        shown: NDArray[np.bool_],
        accepted: NDArray[np.bool_],
    ) -> None:
        """Learn the feedback on the shown labels of one row, whose best and last scores are `ends`."""
        self._see_scores(*ends)
        if not shown.any():
            return
        labels, outcomes = labels[shown], accepted[shown].astype(np.int64)
        features = prepared.features[shown]
        odds = np.exp(np.minimum(np.maximum(prepared.log_odds[shown], -30.0), 30.0))
        gradient = (odds / (1.0 + odds) - outcomes) @ features
        self.squares += gradient * gradient
        self.weights -= FIRST_RATE * gradient / np.sqrt(self.squares)
        means = np.where(outcomes[:, None] == ACCEPTED, prepared.accepted[shown], prepared.rejected[shown])
        self._count(labels, outcomes, features[:, 5:8], means)

    def _see_scores(self, top: float, last: float) -> None:
        """Update the origin and the unit of scores by one top score."""
        count, mean, distance = self.scores.tolist()
        count = min(count + 1, SCORES_REMEMBERED)
        if count == 1:
            self.scores[:] = 1, top, top - last
            return
        self.scores[:] = count, mean + (top - mean) / count, distance + (abs(top - mean) - distance) / count

    def _count(
        self,
        labels: NDArray[np.int64],
        accepted: NDArray[np.int64],
        values: NDArray[np.float64],
        means: NDArray[np.float64],
    ) -> None:
        self.label_counts[labels, accepted] += 1
        for outcome in (REJECTED, ACCEPTED):
            mine = accepted == outcome
            columns = slice(outcome * N_VIEWS, (outcome + 1) * N_VIEWS)
            self.label_sums[labels[mine], columns] += values[mine]
            self.totals[outcome, 0] += mine.sum()
            self.totals[outcome, 1:] += values[mine].sum(axis=0)
        self.spread[0] += len(labels)
        self.spread[1:] += ((values - means) ** 2).sum(axis=0)
        full = labels[self.label_counts[labels].sum(axis=1) > HORIZON]
        self.label_counts[full] *= 0.5
        self.label_sums[full] *= 0.5
