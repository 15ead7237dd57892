"""The plain version of PRank on its page learns what the package learns."""

import re
from pathlib import Path

import numpy as np

from abound import PRank

PAGE = Path(__file__).parents[2] / "docs" / "algorithms" / "prank.md"


def test_the_page_agrees_with_the_package():
    [plain] = re.findall(r"```python\n(import numpy.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names = {}
    exec(plain, names)  # noqa: S102  the code of our own page
    wrong = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        X = rng.random((300, 3))
        y = np.digitize(X.sum(axis=1), [1.0, 1.5, 2.0])
        w, b = np.zeros(3), np.zeros(3)
        for row, true in zip(X, y, strict=True):
            names["learn"](w, b, row, true)
        prank = PRank(average=False, ranks=[0, 1, 2, 3]).fit(X, y)
        same = np.allclose(prank.coef_, w) and np.array_equal(prank.thresholds_, b)
        if not same or [names["rank"](w, b, row) for row in X] != prank.predict(X).tolist():
            wrong.append(seed)
    assert wrong == []
