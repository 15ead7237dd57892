"""Hierarchical precision, recall and F1 against figures computed by hand."""

import math

import pytest

from abound.metrics.hierarchical import hierarchical_quality

# 1 and 2 are below 10; 10 and 3 are below 100, whose weight is lower.
ABOVE = {
    1: {1: 1.0, 10: 1.0, 100: 0.5},
    2: {2: 1.0, 10: 1.0, 100: 0.5},
    3: {3: 1.0, 100: 0.25},
}


@pytest.mark.parametrize(
    ("true", "predicted", "shared", "n_predicted", "n_true"),
    [
        ([[1]], [[1]], 2.5, 2.5, 2.5),
        ([[1]], [[2]], 1.5, 2.5, 2.5),
        ([[1]], [[3]], 0.25, 1.25, 2.5),  # the smaller weight of what both have
        ([[1]], [[2, 3]], 1.5, 3.5, 2.5),  # the larger weight within a set
        ([[1, 2]], [[1]], 2.5, 2.5, 3.5),
        ([[1], [3]], [[2], [3]], 2.75, 3.75, 3.75),
        ([[1], [3]], [[2], []], 1.5, 2.5, 3.75),
    ],
)
def test_figures_by_hand(true, predicted, shared, n_predicted, n_true):
    found = hierarchical_quality(true, predicted, ABOVE.__getitem__)
    wanted = (shared / n_predicted, shared / n_true, 2 * shared / (n_predicted + n_true))
    assert tuple(found) == pytest.approx(wanted)


def test_without_labels_nothing_can_be_measured():
    nothing = hierarchical_quality([[]], [[1]], ABOVE.__getitem__)
    assert nothing.precision == 0.0
    assert math.isnan(nothing.recall)
    assert math.isnan(nothing.f1)
    silent = hierarchical_quality([[1]], [[]], ABOVE.__getitem__)
    assert math.isnan(silent.precision)
    assert (silent.recall, silent.f1) == (0.0, 0.0)


def test_each_text_needs_a_prediction():
    with pytest.raises(ValueError, match="shorter"):
        hierarchical_quality([[1], [2]], [[1]], ABOVE.__getitem__)
