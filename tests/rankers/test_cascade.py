"""The cascade: one state however its rows come, and in each of its forms what its oracle learns."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import abound
from abound import Cascade
from abound.components.linear import AVERAGED_STATES, Linear
from abound.components.second_stage import SecondStage
from abound.components.votes import LearningParams
from abound.kernels.pairs import BIAS_VALUE, INITIAL_GRAD_SQ, LEARNING_RATE, PRUNING_THRESHOLD
from abound.rankers import auto
from abound.training import source
from abound.training.source import training_order
from tests.kernels.drivers import Index, Pairs, hinge_state, rated_state
from tests.kernels.streams import any_stream, as_matrix
from tests.rankers.cascade_forms import BOTH, FEW, MANY, TRIAL, form_of, forms, growing, learn, rejections
from tests.rankers.streams import stream
from tests.reference.hinge import HingeOracle
from tests.reference.rated import RatedOracle

pytestmark = pytest.mark.kernel

RATED = {"w_min": 0.002, "d_max": 50, "horizon": 65536.0, "leak": True, "boolean": False, "step": 1.0}
RATED |= LearningParams()._asdict()


@pytest.mark.usefixtures("short_trial")
def test_the_forms_are_what_they_are_called():
    for form, ranker in forms().items():
        assert form_of(ranker) == form
        assert (ranker.component(Linear) is not None) == (form != MANY)
        assert ranker.has_second_stage == (ranker.n_edges_ > 0) == (form != FEW)
        assert ranker.n_pairs_ > 0


@pytest.mark.parametrize("shards", [1, 3])
def test_candidates_are_weighed_where_rows_are_gone_through_twice(shards):
    X, Y = growing(200)
    for params, weighed in (({}, True), ({"passes": 1}, False), ({"candidates": 0}, False)):
        ranker = Cascade(few_labels=5, shards=shards, **params).fit(X, Y)
        assert (ranker.n_pairs_ > 0) == weighed
        weights = ranker.component(SecondStage).arrays()[2] if weighed else []
        assert all(abs(weight) >= PRUNING_THRESHOLD for weight in weights)
    stream = learn(Cascade(few_labels=5), X, Y)
    assert stream.n_pairs_ == 0
    assert learn(Cascade(few_labels=5, candidates=20), X, Y).n_pairs_ > 0


@pytest.mark.parametrize(("n_labels", "per_label", "is_linear"), [(120, 5, False), (120, 12, True), (60, 3, True)])
def test_a_linear_model_needs_enough_examples_of_each_label(n_labels, per_label, is_linear):
    X, Y = sp.identity(n_labels * per_label, format="csr"), [[f"label {i}"] for i in range(n_labels)] * per_label
    ranker = Cascade().fit(X, Y)
    assert (ranker.component(Linear) is not None) == is_linear
    assert ranker.passes_ == (3 if is_linear else 2)
    ranker.partial_fit(X[:20], Y[:20])
    assert (ranker.component(Linear) is not None) == is_linear
    assert Cascade(few_labels=1000).fit(X, Y).component(Linear) is not None  # as asked


def test_a_weighed_ranker_goes_on_as_if_it_had_not_been_saved(tmp_path):
    X, Y = growing(200)
    ranker = Cascade(few_labels=5).fit(X[:150], Y[:150])
    ranker.save(tmp_path / "model")
    loaded = abound.load(tmp_path / "model")
    assert loaded.n_pairs_ == ranker.n_pairs_ > 0
    ranker.compact()
    for one in (ranker, loaded):
        learn(one, X[150:], Y[150:])
    assert loaded.state_hash() == ranker.state_hash()


def test_candidates_may_not_be_fewer_than_none():
    with pytest.raises(ValueError, match="candidates must be at least 0, got -1"):
        Cascade(candidates=-1).fit([[1.0]], [["a"]])


# -- however rows come -----------------------------------------------------------------------------


@pytest.mark.usefixtures("short_trial")
@pytest.mark.parametrize("rejecting", [False, True])
@pytest.mark.parametrize("few_labels", [0, 1, 4, 11, 12, 13, 1000])
def test_chunks_and_single_rows_reach_the_same_state(few_labels, rejecting):
    X, Y = growing()
    n_tried = len({name for labels in Y[:TRIAL] for name in labels})  # known when the trial ends
    assert 11 <= n_tried < 13
    wrong = rejections(Y) if rejecting else [[]] * len(Y)
    whole = learn(Cascade(few_labels=few_labels), X, Y, wrong)
    single = Cascade(few_labels=few_labels)
    for row in range(len(Y)):
        learn(single, X[[row]], Y[row : row + 1], wrong[row : row + 1])
    assert single.state_hash() == whole.state_hash()
    for size in (7, TRIAL - 1, TRIAL, TRIAL + 1):
        chunked = Cascade(few_labels=few_labels)
        for start in range(0, len(Y), size):
            part = slice(start, start + size)
            learn(chunked, X[part], Y[part], wrong[part])
        assert chunked.state_hash() == whole.state_hash()
    assert form_of(whole) == (MANY if n_tried > few_labels else FEW)


@settings(deadline=None, max_examples=80)
@given(st.integers(0, 7), any_stream, st.data())
def test_chunks_of_any_stream_reach_the_same_state(few_labels, drawn, data):
    rows, Y = [row for row, _, _ in drawn], [labels for _, labels, _ in drawn]
    wrong = rejections(Y, data.draw(st.integers(0, 9), label="seed"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(auto, "TRIAL_ROWS", data.draw(st.sampled_from((1, 4, 100)), label="trial"))
        single, chunked, start = Cascade(few_labels=few_labels), Cascade(few_labels=few_labels), 0
        for row in range(len(rows)):
            learn(single, as_matrix([rows[row]]), [Y[row]], [wrong[row]])
        while start < len(rows):
            end = start + data.draw(st.integers(1, len(rows) - start), label="chunk")
            learn(chunked, as_matrix(rows[start:end]), Y[start:end], wrong[start:end])
            start = end
        assert chunked.state_hash() == single.state_hash()


@pytest.mark.usefixtures("short_trial")
@pytest.mark.parametrize("n_rows", [TRIAL - 20, TRIAL - 1, TRIAL, TRIAL + 30])
@pytest.mark.parametrize("few_labels", [3, 1000])
def test_one_pass_of_fit_equals_partial_fit_in_training_order(few_labels, n_rows):
    X, Y = growing(n_rows)
    fitted = Cascade(few_labels=few_labels, passes=1, random_state=3, calibrate=False).fit(X, Y)
    order = training_order(n_rows, 3)
    streamed = Cascade(few_labels=few_labels, random_state=3, calibrate=False)
    streamed.partial_fit(X[order], [Y[row] for row in order], classes=fitted.labels_.names)
    assert fitted.state_hash() == streamed.state_hash()
    assert form_of(fitted) == (MANY if few_labels == 3 else BOTH if n_rows < TRIAL else FEW)
    more = growing(90, seed=4)
    assert fitted.partial_fit(*more).state_hash() == streamed.partial_fit(*more).state_hash()


@pytest.mark.usefixtures("short_trial")
def test_a_stream_decides_by_its_first_rows_and_fit_by_all():
    X, Y = growing()  # 30 labels in the end, 12 when the trial ends
    assert form_of(Cascade(few_labels=20).partial_fit(X, Y)) == FEW
    assert form_of(Cascade(few_labels=20).fit(X, Y)) == MANY


@pytest.mark.usefixtures("short_trial")
def test_labels_made_known_without_an_example_count_as_labels():
    X, Y = growing(30)
    names = [f"label {i}" for i in range(40)]
    at_once = Cascade(few_labels=20).partial_fit(X, Y, classes=names)
    single = Cascade(few_labels=20).partial_fit(X[[0]], Y[:1], classes=names)
    assert form_of(at_once) == form_of(single) == MANY
    for row in range(1, 30):
        single.partial_fit(X[[row]], Y[row : row + 1])
    assert single.state_hash() == at_once.state_hash()


def test_without_few_labels_a_stream_without_any_label_keeps_votes():
    X = sp.csr_array(np.ones((auto.TRIAL_ROWS, 1)))
    ranker = Cascade(few_labels=0).partial_fit(X, [[]] * auto.TRIAL_ROWS)
    assert form_of(ranker.partial_fit(X[:1], [["a"]])) == MANY


def test_the_trial_is_as_long_as_the_docstring_says():
    assert f"{auto.TRIAL_ROWS:,} rows" in abound.rankers.cascade.CascadeRanker.__doc__
    X, Y = sp.csr_array(np.ones((5000, 1))), ["a"] * 5000
    ranker = Cascade().partial_fit(X[:4999], Y[:4999])
    assert form_of(ranker) == BOTH
    assert form_of(ranker.partial_fit(X[4999:], Y[4999:])) == FEW


# -- what is learnt --------------------------------------------------------------------------------


@pytest.mark.parametrize("passes", [1, 3])
def test_many_labels_are_the_rated_index(passes):
    X, Y = growing()
    ranker, oracle = Cascade(few_labels=5, passes=passes).fit(X, Y), RatedOracle(**RATED)
    rows = X.toarray()
    for i in range(passes):
        for row in training_order(len(Y), 0):
            labels = [ranker.labels_.id_of(name) for name in Y[row]]
            oracle.learn(dict(enumerate(rows[row].tolist())), labels, again=i > 0)
    found = Index(RATED, ranker.head.store).state()
    assert [part[:40] for part in found] == [part[:40] for part in rated_state(oracle, 40)]


def shuffled_places(n_rows, random):
    """Return the order of a later pass: blocks in random order, and the rows of each, too."""
    blocks = [np.arange(start, min(start + source.BLOCK, n_rows)) for start in range(0, n_rows, source.BLOCK)]
    return np.concatenate([random.permutation(blocks[number]) for number in random.permutation(len(blocks))])


@pytest.mark.parametrize("block", [40, 1000])
def test_few_labels_are_the_squared_hinge_and_the_mean_of_the_last_pass_in_another_order(block, monkeypatch):
    monkeypatch.setattr(source, "BLOCK", block)
    X, Y = growing()
    ranker, ids = Cascade(passes=3, random_state=5).fit(X, Y), {}
    labels = [[ids.setdefault(name, len(ids)) for name in names] for names in Y]
    oracle = HingeOracle(margin=1.0, rivals=10, step=LEARNING_RATE, start=INITIAL_GRAD_SQ, bias_value=BIAS_VALUE)
    random, mean, first = np.random.default_rng(5), {}, training_order(len(Y), 5)
    for i in range(3):
        order = first if i == 0 else first[shuffled_places(len(Y), random)]
        for done, part in enumerate(np.array_split(order, AVERAGED_STATES)):
            for row in part:
                oracle.learn(dict(enumerate(X[[row]].toarray()[0].tolist())), labels[row], [], len(ids))
            if i == 2:
                share = done / (done + 1)
                mean = {
                    key: float(np.float32((1.0 - share) * weight + share * mean.get(key, 0.0)))
                    for key, (weight, _) in oracle.pairs.items()
                }
    oracle.pairs = {key: (mean[key], squares) for key, (_, squares) in oracle.pairs.items()}
    pairs = Pairs(dict.fromkeys(("margin", "rivals", "step", "start"), 1))
    pairs.store = ranker.component(Linear).store
    assert pairs.state() == hinge_state(oracle)
    assert Cascade(passes=3, random_state=6).fit(X, Y).state_hash() != ranker.state_hash()
    assert Cascade(passes=3, random_state=5).fit(X, Y).state_hash() == ranker.state_hash()


@pytest.mark.parametrize("few_labels", [3, 1000])
def test_passes_are_three_where_labels_are_few_and_two_where_they_are_many(few_labels):
    X, Y = growing()
    hashes = [Cascade(few_labels=few_labels, passes=passes).fit(X, Y).state_hash() for passes in (None, 1, 2, 3)]
    assert hashes[0] == hashes[2 if few_labels == 3 else 3]
    assert len(set(hashes)) == 3


def test_many_rows_of_many_labels_are_gone_through_once(monkeypatch):
    X, Y = growing()
    monkeypatch.setattr("abound.rankers.cascade.ENOUGH_ROWS", len(Y))
    usual, once, twice = (Cascade(few_labels=3, passes=passes).fit(X, Y).state_hash() for passes in (None, 1, 2))
    assert usual == once != twice


def test_a_million_rows_are_many():
    ranker = Cascade(few_labels=3).fit(*growing())
    assert [ranker.plan(n_rows).passes for n_rows in (999_999, 1_000_000)] == [2, 1]


def test_a_feature_votes_for_50_labels_unless_told_otherwise():
    X, Y = np.ones((60, 1)), [[f"label {number}"] for number in range(60)]
    rankers = [Cascade(few_labels=0, **params).partial_fit(X, Y) for params in ({}, {"d_max": 7}, {"d_max": None})]
    assert [len(ranker.rank(X[:1], 60)[0]) for ranker in rankers] == [50, 7, 60]


@pytest.mark.parametrize("few_labels", [0, 1000])
def test_it_learns_which_labels_are_right(few_labels):
    X, Y = stream(800)
    ranker = Cascade(few_labels=few_labels).fit(X[:600], Y[:600])
    assert ranker.score(X[600:], Y[600:]) > 0.5  # of about 0.67 that the noise leaves; chance is 0.1


@pytest.mark.parametrize("few_labels", [0, 1000])
@pytest.mark.parametrize(
    ("X", "Y"),
    [([[1.0, 0], [0, 1]], [[], []]), ([[0.0, 0], [0, 0]], [["a"], ["b"]]), ([[0.0, 0]], [[]]), ([[1.0, 0]], [["a"]])],
    ids=["no labels", "empty rows", "neither", "one row"],
)
def test_rows_without_labels_or_values_are_learnt(few_labels, X, Y):
    ranker = Cascade(few_labels=few_labels, passes=3).fit(X, Y)
    assert ranker.n_rows_seen_ == len(X)
    assert ranker.partial_fit(X, Y).rank(X).indices.shape[0] == len(X)


@pytest.mark.usefixtures("short_trial")
@pytest.mark.parametrize("form", [BOTH, FEW, MANY])
def test_new_labels_and_features_are_ranked_at_once(form):
    ranker = forms()[form]
    for i in range(100, 130):
        row = sp.csr_array(([1.0], ([0], [i])), shape=(1, i + 1))
        learn(ranker, row, [[f"new {i}"]])
        assert ranker.rank(row)[0][0][0] == f"new {i}"
        why = ranker.explain(row, f"new {i}")
        assert why.features.tolist() == [i]
        assert why.score == ranker.rank(row).scores[0, 0] > 0


@pytest.mark.usefixtures("short_trial")
@pytest.mark.parametrize("form", [BOTH, FEW, MANY])
def test_explanations_sum_to_the_score(form):
    ranker, (X, _) = forms()[form], growing(TRIAL + 20)
    for row in range(TRIAL + 20):
        for label, score in ranker.rank(X[[row]], 20)[0]:
            assert ranker.explain(X[[row]], label).score == pytest.approx(score, rel=1e-12, abs=1e-12)


# -- rejections ------------------------------------------------------------------------------------


@pytest.mark.usefixtures("short_trial")
@pytest.mark.parametrize("form", [BOTH, FEW, MANY])
def test_a_rejected_label_falls_wherever_it_was_ranked(form):
    X, _ = growing(TRIAL + 20)
    ranker = forms()[form]
    for row in range(0, 36, 3):
        for label, before in ranker.rank(X[[row]], 100)[0]:
            if X[[row]].nnz:
                learn(ranker, X[[row]], [[]], [[label]])
                assert dict(ranker.rank(X[[row]], 100)[0])[label] < before
    assert form_of(ranker) == (FEW if form == BOTH else form)


@pytest.mark.usefixtures("short_trial")
@pytest.mark.parametrize("form", [BOTH, FEW, MANY])
def test_a_label_rejected_again_and_again_is_no_longer_the_best(form):
    X, _ = growing(TRIAL + 20)
    ranker = forms()[form]
    for row in range(0, 36, 3):
        ranked = ranker.rank(X[[row]], 2)[0]
        if len(ranked) == 2:
            for _ in range(200):
                learn(ranker, X[[row]], [[]], [[ranked[0][0]]])
            assert ranker.rank(X[[row]], 1)[0][0][0] != ranked[0][0]


@pytest.mark.usefixtures("short_trial")
@pytest.mark.parametrize("form", [FEW, MANY])
def test_a_rejection_beside_true_labels_puts_a_label_no_higher_than_these_alone(form):
    X, Y = growing(TRIAL + 20)
    ranker, n_lower = forms()[form], 0
    for row in range(0, TRIAL + 20, 5):
        for label, before in ranker.rank(X[[row]], 100)[0] if X[[row]].nnz and Y[row] else []:
            if label not in Y[row]:
                rejected, alone = (pickle.loads(pickle.dumps(ranker)) for _ in range(2))  # noqa: S301  our own bytes
                learn(rejected, X[[row]], [Y[row]], [[label]])
                learn(alone, X[[row]], [Y[row]])
                after, otherwise = (dict(one.rank(X[[row]], 100)[0])[label] for one in (rejected, alone))
                assert after <= otherwise
                assert after < before
                n_lower += after < otherwise
    assert n_lower > 0


# -- parameters ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"w_min": 2}, "w_min must be between 0 and 0.99, got 2"),
        ({"d_max": 0}, "d_max must be at least 1, got 0"),
        ({"passes": 0}, "passes must be at least 1, got 0"),
        ({"few_labels": -1}, "few_labels must be at least 0, got -1"),
        ({"horizon": 1e9}, "horizon must be between 1 and 65536, got 1000000000.0"),
        ({"random_state": -1}, "random_state must be at least 0, got -1"),
    ],
)
def test_a_bad_parameter_is_named(params, message):
    with pytest.raises(ValueError, match=message):
        Cascade(**params).fit([[1]], ["a"])
