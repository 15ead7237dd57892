"""Kernel MMP equals a plain version that keeps every prototype, for each kernel and prediction."""

import numpy as np
import pytest

from abound import MMP, KernelMMP, load
from abound.errors import DamagedModel
from abound.store import Model, read_model

KERNELS = {
    "linear": lambda a, b: a @ b,
    "poly": lambda a, b: (0.5 * (a @ b) + 2.0) ** 3,
    "rbf": lambda a, b: np.exp(-0.5 * np.sum((a - b) ** 2)),
}
OPTIONS = {"gamma": 0.5, "coef0": 2.0, "degree": 3}


def examples(seed, n_rows=50, n_labels=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4)) * (rng.random((n_rows, 4)) < 0.8)
    return X, (rng.random((n_rows, n_labels)) < 0.35).astype(int)


def plain(X, Y, kernel, tests):
    """Return the scores of test rows after each row, of MMP with loss 1."""
    kept, after = [], []
    for x, y in zip(X, Y, strict=True):
        scores = sum((KERNELS[kernel](z, x) * a for z, a in kept), np.zeros(Y.shape[1]))
        wrong = [(r, s) for r in np.flatnonzero(y) for s in np.flatnonzero(1 - y) if scores[r] <= scores[s]]
        if wrong:
            a = np.zeros(Y.shape[1])
            for r, s in wrong:
                a[r] += 1 / len(wrong)
                a[s] -= 1 / len(wrong)
            kept.append((x, a))
        after.append([sum((KERNELS[kernel](z, x) * a for z, a in kept), np.zeros(Y.shape[1])) for x in tests])
    return np.array(after), len(kept)


def places(scores):
    """Return how many labels are below each, ties counting half, by comparing all pairs; as a share."""
    below = (scores[:, None] > scores[None, :]).sum(1) + 0.5 * ((scores[:, None] == scores[None, :]).sum(1) - 1)
    return below / (len(scores) - 1)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("seed", range(3))
def test_it_equals_a_plain_version(kernel, seed):
    X, Y = examples(seed)
    tests = examples(seed + 100, 10)[0]
    after, n_kept = plain(X, Y, kernel, tests)
    ranker = KernelMMP(kernel=kernel, **OPTIONS).fit(X, Y)
    assert ranker.n_support_ == n_kept
    assert np.allclose(ranker.decision_function(tests), after[-1], rtol=1e-8, atol=1e-8)
    averaged = ranker.set_params(prediction="averaged").decision_function(tests)
    assert np.allclose(averaged, after.mean(0), rtol=1e-8, atol=1e-8)
    voted = ranker.set_params(prediction="voted").decision_function(tests)
    for found, states in zip(voted, after.transpose(1, 0, 2), strict=True):
        assert np.allclose(found, np.mean([places(state) for state in states], axis=0))


@pytest.mark.parametrize("loss", [1, 2, 3, "avgp"])
@pytest.mark.parametrize("update", ["uniform", "max", "proportional"])
def test_the_linear_kernel_learns_what_mmp_learns(loss, update):
    X, Y = examples(5)
    for averaged in (False, True):
        options = {"margin": 0.0, "rivals": None, "negative_values": "linear", "averaged": averaged}
        wanted = MMP(loss=loss, update=update, passes=3, **options).fit(X, Y).decision_function(X)
        prediction = "averaged" if averaged else "last"
        ranker = KernelMMP(loss=loss, update=update, kernel="linear", passes=3, prediction=prediction).fit(X, Y)
        assert np.allclose(ranker.decision_function(X), wanted, rtol=1e-4, atol=1e-4)


def test_a_kernel_separates_what_a_line_does_not():
    X, y = np.array([[1.0, 1], [-1, -1], [1, -1], [-1, 1]]), ["same", "same", "not", "not"]
    assert (KernelMMP(kernel="poly", passes=5).fit(X, y).predict(X) == y).all()
    assert not (KernelMMP(kernel="linear", passes=5).fit(X, y).predict(X) == y).all()


@pytest.mark.parametrize("prediction", ["last", "averaged", "voted"])
def test_rows_may_come_one_by_one_and_models_are_saved(prediction, tmp_path):
    X, Y = examples(2)
    names = [[f"l{j}" for j in np.flatnonzero(y)] for y in Y]
    whole = KernelMMP(prediction=prediction, update="random").partial_fit(X, names)
    parts = KernelMMP(prediction=prediction, update="random")
    for x, y in zip(X[:30], names[:30], strict=True):
        parts.partial_fit([x], [y])
    parts.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.params() == parts.params()
    for one in (parts, loaded):
        one.partial_fit(X[30:], names[30:])
        assert one.state_hash() == whole.state_hash()
        assert list(one.rank(X, 5)) == list(whole.rank(X, 5))


def test_weights_repeat_rows():
    X, Y = examples(4)
    twice = KernelMMP().partial_fit(X, Y, sample_weight=np.full(50, 2.0))
    assert twice.state_hash() == KernelMMP().partial_fit(np.repeat(X, 2, 0), np.repeat(Y, 2, 0)).state_hash()
    half = KernelMMP().partial_fit(X[:1], Y[:1], sample_weight=[0.5])
    whole = KernelMMP().partial_fit(X[:1], Y[:1])
    assert np.allclose(2 * half.decision_function(X), whole.decision_function(X))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("prediction", ["last", "averaged", "voted"])
def test_an_explanation_sums_to_the_score(kernel, prediction):
    X, Y = examples(3)
    ranker = KernelMMP(kernel=kernel, prediction=prediction).fit(X, Y)
    explained = ranker.explain(X[[7]], 2)
    assert explained.votes.sum() + explained.prior == pytest.approx(ranker.decision_function(X[[7]])[0, 2])
    assert (len(explained.votes) > 0) == (kernel == "linear" and prediction != "voted")


def test_features_can_be_forgotten():
    X, Y = examples(6)
    ranker = KernelMMP(kernel="linear").fit(X, Y)
    wanted, before = np.array([True, False, True, False]), ranker.decision_function(X * [1, 0, 1, 0])
    ranker.keep_features(wanted)
    ranker.n_features_in_ = 2
    assert np.allclose(ranker.decision_function(X[:, wanted]), before)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("support_labels", lambda a: a + 100),
        ("support_born", lambda a: a[::-1].copy()),
        ("support_indptr", lambda a: a[::-1].copy()),
        ("support_indices", lambda a: -a - 1),
        ("support_amounts", lambda a: a * np.nan),
        ("support_counts", lambda a: a[::-1].copy()),
        ("support_data", lambda a: a[:-1]),
    ],
)
def test_damaged_models_are_refused(name, change, tmp_path):
    X, Y = examples(1)
    KernelMMP(passes=2).fit(X, Y).save(tmp_path / "model")
    model = read_model(tmp_path / "model")
    arrays = {**model.arrays, name: change(np.array(model.arrays[name]))}
    with pytest.raises(DamagedModel):
        KernelMMP.from_model(Model(model.content, arrays))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"kernel": "sigmoid"}, "kernel must be 'linear', 'poly' or 'rbf'"),
        ({"prediction": "mean"}, "prediction must be 'last', 'averaged' or 'voted'"),
        ({"degree": 0}, "degree must be between 1 and 100"),
        ({"gamma": -1.0}, "gamma must be"),
        ({"loss": 5}, "loss must be"),
        ({"update": "best"}, "update must be"),
    ],
)
def test_bad_options_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        KernelMMP(**params).fit([[1.0]], ["a"])
