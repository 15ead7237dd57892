"""The curve of progress and its verdict, compared with SciPy's intervals and tests."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from scipy.stats import binomtest, norm

from abound.server.history import Outcome
from abound.server.progress import COMPARED, MIN_COMPARED, SMOOTHED, curve, sentence, verdict, wilson

MONDAY = datetime(2026, 3, 2, 9, tzinfo=UTC)


def outcomes_of(rights, start=MONDAY, hours=1):
    first = round(start.timestamp() * 1e6)
    return [
        Outcome(number, bool(right), {}, {}, first + number * hours * 3_600_000_000)
        for number, right in enumerate(rights)
    ]


@pytest.mark.parametrize(("right", "n"), [(0, 1), (1, 1), (7, 20), (31, 100), (500, 500), (3, 1000)])
def test_the_interval_is_wilsons(right, n):
    expected = binomtest(right, n).proportion_ci(0.95, "wilson")
    assert wilson(right, n) == pytest.approx((right / n, expected.low, expected.high), abs=1e-6)


def test_there_is_one_point_a_correction_with_the_mean_of_the_last():
    rights = np.random.default_rng(0).random(700) < 0.3
    points = curve(outcomes_of(rights))
    assert [point.sequence for point in points] == list(range(700))
    assert [point.right for point in points] == rights.tolist()
    for end, point in enumerate(points, 1):
        last = rights[max(0, end - SMOOTHED) : end]
        assert point.mean == pytest.approx(wilson(int(last.sum()), len(last)))
    assert curve([]) == []


@pytest.mark.parametrize("seed", range(20))
def test_the_verdict_is_that_of_a_test_of_two_proportions(seed):
    draw = np.random.default_rng(seed)
    n = int(draw.integers(MIN_COMPARED, 400))
    rights = draw.random(2 * n) < np.repeat(draw.uniform(0.2, 0.5, 2), n)
    found = verdict(outcomes_of(rights))
    before, now = rights[:n].mean(), rights[n:].mean()
    pooled = (before + now) / 2
    p = 2 * norm.sf(abs(now - before) / np.sqrt(pooled * (1 - pooled) * 2 / n))
    expected = "unchanged" if p >= 0.05 else "better" if now > before else "worse"
    assert (found.direction, found.now.share, found.before.share, found.corrections) == (expected, now, before, n)


def test_only_the_last_thousand_are_compared_and_few_tell_nothing():
    found = verdict(outcomes_of([*[1] * 300, *[0] * 2 * COMPARED]))
    assert (found.direction, found.now.share, found.before.share) == ("unchanged", 0, 0)
    for rights in ([], [1], [0, 1] * (MIN_COMPARED - 1)):
        few = verdict(outcomes_of(rights))
        assert (few.direction, few.before, few.since) == ("unknown", None, None)
    assert sentence(verdict([]), MONDAY) == "no text was corrected yet"
    assert sentence(verdict(outcomes_of([1, 0])), MONDAY) == "50% ± 41, too few texts to see a change: 2 of 40"


def test_the_sentence_names_the_day():
    unchanged = verdict(outcomes_of([1, 0] * 100, hours=0))
    monday = "since Monday"
    days = {0: "today", 1: "since yesterday", 3: monday, 6: monday, 7: "since 2 March 2026"}
    for later, words in days.items():
        assert sentence(unchanged, MONDAY + timedelta(days=later)) == f"50% ± 10, unchanged {words}"
    better = verdict(outcomes_of([0] * 72 + [1] * 72))
    assert better.since == round((MONDAY + timedelta(days=3)).timestamp() * 1e6)
    assert sentence(better, MONDAY + timedelta(days=6)) == "100% ± 3, better since Thursday (0% ± 3 before)"
    worse = verdict(outcomes_of([1] * 72 + [0] * 72))
    assert sentence(worse, MONDAY + timedelta(days=6)) == "0% ± 3, worse since Thursday (100% ± 3 before)"
