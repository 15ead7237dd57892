"""A small part of the feature-focus paper's experiments, so that the command does not rot."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.papers.feature_focus import __main__ as command
from benchmarks.papers.feature_focus import claims, corpora, peers, runs, streams, tables
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
    def learnt(part):
        outcomes = [peers.one_versus_rest(part, learner) for learner in peers.LEARNERS]
        return runs.index_passes(part, 2, margin=0.1) + [runs.peer(outcome) for outcome in outcomes]

    first, again = (runs.in_trials(small_corpus(), 2, learnt) for _ in range(2))
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


@pytest.mark.parametrize("fitted", [False, True])
@pytest.mark.parametrize("learner", ["perceptron", "SVM C=1"])
def test_a_tree_of_classifiers_finds_the_leaf_and_leaves_out_what_stands_above_it(learner, fitted):
    # Labels 0 and 1 stand below node 3, label 2 below node 4, alone; each has a feature of its own.
    y = np.repeat([0, 1, 2], 12)
    X, Y = sp.csr_matrix(np.eye(3)[y]), sp.csr_matrix(np.eye(3)[y])
    outcome = peers.top_down(corpora.Part(X, Y, X, Y), np.array([3, 3, 4, -1, -1]), learner, fitted=fitted)
    assert outcome.ranks.tolist() == [1] * 36
    assert 2 < outcome.touched <= 5
    tree = peers.TopDown(np.array([3, 3, 4, -1, -1]), learner, fitted=fitted).fit(X, Y)
    found = (np.array([0, 0, 0, 0]), np.array([3, 0, 1, 2]), np.array([0.9, 0.3, 0.6, 0.5]))
    truth = sp.csr_matrix([[1, 0, 0]])
    assert tree.ranks(found, truth, 0.05).tolist() == [3]  # node 3 gives way to what stands below it
    assert tree.ranks(found, truth, 0.4).tolist() == [np.inf]


def test_a_label_without_examples_is_no_candidate():
    X, Y = sp.csr_matrix(np.eye(4)), sp.csr_matrix(np.eye(4)[:, :3])
    tree = peers.TopDown(np.array([-1, -1, -1, -1]), "SVM C=1", fitted=False).fit(X, Y)
    assert sorted(tree.models) == [0, 1, 2]


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


def trials_of(*values):
    return {"R1 of trials": list(values)}


def test_a_comparison_pairs_trials_and_only_a_sure_loss_counts_as_worse():
    level = claims.paired(trials_of(0.5, 0.6, 0.4), trials_of(0.6, 0.5, 0.5))
    assert (level["wins"], level["losses"]) == (1, 2)
    assert not claims.better(level)
    assert claims.not_worse(level)
    lost = claims.paired(trials_of(*[0.4] * 10), trials_of(*[0.5] * 10))
    assert lost["p"] < 0.01
    assert not claims.not_worse(lost)


def test_the_best_number_of_passes_is_the_one_with_the_highest_mean():
    def row(value):
        return {"R1": value, "R5": 1.0, "HR": 1.0, "d": 1.0, "W": 1.0, "seconds": 0.1}

    found = runs.best_pass([[row(0.1), row(0.5), row(0.4)], [row(0.2), row(0.4), row(0.4)]])
    assert found[0] == 2
    assert found[1]["R1"] == pytest.approx(0.45)
    assert found[1]["deviation"] == pytest.approx(np.std([0.5, 0.4], ddof=1))
