"""Short runs of the paper's experiments and of the ordinal tasks, so that none rots."""

import numpy as np
import pytest

from abound import PRank
from abound.metrics import evaluate_ranks
from benchmarks.papers import plots, prank
from benchmarks.papers.ratings import jester, movielens


def test_the_mean_of_all_hypotheses_is_best_on_the_synthetic_set(tmp_path, monkeypatch):
    result = prank.synthetic(repeats=2, n=1_200)
    loss = {name: figure["mean"] for name, figure in result["rank_loss"].items()}
    assert loss[prank.MEAN] < loss[prank.WH] < loss[prank.MCP]
    assert loss[prank.PRANK] < loss[prank.MCP]
    monkeypatch.setattr(plots, "IMAGES", tmp_path)
    plots.draw("synthetic", result)
    assert (tmp_path / "prank-synthetic.png").stat().st_size > 10_000


def test_learning_costs_a_few_bare_passes():
    figures = prank.speed(n_rows=20_000, rounds=15)
    assert figures["ratio_kernel_alone"] < 20  # the other worker may take the cache
    assert 0 < figures["updates_a_row"] < 1


@pytest.mark.data
def test_the_mean_of_all_hypotheses_is_best_on_ratings(data_folder):
    whole = jester().whole_rows()
    _, whole.rows = np.unique(whole.rows, return_inverse=True)
    result = prank.collaborative(whole, np.array([5, 50, 95, 7, 70]), 800)
    for kind in ("online", "batch"):
        loss = {name: figure["mean"] for name, figure in result[kind].items()}
        assert min(loss, key=loss.__getitem__) == prank.MEAN


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


def test_a_file_that_is_no_ratings_file_is_refused(tmp_path):
    (tmp_path / "u.data").write_text("one\ttwo\tthree\n")
    with pytest.raises(ValueError, match=r"u.data:1: a line must be viewer, film, rating, time"):
        movielens(tmp_path / "u.data")
    with pytest.raises(ValueError, match=r"must be MovieLens' u.data, ratings.dat or ratings.csv"):
        movielens(tmp_path / "ratings.txt")


def test_a_table_of_ratings_runs_as_in_the_paper(tmp_path):
    rng = np.random.default_rng(0)
    taste = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 12))
    stars = np.clip(np.rint(3 + taste), 1, 5).astype(int)
    lines = [f"{v}\t{f}\t{stars[f, v]}\t0" for f in range(60) for v in range(12)]
    (tmp_path / "u.data").write_text("\n".join(lines) + "\n")
    result = prank.movielens_runs(tmp_path / "u.data", n_targets=5, least=50)["all"]
    assert result["targets"] == 5
    assert result["batch"][prank.MEAN]["mean"] < 1.0


@pytest.mark.data
def test_ordinal_tasks_can_be_learnt(data_folder):
    from benchmarks.papers.ordinal_tasks import TASKS

    part = next(TASKS["jester"]())
    predicted = PRank().fit(part.X_train, part.y_train).predict(part.X_test)
    assert evaluate_ranks(part.y_test, predicted, ["MAE"])["MAE"] < 1.0
