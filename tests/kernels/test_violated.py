"""The most violated ranking equals brute force over all rankings, for every loss."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abound.kernels.violated import LOSS_ACCURACY, LOSS_MAP, LOSS_ROC, violated_rankings
from tests.reference import svm_map

pytestmark = pytest.mark.kernel
LOSSES = {"map": LOSS_MAP, "roc": LOSS_ROC, "accuracy": LOSS_ACCURACY}
# Few different values make ties; quarters and halves make ties between a score's loss and a ranking's.
SCORES = st.one_of(st.sampled_from([-1.0, -0.5, -0.25, 0.0, 0.05, 0.25, 0.5, 1.0]), st.floats(-3, 3))


def run(loss, scores, relevant, indptr=None, relevant_weight=1.0):
    scores, relevant = np.array(scores, float), np.array(relevant, np.uint8)
    indptr = np.array([0, len(scores)] if indptr is None else indptr, np.int64)
    weights, losses = np.full(len(scores), np.nan), np.full(len(indptr) - 1, np.nan)
    violated_rankings(LOSSES[loss], relevant_weight, scores, relevant, indptr, 0, len(losses), weights, losses)
    return weights, losses


def places(weights, scores, relevant):
    """Read opt_j back from the row weights, in the order of the other documents' scores."""
    n_rel = sum(relevant)
    n_non = len(relevant) - n_rel
    order = sorted((row for row, r in enumerate(relevant) if not r), key=lambda row: -scores[row])
    return [n_rel + 1 - round(-weights[row] * n_rel * n_non / 2) for row in order]


@st.composite
def queries(draw, low, high):
    n = draw(st.integers(low, high))
    n_rel = draw(st.integers(1, n - 1))
    relevant = draw(st.permutations([True] * n_rel + [False] * (n - n_rel)))
    return draw(st.lists(SCORES, min_size=n, max_size=n)), relevant


@pytest.mark.parametrize(("n", "examples"), [(2, 40), (3, 60), (4, 80), (5, 60), (6, 40), (7, 15)])
@pytest.mark.parametrize("loss", ["map", "roc"])
def test_it_equals_brute_force_over_all_rankings(loss, n, examples):
    @settings(max_examples=examples, deadline=None)
    @given(queries(n, n))
    def check(query):
        scores, relevant = query
        weights, losses = run(loss, scores, relevant)
        value = losses[0] - weights @ np.array(scores)
        assert value == pytest.approx(svm_map.most_violated(loss, scores, relevant), abs=1e-12)

    check()


@settings(max_examples=30, deadline=None)
@given(queries(2, 5), st.sampled_from(["map", "roc"]))
def test_the_oracles_walk_gives_the_h_of_the_definition(query, loss):
    scores, relevant = query
    rankings = permutations(range(len(scores)))
    by_definition = max(svm_map.violation(loss, ranking, scores, relevant) for ranking in rankings)
    assert svm_map.most_violated(loss, scores, relevant) == pytest.approx(by_definition, abs=1e-12)


@settings(max_examples=50, deadline=None)
@given(queries(2, 7))
def test_accuracy_calls_each_document_wrong_on_its_own(query):
    scores, relevant = query
    weights, losses = run("accuracy", scores, relevant)
    expected = svm_map.most_violated_accuracy(scores, relevant)
    assert losses[0] - weights @ np.array(scores) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(queries(2, 30))
def test_places_never_rise_and_follow_the_formula(query):
    scores, relevant = query
    weights, losses = run("map", scores, relevant)
    found = places(weights, scores, relevant)
    assert found == sorted(found)
    # The ranking that the places describe has the loss and the value that the kernel says.
    rel = sorted((row for row, r in enumerate(relevant) if r), key=lambda row: -scores[row])
    non = sorted((row for row, r in enumerate(relevant) if not r), key=lambda row: -scores[row])
    ranking = []
    for place, row in enumerate(rel, 1):
        ranking += [other for other, at in zip(non, found, strict=True) if at == place] + [row]
    ranking += [other for other, at in zip(non, found, strict=True) if at > len(rel)]
    assert losses[0] == pytest.approx(svm_map.delta("map", ranking, relevant), abs=1e-12)
    value = losses[0] - weights @ np.array(scores)
    assert value == pytest.approx(svm_map.violation("map", ranking, scores, relevant), abs=1e-12)
    by_formula = svm_map.opt_places(scores, relevant)
    ranking = []
    for place, row in enumerate(rel, 1):
        ranking += [other for other, at in zip(non, by_formula, strict=True) if at == place] + [row]
    ranking += [other for other, at in zip(non, by_formula, strict=True) if at > len(rel)]
    assert value == pytest.approx(svm_map.violation("map", ranking, scores, relevant), abs=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("relevant", [[], [1], [0], [1, 1], [0, 0, 0]])
def test_a_query_of_one_kind_carries_no_constraint(loss, relevant):
    weights, losses = run(loss, [0.0] * len(relevant), relevant)
    assert losses.tolist() == [0.0]
    assert not weights.any()


@pytest.mark.parametrize("loss", LOSSES)
def test_queries_do_not_touch_each_other_and_may_be_done_in_parts(loss):
    rng = np.random.default_rng(0)
    scores, relevant = rng.normal(size=60), rng.random(60) < 0.3
    indptr = np.array([0, 10, 10, 11, 40, 60])
    weights, losses = run(loss, scores, relevant, indptr)
    for q in range(5):
        part = slice(indptr[q], indptr[q + 1])
        alone, loss_alone = run(loss, scores[part], relevant[part])
        assert alone.tolist() == weights[part].tolist()
        assert loss_alone[0] == losses[q]
    part_weights, part_losses = np.zeros(60), np.zeros(5)
    for start, stop in ((3, 5), (0, 3)):
        violated_rankings(
            LOSSES[loss], 1.0, scores, relevant.astype(np.uint8), indptr, start, stop, part_weights, part_losses
        )
    assert part_weights.tolist() == weights.tolist()
    assert part_losses.tolist() == losses.tolist()


def test_false_negatives_may_weigh_more():
    weights, losses = run("accuracy", [0.0, 0.0, 0.0], [True, False, False], relevant_weight=2.0)
    assert weights.tolist() == [0.5, -0.25, -0.25]
    assert losses[0] == 1.0


def test_scores_that_do_not_fit_the_queries_are_refused():
    with pytest.raises(ValueError, match="must match the queries"):
        run("map", [0.0, 1.0], [1, 0], indptr=[0, 3])
    with pytest.raises(ValueError, match="out of range"):
        violated_rankings(7, 1.0, np.zeros(1), np.zeros(1, np.uint8), np.array([0, 1]), 0, 1, np.zeros(1), np.zeros(1))
