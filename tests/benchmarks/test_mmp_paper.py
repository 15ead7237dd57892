"""A small part of the category-ranking paper's experiments, so that the command does not rot; its tests and bounds."""

import json

import numpy as np
import pytest

from benchmarks.page_figures import read
from benchmarks.papers.mmp import __main__ as mmp
from benchmarks.papers.mmp import bounds, cells, claims, corpora, tables
from benchmarks.papers.mmp.claims import FAILS, HOLDS, UNDECIDED, Rows
from benchmarks.papers.mmp.paper import ROW_MEASURES
from benchmarks.papers.mmp.runs import MMPS, OF_THE_PAPER, SYSTEMS


@pytest.mark.data
@pytest.mark.usefixtures("data_folder")
def test_the_quick_form_prints_all_tables_and_draws_four_figures(tmp_path, capsys):
    arguments = ["--quick", "--cache", str(tmp_path / "cells"), "--json", str(tmp_path / "result.json")]
    result = mmp.main([*arguments, "--images", str(tmp_path / "images")])
    printed = capsys.readouterr().out
    assert all(f"== table-{number}" in printed for number in (1, 2, 3, 4))
    assert sorted(path.name for path in (tmp_path / "images").iterdir()) == [
        f"mmp-figure-{number}.png" for number in (3, 4, 5, 6)
    ]
    assert json.loads((tmp_path / "result.json").read_text())["claims"] == result["claims"]
    assert list(result["corpora"]) == ["reuters-21578", "rcv1-subsets"]
    for corpus in result["corpora"].values():
        assert set(corpus["figures"]) == set(SYSTEMS)
        for row in corpus["figures"].values():
            for first, second in (("OneErr", "loss1"), ("maxF1/size", "maxF1/row")):
                assert all(a <= b for a, b in zip(row[first], row[second], strict=True))
    theorems = [one for one in result["claims"] if one["claim"].startswith("Theorem 1")]
    assert len(theorems) >= 2
    assert all(one["verdict"] == HOLDS for one in theorems)
    # A second run computes nothing.
    mmp.main(arguments)
    assert " s\n" not in capsys.readouterr().out.split("== setting")[0]


def test_folds_test_each_document_once_and_never_learn_it():
    for protocol in cells.PROTOCOLS:
        tested = []
        for train, test in corpora.folds(103, protocol, 5, seed=3):
            assert sorted([*train, *test]) == list(range(103))
            tested.extend(test)
        assert sorted(tested) == list(range(103))
    (first, _), *_ = corpora.folds(103, "corpus order", 5, seed=3)
    assert np.all(np.diff(first) > 0)
    (_, run), *_ = corpora.folds(103, "runs", 5, seed=3)
    assert run.tolist() == list(range(21))


def test_words_are_prepared_as_in_the_paper():
    assert corpora.plain_words("U.S. 1st-quarter net up 12.5 pct").split() == (
        ["u", "s", "#st", "quarter", "net", "up", "#", "#", "pct"]
    )


def made_up(shifts, noise=0.3, n_seeds=6, n_documents=400):
    """Return figures of the paper's systems that differ by constants, lower ones being better for every loss."""
    random = np.random.default_rng(0)
    base = random.random((n_seeds, 1, len(ROW_MEASURES), n_documents))
    own = noise * random.normal(size=(n_seeds, len(OF_THE_PAPER), len(ROW_MEASURES), n_documents))
    return Rows(OF_THE_PAPER, base + own + np.array(shifts)[None, :, None, None])


@pytest.mark.parametrize(
    ("shifts", "wanted"),
    [
        ([1, 1, 0, 1, 1], HOLDS),
        ([-1, 1, 0, 1, 1], FAILS),
        ([0, 1, 0, 1, 1], UNDECIDED),
        ([1, 1, 1, 1, 1], UNDECIDED),
    ],
)
def test_a_claim_can_hold_fail_or_be_undecided(shifts, wanted):
    rows = made_up(shifts)
    assert claims.best(rows, "MMP l.1", "loss1", OF_THE_PAPER)[0] == wanted
    turned = Rows(rows.systems, -rows.figures)
    assert claims.worst(turned, "MMP l.1", "loss1", OF_THE_PAPER)[0] == wanted
    assert claims.best(turned, "MMP l.1", "AvgP", OF_THE_PAPER)[0] == wanted  # more is better


def test_an_interval_covers_the_true_mean_as_often_as_it_says():
    random, covered = np.random.default_rng(1), 0
    for _ in range(400):
        of_seeds, of_documents = 0.1 * random.normal(size=(6, 1)), 0.3 * random.normal(size=(1, 50))
        found = claims.interval(1.0 + of_seeds + of_documents + 0.2 * random.normal(size=(6, 50)))
        covered += found.low <= 1.0 <= found.high
    assert 0.93 <= covered / 400 <= 1.0
    assert claims.verdict(claims.Interval(0.8, 0.75, 0.85), 0.7) == HOLDS
    assert claims.verdict(claims.Interval(0.6, 0.55, 0.65), 0.7) == FAILS
    assert claims.verdict(claims.Interval(0.7, 0.65, 0.75), 0.7) == UNDECIDED


def test_the_bound_of_loss_2_is_exact_on_orthonormal_rows():
    found = bounds.measured_bounds(bounds.orthonormal(0, k=5, n_rows=10))
    assert found["2 uniform"]["lost"] == pytest.approx(found["2 uniform"]["bound"])
    assert all(one["lost"] <= one["bound"] * (1 + 1e-9) for one in found.values())


@pytest.mark.parametrize("seed", range(3))
def test_the_margin_of_artificial_rows_is_that_of_their_prototypes(seed):
    stream = bounds.artificial(seed, n_rows=20)
    assert stream.margin > 0.15
    assert (stream.X.data < 0).any()
    assert stream.radius == pytest.approx(np.linalg.norm(stream.X.toarray(), axis=1).max())


def test_the_page_has_at_least_six_seeds_and_both_sides_of_the_claims():
    result = read("mmp-paper")
    assert result["seeds"] >= 6
    for corpus in result["corpora"].values():
        for row in corpus["figures"].values():
            assert all(len(values) == result["seeds"] for values in row.values())
    verdicts = {one["verdict"] for one in result["claims"]}
    assert verdicts == {HOLDS, FAILS, UNDECIDED}
    assert {one["where"] for one in result["claims"]} >= {"reuters-21578", "rcv1-subsets", "debian-tags"}
    [header, *_] = tables.PARTS["table-1"](result)
    assert f"of {result['seeds']} seeds" in header
    lost = [line for line in tables.PARTS["table-3"](result) if "(lost)" in line]
    assert [line.split(" | ")[0] for line in lost] == [f"| {name}" for name in MMPS[:2]]
