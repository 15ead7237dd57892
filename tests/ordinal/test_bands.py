"""Bands track the precision that is wanted, whatever the scores' scale, and say when it cannot be had."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from abound.calibration import Calibration
from abound.ordinal.bands import APPLY, HIDE, LEVELS, MIN_FEEDBACK, STEP, SUGGEST, Bands


def ranked_stream(n=3000, k=5, n_labels=30, seed=0, sharpness=2.0):
    """Rankings whose labels are right the more often the higher they score; some labels are better than others."""
    rng = np.random.default_rng(seed)
    scores = -np.sort(-rng.normal(size=(n, k)), axis=1)
    labels = np.argsort(rng.random((n, n_labels)), axis=1)[:, :k]
    quality = rng.normal(size=n_labels)
    right = rng.random((n, k)) < 1 / (1 + np.exp(-(sharpness * scores + quality[labels] - 1)))
    return labels, scores, right


def precision(bands, right, band=APPLY):
    return right[bands == band].mean()


@pytest.mark.parametrize("target", [0.8, 0.9, 0.95])
def test_the_precision_of_applied_labels_is_the_target(target):
    labels, scores, right = ranked_stream()
    found = Bands(target).learn(labels, scores, right)
    late = slice(1000, None)
    assert precision(found[late], right[late]) == pytest.approx(target, abs=0.02)
    assert (found[late] == APPLY).mean() > 0.03
    assert precision(found[late], right[late], SUGGEST) > 0.27  # more where there is nothing worse to show


def test_the_precision_is_regained_after_a_shift():
    labels, scores, right = ranked_stream(4000)
    worse = right.copy()
    worse[2000:] &= np.random.default_rng(1).random((2000, 5)) < 0.9  # a tenth of what was right is so no longer
    found = Bands(0.75).learn(labels, scores, worse)
    assert precision(found[2000:], worse[2000:]) == pytest.approx(0.75, abs=0.02)


@pytest.mark.parametrize(("unit", "origin"), [(1000.0, 0.0), (1e-4, 0.0), (1.0, 50.0), (0.01, -7.0)])
def test_unit_and_origin_of_the_scores_do_not_matter(unit, origin):
    labels, scores, right = ranked_stream(600)
    plain, scaled = Bands(0.8), Bands(0.8)
    one = plain.learn(labels, scores, right)
    other = scaled.learn(labels, scores * unit + origin, right)
    assert np.mean(one == other) > 0.999  # but for rounding


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.sampled_from([0.5, 0.9, 0.99]), st.booleans())
def test_thresholds_stay_in_order_and_the_precision_is_off_by_no_more_than_they_moved(seed, target, grouped):
    rng = np.random.default_rng(seed)
    n, k = 60, 4
    labels = np.argsort(rng.random((n, 8)), axis=1)[:, :k]
    labels[rng.random((n, k)) < 0.2] = -1
    labels = -np.sort(-labels, axis=1)  # padding comes last
    scores, right = -np.sort(-rng.normal(size=(n, k)), axis=1), rng.random((n, k)) < rng.random()
    bands = Bands(target, min(target, 0.3), groups={0: 0, 1: 0, 2: 1} if grouped else None)
    bands.thresholds[:, 1] = 0.5 + bands.thresholds[:, 0]  # so that some are applied
    balance, moved = 0.0, 0.0
    for row in range(n):
        before = bands.thresholds[0].copy()
        likely = bands.probabilities(labels[row], scores[row])
        found = bands.learn(labels[row], scores[row], right[row])
        assert np.all(np.diff(bands.thresholds, axis=1) >= 0)
        assert np.all(found[labels[row] < 0] == HIDE)
        in_band = (found > HIDE) & (np.log(np.maximum(likely, 1e-300) / (1 - likely)) >= before[1])
        if not grouped and in_band.any():  # applied, or would be if the target were seen to be reachable
            balance += target * in_band.sum() - right[row][in_band].sum()
            moved += bands.thresholds[0, 1] - before[1]
    if not grouped and np.abs(bands.thresholds[0, 1]) < LEVELS[-1]:
        assert moved == pytest.approx(STEP * balance, abs=1e-9)


def test_a_target_that_cannot_be_reached_is_said_and_nothing_is_applied_in_the_end():
    labels, scores, right = ranked_stream(3000, sharpness=0.0)
    right = np.random.default_rng(2).random(right.shape) < 0.4
    bands = Bands(0.95)
    assert "too little feedback" in bands.report()
    found = bands.learn(labels, scores, right)
    assert (found[1500:] == APPLY).mean() < 0.002
    assert not bands.reach().is_reachable
    assert "the target of 95% is not reachable" in bands.report()
    assert bands.reach().precision < 0.8
    easy = Bands(0.8)
    easy.learn(*ranked_stream(1000))
    assert easy.reach().is_reachable
    assert "is reachable for" in easy.report()


def test_a_target_that_becomes_reachable_is_found_without_being_applied():
    labels, scores, right = ranked_stream(4000, sharpness=3.0)
    noise = np.random.default_rng(3).random(right.shape) < 0.35
    right[:1500] = noise[:1500]
    bands = Bands(0.9)
    found = bands.learn(labels, scores, right)
    assert (found[1000:1500] == APPLY).sum() < 20
    assert (found[3000:] == APPLY).mean() > 0.05
    assert precision(found[3000:], right[3000:]) == pytest.approx(0.9, abs=0.03)


def test_each_group_has_the_precision_that_is_wanted():
    labels, scores, right = ranked_stream(6000)
    right &= (labels % 2 == 0) | (np.random.default_rng(4).random(right.shape) < 0.85)  # odd labels are worse
    bands = Bands(0.8, groups={label: label % 2 for label in range(30)})
    found = bands.learn(labels, scores, right)
    for group in (0, 1):
        mine = (found[2000:] == APPLY) & (labels[2000:] % 2 == group)
        assert right[2000:][mine].mean() == pytest.approx(0.8, abs=0.03)
        assert bands.reach(group).is_reachable
    assert bands.thresholds[1, 1] != bands.thresholds[2, 1]
    with pytest.raises(ValueError, match="group must be between 0 and 1, got 2"):
        bands.reach(2)


def test_a_group_with_little_feedback_goes_by_all():
    labels, scores, right = ranked_stream(500)
    bands = Bands(0.8, groups={29: 0})
    bands.learn(labels[:100], scores[:100], right[:100])
    assert bands.feedback[1] < MIN_FEEDBACK
    assert bands.cut([29], [9.0]) == Bands.from_state(
        {**bands.state(), "group_of": np.zeros(0, np.int64)}, bands.calibration
    ).cut([29], [9.0])


def test_one_by_one_equals_all_at_once_and_cutting_changes_nothing():
    labels, scores, right = ranked_stream(200)
    whole, single = Bands(groups={1: 0, 2: 1}), Bands(groups={1: 0, 2: 1})
    expected = whole.learn(labels, scores, right)
    for row in range(200):
        cut = single.cut(labels[row], scores[row])
        assert cut.tolist() == single.learn(labels[row], scores[row], right[row]).tolist() == expected[row].tolist()
    assert_same(single.state(), whole.state())
    before = {name: array.copy() for name, array in whole.state().items()}
    whole.cut([[99, 3]], [[1.0, 0.5]])
    whole.probabilities([[99, 3]], [[1.0, 0.5]])
    assert_same(whole.state(), before)


def assert_same(one, other):
    assert one.keys() == other.keys()
    for name in one:
        assert one[name].tolist() == other[name].tolist(), name


def test_the_state_is_plain_arrays_that_restore_all():
    labels, scores, right = ranked_stream(300)
    bands = Bands(0.8, 0.2, groups={3: 0})
    bands.learn(labels, scores, right)
    calibration = Calibration.from_state(bands.calibration.state())
    again = Bands.from_state({name: array.copy() for name, array in bands.state().items()}, calibration)
    assert_same(again.state(), bands.state())
    for one in (bands, again):
        one.learn(labels, scores, right)
    assert_same(again.state(), bands.state())
    assert again.probabilities(labels, scores).tolist() == bands.probabilities(labels, scores).tolist()


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("thresholds", np.array([[2.0, 1.0]]), "not in order"),
        ("watched", np.zeros((1, 3)), "watched of the bands has a wrong type or shape"),
        ("group_of", np.array([5]), "has an unknown group"),
    ],
)
def test_a_damaged_state_is_refused(name, array, message):
    with pytest.raises(ValueError, match=message):
        Bands.from_state({**Bands().state(), name: array}, Calibration())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Bands(1.5), "apply must be between 0.001 and 0.999, got 1.5"),
        (lambda: Bands(0.2, 0.5), "suggest must not be above apply=0.2, got 0.5"),
        (lambda: Bands(groups={1: -1}), "a group's number must be between 0 and"),
        (lambda: Bands().cut([1, 2], [1.0]), "labels and scores must have one shape"),
        (lambda: Bands().cut([1], [np.nan]), "scores must be finite numbers"),
        (lambda: Bands().learn([1, 2], [2.0, 1.0], [True]), "accepted and shown must have the shape of labels"),
    ],
)
def test_bad_input_gets_one_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_rows_without_a_label_are_passed_over():
    bands = Bands()
    assert bands.learn([[-1, -1]], [[0.0, 0.0]], [[False, False]]).tolist() == [[HIDE, HIDE]]
    assert bands.cut(np.zeros((0, 3), int), np.zeros((0, 3))).shape == (0, 3)
    assert bands.feedback[0] == 0


def test_damaged_sparse_feedback_is_refused_with_a_sentence():
    damaged = sp.dia_array((np.ones((1, 2)), np.array([0])), shape=(2, 2))
    damaged.data = np.ones(3)  # it should have two dimensions
    for feedback in ({"accepted": damaged}, {"accepted": [True, False], "shown": damaged}):
        with pytest.raises(ValueError, match=r"accepted|shown"):
            Bands().learn([0, 1], [0.9, 0.1], **feedback)
