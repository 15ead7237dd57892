"""Algorithm 1 of the SVM-map paper, and what the paper proves, against plain Python on many seeds."""

from itertools import pairwise, permutations

import numpy as np
import pytest

import abound
from abound import SVMMap, ThermometerFeatures
from abound.retrieval.quadratic import solve_grouped_qp
from tests.docs.blocks import blocks_of
from tests.reference import svm_map
from tests.retrieval.ranked import documents
from tests.retrieval.test_svm_map import solve_whole

PAGE = "docs/algorithms/svm-map.md"


@pytest.fixture(scope="module")
def plain(request):
    """The functions of the algorithm's page."""
    namespace = {}
    for block in blocks_of((request.config.rootpath / PAGE).read_text()):
        if block.language == "python" and "\ndef " in f"\n{block.code}":
            exec(block.code, namespace)  # noqa: S102  our own page
    return namespace


def objective(w, C, X, y, qid):
    """1/2 |w|^2 + C times the mean slack, over all rankings of each query."""
    queries = sorted(set(qid))
    slacks = [svm_map.most_violated("map", list(X[qid == q] @ w), (y[qid == q] >= 1).tolist()) for q in queries]
    return 0.5 * w @ w + C * np.mean(slacks)


def test_the_search_of_the_page_is_the_kernels_on_200_seeds(plain):
    for seed in range(200):
        rng = np.random.default_rng(seed)
        X, relevant = rng.normal(size=(12, 3)).round(1), np.arange(12) < rng.integers(1, 11)
        w = rng.normal(size=3)
        loss, difference = plain["most_violated"](X, relevant, w)
        assert loss - difference @ w == pytest.approx(kernel_value(X, relevant, w), abs=1e-12)


def kernel_value(X, relevant, w):
    from abound.kernels.violated import LOSS_MAP, violated_rankings

    weights, losses, indptr = np.empty(len(X)), np.empty(1), np.array([0, len(X)])
    violated_rankings(LOSS_MAP, 1.0, X @ w, relevant.astype(np.uint8), indptr, 0, 1, weights, losses)
    return losses[0] - weights @ (X @ w)


def test_algorithm_1_of_the_page_is_the_packages_on_200_seeds(plain):
    same = 0
    for seed in range(200):
        X, y, qid = documents(n_queries=3, n_documents=5, n_features=3, seed=seed)
        C, epsilon = (0.1, 1.0, 10.0, 50.0)[seed % 4], 0.01
        queries = [(X[qid == q], y[qid == q] >= 1) for q in range(3)]
        w, n_constraints = plain["algorithm_1"](queries, C, epsilon)
        model = SVMMap(C=C, tol=epsilon, solver="n-slack").fit(X, y, qid)
        certificate = model.certificate_
        # Both stop within C epsilon of the optimum, and usually after the same constraints.
        assert abs(objective(w, C, X, y, qid) - certificate.primal) <= C * epsilon + 1e-6
        assert certificate.gap <= C * epsilon + 1e-6
        same += n_constraints == certificate.constraints and np.allclose(w, model.coef_, atol=1e-4)
    assert same >= 195


@pytest.mark.parametrize("loss", ["map", "roc"])
@pytest.mark.parametrize("C", [0.1, 3.0, 100.0])
def test_algorithm_1_reaches_the_optimum_of_a_general_solver(loss, C):
    X, y, qid = documents(n_queries=6, n_documents=5, n_features=3, seed=1)
    optimum, w = solve_whole(loss, C, X, y, qid)
    model = SVMMap(C=C, loss=loss, tol=1e-7, solver="n-slack").fit(X, y, qid)
    assert model.certificate_.dual - 1e-6 * optimum <= optimum <= model.certificate_.primal + 1e-6 * optimum
    assert model.coef_ == pytest.approx(w, abs=1e-3 * max(1.0, np.abs(w).max()))


@pytest.mark.parametrize("loss", ["map", "roc", "accuracy"])
def test_both_solvers_find_the_same_objective(loss):
    X, y, qid = documents(n_queries=30, seed=3)
    one = SVMMap(C=5, loss=loss, tol=1e-6).fit(X, y, qid).certificate_
    many = SVMMap(C=5, loss=loss, tol=1e-6, solver="n-slack").fit(X, y, qid).certificate_
    assert many.primal == pytest.approx(one.primal, rel=1e-5)
    assert one.constraints is None
    assert many.constraints >= many.rounds - 1 > 0


def test_theorem_1_bounds_the_constraints():
    for seed in range(20):
        X, y, qid = documents(n_queries=5, n_documents=6, n_features=3, seed=seed)
        largest_loss = largest_difference = 0.0
        for query in range(5):
            relevant = (y[qid == query] >= 1).tolist()
            right = np.array(svm_map.psi_weights(svm_map.right_ranking(relevant), relevant))
            for ranking in permutations(range(6)):
                difference = (right - svm_map.psi_weights(ranking, relevant)) @ X[qid == query]
                largest_loss = max(largest_loss, svm_map.delta("map", ranking, relevant))
                largest_difference = max(largest_difference, np.linalg.norm(difference))
        counts = []
        for epsilon in (0.3, 0.1, 0.01):
            model = SVMMap(C=2.0, tol=epsilon, solver="n-slack").fit(X, y, qid)
            n = 2 * 5 * largest_loss / epsilon
            bound = max(n, 8 * 2.0 * largest_loss * largest_difference**2 / epsilon**2)
            counts.append(model.certificate_.constraints)
            assert 0 < counts[-1] <= bound
        assert counts == sorted(counts)


def test_proposition_1_the_mean_slack_is_at_least_the_loss():
    for seed in range(200):
        rng = np.random.default_rng(seed)
        scores = rng.normal(size=6).round(1)  # ties, too: every order of tied documents is bounded
        relevant = (np.arange(6) < rng.integers(1, 6)).tolist()
        slack = svm_map.most_violated("map", scores.tolist(), relevant)
        by_score = sorted(range(6), key=lambda row: (-scores[row], relevant[row]))  # the worst order of ties
        assert slack >= svm_map.delta("map", by_score, relevant) - 1e-12
        assert kernel_value(scores[:, None], np.array(relevant), np.ones(1)) == pytest.approx(slack, abs=1e-12)


def delta_j(j, i, rel, non):
    """(5): how H changes if the j-th other document moves above the i-th relevant one; all counted from 1."""
    n, m = len(rel), len(non)
    return (j / (j + i) - (j - 1) / (j + i - 1)) / n - 2 * (rel[i - 1] - non[j - 1]) / (n * m)


@pytest.mark.parametrize("seed", range(50))
def test_lemma_1_and_figure_1(seed):
    rng = np.random.default_rng(seed)
    rel, non = np.sort(rng.normal(size=3))[::-1], np.sort(rng.normal(size=3))[::-1]
    scores, relevant = [*rel, *non], [True] * 3 + [False] * 3
    for i in (1, 2, 3):
        gains = [delta_j(j, i, rel, non) for j in (1, 2, 3)]
        assert all(later <= earlier + 1e-12 for earlier, later in pairwise(gains))
        # Figure 1: with j - 1 others above it, the i-th relevant document changes places with the j-th other one.
        for j in (1, 2, 3):
            others = [3 + k for k in range(j - 1)]
            rest = [row for row in range(6) if row not in others and row != 2 + j and row != i - 1]
            head, tail = [row for row in rest if row < i - 1], [row for row in rest if row > i - 1]
            before = [*others, *head, i - 1, 2 + j, *tail]
            after = [*others, *head, 2 + j, i - 1, *tail]
            moved = svm_map.violation("map", after, scores, relevant) - svm_map.violation(
                "map", before, scores, relevant
            )
            assert moved == pytest.approx(gains[j - 1], abs=1e-12)


def test_observation_1_sorted_documents_violate_most():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        scores, relevant = rng.normal(size=5).tolist(), [True, True, False, False, False]
        by_pattern = {}
        for ranking in permutations(range(5)):
            pattern = tuple(relevant[row] for row in ranking)
            by_pattern.setdefault(pattern, []).append((svm_map.violation("map", ranking, scores, relevant), ranking))
        for pattern, found in by_pattern.items():
            losses = {round(svm_map.delta("map", ranking, relevant), 12) for _, ranking in found}
            assert len(losses) == 1  # the loss depends on the pattern alone
            rows = {
                kind: sorted((row for row in range(5) if relevant[row] == kind), key=lambda row: -scores[row])
                for kind in (True, False)
            }
            by_score = [rows[kind].pop(0) for kind in pattern]
            best = max(value for value, _ in found)
            assert svm_map.violation("map", by_score, scores, relevant) == pytest.approx(best, abs=1e-12)


def test_figure_2_a_linear_ranker_of_bits_is_a_step_function():
    bits = ThermometerFeatures(n_thresholds=3, strategy="uniform").fit([[0.0], [3.0]])
    a, b, c = bits.thresholds_[0]
    w = np.array([2.0, 1.0, -4.0])  # as in the figure, the last step goes down
    for score, expected in ((a, 0.0), (a + 0.1, 2.0), (b + 0.1, 3.0), (c, 3.0), (c + 0.1, -1.0), (99.0, -1.0)):
        assert (bits.transform([[score]]) @ w)[0] == expected


def test_grouped_programs_have_the_optimum_of_a_search():
    rng = np.random.default_rng(0)
    for _ in range(20):
        slopes, gain, groups = rng.normal(size=(4, 3)), rng.normal(size=4), np.array([0, 0, 1, 1])
        P = slopes @ slopes.T
        x = solve_grouped_qp(P, gain, groups)
        assert (x >= -1e-9).all()
        assert np.bincount(groups, x).max() <= 1 + 1e-9
        shares = rng.dirichlet(np.ones(3), (5000, 2))[:, :, :2].reshape(5000, 4)
        values = shares @ gain - 0.5 * np.einsum("ij,jk,ik->i", shares, P, shares)
        assert gain @ x - 0.5 * x @ P @ x >= values.max() - 1e-9


def test_the_solver_is_validated_saved_and_loaded(tmp_path):
    with pytest.raises(ValueError, match="solver must be one of 'one-slack', 'n-slack', got 'smo'"):
        SVMMap(solver="smo").fit([[0.0], [1.0]], [0, 1])
    X, y, qid = documents()
    for solver in ("n-slack", "one-slack"):
        ranker = SVMMap(solver=solver).fit(X, y, qid)
        ranker.save(tmp_path / solver)
        loaded = abound.load(tmp_path / solver)
        assert loaded.get_params() == ranker.get_params()
        assert loaded.certificate_ == ranker.certificate_
        assert (loaded.certificate_.constraints is None) == (solver == "one-slack")


def test_a_model_that_was_saved_without_a_solver_loads(tmp_path):
    from abound.store import write_model

    X, y, qid = documents()
    ranker = SVMMap().fit(X, y, qid)
    params = {name: value for name, value in ranker.get_params().items() if name != "solver"}
    write_model(tmp_path / "m", {"kind": "svm-map", "params": params}, ranker.arrays())
    assert abound.load(tmp_path / "m").solver == "one-slack"


def test_a_limit_of_rounds_is_reported():
    from sklearn.exceptions import ConvergenceWarning

    X, y, qid = documents(n_queries=40)
    with pytest.warns(ConvergenceWarning, match="after max_rounds=1"):
        limited = SVMMap(C=100, tol=1e-4, max_rounds=1, solver="n-slack").fit(X, y, qid).certificate_
    assert limited.rounds == 1
    assert limited.gap > 100 * 1e-4
