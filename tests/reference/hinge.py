"""One weight for each (feature, label) pair, learnt by the squared hinge and AdaGrad, in plain Python.

It imports nothing of the package. Every known label is weighed for every row: a relevant one should score at least
1 + margin, another at most 1 - margin. If all rows have a feature in bias_value, it is number 0 of the pairs, and the
row's own features come one later. Scores are doubles; weights and sums of squares are rounded to single precision
when they are stored, so that states can be compared bit for bit.
"""

import math
from collections.abc import Iterable

from tests.reference.feature_focus import SMALLEST, single
from tests.reference.rated import stored

Row = dict[int, float]


RIVALS_PER_LABEL = 3  # a row with many labels has more rivals than it is told


class HingeOracle:
    """Learn one row at a time; labels and features are numbers.

    Attributes
    ----------
    pairs : dict of (feature, label) to (weight, sum of squares)
        A pair that is 0 throughout is the same as none.
    """

    def __init__(self, *, margin: float, rivals: int, step: float, start: float, bias_value: float = 0.0) -> None:
        self.margin, self.rivals, self.step, self.start, self.bias_value = margin, rivals, step, start, bias_value
        self.pairs: dict[tuple[int, int], tuple[float, float]] = {}

    def active(self, row: Row) -> list[tuple[int, float]]:
        """Return the features that are on, ascending."""
        own = sorted((f, v) for f, v in row.items() if v >= SMALLEST)
        return [(0, self.bias_value), *((f + 1, v) for f, v in own)] if self.bias_value > 0 else own

    def votes(self, row: Row, label: int) -> list[tuple[int, float]]:
        """Return the features with a weight for a label, and what each adds to its score."""
        weights = [(f, self.pairs.get((f, label), (0.0, 0.0))[0], v) for f, v in self.active(row)]
        return [(f, w * v) for f, w, v in weights if w != 0]

    def score(self, row: Row, label: int) -> float:
        """Return a label's score; a plain sum, for Python's own compensates from 3.12 on."""
        total = 0.0
        for _, vote in self.votes(row, label):
            total += vote
        return total

    def rank(self, row: Row, n_labels: int) -> list[tuple[int, float]]:
        """Return all known labels and their scores, best first."""
        scores = [(label, self.score(row, label)) for label in range(n_labels)]
        return sorted(scores, key=lambda pair: (-pair[1], pair[0]))

    def changes(self, row: Row, labels: Iterable[int], wrong: Iterable[int], n_labels: int) -> dict[int, float]:
        """Return by how much each label's score should change."""
        truth, ranking = set(labels), self.rank(row, n_labels)
        scores, low, high = dict(ranking), 1.0 - self.margin, 1.0 + self.margin
        amounts: dict[int, float] = {}
        if truth:
            violating = [(label, score) for label, score in ranking if label not in truth and score > low]
            most = max(self.rivals, RIVALS_PER_LABEL * len(truth))
            amounts = {label: low - score for label, score in violating[:most]}
            amounts |= {label: high - scores[label] for label in truth if scores[label] < high}
        rejected = {label: -self.margin - max(0.0, scores[label]) for label in wrong if label not in amounts}
        return amounts | rejected

    def learn(self, row: Row, labels: Iterable[int], wrong: Iterable[int], n_labels: int) -> None:
        """Learn a row, after which `n_labels` labels are known."""
        for label, amount in self.changes(row, labels, wrong, n_labels).items():
            for f, v in self.active(row):
                w, squares = self.pairs.get((f, label), (0.0, 0.0))
                gradient = v * amount
                squares += gradient * gradient
                w = single(w + self.step * gradient / math.sqrt(squares + self.start))
                self.pairs[f, label] = w, stored(squares)
