"""The plain index of docs/algorithms/feature-focus.md against the package."""

import re
from pathlib import Path

import numpy as np
import pytest

from abound import FeatureFocus

PAGE = Path(__file__).resolve().parents[2] / "docs" / "algorithms" / "feature-focus.md"
N_ROWS, N_FEATURES, N_LABELS = 30, 8, 9


def plain_index():
    """Return the class that the page defines."""
    [code] = [block for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL) if "class " in block]
    assert len(code.splitlines()) <= 36
    namespace = {}
    exec(code, namespace)  # noqa: S102
    return namespace["PlainIndex"]


def stream(random):
    """Return rows and labels; labels are numbered in the order in which they first appear."""
    numbers, rows = {}, []
    for _ in range(N_ROWS):
        values = (
            random.integers(0, 5, N_FEATURES) * (random.random(N_FEATURES) < 0.5) / 4
        )  # sums are exact, ties common
        names = random.choice(N_LABELS, int(random.integers(1, 4)), replace=False)
        rows.append((values, [numbers.setdefault(int(name), len(numbers)) for name in names]))
    return rows


@pytest.mark.parametrize("first", range(0, 200, 20))
def test_the_plain_index_scores_as_the_package_on_20_seeds(first):
    PlainIndex = plain_index()
    for seed in range(first, first + 20):
        random = np.random.default_rng(seed)
        settings = {
            "margin": float(random.choice([0.0, 0.1, 0.5, 1.0])),
            "w_min": float(random.choice([0.0, 0.01, 0.1, 0.3])),
            "d_max": int(random.choice([1, 2, 3, 25])),
        }
        plain, ranker = PlainIndex(**settings), FeatureFocus(**settings)
        rows = stream(random)
        for values, labels in rows:
            plain.learn({f: float(v) for f, v in enumerate(values) if v}, labels)
        X = np.array([values for values, _ in rows])
        ranker.partial_fit(X, [labels for _, labels in rows])
        for values, found in zip(X, ranker.rank(X, k=N_LABELS), strict=True):
            expected = plain.scores({f: float(v) for f, v in enumerate(values) if v})
            assert dict(found) == expected, (seed, settings)
