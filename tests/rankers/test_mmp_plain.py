"""The plain version on MMP's page equals the package on 200 streams, and the page names the constants that are used."""

import dataclasses
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

from abound import MMP, KernelMMP, PivotedWeights, Rocchio, RocchioSelector

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "algorithms" / "mmp.md").read_text()
PAPER = {"margin": 0.0, "rivals": None, "passes": 1, "averaged": False, "negative_values": "linear"}
LOSSES = (1, 2, 3, "avgp")
UPDATES = ("uniform", "max", "proportional")


def plain_version():
    """Return the function `learn` of the page."""
    [block] = [code for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "def learn(" in code]
    assert len(block.splitlines()) <= 40
    names: dict = {}
    exec(block, names)  # noqa: S102 -- the code of our own page
    return names["learn"]


@pytest.mark.parametrize("first", range(0, 200, 25))
def test_the_plain_version_equals_the_package(first):
    learn = plain_version()
    for seed in range(first, first + 25):
        rng = np.random.default_rng(seed)
        k, n = int(rng.integers(2, 8)), int(rng.integers(2, 6))
        X, Y = rng.normal(size=(30, n)), rng.random((30, k)) < 0.4
        loss, update = LOSSES[seed % 4], UPDATES[seed // 4 % 3]
        w, size = np.zeros((k, n)), 0.0
        for x, y in zip(X, Y, strict=True):
            size += learn(w, x, set(np.flatnonzero(y).tolist()), loss, update)
        ranker = MMP(loss=loss, update=update, **PAPER).fit(X, Y)
        scores = np.array([ranker.score_rows(ranker.rows_of(X), np.arange(k, dtype=np.int32))])[0]
        assert size > 0
        assert np.allclose(scores, X @ w.T, rtol=1e-3, atol=1e-3)


def test_the_page_names_the_defaults():
    rows = dict(re.findall(r"^\| `(\w+)`[^|]* \| ([^|]+) \|", PAGE, re.MULTILINE))
    fields = {field.name: field.default for field in dataclasses.fields(MMP)}
    for name, default in fields.items():
        if name != "class_weight":
            assert rows[name].replace('"', "'") == repr(default), name
    kernel = {field.name: field.default for field in dataclasses.fields(KernelMMP)}
    shown = ", ".join(repr(kernel[name]) for name in ("kernel", "degree", "gamma", "coef0")).replace("'", '"')
    assert f"| `kernel`, `degree`, `gamma`, `coef0` | {shown} |" in PAGE


def test_the_page_names_the_constants_of_the_representation():
    def default(maker, name):
        return inspect.signature(maker).parameters[name].default

    assert f"| {default(PivotedWeights, 'slope')} | 0.3 | `PivotedWeights` |" in PAGE
    assert f"| {default(Rocchio, 'positive')} and {default(Rocchio, 'negative')} | 16 and 4 |" in PAGE
    assert f"{default(RocchioSelector, 'least')}, or {default(RocchioSelector, 'share'):.1%} of those" in PAGE
