"""SVMMap: the optimum within its certificate, any order of rows, any number of threads, a model directory."""

from itertools import permutations

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import abound
from abound import QueryScaler, Reranker, SVMMap, ThermometerFeatures
from abound.errors import DamagedModel
from abound.retrieval import ThermometerTable, cutting_plane
from tests.reference import svm_map
from tests.retrieval.ranked import documents

WITHIN = "a row is normalised among those of its query, and without qid these are all rows given"
EXPECTED_FAILURES = {"QueryScaler": {"check_methods_subset_invariance": WITHIN}}


@parametrize_with_checks(
    [SVMMap(), ThermometerFeatures(), QueryScaler(), Reranker()],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES.get(type(estimator).__name__, {}),
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# -- the optimum -------------------------------------------------------------------------------------


def rankings_of(loss, relevant):
    """Yield the loss and the row weights of Psi(right) - Psi(y) for every y of a query."""
    right = np.array(svm_map.psi_weights(svm_map.right_ranking(relevant), relevant))
    for ranking in permutations(range(len(relevant))):
        yield svm_map.delta(loss, ranking, relevant), right - svm_map.psi_weights(ranking, relevant)


def solve_whole(loss, C, X, y, qid):
    """Minimise over all constraints of all queries at once, one slack a query, by a general conic solver."""
    queries = sorted(set(qid))
    rows, bounds = [], []
    for number, query in enumerate(queries):
        inside = qid == query
        for lost, weights in rankings_of(loss, (y[inside] >= 1).tolist()):
            rows.append([*-(weights @ X[inside]), *(-1.0 if q == number else 0.0 for q in range(len(queries)))])
            bounds.append(-lost)
    n_features, n_queries = X.shape[1], len(queries)
    P = sp.csc_array(np.diag([1.0] * n_features + [0.0] * n_queries))
    cost = np.array([0.0] * n_features + [C / n_queries] * n_queries)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    cone = [clarabel.NonnegativeConeT(len(rows))]
    solution = clarabel.DefaultSolver(P, cost, sp.csc_array(np.array(rows)), np.array(bounds), cone, settings).solve()
    return solution.obj_val, np.array(solution.x[:n_features])


@pytest.mark.parametrize("loss", ["map", "roc"])
@pytest.mark.parametrize("C", [0.1, 3.0, 100.0])
@pytest.mark.parametrize("seed", range(3))
def test_the_objective_is_a_general_solvers_within_the_certified_gap(loss, C, seed):
    X, y, qid = documents(n_queries=6, n_documents=5, n_features=3, seed=seed)
    optimum, w = solve_whole(loss, C, X, y, qid)
    ranker = SVMMap(C=C, loss=loss, tol=1e-6).fit(X, y, qid)
    certificate = ranker.certificate_
    slack = 1e-6 * optimum
    assert certificate.dual - slack <= optimum <= certificate.primal + slack
    assert certificate.primal - optimum <= certificate.gap + slack
    assert certificate.gap <= 1e-6 * certificate.primal
    # The objective is strongly convex: a gap bounds the distance to the optimal weights.
    assert np.linalg.norm(ranker.coef_ - w) <= np.sqrt(2 * certificate.gap) + 1e-3 * np.linalg.norm(w)


def test_accuracy_without_queries_is_the_ordinary_svm():
    from sklearn.svm import LinearSVC

    X, y, _ = documents(seed=4)
    n = len(y)
    ours = SVMMap(C=n * 0.1, loss="accuracy", tol=1e-7).fit(X, y)
    theirs = LinearSVC(C=0.1, loss="hinge", tol=1e-9, max_iter=1_000_000).fit(X, y >= 1)
    assert ours.coef_ == pytest.approx(theirs.coef_[0], abs=1e-3)
    assert ours.intercept_ == pytest.approx(theirs.intercept_[0], abs=1e-3)
    weighted = SVMMap(C=n * 0.1, loss="accuracy", class_weight="balanced").fit(X, y)
    assert weighted.intercept_ > ours.intercept_  # misses cost more, so more documents are called relevant


@pytest.mark.parametrize("loss", ["map", "roc", "accuracy"])
def test_the_certificate_holds_and_says_how(loss):
    X, y, qid = documents(n_queries=40)
    certificate = SVMMap(C=10, loss=loss, tol=1e-4).fit(X, y, qid).certificate_
    assert 0 <= certificate.gap == certificate.primal - certificate.dual
    assert certificate.relative_gap <= 1e-4
    assert certificate.rounds > 1
    assert certificate.seconds > 0


def test_a_round_limit_leaves_an_honest_gap():
    X, y, qid = documents(n_queries=40)
    with pytest.warns(ConvergenceWarning, match="the gap is .* of the objective after max_rounds=4"):
        limited = SVMMap(C=100, tol=1e-6, max_rounds=4).fit(X, y, qid).certificate_
    whole = SVMMap(C=100, tol=1e-6).fit(X, y, qid).certificate_
    assert limited.rounds == 4
    assert limited.relative_gap > 1e-6
    assert limited.dual <= whole.primal <= limited.primal


def test_idle_planes_are_dropped_without_harm(monkeypatch):
    X, y, qid = documents(n_queries=60, n_features=8)
    kept = SVMMap(C=50, tol=1e-5).fit(X, y, qid).certificate_
    largest = []
    solve = cutting_plane.solve_simplex_qp
    monkeypatch.setattr(cutting_plane, "solve_simplex_qp", lambda P, gain: largest.append(len(gain)) or solve(P, gain))
    monkeypatch.setattr(cutting_plane, "IDLE_ROUNDS", 3)
    dropped = SVMMap(C=50, tol=1e-5).fit(X, y, qid).certificate_
    assert max(largest) < dropped.rounds
    assert dropped.primal == pytest.approx(kept.primal, rel=1e-4)


# -- rows --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["map", "roc", "accuracy"])
def test_the_result_does_not_depend_on_the_number_of_threads(loss):
    X, y, qid = documents(n_queries=300, n_documents=20)
    hashes = {SVMMap(C=5, loss=loss, n_jobs=n).fit(X, y, qid).state_hash() for n in (1, 2, 3, 7)}
    assert len(hashes) == 1


def test_queries_may_come_in_any_order_and_under_any_name():
    X, y, qid = documents(n_queries=30)
    ranker = SVMMap(C=5, tol=1e-6).fit(X, y, qid)
    order = np.random.default_rng(1).permutation(len(y))
    names = np.array([f"query {q}" for q in qid])
    shuffled = SVMMap(C=5, tol=1e-6).fit(X[order], y[order], names[order])
    assert shuffled.coef_ == pytest.approx(ranker.coef_, abs=1e-2)
    assert shuffled.certificate_.primal == pytest.approx(ranker.certificate_.primal, rel=1e-5)


def test_dense_and_sparse_rows_learn_the_same():
    X, y, qid = documents(n_queries=30)
    X[X < 0.3] = 0
    dense, sparse = SVMMap().fit(X, y, qid), SVMMap().fit(sp.csr_matrix(X), y, qid)
    assert sparse.coef_ == pytest.approx(dense.coef_, abs=1e-9)
    assert sparse.decision_function(sp.coo_array(X)) == pytest.approx(dense.decision_function(X), abs=1e-9)


def test_queries_of_one_kind_change_nothing():
    X, y, qid = documents(n_queries=20)
    more = np.vstack([X, np.ones((6, X.shape[1])), 5 * np.ones((4, X.shape[1]))])
    both = SVMMap().fit(more, [*y, *[1] * 6, *[0] * 4], [*qid, *["r"] * 6, *["n"] * 4])
    alone = SVMMap().fit(X, y, qid)
    assert both.coef_.tolist() == alone.coef_.tolist()
    assert both.n_queries_ == alone.n_queries_ == 20


def test_it_learns_what_was_planted():
    X, y, qid = documents(n_queries=60, noise=0.0)
    assert SVMMap(C=1000).fit(X, y, qid).score(X, y, qid) > 0.99
    assert SVMMap(C=1000).fit(X[:400], y[:400], qid[:400]).score(X[400:], y[400:], qid[400:]) > 0.95


def test_rank_orders_each_query_and_keeps_the_order_of_ties():
    ranker = SVMMap().fit([[0.0], [1.0]], [0, 1])
    ranked = ranker.rank([[1.0], [5.0], [1.0], [2.0], [0.0]], qid=["b", "a", "b", "b", "a"])
    assert [(query.qid, query.rows.tolist()) for query in ranked] == [("b", [3, 0, 2]), ("a", [1, 4])]
    assert ranked[0].scores.tolist() == ranker.decision_function([[2.0], [1.0], [1.0]]).tolist()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"C": 0}, "C must be positive and finite, got 0"),
        ({"tol": -1}, "tol must be positive and finite, got -1"),
        ({"loss": "ndcg"}, "loss must be one of 'map', 'roc', 'accuracy', got 'ndcg'"),
        ({"class_weight": "balanced"}, "class_weight needs loss='accuracy'"),
        ({"max_rounds": 0}, "max_rounds must be a whole number of at least 1, got 0"),
    ],
)
def test_a_bad_parameter_is_named(params, message):
    with pytest.raises(ValueError, match=message):
        SVMMap(**params).fit([[0.0], [1.0]], [0, 1])


def test_bad_input_gets_one_sentence():
    with pytest.raises(ValueError, match=r"qid must have an entry for each of the 2 rows, got shape \(3,\)"):
        SVMMap().fit([[0.0], [1.0]], [0, 1], qid=[1, 2, 3])
    with pytest.raises(ValueError, match="qid must name a query for each row, but holds NaN"):
        SVMMap().fit([[0.0], [1.0]], [0, 1], qid=[1.0, np.nan])
    with pytest.raises(ValueError, match="y must hold a finite grade for each row"):
        SVMMap().fit([[0.0], [1.0]], ["a", "b"])


# -- the model directory -----------------------------------------------------------------------------


def test_a_saved_ranker_comes_back(tmp_path):
    X, y, qid = documents()
    ranker = SVMMap(C=np.float64(2.0), loss="accuracy").fit(X, y, qid)
    ranker.save(tmp_path / "m")
    loaded = abound.load(tmp_path / "m")
    assert isinstance(loaded, SVMMap)
    assert loaded.get_params() == ranker.get_params()
    assert loaded.state_hash() == ranker.state_hash()
    assert loaded.certificate_ == ranker.certificate_
    assert loaded.decision_function(X).tolist() == ranker.decision_function(X).tolist()


@pytest.mark.parametrize("params", [{}, {"n_thresholds": 0}, {"per_query": "minmax", "lower_is_better": True}])
def test_a_saved_reranker_comes_back(tmp_path, params):
    X, y, qid = documents()
    if params.get("n_thresholds", 1):
        X[::7, 0] = np.nan
    reranker = Reranker(**params).fit(X, y, qid)
    reranker.save(tmp_path / "m")
    loaded = abound.load(tmp_path / "m")
    assert isinstance(loaded, Reranker)
    assert loaded.decision_function(X, qid).tolist() == reranker.decision_function(X, qid).tolist()
    assert loaded.certificate_ == reranker.certificate_


def test_a_model_with_other_arrays_is_refused(tmp_path):
    from abound.store import write_model

    write_model(tmp_path / "m", {"kind": "svm-map", "params": {}}, {"coef": np.array([np.nan])})
    with pytest.raises(DamagedModel, match="does not hold what an SVMMap needs"):
        abound.load(tmp_path / "m")
    X, y, qid = documents()
    reranker = Reranker().fit(X, y, qid)
    arrays = {**reranker.ranker_.arrays(), "thresholds": np.zeros(3), "threshold_offsets": np.array([0, 3])}
    write_model(tmp_path / "m", {"kind": "reranker", "params": {}}, arrays)
    with pytest.raises(DamagedModel, match="numbers of weights and thresholds differ"):
        abound.load(tmp_path / "m")


def test_a_table_without_rows_is_refused_with_a_sentence():
    table = ThermometerTable(np.zeros((0, 1), np.int64), np.array([2]))
    with pytest.raises(ValueError, match="nothing to learn: X has 0 rows"):
        SVMMap().fit(table, [])


@pytest.mark.parametrize("wrong", ["1", None, np.zeros(0), True])
def test_the_grade_of_relevant_documents_must_be_a_number(wrong):
    with pytest.raises(TypeError, match="relevant_from must be a number"):
        SVMMap(relevant_from=wrong).fit([[1.0], [0.0]], [1, 0])


def test_a_program_that_cannot_be_solved_says_what_to_do():
    with pytest.raises(ValueError, match="scale X, or choose another C"):
        SVMMap(C=1e300, max_rounds=20, tol=0.1).fit([[0.0], [0.0], [0.36], [0.29], [0.99], [0.38]], [3, 0, 0, 0, 2, 0])
