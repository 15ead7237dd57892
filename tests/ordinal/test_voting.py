"""A vote of PRank's hypotheses equals the oracle's, is saved and loaded, and is refused where it cannot be counted."""

import json
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import abound
from abound import PRank
from abound.errors import DamagedModel
from abound.ordinal import voting
from tests.reference.prank import KernelPRankOracle, PRankOracle, polynomial, rbf

KERNELS = {
    "linear": ({}, None),
    "poly": ({"kernel": "poly", "degree": 2, "gamma": 0.5, "coef0": 1.0}, polynomial(2, 0.5, 1.0)),
    "rbf": ({"kernel": "rbf", "gamma": 0.125}, rbf(0.125)),
}


def rated(seed, n=60, width=3):
    """Rows of eighths, so that sums are exact, and ranks 1 to 4 with some noise."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-8, 9, size=(n, width)) / 8
    return X, np.digitize(X.sum(axis=1) + rng.normal(scale=0.4, size=n), [-0.8, 0.0, 0.8]) + 1


def as_dicts(X):
    return [dict(enumerate(row)) for row in X.tolist()]


def oracle_of(kernel, margin=0.0, k=4):
    function = KERNELS[kernel][1]
    return PRankOracle(k, margin) if function is None else KernelPRankOracle(k, function, margin)


def test_a_vote_equals_the_oracle_on_200_seeds():
    wrong = []
    for seed in range(200):
        X, y = rated(seed)
        oracle = oracle_of("linear")
        for x, rank in zip(as_dicts(X), y.tolist(), strict=True):
            oracle.learn(x, rank)
        voted = PRank(voting=True, ranks=[1, 2, 3, 4]).fit(X, y).predict(X).tolist()
        if voted != [oracle.vote(x) for x in as_dicts(X)]:
            wrong.append(seed)
    assert wrong == []


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("margin", [0.0, 0.5])
def test_a_vote_equals_the_oracle_after_every_row_with_every_kernel(kernel, margin):
    for seed in range(8):
        X, y = rated(seed, 40)
        oracle = oracle_of(kernel, margin)
        prank = PRank(voting=True, margin=margin, ranks=[1, 2, 3, 4], **KERNELS[kernel][0])
        for i, (x, rank) in enumerate(zip(as_dicts(X), y.tolist(), strict=True)):
            assert prank.predict_learn(X[i : i + 1], [rank]).tolist() == [oracle.learn(x, rank)]
            assert prank.predict(X[:10]).tolist() == [oracle.vote(one) for one in as_dicts(X[:10])]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(-8, 8), st.integers(1, 5)), min_size=1, max_size=25), st.booleans())
def test_ranks_that_appear_late_are_inserted_into_every_hypothesis(stream, sparse):
    oracle, prank, known = PRankOracle(1), PRank(voting=True), []
    form = sp.csr_array if sparse else np.asarray
    for value, y in stream:
        if y not in known:
            if known:
                oracle.insert_rank(sum(rank < y for rank in known) + 1)
            known = sorted([*known, y])
        oracle.learn({0: value / 4}, known.index(y) + 1)
        prank.partial_fit(form([[value / 4]]), [y])
        X = [[-1.0], [0.0], [0.5], [3.0]]
        assert prank.predict(X).tolist() == [known[oracle.vote({0: x}) - 1] for (x,) in X]


def test_voting_learns_the_same_state_as_the_mean():
    X, y = rated(1, 200)
    voted, mean = PRank(voting=True, passes=3).fit(X, y), PRank(passes=3).fit(X, y)
    assert voted.coef_.tolist() == mean.coef_.tolist()
    assert voted.thresholds_.tolist() == mean.thresholds_.tolist()
    assert voted.predict(X).tolist() != mean.predict(X).tolist()
    assert voted.set_params(voting=False).predict(X).tolist() == mean.predict(X).tolist()


def test_many_rows_are_ranked_in_parts(monkeypatch):
    X, y = rated(2, 100)
    prank = PRank(voting=True).fit(X, y)
    whole = prank.predict(X).tolist()
    monkeypatch.setattr(voting, "CELLS", 1)
    assert prank.predict(X).tolist() == whole


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_saved_vote_continues_where_it_stopped(tmp_path, kernel):
    X, y = rated(3, 120)
    prank = PRank(voting=True, **KERNELS[kernel][0]).fit(X[:60], y[:60])
    prank.save(tmp_path / "model")
    loaded = abound.load(tmp_path / "model")
    for one in (loaded, pickle.loads(pickle.dumps(prank))):  # noqa: S301  our own bytes
        assert one.voting is True
        assert one.state_hash() == prank.state_hash()
        assert one.predict(X).tolist() == prank.predict(X).tolist()
    for one in (prank, loaded):
        one.partial_fit(X[60:], y[60:])
    assert loaded.state_hash() == prank.state_hash()
    assert loaded.predict(X).tolist() == prank.predict(X).tolist()


def test_a_model_without_a_vote_is_saved_as_before(tmp_path):
    X, y = rated(3)
    PRank().fit(X, y).save(tmp_path / "model")
    manifest = json.loads((tmp_path / "model" / "manifest.json").read_text())["content"]
    assert "voting" not in manifest["params"]
    assert not [name for name in manifest["files"] if name.startswith("voted")]


def test_a_vote_that_was_not_stored_is_refused(tmp_path):
    X, y = rated(4)
    prank = PRank().fit(X, y)
    with pytest.raises(ValueError, match="voting=True must be chosen before the first row"):
        prank.set_params(voting=True).predict(X)
    prank.set_params(voting=False).save(tmp_path / "model")
    with pytest.raises(ValueError, match="voting=True must be chosen before the first row"):
        PRank.load(tmp_path / "model", voting=True).predict(X)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"voting": 1}, "voting must be True or False, got 1"),
        ({"voting": "yes"}, "voting must be True or False, got 'yes'"),
        ({"voting": True, "kernel": "rbf", "budget": 9}, "voting needs every row that was learned from"),
    ],
)
def test_bad_settings_get_one_sentence(params, message):
    with pytest.raises(ValueError, match=message):
        PRank(**params).fit([[1.0], [2.0]], [1, 2])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows, steps, born, b: (rows, steps, born[::-1].copy(), b), "not in order"),
        (lambda rows, steps, born, b: (rows, steps, born, b[:, ::-1].copy()), "not in order"),
        (lambda rows, steps, born, b: (rows, steps * 99, born, b), "invalid row number or step"),
        (lambda rows, steps, born, b: (rows, steps, born, b[1:]), "voted_thresholds must be"),
    ],
)
def test_a_damaged_vote_is_refused(tmp_path, change, message):
    X, y = rated(5)
    prank = PRank(voting=True).fit(X, y)
    prank._hypotheses = voting.Hypotheses(*change(*prank._hypotheses.arrays()))
    prank.save(tmp_path / "model")
    with pytest.raises(DamagedModel, match=message):
        abound.load(tmp_path / "model")


def test_rows_before_one_that_overflows_are_counted():
    prank = PRank(voting=True, ranks=[1, 2]).partial_fit([[1.0]], [1])
    with pytest.raises(ValueError, match="so large that a score is not finite"):
        prank.partial_fit([[1e300]] * 4, [1, 2, 1, 2])
    assert prank.n_rows_seen_ > 1
    assert prank.predict([[1.0]]).tolist() in ([1], [2])
