"""Calibration bins and their error, against a version in plain Python and known cases."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abound.metrics import calibration_bins, expected_calibration_error

PREDICTIONS = st.lists(st.tuples(st.sampled_from([0.0, 0.05, 0.1, 0.3, 0.5, 0.9, 1.0]), st.booleans()), max_size=60)


def plain_bins(pairs, n_bins):
    """The same in plain Python: a bin starts at each planned position, moved to the first of equal probabilities."""
    pairs = sorted(pairs, key=lambda pair: pair[0])
    starts = set()
    for number in range(n_bins if pairs else 0):
        place = number * len(pairs) // n_bins
        while place and pairs[place - 1][0] == pairs[place][0]:
            place -= 1
        starts.add(place)
    edges = [*sorted(starts), len(pairs)]
    bins = []
    for start, end in itertools.pairwise(edges):
        part = pairs[start:end]
        bins.append((sum(p for p, _ in part) / len(part), sum(right for _, right in part) / len(part), len(part)))
    return bins


@given(PREDICTIONS, st.integers(1, 20))
def test_bins_equal_a_plain_version(pairs, n_bins):
    p, right = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    found, wanted = calibration_bins(p, right, n_bins), plain_bins(pairs, n_bins)
    assert [b.n for b in found] == [n for _, _, n in wanted]
    np.testing.assert_allclose([b.probability for b in found], [mean for mean, _, _ in wanted], atol=1e-12)
    np.testing.assert_allclose([b.right for b in found], [share for _, share, _ in wanted], atol=1e-12)
    if pairs:
        error = sum(n * abs(mean - share) for mean, share, n in wanted) / len(pairs)
        assert expected_calibration_error(p, right, n_bins) == pytest.approx(error, abs=1e-12)


@given(PREDICTIONS, st.randoms(use_true_random=False))
def test_the_order_of_predictions_does_not_matter(pairs, random):
    mixed = list(pairs)
    random.shuffle(mixed)
    first, second = (calibration_bins([p for p, _ in of], [r for _, r in of], 4) for of in (pairs, mixed))
    assert [(b.n, b.low, b.high) for b in first] == [(b.n, b.low, b.high) for b in second]
    np.testing.assert_allclose([b[:2] for b in first], [b[:2] for b in second], atol=1e-12)


def test_bins_have_equal_mass_and_cover_the_range():
    p = np.random.default_rng(0).random(1500)
    bins = calibration_bins(p, p > 0.5)
    assert [b.n for b in bins] == [100] * 15
    assert bins[0].low == p.min()
    assert bins[-1].high == p.max()
    assert all(before.high < after.low for before, after in itertools.pairwise(bins))


def test_known_errors():
    rng = np.random.default_rng(1)
    p = rng.random(200_000)
    right = rng.random(len(p)) < p
    assert expected_calibration_error(p, right) < 0.005
    assert expected_calibration_error(p, rng.random(len(p)) < p**2) == pytest.approx(1 / 6, abs=0.01)
    assert expected_calibration_error(1 - p, right) == pytest.approx(0.5, abs=0.01)
    assert expected_calibration_error([1.0, 0.0], [True, False]) == 0.0
    assert expected_calibration_error(np.full((2, 5), 0.3), np.zeros((2, 5), bool)) == pytest.approx(0.3)
    assert np.isnan(expected_calibration_error([], []))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([0.5], [True, False]), "as many probabilities as judgements, got 1 and 2"),
        (([1.5], [True]), "numbers from 0 to 1"),
        (([float("nan")], [True]), "numbers from 0 to 1"),
        (([0.5], [3]), "true or false"),
        (([0.5], [True], 0), "n_bins must be a whole number of at least 1, got 0"),
        (([0.5], [True], 2.5), "n_bins must be a whole number of at least 1, got 2.5"),
    ],
)
def test_what_cannot_be_measured_is_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        calibration_bins(*arguments)
