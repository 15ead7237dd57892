"""`fit` learns few labels in the way that ranks held-out rows best."""

import numpy as np
import pytest
import scipy.sparse as sp

import abound
from abound import Cascade
from abound.components.linear import Linear
from abound.components.rows import Rows, Targets
from abound.components.second_stage import SecondStage
from abound.kernels.batch import Batch
from abound.rankers import trials
from abound.rankers.trials import CHOICES, DEFAULT, Choice, Trials, best
from abound.training.source import MatrixRows
from tests.rankers.streams import stream


class Fixed:
    """A ranker that ranks one label first."""

    def __init__(self, label):
        self.label, self.learned = label, 0

    def learn_in_passes(self, source, _, wanted):
        self.learned = source.n_rows
        return ((n, self) for n in wanted)

    def rank_rows(self, rows, k):
        others = [label for label in range(6) if label != self.label]
        labels = np.tile([self.label, *others][:k], (rows.n_rows, 1)).astype(np.int32)
        return abound.rankers.ranking.Ranking(labels, np.tile(np.arange(k, 0, -1.0), (rows.n_rows, 1)), list("abcdef"))


def batch_of(labels):
    n = len(labels)
    rows = Rows(np.arange(n + 1, dtype=np.int64), np.zeros(n, np.int32), np.ones(n))
    return Batch(rows, Targets(np.arange(n + 1, dtype=np.int64), np.array(labels, np.int32), 6))


def test_a_score_is_the_mean_of_three_precisions_on_rows_that_were_not_learned():
    labels = [0] * 800 + [1] * 200
    tried = Trials(MatrixRows(batch_of(labels)), 6)
    right, wrong = Fixed(1), Fixed(0)
    scores = [tried.scores(one, None, [2]) for one in (right, wrong)]
    assert right.learned == 800
    assert scores == [{2: pytest.approx((1 + 1 / 3 + 1 / 5) / 3)}, {2: pytest.approx((0 + 1 / 3 + 1 / 5) / 3)}]


def test_only_some_rows_are_tried(monkeypatch):
    monkeypatch.setattr(trials, "MOST_ROWS", 100)
    one = Fixed(0)
    Trials(MatrixRows(batch_of([0] * 1000)), 6).scores(one, None, [2])
    assert one.learned == 80


@pytest.mark.parametrize("chosen", CHOICES)
def test_fit_learns_as_chosen(chosen, monkeypatch, tmp_path):
    monkeypatch.setattr("abound.rankers.cascade.best", lambda _: chosen)
    X, Y = stream(1200)
    ranker = Cascade(calibrate=False).fit(X, Y)
    assert ranker.passes_ == chosen.passes
    assert (ranker.component(Linear) is not None) == chosen.is_linear
    assert (ranker.component(SecondStage) is not None) != chosen.is_linear
    asked = Cascade(calibrate=False, passes=chosen.passes, few_labels=None if chosen.is_linear else 0).fit(X, Y)
    assert asked.state_hash() == ranker.state_hash()
    ranker.save(tmp_path / "model")
    loaded = abound.load(tmp_path / "model")
    for one in (ranker, loaded):
        one.compact()
        one.partial_fit(X[:50], Y[:50])
    assert loaded.state_hash() == ranker.state_hash()
    assert loaded.fit(X[:500], Y[:500]).passes_ == DEFAULT.passes  # nothing is left of the choice


def test_tried_are_what_the_docstring_says(monkeypatch):
    tried = []

    def scores(_, ranker, __, wanted):
        tried.append(ranker)
        return dict.fromkeys(wanted, 0.0)

    monkeypatch.setattr(Trials, "scores", scores)
    Cascade().fit(*stream(1000))
    assert sorted((ranker.few_labels > 0, ranker.passes) for ranker in tried) == [(False, 2), (True, 5)]
    assert {choice.passes for choice in CHOICES if choice.is_linear} == {2, 3, 5}
    assert not any(ranker.calibrate for ranker in tried)  # all their rows are learned in every pass


@pytest.mark.parametrize("n_rows", [600, 6000])  # the linear model beside votes, and alone
def test_one_training_ranks_after_each_pass_as_a_training_with_so_many_passes(n_rows):
    X, Y = stream(n_rows)
    longest = Cascade(calibrate=False, passes=5, few_labels=500)
    longest.reset()
    source, seen = longest.source(longest.encode(X, Y)), []
    for n, ranker in longest.learn_in_passes(source, None, [2, 3, 5]):
        alone = Cascade(calibrate=False, passes=n, few_labels=500)
        alone.reset()
        alone.learn_all(alone.source(alone.encode(X, Y)))
        expected, found = (one.component(Linear).arrays() for one in (alone, ranker))
        assert all(np.array_equal(a, b) for a, b in zip(expected, found, strict=True))
        seen.append(n)
    assert seen == [2, 3, 5]


@pytest.mark.parametrize("params", [{"passes": 2}, {"few_labels": 500}, {"candidates": 5}, {"shards": 2}])
def test_a_parameter_that_is_given_is_not_tried(params, monkeypatch):
    monkeypatch.setattr("abound.rankers.cascade.Trials", lambda *_: pytest.fail("it was tried"))
    X, Y = stream(1200)
    Cascade(**params).fit(X, Y)
    Cascade().fit(X[:999], Y[:999])
    with pytest.raises(pytest.fail.Exception):
        Cascade().fit(X, Y)


def test_votes_are_chosen_where_they_rank_better():
    # Each label has its own words, most of which occur once or twice.
    rng = np.random.default_rng(0)
    labels = rng.integers(200, size=2500)
    X = sp.lil_array((2500, 4000))
    for row, label in enumerate(labels):
        X[row, label * 20 + rng.integers(20, size=3)] = 1.0
        X[row, rng.integers(4000, size=3)] = 1.0
    found = [Cascade(calibrate=False, **params).fit(X[:2000], labels[:2000].tolist()) for params in ({}, {"passes": 3})]
    scores = [one.score(X[2000:], labels[2000:].tolist()) for one in found]
    assert scores[0] >= scores[1]


def test_of_equal_choices_the_default_is_taken():
    assert best(dict.fromkeys(CHOICES, 0.5)) == DEFAULT
    assert best(dict.fromkeys(CHOICES, 0.5) | {Choice(is_linear=False, passes=2): 0.6}).is_linear is False


@pytest.mark.parametrize("labels", [[], [["a"]]], ids=["none", "one"])
def test_rows_that_hardly_have_labels_are_learned(labels):
    Y = [*labels, *[[] for _ in range(1200 - len(labels))]]
    ranker = Cascade().fit(np.ones((1200, 1)), Y)
    assert ranker.rank([[1]], 3)[0] == [] if not labels else ranker.rank([[1]], 3)[0][0][0] == "a"
