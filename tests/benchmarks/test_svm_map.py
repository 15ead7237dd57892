"""Short runs of the SVM-map paper's experiments."""

import json

import numpy as np
import pytest

from benchmarks.papers import svm_map
from benchmarks.papers.collections import Collection
from benchmarks.papers.rankers import LEARNERS

pytestmark = pytest.mark.data


@pytest.fixture(autouse=True)
def few_learners(data_folder, monkeypatch):
    for name in list(LEARNERS):
        if name not in ("SVM-map", "SVM-roc"):
            monkeypatch.delitem(LEARNERS, name)


def test_the_folds_of_letor_rotate():
    rows = [np.full(1, part) for part in range(5)]
    parts = [Collection(row[:, None], row, row, row, row >= 0) for row in rows]
    seen = []
    for fold in range(5):
        train, valid, test = svm_map.rotated(parts, fold)
        assert sorted([*train.qid, *valid.qid, *test.qid]) == list(range(5))
        assert len(train.qid) == 3
        seen += test.qid.tolist()
    assert sorted(seen) == list(range(5))


def test_every_query_is_trained_on_validated_and_tested_equally_often():
    queries = np.arange(50)
    chosen = svm_map.trials(queries, 50)
    for place, times in enumerate((10, 5, 35)):
        assert np.bincount(np.concatenate([trial[place] for trial in chosen])).tolist() == [times] * 50
    for trial in chosen:
        assert sorted(np.concatenate(trial)) == queries.tolist()


def test_svm_map_beats_every_ranker_and_their_fusion_on_part_of_letor(monkeypatch, capsys):
    monkeypatch.setattr(svm_map, "FOLDS", 2)
    result = svm_map.letor(n_queries=60)
    learners = result["learners"]
    assert max(learner["largest_relative_gap"] for learner in learners.values()) <= 0.001
    others = [row["MAP"] for name, row in result["against"].items() if name != "SVM-roc"]
    assert len(others) == 22
    assert result["SVM-map"] > max(others)
    assert "reciprocal rank fusion" in capsys.readouterr().out


def test_the_committed_figures_keep_what_was_promised():
    letor, trec, trees = (
        json.loads((svm_map.RESULTS / f"svm-map-{name}.json").read_text()) for name in ("letor", "trec", "trees")
    )
    for name, row in letor["against"].items():
        if name.startswith(("ranker", "reciprocal")):
            assert letor["SVM-map"] > row["MAP"]
            assert row["p"] < 0.001
    assert letor["learners"]["SVM-map"]["seconds"] < 90
    gaps = [learner["largest_relative_gap"] for learner in letor["learners"].values()]
    for label in ("all runs", "without the best"):
        gaps += [learner["largest_relative_gap"] for learner in trec[label]["learners"].values()]
    gaps += [systems["SVM-map"]["largest_relative_gap"] for systems in trees.values() if isinstance(systems, dict)]
    assert max(gaps) <= 0.001
