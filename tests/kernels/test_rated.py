"""The rated index equals its plain-Python oracle, bit for bit and after every row, and follows the true gradient."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from abound import FeatureFocus
from abound.components.votes import LearningParams
from abound.kernels.rated import check_rated
from tests.kernels.drivers import Index, rated_state
from tests.kernels.streams import any_stream, as_matrix, dyadic, extreme, long_stream, numbered, streams
from tests.reference.feature_focus import SMALLEST
from tests.reference.rated import HIGHEST, INITIAL_CORRECTION, LOWEST, RatedOracle, exp_of

pytestmark = pytest.mark.kernel

UNLIMITED = 2**62
USUAL = {"w_min": 0.005, "d_max": 40, "horizon": 65536.0, "leak": True, "boolean": False, "step": 1.0}
USUAL |= LearningParams()._asdict()
CHOICES = {
    "w_min": (0.0, 0.01, 0.3, 0.9),
    "d_max": (1, 2, 25, UNLIMITED),
    "horizon": (2.0, 7.3, 65536.0),
    "leak": (True, False),
    "boolean": (False, True),
    "kappa": (80.0, 1.0, 3000.0),
    "shrink": (8.0, 0.5),
    "rate": (0.3, 3.0, 0.0),
    "rate_start": (0.1, 1e-4),
    "step": (1.0, 0.0, 0.3),
    "step_start": (0.01, 1.0),
}
options = st.fixed_dictionaries({name: st.sampled_from(values) for name, values in CHOICES.items()})
seeds = st.none() | st.integers(0, 99)


def check_row_by_row(options, stream, seed=None):
    """Learn a stream in two ways, and compare them after every row."""
    index, oracle = Index(options), RatedOracle(**options)
    examples = numbered(stream, seed)
    for e in examples:
        assert index.rank(e.row, e.n_labels) == oracle.rank(e.row)
        index.learn([e], rejections=seed is not None)
        oracle.learn(e.row, e.labels, e.wrong)
        assert index.state() == rated_state(oracle, index.pool.n_features)
        assert index.rank(e.row, e.n_labels) == oracle.rank(e.row)
        assert check_rated(*index.arrays(), e.n_labels) is None
    return index, oracle, examples


def test_the_exponential_is_that_of_the_library():
    for x in np.concatenate([np.linspace(-699, 699, 4001), np.linspace(-1, 1, 1001)]).tolist():
        assert exp_of(x) == pytest.approx(math.exp(x), rel=1e-12)
    assert exp_of(0.0) == 1.0


@settings(deadline=None, max_examples=200)
@given(options, any_stream, seeds)
@example(USUAL, [({}, [], 0)], None)
@example(USUAL, [({}, [7], 2), ({3: 1.0}, [], 0), ({3: 1.0}, [7, 7], 0)], 1)
def test_state_and_ranking_equal_the_oracle_after_every_row(options, stream, seed):
    index, oracle, examples = check_row_by_row(options, stream, seed)
    n_labels = examples[-1].n_labels
    for e in examples:
        assert index.rank(e.row, n_labels) == oracle.rank(e.row)
        assert index.rank(e.row, n_labels, 2) == oracle.rank(e.row)[:2]


@settings(deadline=None, max_examples=100)
@given(options, streams(extreme, max_rows=10), seeds)
def test_values_at_the_ends_of_single_precision_equal_the_oracle(options, stream, seed):
    check_row_by_row(options, stream, seed)


@pytest.mark.parametrize("exact", [True, False], ids=["dyadic", "arbitrary"])
@pytest.mark.parametrize("leak", [True, False], ids=["leak", "no-leak"])
@pytest.mark.parametrize("w_min", CHOICES["w_min"])
def test_long_lists_equal_the_oracle_after_every_row(w_min, leak, exact):
    for seed, changed in enumerate([{"d_max": 25}, {"d_max": UNLIMITED, "horizon": 9.0}, {"d_max": 2, "step": 0.0}]):
        options = {**USUAL, "w_min": w_min, "leak": leak, **changed}
        stream = long_stream(seed, 120, 12, 150, exact)
        _, oracle, _ = check_row_by_row(options, stream, seed if options["step"] else None)
        if w_min < 0.1:  # otherwise there is hardly an edge to learn by
            assert any(rating.value for rating in oracle.ratings.values())
            corrections = [th.value for found in oracle.corrections.values() for th in found.values()]
            assert any(th != INITIAL_CORRECTION for th in corrections) == (options["step"] > 0)


def test_ratings_stay_within_their_limits():
    # One feature that is always right among one that is always wrong, at a rate that would carry both away.
    options = {**USUAL, "rate": 50.0, "kappa": 3.0, "step": 0.0}
    stream = [({0: 1.0, 1: 1.0}, ["a"], 0), ({1: 1.0}, ["b"], 0)] * 4
    _, oracle, _ = check_row_by_row(options, [*stream, ({0: 1.0, 1: 1.0}, ["a"], 0)] * 3)
    ratings = {rating.value for rating in oracle.ratings.values()}
    assert min(ratings) == pytest.approx(LOWEST, abs=1e-5)  # a gradient may lead back from it
    assert max(ratings) == HIGHEST
    assert all(LOWEST <= rating <= HIGHEST for rating in ratings)


@settings(deadline=None, max_examples=80)
@given(options, any_stream, seeds)
def test_explanations_are_the_oracles_votes_and_sum_to_the_score(options, stream, seed):
    index, oracle, examples = check_row_by_row(options, stream, seed)
    n_labels = examples[-1].n_labels
    for e in examples:
        scores = dict(index.rank(e.row, n_labels))
        values = dict(oracle.active(e.row))
        for label in range(n_labels):
            votes, corrections = index.explain(e.row, label)
            assert votes == oracle.explain(e.row, label)
            assert corrections == [values[f] * oracle.corrections[f][label].value for f, _ in votes]
            total = 0.0
            for _, vote in votes:
                total += vote
            assert total == scores.get(label, 0.0)


@settings(deadline=None, max_examples=80)
@given(options, any_stream, seeds, st.data())
def test_chunks_of_any_size_reach_the_same_state(options, stream, seed, data):
    examples = numbered(stream, seed)
    single, chunked, start = Index(options), Index(options), 0
    for e in examples:
        single.learn([e])
    while start < len(examples):
        end = start + data.draw(st.integers(1, len(examples) - start), label="chunk")
        chunked.learn(examples[start:end])
        start = end
    assert chunked.state() == single.state()


@settings(deadline=None, max_examples=120)
@given(options, any_stream, seeds, st.integers(1, 2))
def test_later_passes_equal_the_oracle_after_every_row(options, stream, seed, passes):
    index, oracle, examples = check_row_by_row(options, stream, seed)
    n_labels = examples[-1].n_labels
    counts = [index.state()[0], [[edge[:2] for edge in edges] for edges in index.state()[2]]]
    for _ in range(passes):
        for e in examples:
            index.learn([e._replace(n_labels=n_labels)], again=True)
            oracle.learn(e.row, e.labels, again=True)
            assert index.state() == rated_state(oracle, index.pool.n_features)
    assert [index.state()[0], [[edge[:2] for edge in edges] for edges in index.state()[2]]] == counts


@pytest.mark.parametrize("exact", [True, False], ids=["dyadic", "arbitrary"])
def test_later_passes_over_a_long_stream_equal_the_oracle(exact):
    index, oracle, examples = check_row_by_row(USUAL, long_stream(4, 150, 12, 60, exact))
    for _ in range(2):
        before = index.state()
        loss = index.learn([e._replace(n_labels=60) for e in examples], again=True, rejections=False)
        losses = []
        for e in examples:
            own = sorted(set(e.labels))
            errors = oracle.errors(e.row, own, own)
            voted = [label for label in own if label in errors]
            losses += [-sum(errors[label] for label in voted)] if voted else []
            oracle.learn(e.row, e.labels, again=True)
        assert index.state() == rated_state(oracle, index.pool.n_features) != before
        assert loss == pytest.approx(sum(losses) / len(losses))


def test_a_row_without_wrong_labels_teaches_nothing_in_a_later_pass():
    index, _, examples = check_row_by_row(USUAL, [({0: 1.0, 2: 0.25}, ["a", "b"], 0)])
    before = index.state()
    assert index.learn(examples, again=True) == 0.0
    assert index.state() == before


def test_an_edge_that_one_row_alone_made_learns_its_correction_in_a_later_pass():
    index, _, examples = check_row_by_row(USUAL, [({0: 1.0}, ["a"], 0), ({0: 1.0, 2: 0.25}, ["b"], 0)])
    index.learn(examples[1:], again=True)
    indptr, edges, _, _ = index.arrays()
    mine = {edge["label"]: edge["correction"] for f, edge in feature_edges(indptr, edges) if f == 2}
    assert mine[1] > 0


# -- the gradient ----------------------------------------------------------------------------------


def loss_of(options, indptr, edges, totals, ratings, row, truth, own):
    """Return the cross entropy of a row, from a state's arrays and in doubles: a formula, not an algorithm."""
    scores = {}
    for f, v in row.items():
        mine = list(edges[indptr[f] : indptr[f + 1]])[: options["d_max"]]
        total = max(0.0, totals[f] - v * len(own))
        for label, w, th, _ in mine:
            left = max(0.0, w - v * (label in own))
            vote = options["kappa"] * math.exp(ratings[f]) * v * left / (total + options["shrink"]) + v * th
            scores[label] = scores.get(label, 0.0) + vote
    voted = [label for label in truth if label in scores]
    if not voted:
        return None
    wrong = [score for label, score in scores.items() if label not in truth]
    return sum(math.log1p(sum(math.exp(score - scores[label]) for score in wrong)) for label in voted) / len(voted)


def derivative(function, at, step=1e-5):
    return (function(at + step) - function(at - step)) / (2 * step)


@pytest.mark.parametrize("again", [False, True], ids=["first pass", "later pass"])
@pytest.mark.parametrize("seed", range(4))
def test_ratings_and_corrections_follow_the_gradient_of_the_softmax_loss(seed, again):
    # Sums of squares begin at 0 here, so that after one row they are the squared gradients themselves.
    options = {**USUAL, "kappa": 12.0, "d_max": 6, "step": 0.5}
    examples = numbered(long_stream(seed, 80, 8, 20, exact=False))
    index = Index(options)
    index.learn(examples)
    indptr, edges, totals, ratings = index.arrays()
    edges["slope"], ratings["slope"], n_moved = 0.0, 0.0, 0
    logs = ratings["log"].astype(float)
    for e in examples[-25:]:
        own = e.labels if again else []
        state = [indptr, edges.tolist(), totals, logs.tolist(), e.row, e.labels, own]
        moved = Index.of(options, indptr, edges.copy(), totals, ratings.copy())
        moved.learn([e], again=again)
        if loss_of(options, *state) is None:
            continue
        new_indptr, new_edges, _, rated = moved.arrays()
        new = {(f, edge["label"]): edge for f, edge in feature_edges(new_indptr, new_edges)}
        for f in e.row:

            def of_rating(x, f=f, state=state):
                return loss_of(options, *state[:3], [*state[3][:f], x, *state[3][f + 1 :]], *state[4:])

            gradient = derivative(of_rating, logs[f])
            assert math.sqrt(rated["slope"][f]) == pytest.approx(abs(gradient), rel=1e-4, abs=1e-6)
            if abs(gradient) > 1e-4:
                assert (rated["log"][f] < logs[f]) == (gradient > 0)
            for i in range(indptr[f], min(indptr[f + 1], indptr[f] + options["d_max"])):
                label, _, th, _ = state[1][i]

                def of_correction(x, i=i, state=state):
                    changed = [*state[1][:i], (*state[1][i][:2], x, 0.0), *state[1][i + 1 :]]
                    return loss_of(options, state[0], changed, *state[2:])

                gradient = derivative(of_correction, th)
                found = new.get((f, label))
                if found is None:  # dropped by the counts
                    continue
                if abs(gradient) > 1.1e-3 * e.row[f]:
                    assert math.sqrt(found["slope"]) == pytest.approx(abs(gradient), rel=1e-4, abs=1e-6)
                    assert (found["correction"] < np.float32(th)) == (gradient > 0)
                    n_moved += 1
                elif abs(gradient) < 0.9e-3 * e.row[f]:
                    assert found["slope"] == 0
    assert n_moved > 20


def feature_edges(indptr, edges):
    for f in range(len(indptr) - 1):
        for edge in edges[indptr[f] : indptr[f + 1]]:
            yield f, edge


@pytest.mark.parametrize("seed", range(3))
def test_a_small_step_lowers_the_loss(seed):
    options = {**USUAL, "rate": 1e-3, "step": 1e-3, "kappa": 12.0}
    examples = numbered(long_stream(seed, 120, 8, 20, exact=False))
    index, n_scored = Index(options), 0
    index.learn(examples)

    def loss(e):
        indptr, edges, totals, ratings = index.arrays()
        return loss_of(options, indptr, edges.tolist(), totals, ratings["log"].astype(float), e.row, e.labels, e.labels)

    for e in examples[-30:]:
        before = loss(e)
        index.learn([e], again=True, rejections=False)
        if before is not None and before > 0.01:
            assert loss(e) < before
            n_scored += 1
    assert n_scored > 10


# -- rejections ------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=100)
@given(st.sampled_from((1, 2, 40)), st.sampled_from((0.0, 0.005, 0.3)), streams(dyadic))
def test_a_rejected_label_falls_wherever_it_was_ranked_and_no_other_moves(d_max, w_min, stream):
    index, oracle, examples = check_row_by_row({**USUAL, "d_max": d_max, "w_min": w_min}, stream)
    n_labels = examples[-1].n_labels
    for e in examples:
        for label, _ in oracle.rank(e.row):
            before = dict(index.rank(e.row, n_labels))
            index.learn([e._replace(labels=[], wrong=[label], n_labels=n_labels)])
            oracle.learn(e.row, [], [label])
            after = dict(index.rank(e.row, n_labels))
            assert after.pop(label) < before.pop(label)
            assert after == before
    assert index.state() == rated_state(oracle, index.pool.n_features)


def test_an_edge_that_does_not_vote_is_rejected_too():
    # It may come to vote when the heavier ones fade.
    index, _, _ = check_row_by_row({**USUAL, "d_max": 1}, [({0: 1.0}, ["a"], 0), ({0: 1.0}, ["a", "b"], 0)])
    [e] = numbered([({0: 1.0}, [], 0)])
    index.learn([e._replace(wrong=[1], n_labels=2)])
    assert index.state()[2][0][1][2] < 0


# -- the estimator that is made of it --------------------------------------------------------------

feature_focus_options = st.fixed_dictionaries(
    {
        "w_min": st.sampled_from(CHOICES["w_min"]),
        "d_max": st.sampled_from((1, 2, 25, None)),
        "horizon": st.sampled_from((2.0, None)),
        "leak": st.booleans(),
        "boolean": st.booleans(),
        "passes": st.integers(1, 3),
    }
)


@settings(deadline=None, max_examples=80)
@given(feature_focus_options, any_stream)
def test_feature_focus_with_learned_ratings_is_the_index_without_corrections(params, stream):
    examples, labels = numbered(stream), [labels for _, labels, _ in stream]
    ranker = FeatureFocus(rating="learned", **params).fit(as_matrix([e.row for e in examples]), labels)
    passes, limits = params["passes"], {"d_max": params["d_max"] or UNLIMITED, "horizon": params["horizon"] or 65536.0}
    options = {**USUAL, **params, **limits, "step": 0.0}
    oracle = RatedOracle(**{name: value for name, value in options.items() if name != "passes"})
    for i in range(passes):
        for e in examples:
            oracle.learn(e.row, e.labels, again=i > 0)
    index = Index(USUAL, ranker.head.store)
    assert index.state() == rated_state(oracle, ranker.head.store.n_features)
    for i, e in enumerate(examples):
        found = ranker.rank(as_matrix([e.row for e in examples]), 100)[i]
        assert [score for _, score in found] == [score for _, score in oracle.rank(e.row)]


def test_values_below_the_smallest_normal_single_are_absent():
    index, _, _ = check_row_by_row(USUAL, [({0: SMALLEST / 2, 1: 1.0}, ["a"], 0)] * 3)
    assert index.state()[2][0] == []
