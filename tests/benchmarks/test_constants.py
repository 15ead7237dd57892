"""The choice of constants: it reads development rows only, resumes, and compares values with the default."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from abound import Cascade
from abound.rankers import auto, cascade, trials
from benchmarks import constants, documents, sets
from benchmarks.constants import CONSTANTS, Constant, by_weight, judged, measure, run, summary, verdict

PATCHED = "abound.components.linear.RIVALS"
N_ROWS, N_FEATURES, N_LABELS = 120, 40, 12


def rows():
    """Rows in which each label has three words of its own, with noise."""
    rng = np.random.default_rng(0)
    labels = rng.integers(N_LABELS, size=N_ROWS)
    x = rng.random((N_ROWS, N_FEATURES)) * (rng.random((N_ROWS, N_FEATURES)) < 0.1)
    x[np.arange(N_ROWS), 3 * labels + rng.integers(3, size=N_ROWS)] += 1.0
    y = sp.csr_matrix((np.ones(N_ROWS, np.float32), (np.arange(N_ROWS), labels)), shape=(N_ROWS, N_LABELS))
    return sp.csr_matrix(x), y


def build(name, train, held):
    return sets.LabelSet(name, *train, *held)


def cut(train):
    x, y = train
    return (x[:90], y[:90]), (x[90:], y[90:])


class TestRows:
    """Test rows that fail when they are used."""

    __test__ = False

    def __getattr__(self, name):
        raise AssertionError("test rows were used")

    def __iter__(self):
        raise AssertionError("test rows were used")


@pytest.fixture
def made(monkeypatch):
    """A small data set in the place of all others; whatever would open test rows fails."""

    def refuse(*_args, **_kwargs):
        raise AssertionError("test rows were opened")

    monkeypatch.setitem(sets.RECIPES, "made", sets.Recipe(lambda: (rows(), TestRows()), build, cut))
    monkeypatch.setattr(sets, "load", refuse)
    monkeypatch.setattr(documents, "final", refuse)
    monkeypatch.setattr(sets.Recipe, "final", refuse)
    tried = {
        "few-passes": Constant(3, (2, 3), ("made",), "passes", lambda n: {"passes": n}),
        "second-stage": Constant(5.0, (0.0, 5.0), ("made",), "weight"),
    }
    monkeypatch.setattr(constants, "CONSTANTS", tried)
    return sets.development("made")


def test_cells_open_no_test_rows_and_are_measured_once(made, tmp_path, monkeypatch):
    path = tmp_path / "constants.json"
    run(["made"], ["few-passes", "second-stage"], path)
    cells = json.loads(path.read_text())["cells"]
    assert list(cells) == [f"few-passes/made/{n}" for n in (2, 3)] + [f"second-stage/made/{n}" for n in (0, 5)]
    assert all(0 <= cell[name] <= 1 for cell in cells.values() for name in constants.MEASURES)
    del cells["few-passes/made/2"]
    constants.write(cells, path)
    asked = []
    monkeypatch.setattr(constants, "measure", lambda *cell: asked.append(cell[2]) or {"P@1": 1.0})
    run(["made"], ["few-passes", "second-stage"], path)
    assert asked == [2]


def test_the_module_names_nothing_that_opens_test_rows():
    source = Path(constants.__file__).read_text()
    assert re.findall(r"\b(?:load|final|Recipe|recipe|RECIPES|parts)\b", source) == []
    assert set(re.findall(r"\bsets\.(\w+)", source)) == {"LabelSet", "development"}


def test_a_weight_of_the_second_stage_ranks_as_the_cascade_itself(made):
    default = CONSTANTS["second-stage"].default
    none, usual = by_weight(made, [0.0, default], passes=2)
    ranker = Cascade(calibrate=False, few_labels=0, passes=2).fit(made.X_train, made.Y_train)
    votes = Cascade(calibrate=False, few_labels=0, passes=2, candidates=0).fit(made.X_train, made.Y_train)
    assert usual == judged(made, ranker.rank(made.X_test, constants.K))
    assert none == judged(made, votes.rank(made.X_test, constants.K))
    assert none != usual


def test_a_patched_constant_has_the_value_only_during_its_cell(made, monkeypatch):
    seen = []
    monkeypatch.setattr(constants.linear, "RIVALS", 10)
    given = Constant(10, (1,), ("made",), "rivals", lambda _: seen.append(constants.linear.RIVALS) or {}, PATCHED)
    measure(made, given, 1)
    assert seen == [1]
    assert constants.linear.RIVALS == 10


def test_the_summary_compares_each_value_with_the_default():
    cells = {}
    for set_name, gain in (("rcv1-subset", 0.01), ("ohsumed23", -0.004)):
        for value in CONSTANTS["few-passes"].values:
            at = 0.5 + gain * (value == 5)
            cells[f"few-passes/{set_name}/{value}"] = dict.fromkeys(constants.MEASURES, at)
    cells["few-passes/bibtex/3"] = dict.fromkeys(constants.MEASURES, 0.1)  # not all values: left out
    lines = summary({"cells": cells})[2:]
    assert "| few-passes | 3 (default) | 2 | 0 | 0 | 0 | 0 | 0 | 0 | | |" in lines
    assert f"| few-passes | 5 | 2 {'| +0.0030 ' * 6}| -0.0040 | +0.0100 |" in lines
    assert len(lines) == len(CONSTANTS["few-passes"].values)


def test_a_value_passes_if_no_measure_falls_by_more_than_tolerated():
    def cells(fall):
        found = {f"w_min/finna-5k/{value:g}": dict.fromkeys(constants.MEASURES, 0.5) for value in (0.001, 0.002, 0.005)}
        found["w_min/finna-5k/0.001"] = {**found["w_min/finna-5k/0.001"], "PSP@3": 0.5 - fall, "P@1": 0.6}
        found["w_min/finna-5k/0.005"] = {**found["w_min/finna-5k/0.005"], "P@5": 0.4}
        return found

    assert verdict({"cells": cells(0.002)})[0].endswith(": w_min 0.001 (1 data sets).")
    assert verdict({"cells": cells(0.0021)})[0].endswith(": none.")
    assert verdict({"cells": cells(0)})[1].startswith("3 of ")


def test_the_defaults_of_the_table_are_those_of_the_code():
    usual = Cascade()
    assert CONSTANTS["w_min"].default == usual.w_min
    assert CONSTANTS["d_max"].default == usual.d_max
    assert CONSTANTS["candidates"].default == cascade.CANDIDATES
    assert CONSTANTS["few-passes"].default == trials.DEFAULT.passes
    assert CONSTANTS["few-labels"].default == auto.FEW_LABELS
    assert all(constant.default in constant.values for constant in CONSTANTS.values())
