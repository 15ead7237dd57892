"""Short runs of the paper's experiments and of the ordinal tasks, so that none rots."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from abound import PRank
from abound.metrics import evaluate_ranks
from benchmarks.page_figures import read
from benchmarks.papers.prank import __main__ as command
from benchmarks.papers.prank import batch, claims, experiments, learners, paper, plan, speed, tables
from benchmarks.papers.prank.cells import Cells
from benchmarks.papers.prank.learners import MCP, MEAN, PRANK, VOTE, WH, WH_INTERCEPT
from benchmarks.papers.ratings import jester, movielens

ROOT = Path(__file__).parents[2]


def test_the_mean_of_all_hypotheses_is_best_on_the_synthetic_set():
    found = experiments.synthetic(3, sequences=2, n=1_200, rates={WH: 0.2})
    loss = {name: curve[-1] for name, curve in found["curves"].items()}
    assert max(loss[MEAN], loss[VOTE]) < loss[WH] < loss[MCP]
    assert loss[PRANK] < loss[MCP] < loss[learners.LINEAR]


def test_learning_costs_a_few_bare_passes():
    figures = speed.speed(n_rows=20_000, rounds=15)
    assert figures["ratio_kernel_alone"] < 20  # the other worker may take the cache
    assert 0 < figures["updates_a_row"] < 1


@pytest.mark.data
@pytest.mark.usefixtures("data_folder")
def test_the_mean_of_all_hypotheses_is_best_on_ratings():
    rates = {WH: 1.0, WH_INTERCEPT: 0.2}
    found = experiments.collaborative(0, jester(), np.array([5, 50, 95]), 2, 800, rates, shrink=True)
    online = {name: curve[-1] for name, curve in found["curves"].items()}
    for loss in (online, found["batch"]):
        assert min(loss, key=loss.__getitem__) in (MEAN, VOTE)
        assert loss[WH] > loss[WH_INTERCEPT]  # the paper's regression has no intercept


def test_the_mean_predicts_rows_that_it_has_not_learned():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)), rng.integers(1, 4, size=300)  # noise: nothing can be predicted
    for options in ({}, {"voting": True}):
        loss = learners.losses(learners.progressive(PRank(ranks=[1, 2, 3], **options), X, y), y)
        assert len(loss) == 300
        assert loss.mean() > 0.6


# -- figure 1 and the theorem ------------------------------------------------------------------------


def test_figure_1():
    """Five ranks, the true one is 4, the score is below b_1: b_1 to b_3 fall by 1, w rises by three times the row."""
    prank = PRank(average=False, ranks=[1, 2, 3, 4, 5]).fit([[0.1]], [1])
    prank._weights[:, 0], prank._thresholds[:, 0] = -10.0, [0.0, 1.0, 2.0, 3.0]
    assert prank.predict([[0.5]]).tolist() == [1]
    prank.partial_fit([[0.5]], [4])
    assert prank.thresholds_.tolist() == [-1.0, 0.0, 1.0, 3.0]
    assert prank.coef_.tolist() == [-10.0 + 3 * 0.5]


def test_moves_are_counted_by_what_they_do():
    # By hand: the third row is ranked 3 before and after its update if it is long, and 2, which is right, if it is not.
    X, y = np.array([[1.0], [100.0], [100.0]]), np.array([1, 3, 2])
    assert experiments.moves(X, y, [1, 2, 3]) == {"right": 2, "nearer": 0, "as far": 1, "farther": 0}
    assert experiments.moves(X / 1e3, y, [1, 2, 3]) == {"right": 3, "nearer": 0, "as far": 0, "farther": 0}
    # The third row is ranked 4 instead of 3, and 1 after its update, because it is long.
    X, y = np.array([[1.0], [2.0], [3.0]]), np.array([4, 4, 3])
    assert experiments.moves(X, y, [1, 2, 3, 4, 5]) == {"right": 1, "nearer": 0, "as far": 1, "farther": 1}


def test_the_bound_is_that_of_the_rule_that_made_the_rows():
    for k in (2, 5):
        (X, y), bound = experiments.separable(np.random.default_rng(k), k, 200)
        assert set(y) <= set(range(1, k + 1))
        assert bound > (k - 1) * ((X**2).sum(axis=1).max() + 1) / 0.5**2  # no margin of a rule of length 1 is so wide
        assert bound < (k - 1) * ((X**2).sum(axis=1).max() + 1) / experiments.GAP**2
    found = experiments.bounds(0, 60)
    assert all(0 < row["loss"] <= row["bound"] and row["out_of_order"] == 0 for row in found.values())


# -- claims ------------------------------------------------------------------------------------------


def test_a_claim_holds_fails_or_is_undecided():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=12)
    assert claims.verdict(noise - 3) == claims.HOLDS
    assert claims.verdict(noise + 3) == claims.FAILS
    assert claims.verdict(noise) == claims.UNDECIDED
    assert claims.joint([claims.HOLDS, claims.HOLDS]) == claims.HOLDS
    assert claims.joint([claims.HOLDS, claims.UNDECIDED]) == claims.UNDECIDED
    assert claims.joint([claims.UNDECIDED, claims.FAILS]) == claims.FAILS


def test_the_interval_is_students():
    from scipy import stats

    values = np.random.default_rng(1).normal(size=7)
    mean, low, high = claims.interval(values)
    expected = stats.t.interval(0.99, len(values) - 1, loc=values.mean(), scale=stats.sem(values))
    assert (low, high) == pytest.approx(expected)
    assert mean == pytest.approx(values.mean())


def test_a_claim_about_a_whole_run_fails_if_the_order_changes():
    rng = np.random.default_rng(0)
    rise = np.linspace(-1, 1, 20)
    run = {
        "shown": list(range(10, 30)),
        "curves": {
            "rising": (rise + 0.01 * rng.normal(size=(8, 20))).tolist(),
            "flat": np.zeros((8, 20)).tolist(),
            "high": (2 + 0.01 * rng.normal(size=(8, 20))).tolist(),
        },
    }
    assert claims.throughout(run, "rising", "flat")[0] == claims.FAILS
    assert claims.throughout(run, "rising", "flat", last=15)[0] == claims.HOLDS
    assert claims.throughout(run, "rising", "high")[0] == claims.HOLDS
    assert claims.after_all(run, "flat", "rising")[0] == claims.HOLDS
    assert claims.after_all(run, "flat", "flat")[0] == claims.UNDECIDED


def test_every_part_of_the_paper_has_a_file_a_test_and_a_verdict():
    result = read("prank-paper")
    found = [one["claim"] for one in claims.checks(result)]
    for part in paper.PARTS:
        if part.file == "-":
            assert part.verdict
            continue
        assert (ROOT / part.file).is_file(), part.file
        file, name = part.test.split("::")
        assert re.search(rf"^def {name}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE), part.test
        assert part.verdict or all(any(claim.startswith(one) for claim in found) for one in part.claims)
    for line in tables.inventory(result)[2:]:
        assert line.split("|")[-2].strip() not in ("", "absent")


def test_no_claim_of_the_paper_is_left_out_of_the_parts():
    covered = tuple(one for part in paper.PARTS for one in part.claims)
    left_out = [one["claim"] for one in claims.checks(read("prank-paper")) if not one["ours"]]
    assert [claim for claim in left_out if not claim.startswith(covered)] == []


def test_the_page_says_that_widrow_hoff_with_a_good_rate_wins():
    page = " ".join((ROOT / "docs" / "papers" / "prank.md").read_text(encoding="utf-8").split())
    assert "PRank's last hypothesis does not beat Widrow-Hoff" in page
    run = read("prank-paper")["online"]["synthetic"]
    assert claims.after_all(run, PRANK, WH)[0] == claims.FAILS


# -- batch -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", batch.MACHINES)
def test_the_machines_of_the_batch_experiment_learn(name):
    X, y, Z, z = batch.drawn(0, 200)
    loss = learners.losses(batch.machine(name, 100.0).fit(X, y).predict(Z), z).mean()
    assert loss < 0.4 < learners.losses(np.full(len(z), 3), z).mean()


# -- the command -------------------------------------------------------------------------------------


@pytest.mark.data
@pytest.mark.usefixtures("data_folder")
def test_a_tiny_run_has_all_parts(tmp_path, capsys):
    arguments = [
        "--tiny",
        "--json",
        str(tmp_path / "r.json"),
        "--images",
        str(tmp_path),
        "--cells",
        str(tmp_path / "c"),
    ]
    result = command.main(arguments)
    printed = capsys.readouterr().out
    assert all(f"== {part}" in printed for part in tables.PARTS)
    assert {path.stem for path in tmp_path.glob("*.png")} == {f"prank-{name}" for name in result["online"]}
    assert json.loads((tmp_path / "r.json").read_text()) == result
    assert result["parameters"] == {PRANK: 11, WH: 7, MCP: 35}
    again = Cells(tmp_path / "c")
    assert plan.run(plan.TINY, again)["online"] == result["online"]
    assert again.computed == 0  # everything was stored


def test_few_seeds_are_refused(capsys):
    with pytest.raises(SystemExit):
        command.main(["--seeds", "5"])
    assert "--seeds must be at least 6, got 5" in capsys.readouterr().err


def test_a_cell_is_computed_once_for_each_setting(tmp_path):
    calls = []

    def compute(seed):
        calls.append(seed)
        return {"seed": seed}

    cells = Cells(tmp_path)
    assert [cells.get("one", compute, seed=seed) for seed in (1, 2, 1)] == [{"seed": 1}, {"seed": 2}, {"seed": 1}]
    assert calls == [1, 2]
    assert Cells(tmp_path).get("other", compute, seed=1) == {"seed": 1}
    assert calls == [1, 2, 1]


def test_settings_are_chosen_on_other_rows_than_are_measured():
    table = np.indices((40, 30)).reshape(2, -1)
    values = np.random.default_rng(0).normal(size=1200)
    ratings = experiments.Ratings("made up", table[0], table[1], values, 0.0, (0.0,), 2.0)
    development, targets = experiments.targets_of(ratings, 40, 6)
    assert len(development) == 6
    assert set(development) | set(targets) == set(range(30))
    assert not set(development) & set(targets)
    with pytest.raises(ValueError, match="made up has 30 columns with 40 ratings; it must have more"):
        experiments.targets_of(ratings, 40, 30)


# -- MovieLens ---------------------------------------------------------------------------------------

MOVIELENS = {
    "u.data": ["1\t7\t5\t8", "2\t7\t1\t8", "2\t9\t3\t8"],
    "ratings.dat": ["1::7::5::8", "2::7::1::8", "2::9::3::8"],
    "ratings.csv": ["userId,movieId,rating,timestamp", "1,7,5.0,8", "2,7,0.5,8", "2,9,3.0,8"],
}


@pytest.mark.parametrize("name", MOVIELENS)
def test_movielens_files_are_films_by_viewers(tmp_path, name):
    (tmp_path / name).write_text("\n".join(MOVIELENS[name]) + "\n")
    ratings = movielens(tmp_path / name)
    X, y = ratings.stream(1, np.random.default_rng(0))
    assert sorted(y.tolist()) == [1, 3]
    assert X[y == 1].tolist() == [[pytest.approx(2 / (np.abs(ratings.values - 3).max() * np.sqrt(2))), 0.0]]
    X, y = ratings.stream(1, np.random.default_rng(0), ratings.features(shrink=False))
    assert X[y == 1].tolist() == [[0.5, 0.0]]  # the paper only shifts: five stars are 0.5


def test_a_file_that_is_no_ratings_file_is_refused(tmp_path):
    (tmp_path / "u.data").write_text("one\ttwo\tthree\n")
    with pytest.raises(ValueError, match=r"u.data:1: a line must be viewer, film, rating, time"):
        movielens(tmp_path / "u.data")
    with pytest.raises(ValueError, match=r"must be MovieLens' u.data, ratings.dat or ratings.csv"):
        movielens(tmp_path / "ratings.txt")


def test_a_movielens_file_runs_as_in_the_paper(tmp_path, capsys):
    rng = np.random.default_rng(0)
    taste = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 12))
    stars = np.clip(np.rint(3 + taste), 1, 5).astype(int)
    lines = [f"{v}\t{f}\t{stars[f, v]}\t0" for f in range(60) for v in range(12)]
    lines += [f"99\t{f}\t3\t0" for f in range(9)]  # a viewer who saw too few films
    (tmp_path / "u.data").write_text("\n".join(lines) + "\n")
    folders = ["--json", str(tmp_path / "r.json"), "--images", str(tmp_path), "--cells", str(tmp_path / "c")]
    result = command.main(["--tiny", "--movielens", str(tmp_path / "u.data"), "--least", "50", *folders])
    assert list(result["online"]) == ["movielens-50", "movielens-50-shrunk"]
    run = result["online"]["movielens-50"]
    assert run["table"] == [60, 12]
    assert run["loss"][MEAN]["mean"] < 1.2
    assert run["batch"][MEAN]["mean"] < 1.2
    assert (tmp_path / "prank-movielens-50.png").is_file()
    printed = capsys.readouterr().out
    assert "PRank is consistently better than the multiclass perceptron" in printed
    assert "== theorem" not in printed


def test_a_table_can_be_exchanged_and_cut():
    rows, columns = np.array([0, 0, 1, 2]), np.array([0, 1, 1, 2])
    ratings = experiments.Ratings("made up", rows, columns, np.arange(4.0), 0.0, (1.5,), 4.0)
    assert ratings.transposed().features(shrink=False).toarray().tolist() == (
        ratings.features(shrink=False).toarray().T.tolist()
    )
    cut = ratings.with_columns(np.array([1, 2]))
    assert cut.features(shrink=False).toarray().tolist() == [[0.25, 0.0], [0.5, 0.0], [0.0, 0.75]]


@pytest.mark.data
def test_ordinal_tasks_can_be_learnt(data_folder):
    from benchmarks.papers.ordinal_tasks import TASKS

    part = next(TASKS["jester"]())
    predicted = PRank().fit(part.X_train, part.y_train).predict(part.X_test)
    assert evaluate_ranks(part.y_test, predicted, ["MAE"])["MAE"] < 1.0
