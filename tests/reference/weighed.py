"""The rated index whose best labels are weighed again by pairs, in plain Python.

It imports nothing of the package. Of the labels that the index votes for, the n_candidates best get

    score(c) = votes(c) + 5 * sum over active f of v[f] * w[f, c]

where every row has one more feature of the value 0.1, number 0 of the pairs, and its own come one later; the others
rank behind them by their votes, and none is given more than the last candidate has. A row teaches its true labels to
weigh 2, and the heaviest of the wrong candidates not to weigh anything, by AdaGrad. Scores are doubles; weights and
sums of squares are rounded to single precision when they are stored, so that states can be compared bit for bit.
"""

import math
from collections.abc import Iterable

from tests.reference.feature_focus import SMALLEST, Row, single
from tests.reference.rated import RatedOracle, stored

SHARE, COMMON, TRUE_WEIGHT, STEP, STEP_START, LEAST = 5.0, 0.1, 2.0, 1.4, 30.0, 0.05
RIVALS, RIVALS_PER_LABEL = 5, 3


class WeighedOracle(RatedOracle):
    """Learn one row at a time; labels and features are numbers.

    Attributes
    ----------
    pairs : dict of (feature, label) to (weight, sum of squares)
    """

    def __init__(self, *, n_candidates: int, **rated) -> None:
        super().__init__(**rated)
        self.n_candidates = n_candidates
        self.pairs: dict[tuple[int, int], tuple[float, float]] = {}

    def places(self, row: Row) -> list[tuple[int, float]]:
        """Return the features of the pairs that a row has, and their values."""
        return [(0, COMMON), *((f + 1, v) for f, v in sorted(row.items()) if v >= SMALLEST)]

    def weight(self, row: Row, label: int) -> float:
        """Return what a label weighs for a row."""
        total = 0.0
        for f, v in self.places(row):
            total += v * self.pairs.get((f, label), (0.0, 0.0))[0]
        return total

    def rank(self, row: Row) -> list[tuple[int, float]]:
        """Return the labels that get a vote and their scores, best first."""
        voted = super().rank(row)
        n = self.n_candidates
        first = [(label, score + SHARE * self.weight(row, label)) for label, score in voted[:n]]
        first.sort(key=lambda pair: (-pair[1], pair[0]))
        return first + [(label, min(score, first[-1][1]) if first else score) for label, score in voted[n:]]

    def move(self, row: Row, label: int, amount: float) -> None:
        """Add amount to what a label weighs for a row, as far as a step of AdaGrad goes."""
        for f, v in self.places(row):
            w, squares = self.pairs.get((f, label), (0.0, 0.0))
            squares += (v * amount) ** 2
            self.pairs[f, label] = single(w + STEP * (v * amount) / math.sqrt(squares + STEP_START)), stored(squares)

    def learn(self, row: Row, labels: Iterable[int], wrong: Iterable[int] = (), *, again: bool = False) -> None:
        """Learn a row: first the weights, from the candidates of the votes before, then the index."""
        truth, wrong = sorted(set(labels)), list(wrong)
        if truth and self.n_candidates:
            scores = self.scores(row, truth if again else [])
            others = sorted((label for label in scores if label not in truth), key=lambda c: (-scores[c], c))
            weights = {label: self.weight(row, label) for label in [*others[: self.n_candidates], *truth]}
            heavy = [label for label in others[: self.n_candidates] if weights[label] > 0]
            heavy.sort(key=lambda label: -weights[label])
            for label in heavy[: max(RIVALS, RIVALS_PER_LABEL * len(truth))]:
                self.move(row, label, -weights[label])
            for label in truth:
                if weights[label] < TRUE_WEIGHT:
                    self.move(row, label, TRUE_WEIGHT - weights[label])
        super().learn(row, labels, wrong, again=again)
        if self.n_candidates and not again:
            for label in wrong:
                self.move(row, label, -1.0 - max(0.0, self.weight(row, label)))

    def tidy(self) -> None:
        """Drop what weighs next to nothing."""
        self.pairs = {key: pair for key, pair in self.pairs.items() if abs(pair[0]) >= LEAST}
