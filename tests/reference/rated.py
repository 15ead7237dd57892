"""The index with learned ratings and corrections in plain Python: the paper's counts, and AdaGrad beside them.

It imports nothing of the package. A feature f votes for the labels of its d_max heaviest edges,

    vote(f, c) = kappa * exp(l[f]) * v / (W[f] + shrink) * w'[f, c] + v * th[f, c],

and a label's score is the sum of its votes. Each true label that got a vote has a softmax against the wrong labels that
did, whose cross entropies are averaged. Totals and scores are doubles; weights, ratings, corrections and sums
of squares are rounded to single precision when they are stored, so that states can be compared bit for bit.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tests.reference.feature_focus import FeatureFocusOracle, Row, single

LARGEST = float(np.finfo(np.float32).max)
LOWEST, HIGHEST = -6.0, 4.0  # of l[f]
INITIAL_CORRECTION = 0.75  # th[f, c] of a new edge
NEGLIGIBLE = 0.001  # an error up to this is not corrected
FARTHEST = 12.0  # from the best wrong label: what is below has no share in the softmax, and above, no more


def exp_of(x: float) -> float:
    """Return e to the x: 2**k times ten terms of the Taylor series of the rest."""
    k = math.trunc(x * 1.4426950408889634 + 1024.5) - 1024
    r = (x - k * 0.6931471803691238) - k * 1.9082149292705877e-10
    term = [1 / math.factorial(n) for n in range(11)]
    square = r * r
    fourth = square * square
    total = (1.0 + r) + square * (term[2] + r * term[3])
    total += fourth * ((term[4] + r * term[5]) + square * (term[6] + r * term[7]))
    total += (fourth * fourth) * ((term[8] + r * term[9]) + square * term[10])
    return math.ldexp(total, k)


def stored(squares: float) -> float:
    """Round a sum of squares to single precision; the largest one stands for all that are larger."""
    return single(min(squares, LARGEST))


@dataclass
class Learned:
    """A number that AdaGrad moves, and the sum of the squares of its gradients."""

    value: float = 0.0
    squares: float = 0.0

    def step(self, gradient: float, rate: float, start: float, low: float = -math.inf, high: float = math.inf) -> None:
        """Go against a gradient."""
        squares = self.squares + gradient * gradient
        self.value = single(min(high, max(low, self.value - rate * gradient / math.sqrt(squares + start))))
        self.squares = stored(squares)


class RatedOracle(FeatureFocusOracle):
    """Learn one row at a time; labels and features are numbers.

    Attributes
    ----------
    W, edges : as in FeatureFocusOracle
    ratings : dict of feature to Learned
        l[f].
    corrections : dict of feature to (dict of label to Learned)
        th[f, c]; an edge that is dropped takes its correction along.
    """

    def __init__(self, *, kappa, shrink, rate, rate_start, step, step_start, **index) -> None:
        super().__init__(margin=math.inf, rating=False, **index)
        self.kappa, self.shrink = kappa, shrink
        self.rate, self.rate_start, self.step, self.step_start = rate, rate_start, step, step_start
        self.ratings: dict[int, Learned] = {}
        self.corrections: dict[int, dict[int, Learned]] = {}

    def voters(self, f: int, v: float, own: list[int]) -> tuple[float, list[tuple[int, float]]]:
        """Return what a unit of w' is worth, and the edges that vote; the counts of `own` labels are taken off."""
        total = max(0.0, self.W.get(f, 0.0) - v * len(own))
        rating = self.ratings.get(f, Learned()).value
        scale = self.kappa * exp_of(rating) * v / (total + self.shrink)
        edges = []
        for label, w in self.edges.get(f, [])[: self.d_max]:
            edges.append((label, max(0.0, w - v) if label in own else w))
        return scale, edges

    def votes(self, row: Row, own: Iterable[int] = ()) -> list[tuple[int, int, float]]:
        """Return (feature, label, vote) in the order in which they are summed."""
        found = []
        for f, v in self.active(row):
            scale, edges = self.voters(f, v, list(own))
            for label, w in edges:
                found.append((f, label, scale * w + v * self.corrections[f][label].value))
        return found

    def scores(self, row: Row, own: Iterable[int] = ()) -> dict[int, float]:
        """Return the score of every label that gets a vote."""
        scores: dict[int, float] = {}
        for _, label, vote in self.votes(row, own):
            scores[label] = scores.get(label, 0.0) + vote
        return scores

    def errors(self, row: Row, truth: list[int], own: list[int]) -> dict[int, float]:
        """Return the gradient of the loss by every label's score; nothing if no true label gets a vote."""
        scores = self.scores(row, own)
        voted = [label for label in truth if label in scores]
        wrong = [label for label in scores if label not in truth]
        if not voted:
            return {}
        if not wrong:
            return dict.fromkeys(voted, 0.0)
        best = max(scores[label] for label in wrong)

        def exponential(label: int) -> float:
            away = min(scores[label] - best, FARTHEST)
            return exp_of(away) if away > -FARTHEST else 0.0

        total = 0.0
        for label in wrong:
            total += exponential(label)
        inverse = {label: 1.0 / (exponential(label) + total) for label in voted}
        share = 0.0
        for label in voted:
            share += inverse[label]
        share /= len(voted)
        errors = {label: -total * inverse[label] / len(voted) for label in voted}
        return errors | {label: exponential(label) * share for label in wrong}

    def learn(self, row: Row, labels: Iterable[int], wrong: Iterable[int] = (), *, again: bool = False) -> None:
        """Learn a row: ratings and corrections by the gradient, rejections, then the counts.

        `again` is a later pass: the row's own counts are there already, and neither they nor rejections are added.
        """
        truth = sorted(set(labels))
        own = truth if again else []
        errors = self.errors(row, truth, own)
        for f, v in self.active(row) if errors else []:
            if self.edges.get(f):
                self.follow_gradient(f, v, own, errors)
        if again:
            return
        for label in wrong:
            for f, v in self.active(row):
                if label in self.corrections.get(f, {}):
                    self.corrections[f][label].step(v, self.step, self.step_start)
        for label in truth:
            for f, v in self.active(row):
                self.update(f, label, v)

    def follow_gradient(self, f: int, v: float, own: list[int], errors: dict[int, float]) -> None:
        """Move a feature's rating and its corrections."""
        scale, edges = self.voters(f, v, own)
        gradient = 0.0
        for label, w in edges:
            gradient += errors[label] * scale * w
            if self.step > 0 and abs(errors[label]) > NEGLIGIBLE:
                self.corrections[f][label].step(errors[label] * v, self.step, self.step_start)
        self.ratings.setdefault(f, Learned()).step(gradient, self.rate, self.rate_start, LOWEST, HIGHEST)

    def update(self, f: int, c: int, v: float) -> None:
        """Do the feature streaming update; a new edge's correction says that feature and label have met at all."""
        super().update(f, c, v)
        before = self.corrections.get(f, {})
        self.corrections[f] = {label: before.get(label, Learned(INITIAL_CORRECTION)) for label, _ in self.edges[f]}
