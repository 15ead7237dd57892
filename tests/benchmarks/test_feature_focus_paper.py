"""A small part of the feature-focus paper's experiments, so that the command does not rot."""

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.page_figures import read
from benchmarks.papers.feature_focus import __main__ as command
from benchmarks.papers.feature_focus import cases, claims, contents, corpora, peers, runs, streams, tables, unweighted
from benchmarks.papers.feature_focus.cells import Cells
from tests.reference.feature_focus import FeatureFocusOracle


@pytest.mark.data
@pytest.mark.usefixtures("data_folder")
def test_the_quick_form_prints_the_tables_and_draws_five_figures(tmp_path, capsys):
    result = command.main(["--quick", "--json", str(tmp_path / "result.json"), "--images", str(tmp_path / "images")])
    printed = capsys.readouterr().out
    for part in tables.PARTS:
        assert f"== {part}" in printed
    assert sorted(path.name for path in (tmp_path / "images").iterdir()) == [
        f"feature-focus-figure-{number}.png" for number in (12, 14, 19, 21, 22)
    ]
    assert json.loads((tmp_path / "result.json").read_text())["machine"] == result["machine"]
    assert list(result["corpora"]) == ["reuters-10", "debian-tags"]
    for corpus in result["corpora"].values():
        for name, row in corpus["systems"].items():
            assert row["R1"] <= row["R5"] <= 1 <= row["HR"]
            assert name == "frequency" or row["R1"] > corpus["systems"]["frequency"]["R1"]
            assert row["trials"] == 2
        assert corpus["systems"]["FF best"]["R1"] >= corpus["systems"]["FF first"]["R1"]


def small_corpus(n_features=12, **params):
    random = np.random.default_rng(0)
    y, own = random.integers(0, 3, 120), 3 * np.arange(n_features) // n_features
    shares = (1.2 + 4.8 * (own == y[:, None])) / n_features  # so many features a row, however many there are
    X = sp.csr_matrix((random.random((120, n_features)) < shares).astype(float))
    return corpora.Corpus("small", "", [(X, sp.csr_matrix(np.eye(3)[y]))], **params)


def test_a_trial_holds_its_share_out_and_is_the_same_again():
    corpus = small_corpus(weighting=corpora.TF_IDF, held_out=0.2)
    first, again, other = (corpus.trial(number) for number in (4, 4, 5))
    assert first.X_train.shape[0] == 96
    assert first.X_test.shape[0] == 24
    assert (first.X_train != again.X_train).nnz == 0
    assert (first.X_train != other.X_train).nnz > 0
    lengths = np.asarray(first.X_train.multiply(first.X_train).sum(axis=1)).ravel()
    assert np.allclose(lengths[lengths > 0], 1)


def test_trials_give_the_same_figures_again():
    def learned(part):
        outcomes = [one for name in peers.LEARNERS for one in peers.one_versus_rest(part, name).values()]
        return runs.index_passes(part, 2, margin=0.1) + [runs.peer(outcome) for outcome in outcomes]

    first, again = (Cells(small_corpus()).trials("all", 2, learned) for _ in range(2))
    for one, other in zip(np.ravel(first), np.ravel(again), strict=True):
        assert {**one, "seconds": 0} == {**other, "seconds": 0}


def test_later_passes_are_those_of_fit():
    part = small_corpus(200).trial(0)  # of rare features: ratings count the sightings of the first pass only
    for passes in (1, 3):
        ranker = runs.FeatureFocus(passes=passes, margin=0.1, **runs.PAPERS_OWN).fit(part.X_train, part.Y_train)
        found = runs.index_passes(part, 3, margin=0.1)[passes - 1]
        assert found["R1"] == np.mean(runs.ranks_of(ranker, part.X_test, part.Y_test) <= 1)
        assert found["W"] == ranker.n_edges_


def test_the_best_rank_counts_ties_against_the_true_label():
    scores = np.array([[3.0, 3.0, 1.0], [3.0, 2.0, 1.0], [1.0, 0.0, -np.inf]])
    truth = sp.csr_matrix([[0, 1, 0], [1, 0, 1], [0, 0, 1]])
    assert peers.best_ranks(scores, truth).tolist() == [2, 1, np.inf]


# -- the tree ----------------------------------------------------------------------------------------


def test_nodes_above_labels_come_after_them_and_only_the_deepest_labels_are_kept():
    above = {"a b c": "a b", "a b": "a", "d e": "d"}.get
    assert corpora.parents_of(["a b c", "a", "d e"], above).tolist() == [3, -1, 4, 1, -1]
    assert corpora.deepest(["a", "a b c", "d e"], above) == ["a b c", "d e"]


@pytest.mark.parametrize("fits", [0, 2])
@pytest.mark.parametrize("learner", ["perceptron", "committee", "SVM C=1"])
def test_a_tree_of_classifiers_finds_the_leaf_and_leaves_out_what_stands_above_it(learner, fits):
    # Labels 0 and 1 stand below node 3, label 2 below node 4, alone; each has a feature of its own.
    y = np.repeat([0, 1, 2], 12)
    X, Y = sp.csr_matrix(np.eye(3)[y]), sp.csr_matrix(np.eye(3)[y])
    outcomes = peers.top_down(corpora.Part(X, Y, X, Y), np.array([3, 3, 4, -1, -1]), learner, fits)
    assert list(outcomes) == [str(least) for least in peers.LEAST_PROBABILITIES]
    assert outcomes["0.1"].ranks.tolist() == [1] * 36
    assert 2 < outcomes["0.1"].touched <= 5
    tree = peers.TopDown(np.array([3, 3, 4, -1, -1]), learner, fits).fit(X, Y)
    found = (np.array([0, 0, 0, 0]), np.array([3, 0, 1, 2]), np.array([0.9, 0.3, 0.6, 0.5]))
    truth = sp.csr_matrix([[1, 0, 0]])
    assert tree.ranks(found, truth, 0.05).tolist() == [3]  # node 3 gives way to what stands below it
    assert tree.ranks(found, truth, 0.4).tolist() == [np.inf]


def test_a_label_without_examples_is_no_candidate():
    X, Y = sp.csr_matrix(np.eye(4)), sp.csr_matrix(np.eye(4)[:, :3])
    tree = peers.TopDown(np.array([-1, -1, -1, -1]), "SVM C=1").fit(X, Y)
    assert {parent: children for parent, (children, _) in tree.models.items()} == {-1: [0, 1, 2]}


def test_a_fitted_sigmoid_has_the_slope_and_offset_of_the_chances():
    random = np.random.default_rng(0)
    scores = random.normal(0, 2, 40_000)
    truth = random.random(40_000) < 1 / (1 + np.exp(-(1.5 * scores - 0.7)))
    assert peers.sigmoid(scores, truth) == pytest.approx((1.5, -0.7), abs=0.06)


def test_sigmoid_trials_change_the_probabilities_of_a_tree():
    part = small_corpus().trial(0)
    flat = np.full(3, -1)
    trees = [peers.TopDown(flat, "SVM C=1", fits).fit(part.X_train, part.Y_train) for fits in (0, 1, 3)]
    zero, one, three = (tree.candidates(part.X_test, 0.0)[2] for tree in trees)
    assert not np.allclose(zero, one)
    assert not np.allclose(one, three)


# -- perceptrons and committees ----------------------------------------------------------------------


def plain_perceptron(X, y, start):
    """Learn with a plain loop; `start` is the weight of a feature when it is first updated."""
    rows = np.column_stack([X, np.ones(len(X))])
    w, touched, best, waited = np.zeros(rows.shape[1]), np.zeros(rows.shape[1], bool), np.inf, 0
    for _ in range(peers.MOST_PASSES):
        for x, sign in zip(rows, y, strict=True):
            if sign * (x @ w) <= 0:
                new = (x > 0) & ~touched
                w[new], touched[x > 0] = start, True
                w += sign * x
        errors = np.count_nonzero(y * (rows @ w) <= 0)
        waited = 0 if errors < best else waited + 1
        best = min(best, errors)
        if errors == 0 or waited >= peers.PATIENCE:
            break
    return w


def test_perceptrons_of_several_labels_equal_a_plain_loop():
    part = small_corpus(20).trial(0)
    truth = part.Y_train.toarray() > 0
    model = peers.Perceptrons().fit(part.X_train, truth)
    for label in range(3):
        w = plain_perceptron(part.X_train.toarray().astype(np.float32), np.where(truth[:, label], 1.0, -1.0), 0.0)
        assert np.allclose(model.W[:, label], w, atol=1e-5)


def test_members_of_a_committee_start_from_random_weights_of_updated_features():
    part = small_corpus(20).trial(0)
    X = sp.csr_matrix(sp.hstack([part.X_train, np.zeros((part.X_train.shape[0], 1))]))  # one feature never occurs
    model = peers.Perceptrons(10, random_starts=True).fit(X, part.Y_train.toarray() > 0)
    members = model.W.reshape(22, 3, 10)
    assert all(len(np.unique(members[0, label])) == 10 for label in range(3))
    assert (members[20] == 0).all()
    mean = np.asarray(peers.with_bias(X) @ members.mean(axis=2))
    assert np.allclose(model.scores(X), mean, atol=1e-5)  # the mean score is the score of the mean weights
    votes = model.votes(X)
    assert (np.floor(votes) == (model.members_scores(X) > 0).sum(axis=2)).all()
    assert len(np.unique(np.floor(votes))) > 1


def test_the_svms_of_the_plans_have_all_four_values_of_c():
    assert peers.C_GRID == (1, 5, 10, 100)
    for name, plan in command.PLANS.items():
        assert set(runs.SVMS) <= set(plan.flat) or plan.cost_labels, name
    X, Y = sp.csr_matrix(np.eye(4)), np.eye(4)[:, :2] > 0
    small, large = (peers.LEARNERS[name]().fit(X, Y) for name in ("SVM C=1", "SVM C=100"))
    assert np.abs(large.coef).max() > np.abs(small.coef).max()


def test_the_maximum_f1_of_a_label_does_not_cut_between_equal_scores():
    scores = np.array([[3.0, 1.0], [2.0, 1.0], [1.0, 1.0], [0.0, 1.0]])
    truth = sp.csr_matrix([[1, 1], [0, 0], [1, 0], [0, 0]])
    # Label 0: the cuts have F1 2/3, 1/2, 4/5, 2/3. Label 1: only the cut after all four, 2/5.
    assert peers.class_f1(scores, truth) == pytest.approx((0.8 + 0.4) / 2)


# -- the unweighted index ----------------------------------------------------------------------------


def test_the_unweighted_index_learns_after_misses_and_after_too_many_wrong_labels():
    index = unweighted.UnweightedIndex(2, 3, tolerance=1, members=0, rate=2.0, least=0.5)
    first, second = np.array([0]), np.array([1])
    for label in (0, 1):  # each is missed, so it gets an edge of weight 1
        index.learn(first, np.ones(1), np.array([label]))
    assert index.V[0].tolist() == [1, 1, 0]
    index.learn(first, np.ones(1), np.array([2]))  # missed; two wrong labels are more than one: their weights fall
    assert index.V[0].tolist() == [0.5, 0.5, 1]
    index.learn(second, np.ones(1), np.array([0]))
    assert index.V[1].tolist() == [1, 0, 0]
    index.learn(first, np.ones(1), np.array([2]))  # retrieved with two wrong labels: those fall out of the index
    assert index.scores(sp.csr_matrix([[1.0, 0.0]]), classifiers=False).tolist() == [[-np.inf, -np.inf, 1.0]]
    index.learn(first, np.ones(1), np.array([0]))  # missed: its weight rises
    assert index.V[0].tolist() == [0.5, 0.25, 1]
    assert index.scores(sp.csr_matrix([[2.0, 0.0]]), classifiers=False).tolist() == [[1.0, -np.inf, 2.0]]


def test_classifiers_rank_only_what_the_unweighted_index_retrieves():
    part = small_corpus(20).trial(0)
    found = unweighted.one_trial(part, 1)
    assert len(found["no classifiers"]) == len(found["with classifiers"]) == unweighted.PASSES
    assert max(found["with classifiers"]) > 0.6
    assert 0 < found["retrieved"] <= 3
    nothing = unweighted.UnweightedIndex(20, 3, 1)
    assert (nothing.scores(sp.csr_matrix(part.X_test), classifiers=True) == -np.inf).all()


# -- cells -------------------------------------------------------------------------------------------


def test_an_interrupted_run_continues_with_the_missing_cells(tmp_path):
    calls = []

    def rows(part):
        calls.append(part)
        return part.X_test.shape[0]

    assert Cells(small_corpus(), tmp_path).trials("rows", 2, rows) == [12, 12]
    with (tmp_path / "small.jsonl").open("a") as lines:
        lines.write('{"of": "torn')
    again = Cells(small_corpus(), tmp_path)
    assert again.trials("rows", 3, rows) == [12, 12, 12]
    assert len(calls) == 3
    assert again.seconds > 0
    other = small_corpus(15)
    assert Cells(other, tmp_path).trials("rows", 1, rows) == [12]  # other data: nothing stored counts
    assert len(calls) == 4


def test_stored_cells_can_be_shown_without_computing_the_others(tmp_path):
    Cells(small_corpus(), tmp_path).trials("rows", 2, lambda part: part.X_test.shape[0])
    stored = Cells(small_corpus(), tmp_path, stored_only=True)
    assert stored.has("rows", 2)
    assert not stored.has("rows", 3)
    with pytest.raises(LookupError, match="rows is not stored"):
        stored.trials("rows", 3, lambda part: part.X_test.shape[0])


def test_settings_are_chosen_on_training_rows_only():
    part = small_corpus().trial(0)
    inner = part.development()
    assert inner.X_train.shape[0] + inner.X_test.shape[0] == part.X_train.shape[0]
    assert (sp.vstack([inner.X_train, inner.X_test]) != part.X_train).nnz == 0
    plan = runs.Plan(small_corpus, passes=2)
    found = runs.grid(Cells(small_corpus()), plan, 3)
    assert len(found["own"]["settings"]) == 3
    for trial, (margin, passes) in enumerate(found["own"]["settings"]):
        rows = runs.index_passes(small_corpus().trial(trial), 2, margin=margin)
        assert found["own"]["R1 of trials"][trial] == pytest.approx(rows[passes - 1]["R1"], abs=1e-6)


# -- section 4.3.1 -----------------------------------------------------------------------------------


def test_updates_after_errors_are_right_in_case_1_and_constant_updates_in_case_2():
    found = cases.both(20)
    assert np.mean(found["case 1"]["after errors"]) == 1
    assert np.mean(found["case 1"]["always"]) < 0.8
    assert np.mean(found["case 2"]["always"]) > np.mean(found["case 2"]["after errors"])


# -- appendix B --------------------------------------------------------------------------------------


@pytest.mark.parametrize("w_min", streams.W_MINS)
def test_shares_are_those_of_the_streaming_update(w_min):
    draws = np.random.default_rng(3).choice(30, 400, p=streams.one_high(0.3, 30))
    oracle = FeatureFocusOracle(w_min=w_min, margin=float("inf"), d_max=10**9, rating=False)
    numbers = {label: number for number, label in enumerate(dict.fromkeys(draws.tolist()))}
    for label in draws.tolist():
        oracle.learn({0: 1.0}, [numbers[label]])
    found = streams.shares(draws, 30, w_min)
    expected = np.zeros(30)
    for label, number in numbers.items():
        expected[label] = dict(oracle.edges[0]).get(number, 0.0) / oracle.W[0]
    assert np.allclose(found, expected)
    if w_min == 0:
        assert np.allclose(found, np.bincount(draws, minlength=30) / 400)


def test_random_shares_use_up_the_mass():
    random = np.random.default_rng(0)
    for _ in range(20):
        shares = streams.few_in_a_row(random)
        assert shares.sum() == pytest.approx(1)
        assert (shares > 0).all()


# -- what is claimed ---------------------------------------------------------------------------------


def around(mean, n=6, spread=0.002):
    return [mean + spread * (-1) ** i for i in range(n)]


@pytest.mark.parametrize(
    ("first", "second", "not_worse", "better"),
    [
        (0.60, 0.50, "holds", "holds"),
        (0.50, 0.50, "holds", "does not hold"),
        (0.505, 0.50, "holds", "holds"),
        (0.494, 0.50, "holds", "does not hold"),
        (0.49, 0.50, "undecided", "does not hold"),
        (0.40, 0.50, "does not hold", "does not hold"),
    ],
)
def test_a_verdict_can_fail_in_both_directions(first, second, not_worse, better):
    made = claims.pair(around(first), [second] * 6)
    assert claims.not_worse(made) == not_worse
    assert claims.better(made) == better


def test_a_wide_interval_and_few_trials_are_undecided():
    wide = claims.pair(around(0.5, spread=0.1), [0.5] * 6)
    few = claims.pair(around(0.9, n=5), [0.1] * 5)
    for made in (wide, few):
        assert claims.not_worse(made) == claims.better(made) == "undecided"
    assert claims.better(claims.pair(around(0.9), [0.1] * 6)) == "holds"


def test_the_interval_counts_that_trials_share_rows():
    made = claims.pair([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], 0.0, held_out=0.1)
    deviation = np.std([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], ddof=1)
    assert made.high - made.difference == pytest.approx(2.5706 * deviation * np.sqrt(1 / 6 + 1 / 9), rel=1e-4)


def test_small_values_have_a_small_tolerance():
    assert claims.pair([0.02] * 6, [0.02] * 6).tolerance == pytest.approx(0.001)
    assert claims.pair([0.9] * 6, [0.9] * 6).tolerance == 0.01


def test_the_index_is_compared_with_the_best_classifier():
    systems = {
        name: {"R1": value, "R5": value, "trials": 6}
        for name, value in {"FF best": 0.5, "frequency": 0.9, "SVM C=1, tree": 0.4, "SVM C=5": 0.6}.items()
    }
    assert claims.rival({"systems": systems}) == "SVM C=5"
    systems["SVM C=100"] = {"R1": 0.7, "R5": 0.7, "trials": 2}  # not yet on all trials
    assert claims.rival({"systems": systems}) == "SVM C=5"
    assert claims.rival({"systems": {"FF best": systems["FF best"]}}) is None


def test_every_claim_of_the_result_file_has_six_trials():
    result = read("feature-focus-paper")
    for name, corpus in result["corpora"].items():
        assert corpus["trials"] >= claims.LEAST_TRIALS, name
        for system, row in corpus["systems"].items():
            assert row["trials"] == len(row["R1 of trials"]) == corpus["trials"], (name, system)
    verdicts = {verdict for check in claims.checks(result) for verdict, _ in check["sets"].values()}
    assert verdicts == {"holds", "does not hold", "undecided"}


def test_the_table_of_contents_names_files_that_exist():
    root = Path(__file__).resolve().parents[2]
    for item in contents.ITEMS:
        for places in (item.place, item.test):
            folder = None
            for place in places.split(", "):
                path = root / place if "/" in place or folder is None else folder / place
                assert place == "-" or path.exists(), (item.name, place)
                folder = path.parent
        assert item.verdict or item.sections, item.name


def test_the_best_number_of_passes_is_the_one_with_the_highest_mean():
    def row(value):
        return {"R1": value, "R5": 1.0, "HR": 1.0, "d": 1.0, "W": 1.0, "seconds": 0.1}

    found = runs.best_pass([[row(0.1), row(0.5), row(0.4)], [row(0.2), row(0.4), row(0.4)]])
    assert found[0] == 2
    assert found[1]["R1"] == pytest.approx(0.45)
    assert found[1]["deviation"] == pytest.approx(np.std([0.5, 0.4], ddof=1))
