"""The lemmas, the theorem and the bound of the feature-focus paper, by exhaustive search on small instances."""

import itertools

import numpy as np
import pytest

from abound import FeatureFocus
from tests.reference.feature_focus import FeatureFocusOracle


def random_oracle(random, n_features=6, n_labels=5, **params):
    oracle = FeatureFocusOracle(**params)
    for _ in range(40):
        row = {int(f): 0.25 * int(random.integers(1, 5)) for f in np.flatnonzero(random.random(n_features) < 0.5)}
        oracle.learn(row, [int(random.integers(n_labels))])
    return oracle


@pytest.mark.parametrize("seed", range(10))
def test_lemma_1_scaling_all_weights_keeps_the_ranking(seed):
    random = np.random.default_rng(seed)
    oracle = random_oracle(random, margin=0.1)
    W = np.array(
        [[dict(oracle.edges.get(f, [])).get(c, 0.0) / oracle.W.get(f, 1.0) for c in range(5)] for f in range(6)]
    )
    row = random.random(6)
    order = np.argsort(-(row @ W), kind="stable")
    for factor in (2.0**-20, 4.0, 2.0**30):  # powers of two, which are exact
        assert np.argsort(-(row @ (factor * W)), kind="stable").tolist() == order.tolist()
    assert np.argsort(-(row @ -W), kind="stable").tolist() != order.tolist()  # a negative factor does change it


def rewards(sequence, chosen):
    """Return the sum of reciprocal ranks of a sequence of labels, and how many of them are in an ordered list."""
    ranks = {label: place + 1 for place, label in enumerate(chosen)}
    return sum(1 / ranks[label] for label in sequence if label in ranks), sum(label in ranks for label in sequence)


@pytest.mark.parametrize("seed", range(10))
def test_lemma_3_the_most_frequent_labels_in_order_are_the_best_list_of_a_feature(seed):
    random = np.random.default_rng(seed)
    sequence = random.choice(5, 30, p=random.dirichlet(np.ones(5))).tolist()
    ranker = FeatureFocus(margin=None, w_min=0.0, d_max=3, rating="none").fit(np.ones((30, 1)), np.array(sequence))
    learned = [int(label) for label, _ in ranker.rank([[1.0]], k=3)[0]]  # what one feature ranks, if it always learns
    lists = [chosen for k in range(1, 4) for chosen in itertools.permutations(range(5), k)]
    found = rewards(sequence, learned)
    assert found[0] == pytest.approx(max(rewards(sequence, chosen)[0] for chosen in lists))
    assert found[1] == max(rewards(sequence, chosen)[1] for chosen in lists)


def smallest_cover(n_elements, subsets):
    for size in range(1, len(subsets) + 1):
        for chosen in itertools.combinations(subsets, size):
            if set().union(*chosen) == set(range(n_elements)):
                return size
    raise AssertionError("the subsets must cover all elements")


def best_reward(n_elements, subsets):
    """Return how many rows of theorem 4's instance an index with one edge per feature can rank right at most.

    Every feature is a subset; it has an edge to label 1 or to label 2. Weights of label 1 are as high as it takes.
    """
    rows = [({i for i, s in enumerate(subsets) if e in s}, 1) for e in range(n_elements)]
    rows += [({i}, 2) for i in range(len(subsets))]
    best = 0
    for edges in itertools.product((1, 2), repeat=len(subsets)):
        weight = {1: float(len(subsets)), 2: 1.0 / (len(subsets) + 1)}
        right = 0
        for features, label in rows:
            scores = {c: sum(weight[c] for f in features if edges[f] == c) for c in (1, 2)}
            right += scores[label] > scores[3 - label]
        best = max(best, right)
    return best


@pytest.mark.parametrize("seed", range(12))
def test_theorem_4_the_best_index_gives_the_smallest_set_cover(seed):
    random = np.random.default_rng(seed)
    n_elements, n_subsets = int(random.integers(3, 7)), int(random.integers(3, 7))
    subsets = [set(np.flatnonzero(random.random(n_elements) < 0.5).tolist()) for _ in range(n_subsets)]
    missing = set(range(n_elements)) - set().union(*subsets)
    subsets[0] |= missing
    expected = n_elements + n_subsets - smallest_cover(n_elements, subsets)
    assert best_reward(n_elements, subsets) == expected


@pytest.mark.parametrize("w_min", [0.05, 0.1, 0.3])
def test_a_feature_has_at_most_one_label_per_w_min(w_min):
    y = np.minimum(np.random.default_rng(0).geometric(0.1, 400), 60)
    ranker = FeatureFocus(margin=None, w_min=w_min, d_max=None)
    for start in range(0, 400, 10):
        ranker.partial_fit(np.ones((10, 1)), y[start : start + 10])
        assert ranker.n_edges_ <= 1 / w_min
    # The bound is reached: as many labels as it allows, equally often.
    n = int(1 / w_min)
    assert FeatureFocus(margin=None, w_min=w_min).fit(np.ones((n, 1)), np.arange(n)).n_edges_ == n


def test_without_leak_the_lightest_edges_are_dropped_first_and_each_makes_the_next_heavier():
    # The paper does not say in which order edges are dropped. It matters without leak only: each drop lowers the total.
    oracle = FeatureFocusOracle(margin=float("inf"), w_min=0.2, leak=False)
    for label, value in [(0, 1.0), (1, 0.375), (2, 0.375), (0, 0.25)]:
        oracle.learn({0: value}, [label])
    # Shares 1.25, .375, .375 of 2: both light edges are below .2; without the first, the other has .375 / 1.625.
    assert oracle.edges[0] == [(0, 1.25), (1, 0.375)]
    assert oracle.W[0] == 1.625
    ranker = FeatureFocus(margin=None, w_min=0.2, leak=False, rating="none")
    for label, value in [(0, 1.0), (1, 0.375), (2, 0.375), (0, 0.25)]:
        ranker.partial_fit([[value]], [[str(label)]])
    assert dict(ranker.rank([[1.0]], k=3)[0]) == pytest.approx({"0": 1.25 / 1.625, "1": 0.375 / 1.625})
