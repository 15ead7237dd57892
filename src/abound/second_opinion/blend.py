"""The blend: how much each voter counts for a candidate, learned from texts that no voter has learned yet."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from abound.calibration import Calibration
from abound.kernels.blending import learn, weighted_sums
from abound.second_opinion.vectors import Floats, exp, log
from abound.store import Model

FEATURES = (
    "words: log-odds",
    "words: ranked",
    "words: 1 / rank",
    "prototypes: score",
    "prototypes: cosine",
    "prototypes: 1 / rank",
    "names: cosine",
    "labels: log count",
    "labels: no text",
    "neighbours: log share",
    "neighbours: ranked",
    "neighbours: similarity",
    "words and prototypes: 1 / rank",
    "outside: score",
    "outside: scored",
)
N_VOTED = 13  # features of words and vectors; the others are those of an outside opinion
OF_LABELS = slice(7, 9)  # features that correct the votes of vectors; without vectors, a blend begins without them
LEAST = 1e-4  # of a probability or share whose logarithm is a feature
FIRST_SQUARE = 1e-3
UPDATE_STEP = 0.02  # for single texts
PENALTY = 3e-3  # of the squared distance to the weights of a new blend
MOST_STEPS = 100  # of the minimisation
ROUNDED, ROUNDED_WEIGHTS = 1 << 20, 1 << 10  # centres, scales and fitted weights are multiples of the inverse
# Chosen on development rows of finna-20k with the static table: what a blend begins with.
CENTRES = (-7.0, 0.46, 0.06, -9.4, 0.21, 0.07, 0.17, 1.6, 0.05, -6.5, 0.62, 0.25, 0.01, 0.0, 0.0)
SCALES = (2.5, 0.5, 0.15, 12.8, 0.14, 0.14, 0.17, 0.6, 0.22, 2.2, 0.49, 0.21, 0.08, 1.0, 1.0)
WEIGHTS = (0.9, -0.3, 0.2, 1.1, 0.0, 0.1, 0.0, -0.6, 0.0, 0.3, 0.0, 0.0, -0.1, 0.5, 0.0)


class Judged(NamedTuple):
    """The candidates of a text with their features, and which of them are right."""

    features: Floats  # of shape (n_candidates, n_features), as they are
    right: NDArray[np.bool_]


class LogCalibration(Calibration):
    """A calibration of scores that are shares: it sees their logarithms."""

    def probabilities(self, labels: NDArray[np.int32], scores: Floats) -> Floats:
        """Return the probability of each ranked label; see `Calibration`."""
        return super().probabilities(labels, _logs(scores))

    def fit(self, labels: NDArray[np.int32], scores: Floats, right: NDArray[np.bool_]) -> None:
        """Learn from rankings of rows that were not learned yet; see `Calibration`."""
        super().fit(labels, _logs(scores), right)

    def update(
        self, labels: NDArray[np.int32], scores: Floats, right: NDArray[np.bool_], judged: NDArray[np.bool_]
    ) -> None:
        """Learn from one more row; see `Calibration`."""
        super().update(labels, _logs(scores), right, judged)


def _logs(shares: Floats) -> Floats:
    return log(np.maximum(shares, 1e-12))


class Blend:
    """A weighted sum of standardised features of candidates.

    Parameters
    ----------
    has_vectors : bool
        Without vectors, the blend begins with the ranking of the words.

    Attributes
    ----------
    calibration : Calibration
        Of the blended ranking.
    is_used : bool
        Whether it ranked texts better than the words alone when it was fitted.
    n_learned : int
        Texts that it has learned from.
    """

    def __init__(self, *, has_vectors: bool = True) -> None:
        self.centres, self.scales = np.array(CENTRES), np.array(SCALES)
        self.weights, self.squares = np.array(WEIGHTS), np.full(len(WEIGHTS), FIRST_SQUARE)
        if not has_vectors:
            self.weights[OF_LABELS] = 0.0
        self.calibration: Calibration = LogCalibration()
        self.is_used, self.n_learned = True, 0

    def shares(self, features: Floats) -> Floats:
        """Return the shares of candidates, which add up to 1."""
        if not len(features):
            return np.zeros(0)
        sums = np.empty(len(features))
        weighted_sums(self._standardised(features), self.weights, sums)
        powers = exp(sums - sums.max())
        shares: Floats = powers / powers.sum()
        return shares

    def _standardised(self, features: Floats) -> Floats:
        return np.ascontiguousarray((features - self.centres) / self.scales)

    def learn(self, judged: Judged, known: NDArray[np.bool_] | None = None, *, step: float = UPDATE_STEP) -> bool:
        """Learn from the candidates of one text; `known` are those whose rightness is known, all by default."""
        n, width = judged.features.shape
        if not n:
            return False
        marks = (np.ones(n, bool) if known is None else known).astype(np.uint8)
        scratch = np.empty(n), np.empty(width)
        parts = (self.weights, self.squares, *scratch)
        has_learned = learn(self._standardised(judged.features), judged.right.astype(np.uint8), marks, step, *parts)
        self.n_learned += has_learned
        return has_learned

    def fit(self, judged: Sequence[Judged]) -> None:
        """Learn from the candidates of many texts: the weights with the least loss, drawn to those of a new blend.

        The loss is that of `learn`. Weights are rounded, so that they hardly depend on the processor.
        """
        features = np.concatenate([one.features for one in judged])
        self.centres = np.rint(features.mean(axis=0) * ROUNDED) / ROUNDED
        self.scales = np.rint(features.std(axis=0) * ROUNDED) / ROUNDED
        self.centres[N_VOTED:], self.scales[N_VOTED:] = CENTRES[N_VOTED:], SCALES[N_VOTED:]
        self.scales[self.scales == 0] = 1.0
        first = np.array(WEIGHTS) * self.scales / np.array(SCALES)
        found = least_loss(self._standardised(features), judged, first)
        self.weights = np.rint(found * ROUNDED_WEIGHTS) / ROUNDED_WEIGHTS
        self.squares = np.full(len(WEIGHTS), FIRST_SQUARE)
        for one in judged:
            self.learn(one, step=0.0)  # how far single texts may change the weights from now on
        self.n_learned = len(judged)

    # -- saving --------------------------------------------------------------------------------------

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what was learned."""
        own = {name: getattr(self, name) for name in ("centres", "scales", "weights", "squares")}
        counts = np.array([self.is_used, self.n_learned], np.int64)
        return {**own, "counts": counts, **{f"calibration_{k}": v for k, v in self.calibration.state().items()}}

    @classmethod
    def from_state(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Build from what `state` returned; ValueError if it cannot be used."""
        model, made = Model({}, dict(arrays)), cls()
        for name in ("centres", "scales", "weights", "squares"):
            setattr(made, name, np.array(model.take(name, np.float64, len(FEATURES))))
        if not (np.all(made.scales > 0) and np.all(made.squares > 0)):
            raise ValueError("the scales of the blend must be positive")
        is_used, made.n_learned = model.take_counts("counts", 2)
        made.is_used = bool(is_used)
        made.calibration = LogCalibration.from_state(model.under("calibration_"))
        return made


def least_loss(features: Floats, judged: Sequence[Judged], first: Floats) -> Floats:
    """Return the weights with the least mean loss over texts, plus a penalty on the distance to the first weights.

    Each right candidate of a text competes with the wrong ones; texts without any of either say nothing.
    """
    from scipy.optimize import minimize  # takes long to import

    sizes = np.array([len(one.right) for one in judged])
    right = np.concatenate([one.right for one in judged])
    owners = np.repeat(np.arange(len(judged)), sizes)
    n_right = np.bincount(owners, right, len(judged))
    telling = np.flatnonzero((n_right > 0) & (n_right < sizes))
    if not len(telling):
        return first
    kept = np.isin(owners, telling)
    x, right, n_right = features[kept], right[kept], n_right[telling]
    owners = np.repeat(np.arange(len(telling)), sizes[telling])
    starts, n = np.searchsorted(owners, np.arange(len(telling))), len(telling)

    def loss(weights: Floats) -> tuple[float, Floats]:
        scores = x @ weights
        powers = np.exp(scores - np.maximum.reduceat(scores, starts)[owners])
        wrong = np.maximum(np.add.reduceat(np.where(right, 0.0, powers), starts), 1e-300)
        both = (powers + wrong[owners])[right]
        pull = np.bincount(owners[right], 1.0 / both, n) / n_right
        slopes = np.where(right, 0.0, powers * pull[owners])
        slopes[right] = -(wrong[owners[right]] / both) / n_right[owners[right]]
        value = -float((np.log(np.maximum(powers[right], 1e-300) / both) / n_right[owners[right]]).sum()) / n
        away = weights - first
        return value + PENALTY * float(away @ away) / 2, x.T @ slopes / n + PENALTY * away

    found: Floats = minimize(loss, first, jac=True, method="L-BFGS-B", options={"maxiter": MOST_STEPS}).x
    return found
