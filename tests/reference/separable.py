"""Streams that some prototypes of unit norm rank perfectly, and the mistake bounds that hold on them (theorem 1).

With R the longest row and g the margin of the best prototypes, the sum of a variant's own loss is at most C R^2 / g^2.
"""

import math

import numpy as np

CONSTANTS = {1: lambda _: 2, 2: lambda k: k, 3: lambda _: 2}
Stream = list[tuple[dict[int, float], list[int]]]


def bound(loss: int, k: int, radius: float, margin: float) -> float:
    """Return the most that a variant's own loss may sum to, with k labels."""
    return CONSTANTS[loss](k) * (radius / margin) ** 2


def separable_stream(
    seed: int, n_rows: int = 150, k: int = 5, n_features: int = 12
) -> tuple[Stream, int, float, float]:
    """Return rows whose labels random prototypes set apart by a wide gap; also k, R and their margin."""
    rng, n_features = np.random.default_rng(seed), 12
    best = rng.normal(size=(k, n_features))
    best /= np.linalg.norm(best)
    stream, radius, margin = [], 0.0, math.inf
    while len(stream) < n_rows:
        x = rng.random(n_features) * (rng.random(n_features) < 0.5)
        scores = best @ x
        order = np.argsort(-scores)
        n_relevant = int(rng.integers(1, k))
        gap = float(scores[order[n_relevant - 1]] - scores[order[n_relevant]])
        if gap < 0.1:
            continue
        row = {int(f): float(x[f]) for f in np.flatnonzero(x)}
        stream.append((row, sorted(int(label) for label in order[:n_relevant])))
        radius, margin = max(radius, float(np.linalg.norm(x))), min(margin, gap)
    return stream, k, radius, margin


def orthonormal_stream(k: int, n_rows: int = 12) -> tuple[Stream, float, float]:
    """Return rows of one feature and one label each, the hardest for MMP from zero; also R and the best margin.

    A row moves nothing that another row sees, so each is wholly wrong once. The best prototypes give it (k - 1) b for
    its label and -b for the others; n rows of that have norm 1 when b^2 = 1 / (n k (k - 1)), and their margin is k b.
    """
    stream: Stream = [({i: 1.0}, [i % k]) for i in range(n_rows)]
    return stream, 1.0, k / math.sqrt(n_rows * k * (k - 1))
