"""The plain version of PRank on its page learns what the package learns, and its constants are those of the package."""

import inspect
import re
from pathlib import Path

import numpy as np

from abound import MulticlassPerceptron, PRank, WidrowHoff
from abound.ordinal import prank as module

PAGE = (Path(__file__).parents[2] / "docs" / "algorithms" / "prank.md").read_text(encoding="utf-8")
CONDITION = "        if self.rank(x) != y:"


def plain_code():
    [code] = re.findall(r"```python\n(import numpy.*?)```", PAGE, re.DOTALL)
    return code


def plain_class(code):
    names = {}
    exec(code, names)  # noqa: S102  the code of our own page
    return names["PlainPRank"]


def differing_seeds(plain, n_rows, n_judged):
    """Return the seeds on which the plain version and the package differ in weights, thresholds or predictions."""
    wrong = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        X = rng.random((n_rows, 3))
        y = np.digitize(X.sum(axis=1), [1.0, 1.5, 2.0])
        learner = plain(3, 4)
        for row, true in zip(X, y, strict=True):
            learner.learn(row, true)
        last = PRank(average=False, ranks=[0, 1, 2, 3]).fit(X, y)
        same = np.allclose(last.coef_, learner.w) and np.array_equal(last.thresholds_, learner.b)
        for package, rank in (
            (last, learner.rank),
            (PRank(ranks=[0, 1, 2, 3]).fit(X, y), learner.mean_rank),
            (PRank(voting=True, ranks=[0, 1, 2, 3]).fit(X, y), learner.voted_rank),
        ):
            same = same and package.predict(X[:n_judged]).tolist() == [rank(row) for row in X[:n_judged]]
        if not same:
            wrong.append(seed)
    return wrong


def test_the_page_agrees_with_the_package():
    code = plain_code()
    assert len(code.splitlines()) <= 40
    assert differing_seeds(plain_class(code), 120, 8) == []


def test_the_condition_of_the_update_matters():
    code = plain_code()
    assert CONDITION in code
    assert len(differing_seeds(plain_class(code.replace(CONDITION, "        if True:")), 120, 1)) >= 5


def test_the_constants_of_the_page_are_those_of_the_package():
    rows = dict(re.findall(r"^\| `(\w+(?:\.\w+)?)` \| ([^|]+?) \|", PAGE, re.MULTILINE))
    for kind in (PRank, WidrowHoff, MulticlassPerceptron):
        prefix = "" if kind is PRank else f"{kind.__name__}."
        for name, parameter in inspect.signature(kind).parameters.items():
            assert rows[prefix + name] == f"`{parameter.default!r}`", name
    assert rows["HIGHEST_DEGREE"] == f"`{module.HIGHEST_DEGREE}`"
