"""A small part of the category-ranking paper's experiments, so that the command does not rot."""

import json

import numpy as np
import pytest

from benchmarks.papers import mmp, mmp_corpora, mmp_tables
from benchmarks.papers.mmp_runs import OF_THE_PAPER, SYSTEMS


@pytest.mark.data
@pytest.mark.usefixtures("data_folder")
def test_the_quick_form_prints_both_tables_and_draws_three_figures(tmp_path, capsys):
    result = mmp.main(["--quick", "--json", str(tmp_path / "result.json"), "--images", str(tmp_path / "images")])
    printed = capsys.readouterr().out
    assert "Table 1" in printed
    assert "Table 2" in printed
    assert "nearest to the paper" in printed
    assert sorted(path.name for path in (tmp_path / "images").iterdir()) == [
        f"mmp-figure-{number}.png" for number in (3, 4, 6)
    ]
    assert json.loads((tmp_path / "result.json").read_text())["machine"] == result["machine"]
    assert list(result["corpora"]) == ["reuters-21578", "rcv1-subsets"]
    for corpus in result["corpora"].values():
        assert set(corpus["figures"]) == set(SYSTEMS)
        for row in corpus["figures"].values():
            assert row["OneErr"] <= row["loss1"] <= 1  # a wrong first label is no perfect ranking
            assert row["maxF1/size"] <= row["maxF1/row"]
        assert all(check["holds"] for check in corpus["checks"] if "on OneErr" in check["claim"])


def test_folds_test_each_document_once_and_never_learn_it():
    for protocol in mmp.PROTOCOLS:
        tested = []
        for train, test in mmp_corpora.folds(103, protocol, 5, seed=3):
            assert sorted([*train, *test]) == list(range(103))
            tested.extend(test)
        assert sorted(tested) == list(range(103))
    (first, _), *_ = mmp_corpora.folds(103, "corpus order", 5, seed=3)
    assert np.all(np.diff(first) > 0)
    (_, run), *_ = mmp_corpora.folds(103, "runs", 5, seed=3)
    assert run.tolist() == list(range(21))


def test_words_are_prepared_as_in_the_paper():
    assert mmp_corpora.plain_words("U.S. 1st-quarter net up 12.5 pct").split() == (
        ["u", "s", "#st", "quarter", "net", "up", "#", "#", "pct"]
    )


def test_the_best_is_the_smallest_loss_and_the_largest_precision():
    figures = {name: {"loss1": number, "AvgP": number} for number, name in enumerate(OF_THE_PAPER)}
    assert mmp_tables.best_of("loss1", figures, OF_THE_PAPER) == OF_THE_PAPER[0]
    assert mmp_tables.best_of("AvgP", figures, OF_THE_PAPER) == OF_THE_PAPER[-1]
    result = {"best": "a", "minus_best": {"b": (0.1, -0.1, 0.3), "c": (0.2, 0.1, 0.3)}}
    assert [mmp_tables.level_with_best(result, name) for name in "abc"] == [True, True, False]
