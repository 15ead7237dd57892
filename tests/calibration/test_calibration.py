"""Calibration: probabilities that hold, learned from many rankings or from one after another."""

import copy
import itertools
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abound import Cascade, Tagger
from abound.calibration import Calibration, Decision, PrecisionTarget, expected_f1
from abound.components.linear import Linear
from abound.errors import NotCalibrated, UnreachablePrecision
from abound.kernels import calibration as kernel
from abound.rankers.calibrated import Calibrated

TITLES = Path(__file__).parents[2] / "examples" / "finna" / "titles.jsonl"


def stream(n, k=10, n_labels=40, seed=0):
    """Rankings whose labels are right with a probability that depends on their scores only."""
    rng = np.random.default_rng(seed)
    scores = -np.sort(-rng.normal(0, 2, (n, k)), axis=1)
    labels = np.array([rng.permutation(n_labels)[:k] for _ in range(n)], np.int32)
    truth = 1 / (1 + np.exp(-(scores - 2.0)))
    return labels, scores, rng.random((n, k)) < truth, truth


def expected_features(scores, k, origin, unit):
    """The features of one row in plain numpy."""
    s = (scores - origin) / unit
    below = np.clip((scores[0] - scores) / unit, -30, 30)
    shares = np.exp(-below)
    share = shares / shares[:10].sum()
    first = np.arange(k) == 0
    gap = np.clip((scores[0] - scores[1]) / unit, -30, 30) if k > 1 else 0.0
    columns = [np.ones(k), s, below, np.log(np.arange(1, k + 1)), np.full(k, s[min(k, 10) - 1]), share]
    columns += [np.log(share + 1e-6), first * gap, np.sign(s) * np.log1p(np.abs(s)), np.zeros(k), first]
    return np.stack(columns, axis=1)


@pytest.mark.kernel
@pytest.mark.parametrize("k", [1, 2, 9, 10, 23])
def test_features_equal_a_plain_version(k):
    rng = np.random.default_rng(k)
    scores = -np.sort(-rng.normal(3, 5, (4, k)), axis=1)
    labels = np.tile(np.arange(k, dtype=np.int32), (4, 1))
    out = np.zeros((4, k, kernel.N_FEATURES))
    kernel.features(labels, scores, 1.5, 2.5, np.zeros((0, 2)), out)
    wanted = np.stack([expected_features(row, k, 1.5, 2.5) for row in scores])
    np.testing.assert_allclose(out, wanted, rtol=1e-10, atol=1e-10)


@pytest.mark.kernel
def test_the_fit_is_the_penalised_maximum_likelihood():
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    x = np.ascontiguousarray(np.c_[np.ones(2000), rng.normal(size=(2000, kernel.N_FEATURES - 1))])
    y = (rng.random(2000) < 1 / (1 + np.exp(-x @ rng.normal(size=kernel.N_FEATURES)))).astype(np.uint8)
    weights, precision = np.zeros(kernel.N_FEATURES), np.zeros((kernel.N_FEATURES, kernel.N_FEATURES))
    straight = np.array([0.0, 1.0, 0.0])
    assert kernel.fit(x, y, 1.0, 50, straight, weights, precision)
    known = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10, max_iter=1000).fit(x, y)
    np.testing.assert_allclose(weights, known.coef_[0], atol=1e-5)
    p = 1 / (1 + np.exp(-x @ weights))
    np.testing.assert_allclose(precision, np.eye(len(weights)) + (x * (p * (1 - p))[:, None]).T @ x, rtol=1e-6)


def test_the_log_odds_are_bent_where_unlikely_labels_are_rarer_than_a_line_says():
    rng = np.random.default_rng(3)
    labels = np.tile(np.arange(10, dtype=np.int32), (4000, 1))
    scores = -np.sort(-rng.normal(size=(4000, 10)) * 3, axis=1)
    true = np.where(scores > 0, 0.3 * scores - 1, 2.5 * scores - 1)  # log-odds with a strong bend
    right = rng.random(scores.shape) < 1 / (1 + np.exp(-true))
    calibration = Calibration()
    calibration.fit(labels[:2000], scores[:2000], right[:2000])
    assert calibration.bend[1] > 1.0
    assert calibration.bend[2] < 0.0
    likely = calibration.probabilities(labels[2000:], scores[2000:])
    rare = likely < 0.05
    assert abs(likely[rare].mean() - right[2000:][rare].mean()) < 0.004


def test_a_copy_has_the_same_probabilities():
    labels, scores, right, _ = stream(300)
    calibration = Calibration()
    calibration.fit(labels, scores, right)
    expected = calibration.probabilities(labels, scores)
    for other in (copy.deepcopy(calibration), pickle.loads(pickle.dumps(calibration))):  # noqa: S301
        np.testing.assert_array_equal(other.probabilities(labels, scores), expected)


def test_probabilities_hold_for_other_rows():
    calibration = Calibration()
    calibration.fit(*stream(3000)[:3])
    labels, scores, right, truth = stream(3000, seed=1)
    found = calibration.probabilities(labels, scores)
    assert np.abs(found - truth).mean() < 0.02
    for low, high in itertools.pairwise(np.linspace(0, 1, 6)):
        chosen = (found >= low) & (found < high)
        if chosen.sum() > 500:
            assert right[chosen].mean() == pytest.approx(found[chosen].mean(), abs=0.04)


def test_online_updates_come_close_to_the_fit():
    labels, scores, right, truth = stream(3000)
    calibration = Calibration()
    for row in range(3000):
        one = slice(row, row + 1)
        calibration.update(labels[one], scores[one], right[one], labels[one] >= 0)
    assert np.abs(calibration.probabilities(labels, scores) - truth).mean() < 0.03


def test_a_label_that_people_reject_gets_a_lower_probability():
    labels, scores, right, _ = stream(2000)
    calibration = Calibration()
    calibration.fit(labels, scores, right)
    before = calibration.probabilities(labels, scores)[labels == 7].mean()
    for row in np.flatnonzero((labels == 7).any(axis=1))[:60]:
        one = slice(row, row + 1)
        calibration.update(labels[one], scores[one], right[one] & (labels[one] != 7), labels[one] == 7)
    after = calibration.probabilities(labels, scores)
    assert after[labels == 7].mean() < 0.6 * before
    assert after[labels == 8].mean() > 0.7 * calibration.probabilities(labels, scores)[labels == 9].mean()


@pytest.mark.parametrize(("unit", "origin"), [(1000.0, 0.0), (1e-4, 0.0), (1.0, 50.0)])
def test_unit_and_origin_of_scores_do_not_matter(unit, origin):
    labels, scores, right, _ = stream(500)
    one, other = Calibration(), Calibration()
    one.fit(labels, scores, right)
    other.fit(labels, scores * unit + origin, right)
    np.testing.assert_allclose(
        one.probabilities(labels, scores), other.probabilities(labels, scores * unit + origin), atol=1e-6
    )


def test_the_state_restores_everything_and_damage_is_refused():
    labels, scores, right, _ = stream(300)
    calibration = Calibration()
    calibration.fit(labels, scores, right)
    calibration.update(labels[:1], scores[:1], right[:1], labels[:1] >= 0)
    again = Calibration.from_state({name: array.copy() for name, array in calibration.state().items()})
    for one in (calibration, again):
        one.update(labels[1:2], scores[1:2], right[1:2], labels[1:2] >= 0)
    assert again.probabilities(labels, scores).tolist() == calibration.probabilities(labels, scores).tolist()
    for name, array in (("weights", np.zeros(3)), ("records", np.full((2, 2), -1.0)), ("mean", np.full(11, np.nan))):
        with pytest.raises(ValueError, match=name if name != "records" else "below 0"):
            Calibration.from_state({**calibration.state(), name: array})


# -- decisions -------------------------------------------------------------------------------------


def true_expected_f1(probabilities, chosen):
    """The expected F1 over all combinations of right labels."""
    total = 0.0
    for right in itertools.product([0, 1], repeat=len(probabilities)):
        weight = np.prod([p if r else 1 - p for p, r in zip(probabilities, right, strict=True)])
        hits, size = sum(r for r, c in zip(right, chosen, strict=True) if c), sum(right) + sum(chosen)
        total += weight * (2 * hits / size if size else 1.0)
    return total


@settings(deadline=None, max_examples=60)
@given(st.lists(st.floats(0.01, 0.99), min_size=1, max_size=6))
def test_the_assigned_labels_have_nearly_the_best_expected_f1(probabilities):
    probabilities = sorted(probabilities, reverse=True)
    chosen = expected_f1(np.array([probabilities]))[0]
    best = max(
        true_expected_f1(probabilities, [i < n for i in range(len(probabilities))])
        for n in range(1, len(probabilities) + 1)
    )
    assert true_expected_f1(probabilities, chosen.tolist()) >= best - 0.1  # the rule is an approximation


def test_a_target_precision_is_kept_on_other_rows_or_called_unreachable():
    labels, scores, right, _ = stream(4000)
    calibration = Calibration()
    calibration.fit(labels, scores, right)
    other, other_scores, other_right, _ = stream(4000, seed=1)
    likely = calibration.probabilities(other, other_scores)
    assigned = Decision(precision=0.8).assigned(likely, calibration)
    assert assigned.sum() > 500
    assert 0.79 <= other_right[assigned].mean() <= 0.84
    never = PrecisionTarget.of(calibration, 0.999)
    assert not never.is_reachable
    assert "cannot be reached" in never.sentence(0.999)
    assert not Decision(precision=0.999).assigned(likely, calibration).any()


@pytest.mark.parametrize("wrong", [{"threshold": 0.0}, {"precision": 1.5}, {"threshold": 0.5, "precision": 0.5}])
def test_a_decision_that_means_nothing_is_refused(wrong):
    with pytest.raises(ValueError, match=r"threshold|precision"):
        Decision(**wrong)


# -- in rankers and taggers ------------------------------------------------------------------------


def texts_of(n, n_labels=30, seed=0):
    rng = np.random.default_rng(seed)
    numbers = rng.integers(n_labels, size=n)
    words = [
        [f"topic{label}"] * int(rng.random() < 0.7) + [f"w{int(300 * u * u)}" for u in rng.random(5)]
        for label in numbers
    ]
    return [" ".join(row) for row in words], [[f"label {label}"] for label in numbers]


@pytest.mark.parametrize("few_labels", [0, 1000])
@pytest.mark.parametrize("n", [400, 3000])
def test_a_fit_gives_probabilities_that_hold(few_labels, n):
    texts, labels = texts_of(n + 1000)
    tagger = Tagger(language=None, ranker_params={"few_labels": few_labels}).fit(texts[:n], labels[:n])
    ranked = tagger.rank_many(texts[n:], 10)
    pairs = [(e.probability, e.label in of) for row, of in zip(ranked, labels[n:], strict=True) for e in row]
    likely, right = (np.array(column, float) for column in zip(*pairs, strict=True))
    order = np.argsort(likely)
    error = sum(abs(likely[part].sum() - right[part].sum()) for part in np.array_split(order, 15)) / len(order)
    assert error < (0.05 if n == 400 else 0.02)


def test_a_probability_does_not_depend_on_k():
    texts, labels = texts_of(1500)
    tagger = Tagger(language=None).fit(texts, labels)
    long = tagger.rank(texts[0], 20)
    for k in (1, 3, 10):
        assert tagger.rank(texts[0], k) == long[:k]


@pytest.mark.parametrize("few_labels", [0, 1000])
def test_batches_teach_the_same_as_single_rows(few_labels):
    texts, labels = texts_of(400)
    batch, single = (Tagger(language=None, ranker_params={"few_labels": few_labels}) for _ in range(2))
    batch.learn_many(texts, labels)
    for text, names in zip(texts, labels, strict=True):
        single.learn_many([text], [names])
    assert batch.ranker.calibration_.is_ready
    assert batch.state_hash() == single.state_hash()


def test_held_out_rows_are_learned_at_the_end():
    texts, labels = texts_of(1200)
    tagger = Tagger(language=None, ranker_params={"few_labels": 0, "w_min": 0.0}).fit(texts, labels)
    plain = Tagger(language=None, ranker_params={"few_labels": 0, "w_min": 0.0, "calibrate": False}).fit(texts, labels)
    assert tagger.n_edges == plain.n_edges
    assert tagger.n_rows == plain.n_rows == 1200
    assert plain.rank(texts[0])[0].probability is None


def test_decisions_need_probabilities_and_warn_if_a_precision_is_out_of_reach():
    tagger = Tagger(language=None).fit(["a red apple", "a fast car"], [["fruit"], ["vehicle"]])
    with pytest.raises(NotCalibrated, match="no probabilities yet"):
        tagger.assign("apple")
    texts, labels = texts_of(1500)
    tagger.fit(texts, labels)
    assert tagger.assign(texts[0])
    assert all(entry.probability >= 0.5 for entry in tagger.assign(texts[0], threshold=0.5))
    with pytest.warns(UnreachablePrecision, match="a precision of 100% cannot be (reached|promised): "):
        assert tagger.assign(texts[0], precision=1.0) == []


def test_a_precision_that_few_labels_reach_is_not_promised():
    calibration = Calibration()
    calibration.outcomes[1, -1] = 120.0  # 120 labels with high probabilities, all of them right
    calibration.outcomes[0, 0] = 120.0
    target = PrecisionTarget.of(calibration, 0.999)
    assert not target.is_reachable
    words = (
        "a precision of 99.9% cannot be promised: the 50.0% of labels with the highest probabilities are right in 100%"
    )
    assert target.sentence(0.999).startswith(words)
    calibration.outcomes[0, -1] = 40.0
    words = PrecisionTarget.of(calibration, 0.999).sentence(0.999)
    assert words.startswith("a precision of 99.9% cannot be reached: ")
    assert "are right in 75% of the cases" in words


def test_corrections_that_name_right_and_wrong_labels_keep_probabilities_low_for_all_others():
    # If only named labels counted, low ranks would be judged only where they are right, and seem to be right always.
    rows = [json.loads(line) for line in TITLES.read_text().splitlines()]
    texts, labels = [row["text"] for row in rows], [row["labels"] for row in rows]
    tagger = Tagger().fit(texts[:1200], labels[:1200])
    for text, right in zip(texts[1200:1800], labels[1200:1800], strict=True):
        wrong = [entry.label for entry in tagger.rank(text, 1) if entry.label not in right]
        if wrong:
            tagger.learn(text, right, wrong=wrong)
    ranking = tagger.rank_arrays(texts[2000:], 10)
    assert ranking.probabilities is not None
    assert ranking.probabilities[:, 5:].mean() < 0.05


def test_a_linear_model_is_the_mean_of_before_and_after_the_held_out_rows(monkeypatch):
    texts, labels = texts_of(1500)
    states = []

    def watch(ranker, source, n):
        states.append(ranker.component(Linear).snapshot().arrays()[2].sum(dtype=float))
        learn(ranker, source, n)
        states.append(ranker.component(Linear).store.arrays()[2].sum(dtype=float))

    learn = Calibrated.learn_held_out
    monkeypatch.setattr(Calibrated, "learn_held_out", watch)
    tagger = Tagger(language=None).fit(texts, labels)
    weights = tagger.ranker.component(Linear).store.arrays()[2].sum(dtype=float)
    assert abs(states[0] - states[1]) > 1e-3
    assert weights == pytest.approx((states[0] + states[1]) / 2, abs=1e-3)


def test_a_merge_keeps_the_calibration_with_the_most_evidence():
    texts, labels = texts_of(2400)
    from abound import merge

    one, other = (Tagger(language=None).fit(texts[a:b], labels[a:b]) for a, b in ((0, 1000), (1000, 2400)))
    merged = merge(one, other)
    assert merged.ranker.calibration_.is_ready
    assert merged.rank(texts[0], 3)[0].probability is not None


def test_a_cascade_can_do_without():
    X, y = np.eye(6)[np.arange(1200) % 6], [f"l{n % 6}" for n in range(1200)]
    assert Cascade(calibrate=False).fit(X, y).rank(X[:2], 2).probabilities is None
    assert Cascade().fit(X, y).rank(X[:2], 2).probabilities is not None
