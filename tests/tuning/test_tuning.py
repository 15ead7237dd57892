"""Tuning: what is tried, in how much time, on which rows, and what is said of it."""

import doctest
import importlib
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

from abound.metrics import Interval
from abound.tuning import Rows, Setting, tune
from abound.tuning import trials as trials_module
from abound.tuning import tuner as tuner_module
from abound.tuning.halving import N_CANDIDATES, rungs
from abound.tuning.settings import space
from abound.tuning.trials import TrialRunner, learn

FRUIT, CARS = ["apple", "pear", "plum", "quince", "cherry"], ["car", "lorry", "wheel", "engine", "road"]


def make_rows(n: int, seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for number in range(n):
        words, label = (FRUIT, "fruit") if number % 2 else (CARS, "vehicle")
        texts.append(" ".join([*rng.choice(words, 2), *rng.choice(["the", "a", "of"], 2), f"n{number}s{seed}"]))
        labels.append([label] if number % 7 else [label, "seventh"])
    return Rows(texts, labels)


class Clock:
    """A clock that only learning moves, by a step for each row and pass."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, step: float) -> None:
        self.now = 0.0
        self.learnt: list[tuple[Setting, tuple[str, ...]]] = []

        def watched(setting: Setting, rows: Rows, names: Any = None) -> Any:
            self.now += step * len(rows.texts) * (setting.values.get("passes") or 1)
            self.learnt.append((setting, tuple(rows.texts)))
            return learn(setting, rows, names)

        monkeypatch.setattr(trials_module, "learn", watched)
        monkeypatch.setattr(tuner_module, "learn", watched)

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize("seconds", [5.0, 10.0, 20.0, 40.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_budget_is_kept_and_used(monkeypatch, seconds, seed):
    clock = Clock(monkeypatch, 0.005)
    found = tune(make_rows(300), make_rows(60, 1), seconds=seconds, clock=clock, random_state=seed)
    assert 1.0 < clock.now <= seconds
    if seconds >= 20:
        assert clock.now > 0.5 * seconds
        assert len({trial.setting for trial in found.trials}) > N_CANDIDATES


def test_the_seed_decides_what_is_tried_and_the_time_how_much(monkeypatch):
    def tried(seconds: float, seed: int) -> list[Any]:
        found = tune(make_rows(300), make_rows(60, 1), seconds=seconds, random_state=seed, clock=clock)
        return [(trial.setting, trial.n_rows, trial.value) for trial in found.trials]

    clock = Clock(monkeypatch, 0.005)
    short, again, longer, other = tried(20, 0), tried(20, 0), tried(40, 0), tried(20, 1)
    assert short == again
    assert longer[: N_CANDIDATES + 3] == short[: N_CANDIDATES + 3]  # three trials of the defaults, and the first rung
    assert len(longer) > len(short)
    assert short != other


def test_held_out_rows_are_never_learnt_and_rows_to_choose_by_only_at_the_end(monkeypatch):
    clock, rows, held_out = Clock(monkeypatch, 0.005), make_rows(300), make_rows(60, 1)
    found = tune(rows, held_out, seconds=20, clock=clock)
    for _, texts in clock.learnt:
        assert not set(texts) & set(held_out.texts)
    whole = [texts for _, texts in clock.learnt if len(texts) == 300]
    assert len(whole) == 1 + (found.best.setting != Setting())
    assert all(texts == tuple(rows.texts) for texts in whole)
    assert max(len(texts) for _, texts in clock.learnt if len(texts) != 300) == found.n_rows == 270


def test_what_is_chosen_learns_all_rows_in_the_end(monkeypatch):
    clock, rows, chosen = Clock(monkeypatch, 0.005), make_rows(300), Setting({"ngrams": 1})
    monkeypatch.setattr(TrialRunner, "best", lambda *_: chosen)
    found = tune(rows, make_rows(60, 1), seconds=10, clock=clock)
    assert found.best.setting == chosen
    assert clock.learnt[-1] == (chosen, tuple(rows.texts))


def make_runner(rows: Rows, **more: Any) -> TrialRunner:
    return TrialRunner(rows, {}, "P@1", lambda: 1e9, lambda _: None, **more)


def test_samples_grow_spread_over_the_rows_and_keep_their_order():
    runner = make_runner(make_rows(1_000))
    place = {text: number for number, text in enumerate(runner.rows.texts)}
    samples = [[place[text] for text in runner.sample(n_rows).texts] for n_rows in rungs(runner)]
    assert list(map(len, samples)) == [100, 300, 900]
    for smaller, larger in pairwise(samples):
        assert smaller == sorted(smaller)
        assert set(smaller) <= set(larger)
    assert np.diff(samples[0]).max() < 30
    assert samples[0][-1] > 850  # a file that is sorted by label is seen to its end
    assert not set(runner.validation.texts) & set(runner.rows.texts)


def test_a_trial_without_time_is_not_begun():
    left = [100.0]
    runner = TrialRunner(make_rows(200), {}, "P@1", lambda: left[0], lambda _: None)
    assert runner.run(Setting(), 20) is not None
    left[0] = 0.0
    assert runner.run(Setting({"passes": 3}), 180) is None
    assert runner.run(Setting(), 20) is runner.trials[0]  # what is known costs nothing
    assert len(runner.trials) == 1


def test_the_best_is_chosen_among_the_largest_trials_or_by_its_gain():
    runner = make_runner(make_rows(100))
    trial = trials_module.Trial
    a, b = Setting({"passes": 2}), Setting({"ngrams": 1})
    runner.trials += [trial(Setting(), 10, 0.3, 1), trial(Setting(), 90, 0.6, 1), trial(a, 10, 0.5, 1)]
    assert runner.best() == a
    runner.trials += [trial(b, 90, 0.61, 2)]
    assert runner.best() == b
    assert runner.best(seconds=2.0) == Setting()  # and not what there is no time for


def test_a_gain_on_few_rows_that_is_gone_on_more_does_not_count():
    runner = make_runner(make_rows(100))
    trial, a = trials_module.Trial, Setting({"passes": 2})
    runner.trials += [trial(Setting(), 10, 0.3, 1), trial(Setting(), 30, 0.4, 1), trial(a, 10, 0.5, 1)]
    assert runner.best() == a
    runner.trials += [trial(a, 30, 0.39, 1)]
    assert runner.best() == Setting()


def test_rows_that_cannot_be_measured_are_told():
    with pytest.raises(ValueError, match="no held-out row has a label"):
        tune(make_rows(100), Rows(["a"], [[]]), seconds=1)
    with pytest.raises(ValueError, match="such as P@5, got OneErr"):
        tune(make_rows(100), make_rows(60, 1), seconds=1, measure="OneErr")
    with pytest.raises(ValueError, match="too few rows with labels"):
        make_runner(Rows(["a"] * 5, [["x"]] * 5))


def test_a_gain_counts_when_its_interval_is_above_zero(monkeypatch):
    found = tune(make_rows(100), make_rows(60, 1), seconds=8, clock=Clock(monkeypatch, 0.01))
    for low, beaten in ((0.01, True), (0.0, False), (-0.01, False)):
        gain = Interval(0.02, low, 0.03)
        assert tuner_module.Tuning("P@5", found.defaults, found.best, gain, [], 1).beaten is beaten


@pytest.mark.parametrize(("few", "stem", "names"), [*product([False, True], [None, "english"], [False, True])])
def test_every_setting_of_the_space_makes_a_tagger(few, stem, names):
    from sklearn.model_selection import ParameterGrid

    where = space(few_labels=few, stem=stem, has_names=names)
    grid = list(ParameterGrid(where))
    for values in [grid[number] for number in np.random.default_rng(0).permutation(len(grid))[:40]]:
        setting = Setting({name: value for name, value in values.items() if value is not None})
        tagger = setting.tagger()
        params = {**tagger.params(), **tagger.params()["ranker_params"]}
        assert all(params[name] == (None if value == "none" else value) for name, value in setting.values.items())
    assert names == any("name_weight" in part for part in where)
    assert (stem is not None) == any(stem in part.get("stem", []) for part in where)
    assert any("none" in part.get("language", []) for part in where)


@pytest.mark.parametrize("name", ["halving", "settings", "tuner"])
def test_examples_in_docstrings(name):
    tested = doctest.testmod(importlib.import_module(f"abound.tuning.{name}"))
    assert tested.attempted
    assert tested.failed == 0
