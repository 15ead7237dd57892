"""The feature-focus index in plain Python, to read beside the paper (JMLR 2009), sections 3.2 and 4.1-4.3.

It imports nothing of the package. Every sum is in the order and precision that the kernels promise, so that
states can be compared bit for bit: totals and scores are doubles, edge weights are singles.
"""

from collections.abc import Iterable

import numpy as np

SMALLEST = 2.0**-126  # the smallest normal single: halving is exact above it, and what is below it is taken as 0
Row = dict[int, float] | Iterable[tuple[int, float]]


def single(x: float) -> float:
    """Round to single precision."""
    return float(np.float32(x))


class FeatureFocusOracle:
    """Learn one row at a time; labels and features are numbers.

    Attributes
    ----------
    W : dict of feature to float
        Totals.
    n : dict of feature to int
        Times that a feature was seen.
    edges : dict of feature to list of (label, w')
        Heaviest first; of equal weights the smaller label first.
    """

    def __init__(
        self,
        *,
        w_min=0.01,
        d_max=25,
        margin=0.5,
        rating=True,
        leak=True,
        boolean=False,
        candidates=None,
        horizon=65536.0,
    ):
        self.w_min, self.d_max, self.margin, self.rating = w_min, d_max, margin, rating
        self.leak, self.boolean, self.candidates, self.horizon = leak, boolean, candidates, horizon
        self.W: dict[int, float] = {}
        self.n: dict[int, int] = {}
        self.edges: dict[int, list[tuple[int, float]]] = {}

    def active(self, row: Row) -> list[tuple[int, float]]:
        """Return the features that are on, ascending, with their values."""
        pairs = sorted(row.items() if isinstance(row, dict) else row)
        return [(f, 1.0 if self.boolean else float(v)) for f, v in pairs if v >= SMALLEST]

    def votes(self, row: Row) -> list[tuple[int, int, float]]:
        """Return equation 1's summands, (feature, label, vote): the heaviest edges of active features."""
        votes = []
        for f, v in self.active(row):
            for label, w in self.edges.get(f, [])[: self.d_max]:
                r = self.n[f] / 10 if self.rating and self.n[f] < 10 else 1.0  # section 4.3.2
                votes.append((f, label, (r * v / self.W[f]) * w))
        return votes

    def scores(self, row: Row) -> dict[int, float]:
        """Return the score of every label that gets a vote."""
        scores: dict[int, float] = {}
        for _, label, vote in self.votes(row):
            scores[label] = scores.get(label, 0.0) + vote
        return scores

    def rank(self, row: Row) -> list[tuple[int, float]]:
        """Return the voted labels and their scores, best first."""
        return sorted(self.scores(row).items(), key=lambda pair: (-pair[1], pair[0]))

    def explain(self, row: Row, label: int) -> list[tuple[int, float]]:
        """Return the features that vote for a label, and their votes."""
        return [(f, vote) for f, voted, vote in self.votes(row) if voted == label]

    def learn(self, row: Row, labels: Iterable[int], count: bool = True) -> None:
        """Learn a row where a true label does not win by the margin (section 4.3.1)."""
        if count:
            for f, _ in self.active(row):
                self.n[f] = self.n.get(f, 0) + 1
        truth = sorted(set(labels))
        ranking = self.rank(row)  # once: the updates for one true label do not count against the next
        best_wrong = max([0.0] + [score for label, score in ranking if label not in truth])
        found = dict(ranking[: self.candidates])
        for c in truth:
            if found.get(c, 0.0) - best_wrong <= self.margin:
                for f, v in self.active(row):
                    self.update(f, c, v)

    def update(self, f: int, c: int, v: float) -> None:
        """Do the feature streaming update (FSU, figure 4c) of one feature for one label."""
        total, weights = self.W.get(f, 0.0) + v, dict(self.edges.get(f, []))
        if c in weights:
            weights[c] = single(weights[c] + v)
        elif single(v) / total >= self.w_min:
            weights[c] = single(v)
        elif not self.leak:
            total -= v
        edges = in_order(weights)
        while edges and edges[-1][1] / total < self.w_min:
            _, dropped = edges.pop()
            if not self.leak:
                total -= dropped
        while total > self.horizon:
            total, edges = total / 2, [(label, w / 2) for label, w in edges if w / 2 >= SMALLEST]
        self.W[f], self.edges[f] = total, edges


def in_order(weights: dict[int, float]) -> list[tuple[int, float]]:
    """Sort edges by weight, the heaviest first; of equal weights the smaller label first."""
    return sorted(weights.items(), key=lambda edge: (-edge[1], edge[0]))
