"""Shards: the same bytes for the same cut, whatever the threads, and nearly as good as learning in one go."""

import numpy as np
import pytest
from sklearn.base import clone

from abound import Cascade, FeatureFocus, merge
from abound.components.threads import bounds, in_threads
from abound.training.source import training_order
from tests.rankers.streams import stream

CASES = {
    "many labels": {"few_labels": 0},
    "few labels": {"few_labels": 1000},
    "several passes": {"few_labels": 0, "passes": 3},
    "several rounds": {"few_labels": 0, "rounds": 3, "passes": 2},
}


@pytest.mark.parametrize("case", CASES)
def test_the_state_depends_on_the_shards_and_not_on_the_threads(case):
    X, Y = stream(600)
    hashes = {Cascade(**CASES[case], shards=3, n_jobs=n_jobs).fit(X, Y).state_hash() for n_jobs in (1, 2, 5, 2)}
    assert len(hashes) == 1
    assert hashes != {Cascade(**CASES[case], shards=2).fit(X, Y).state_hash()}


@pytest.mark.parametrize("case", CASES)
def test_one_shard_is_no_shard(case):
    X, Y = stream(300)
    plain = Cascade(**CASES[case]).fit(X, Y).state_hash()
    assert Cascade(**CASES[case], n_jobs=3, shards=1).fit(X, Y).state_hash() == plain
    assert Cascade(**CASES[case], n_jobs=2).fit(X, Y).state_hash() != plain


INDEXES = {
    "paper": {},
    "learned": {"rating": "learned"},
    "strict": {"leak": False, "margin": None, "w_min": 0.1},
    "several passes": {"passes": 3},
}


@pytest.mark.parametrize("case", INDEXES)
def test_an_index_is_learnt_in_shards_too(case):
    X, Y = stream(600)
    hashes = {FeatureFocus(**INDEXES[case], shards=3, n_jobs=n).fit(X, Y).state_hash() for n in (1, 2, 5)}
    assert len(hashes) == 1
    one = FeatureFocus(**INDEXES[case]).fit(X, Y)
    assert FeatureFocus(**INDEXES[case], shards=1, n_jobs=2).fit(X, Y).state_hash() == one.state_hash()
    shards = FeatureFocus(**INDEXES[case], n_jobs=2).fit(X, Y)
    assert shards.state_hash() != one.state_hash()
    assert shards.score(X, Y) > one.score(X, Y) - 0.01


def test_one_pass_of_an_index_in_shards_is_the_merge_of_what_was_learnt_apart():
    X, Y = stream(600)
    together = FeatureFocus(shards=3).fit(X, Y)
    names = together.labels_.names
    apart = [FeatureFocus().partial_fit(X[a:b], Y[a:b], classes=names) for a, b in bounds(600, 3)]
    assert merge(*apart).state_hash() == together.state_hash()


def test_few_labels_are_learnt_in_shards_after_the_trial_too(monkeypatch):
    monkeypatch.setattr("abound.rankers.auto.TRIAL_ROWS", 100)
    X, Y = stream(300)
    one, other = (Cascade(shards=2, n_jobs=n_jobs).fit(X, Y) for n_jobs in (1, 2))
    assert one.state_hash() == other.state_hash()
    assert (one.n_edges_, one.n_learned) == (0, 300)
    assert one.n_pairs_ > 0
    assert one.score(X, Y) > Cascade().fit(X, Y).score(X, Y) - 0.01


@pytest.mark.parametrize("few_labels", [0, 1000])
def test_shards_rank_nearly_as_well(few_labels):
    X, Y = stream(4000, n_features=200, n_labels=20)
    scores = [
        Cascade(few_labels=few_labels, shards=shards).fit(X[:3000], Y[:3000]).score(X[3000:], Y[3000:])
        for shards in (1, 2, 4)
    ]
    assert scores[0] > 0.7
    assert min(scores) > scores[0] - 0.03


def test_one_pass_in_shards_is_the_merge_of_models_that_learnt_them_apart():
    X, Y = stream(600)
    together = Cascade(few_labels=0, passes=1, shards=3, rounds=1, calibrate=False).fit(X, Y)
    names = together.labels_.names  # the order of a row's labels is that of their numbers
    parts = [training_order(600, 0)[a:b] for a, b in bounds(600, 3)]
    plain = Cascade(few_labels=0, calibrate=False)
    apart = [clone(plain).partial_fit(X[part], [Y[i] for i in part], classes=names) for part in parts]
    assert merge(*apart).state_hash() == together.state_hash()


def test_more_than_two_shards_are_merged_four_times_a_pass():
    X, Y = stream(600)
    for shards, rounds in ((2, 1), (3, 4), (8, 4)):
        usual, given = (Cascade(few_labels=0, shards=shards, rounds=one).fit(X, Y) for one in (None, rounds))
        other = Cascade(few_labels=0, shards=shards, rounds=2).fit(X, Y)
        lists = [ranker.head.store.edges(0, ranker.head.store.n_features).tobytes() for ranker in (usual, given, other)]
        assert lists[0] == lists[1] != lists[2]


def test_there_may_be_more_shards_than_rows():
    X, Y = stream(3)
    for few_labels in (0, 1000):
        ranker = Cascade(few_labels=few_labels, shards=5, n_jobs=2, rounds=2).fit(X, Y)
        assert ranker.score(X, Y) == 1.0
        assert ranker.n_rows_seen_ == 3


def test_a_model_that_learnt_in_shards_is_saved_and_goes_on_learning(tmp_path):
    X, Y = stream(400)
    ranker = Cascade(few_labels=0, shards=2, n_jobs=2).fit(X[:300], Y[:300])
    ranker.save(tmp_path)
    from abound import load

    loaded = load(tmp_path)
    assert loaded.state_hash() == ranker.state_hash()
    loaded.partial_fit(X[300:], Y[300:])
    ranker.partial_fit(X[300:], Y[300:])
    assert loaded.state_hash() == ranker.state_hash()


def test_totals_stay_below_the_horizon():
    X, Y = stream(600)
    ranker = Cascade(few_labels=0, horizon=5.0, shards=3).fit(X, Y)
    _, totals, _ = ranker.head.store.headers()
    assert 2.5 < totals.max() <= 5.0


@pytest.mark.parametrize("name", ["n_jobs", "shards", "rounds"])
def test_a_number_below_one_is_refused(name):
    X, Y = stream(10)
    with pytest.raises(ValueError, match=f"{name} must be at least 1, got 0"):
        Cascade(**{name: 0}).fit(X, Y)


def test_an_error_in_a_thread_comes_out():
    def work(number):
        if number == 2:
            raise ValueError("shard 2")
        return number

    assert in_threads(work, [0, 1], 2) == [0, 1]
    with pytest.raises(ValueError, match="shard 2"):
        in_threads(work, [0, 1, 2, 3], 2)


def test_ranges_cover_the_rows_once():
    for n_rows, shards in ((0, 3), (2, 5), (10, 3), (7, 7)):
        rows = [row for start, stop in bounds(n_rows, shards) for row in range(start, stop)]
        assert rows == list(range(n_rows))
        assert len(bounds(n_rows, shards)) == shards
        assert np.ptp([stop - start for start, stop in bounds(n_rows, shards)]) <= 1
