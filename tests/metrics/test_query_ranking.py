"""Measures of document rankings: trec_eval's own figures on its own files, and what they mean on small ones."""

import lzma

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from abound.data import Qrel, RunLine, read
from abound.metrics import (
    evaluate_queries,
    evaluate_run,
    judge_queries,
    judge_run,
    query_figures,
    query_metric,
    summarize_queries,
)

WITNESS = {
    "MAP": "map",
    "nDCG": "ndcg",
    "nDCG@10": "ndcg_cut_10",
    "MRR": "recip_rank",
    "P@10": "P_10",
    "R@100": "recall_100",
}


def witness(run, qrels, level=1):
    """Return trec_eval's figures by query."""
    truth, retrieved = {}, {}
    for line in qrels:
        truth.setdefault(line.qid, {})[line.doc] = line.grade
    for line in run:
        retrieved.setdefault(line.qid, {})[line.doc] = line.score
    measures = {"map", "ndcg", "ndcg_cut", "recip_rank", "P", "recall"}
    return pytrec_eval.RelevanceEvaluator(truth, measures, relevance_level=level).evaluate(retrieved)


def read_run(path):
    """Read a run as trec_eval does: what follows the sixth column is passed over."""
    with lzma.open(path, "rt") as lines:
        rows = [line.split() for line in lines]
    return [RunLine(row[0], row[2], int(row[3]), float(row[4]), row[5]) for row in rows]


def same_as_witness(run, qrels, level=1):
    expected = witness(run, qrels, level)
    judgement = judge_run(run, qrels, relevant_from=level)
    assert sorted(judgement.names) == sorted(expected)
    for ours, theirs in WITNESS.items():
        figures = dict(zip(judgement.names.tolist(), query_figures(ours, judgement), strict=True))
        for qid, values in expected.items():
            assert figures[qid] == pytest.approx(values[theirs], abs=1e-9), (ours, qid)
    return judgement


@pytest.mark.data
@pytest.mark.parametrize("run_name", ["results.test", "results.trunc"])
@pytest.mark.parametrize(("qrels_name", "level"), [("qrels.test", 1), ("qrels.rel_level", 1), ("qrels.rel_level", 2)])
def test_trec_evals_own_files(data_folder, run_name, qrels_name, level):
    folder = data_folder / "trec_eval-test"
    run = read_run(folder / f"{run_name}.xz")
    qrels = list(read(folder / f"{qrels_name}.xz", "trec-qrels"))
    judgement = same_as_witness(run, qrels, level)
    means = summarize_queries(judgement, WITNESS)
    expected = witness(run, qrels, level).values()
    for ours, theirs in WITNESS.items():
        # trec_eval prints four digits.
        assert f"{means[ours]:.4f}" == f"{np.mean([values[theirs] for values in expected]):.4f}"


lines = st.lists(
    st.tuples(st.sampled_from("qrs"), st.sampled_from("abcdef"), st.sampled_from([0.5, 1.0, 1.0 + 1e-9, 2.0, -1.0])),
    min_size=1,
    unique_by=lambda line: line[:2],
)
# Not below 0, where trec_eval itself crashes at times.
grades = st.lists(
    st.tuples(st.sampled_from("qrs"), st.sampled_from("abcdefgh"), st.integers(0, 4)),
    min_size=1,
    unique_by=lambda line: line[:2],
)


@settings(max_examples=150, deadline=None)
@given(lines, grades)
def test_any_run_is_measured_as_trec_eval_does(run, qrels):
    run = [RunLine(qid, doc, 0, score, "t") for qid, doc, score in run]
    qrels = [Qrel(*line) for line in qrels]
    if {line.qid for line in run} & {line.qid for line in qrels}:
        same_as_witness(run, qrels)
    else:
        with pytest.raises(ValueError, match="have no query in common"):
            judge_run(run, qrels)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.0, 0.5, 1.0, 2.5])), min_size=2, max_size=12))
def test_the_roc_area_counts_ties_half(rows):
    y, scores = np.array(rows).T
    area = evaluate_queries(y, scores, metrics=["ROC"])["ROC"]
    if 0 < (y >= 1).sum() < len(y):
        assert area == pytest.approx(roc_auc_score(y >= 1, scores))
    else:
        assert np.isnan(area)


def test_average_precision_without_ties_is_scikit_learns():
    rng = np.random.default_rng(0)
    y, scores, qid = rng.integers(2, size=200), rng.random(200), rng.integers(9, size=200)
    figures = query_figures("MAP", judge_queries(y, scores, qid))
    names = judge_queries(y, scores, qid).names
    for name, figure in zip(names, figures, strict=True):
        assert figure == pytest.approx(average_precision_score(y[qid == name], scores[qid == name]))


def test_queries_without_a_relevant_document_leave_the_mean():
    y, scores, qid = [1, 0, 0, 0], [0.1, 0.9, 0.5, 0.4], ["a", "a", "b", "b"]
    assert evaluate_queries(y, scores, qid, ["MAP", "MRR"]) == {"MAP": 0.5, "MRR": 0.5}
    assert summarize_queries(judge_queries(y, scores, qid), ["MAP"]) == {"MAP": 0.25}
    assert np.isnan(evaluate_queries([0], [1.0], metrics=["MAP"])["MAP"])


def test_ties_go_to_the_earlier_row_or_to_the_later_name():
    assert evaluate_queries([1, 0], [1.0, 1.0], metrics=["MRR"])["MRR"] == 1.0
    assert evaluate_queries([1, 0], [1.0, 1.0], metrics=["MRR"], documents=["a", "b"])["MRR"] == 0.5


def test_a_document_that_was_not_retrieved_counts_as_missed():
    assert evaluate_queries([1, 1], [1.0, np.nan], metrics=["MAP", "R@5", "nDCG@5"]) == {
        "MAP": 0.5,
        "R@5": 0.5,
        "nDCG@5": pytest.approx(1 / (1 + 1 / np.log2(3))),
    }


def test_relevant_documents_after_the_first_k_do_not_count():
    found = evaluate_queries([1, 0, 1, 1], [4.0, 3.0, 2.0, 1.0], metrics=["P@1", "P@2", "R@2", "P@3", "R@3"])
    assert found == pytest.approx({"P@1": 1.0, "P@2": 0.5, "R@2": 1 / 3, "P@3": 2 / 3, "R@3": 2 / 3})


def test_in_a_run_documents_of_grade_1_are_relevant_unless_told_otherwise():
    run = [RunLine("q", "a", 1, 2.0, "x"), RunLine("q", "b", 2, 1.0, "x")]
    qrels = [Qrel("q", "a", 1), Qrel("q", "b", 2)]
    assert summarize_queries(judge_run(run, qrels), ["MRR"]) == {"MRR": 1.0}
    assert summarize_queries(judge_run(run, qrels, relevant_from=2), ["MRR"]) == {"MRR": 0.5}


def test_wrong_names_and_lengths_get_one_sentence():
    with pytest.raises(ValueError, match="unknown metric 'ERR' of queries; the metrics are MAP, nDCG, nDCG@k"):
        query_metric("ERR")
    with pytest.raises(ValueError, match="must have the same length"):
        judge_queries([1, 0], [1.0])
    twice = [RunLine("q", "d", 0, 1.0, "t")] * 2
    with pytest.raises(ValueError, match="the run has document 'd' twice for query 'q'"):
        evaluate_run(twice, [Qrel("q", "d", 1)])
