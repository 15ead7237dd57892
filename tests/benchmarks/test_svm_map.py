"""Small runs of the SVM-map paper's experiments, and its verdicts."""

import json
import re

import numpy as np
import pytest

from benchmarks import readme
from benchmarks.papers.collections import Collection
from benchmarks.papers.rankers import LEARNERS, Learner, average_precisions, mean, run_learner
from benchmarks.papers.svm_map import __main__ as command
from benchmarks.papers.svm_map import claims, coverage, paper, splits, tables, theory, verdicts
from tests.retrieval.ranked import documents


def collection(n_queries=50, seed=0):
    X, y, qid = documents(n_queries=n_queries, n_documents=10, n_features=4, seed=seed)
    names = np.array([f"q{query:02}" for query in qid])
    return Collection(X, y, names, np.arange(len(y)).astype(str), np.ones(len(y), bool))


@pytest.fixture
def groups():
    whole = collection()
    ranks = np.argsort(np.argsort(-whole.X, axis=0), axis=0) + 1.0
    return [splits.group_of("small", whole, ranks)]


def test_the_folds_of_letor_rotate():
    rows = [np.full(1, part) for part in range(5)]
    parts = [Collection(row[:, None], row, row, row, row >= 0) for row in rows]
    seen = []
    for fold in range(5):
        train, valid, test = splits.rotated(parts, fold)
        assert sorted([*train.qid, *valid.qid, *test.qid]) == list(range(5))
        assert len(train.qid) == 3
        seen += test.qid.tolist()
    assert sorted(seen) == list(range(5))


def test_every_query_is_trained_on_validated_and_tested_equally_often():
    queries = np.arange(50)
    chosen = list(splits.trials(queries, 50))
    for place, times in enumerate((10, 5, 35)):
        assert np.bincount(np.concatenate([trial[place] for trial in chosen])).tolist() == [times] * 50
    for trial in chosen:
        assert sorted(np.concatenate(trial)) == queries.tolist()
    first = list(splits.trials(queries, 10))
    assert all(np.array_equal(a, b) for a, b in zip(first[3], chosen[3], strict=True))  # a full run uses a short one's


def test_the_toys_have_the_papers_figures():
    for name, toy in theory.TOYS.items():
        for hypothesis, figures in theory.toy(*toy).items():
            for measure, known in paper.TOYS[name][hypothesis].items():
                assert round(figures[measure], 2) == known


def test_the_best_function_is_left_out(groups):
    (group,) = groups
    best = int(group.ordered[0])
    assert group.narrowed(True).X.shape[1] == 3
    assert np.array_equal(group.narrowed(True).X, np.delete(group.whole.X, best, axis=1))
    means = [mean(figures) for figures in group.functions.values()]
    assert mean(group.baselines()["best function"]) == max(means)


def test_the_grid_is_left_when_validation_gets_worse(monkeypatch):
    train, valid, test = (collection(4, seed) for seed in range(3))
    figures = [0.5, 0.5, 0.5, 0.6, 0.4, 0.55, 0.9, 0.9]  # equal figures are not worse, and 0.9 is never seen
    grid = tuple(0.1 * 2**power for power in range(8))
    for patience, n_tried, best in ((2, 6, 3), (None, 8, 6)):
        given = iter(figures)
        monkeypatch.setattr("benchmarks.papers.rankers.average_precisions", lambda *_, g=given: {"q": next(g)})
        outcome = run_learner(Learner("map", grid, patience), train, valid, test, threads=1)
        assert outcome.tried == list(grid[:n_tried])
        assert (outcome.C, outcome.validation) == (grid[best], figures[best])


def test_the_short_form_of_the_trials_is_kept_and_continued(groups, tmp_path, monkeypatch):
    first = command.protocol(groups, 2, False, tmp_path)
    assert set(first["systems"]) == {*LEARNERS, *splits.PLACES, "reciprocal rank fusion"}
    n_tested = len(first["systems"]["SVM-map"])
    assert n_tested == 40  # ten queries are in neither trial's test
    assert all(len(figures) == n_tested for figures in first["systems"].values())
    for learner in first["learners"].values():
        assert len(learner["MAP_of_trials"]) == len(learner["C"]) == 2
        assert learner["largest_relative_gap"] <= 0.01
    assert np.mean(first["systems"]["SVM-map"]) > np.mean(first["systems"]["best function"])
    monkeypatch.setattr("benchmarks.papers.svm_map.cells.run_learner", None)  # all cells come from the files
    assert command.protocol(groups, 2, False, tmp_path) == first


def test_a_cell_of_other_settings_is_measured_again(monkeypatch):
    from benchmarks.papers.svm_map.cells import key_of

    before = key_of("trial 1", "SVM-map")
    monkeypatch.setitem(LEARNERS, "SVM-map", Learner("map", (1.0,)))
    assert key_of("trial 1", "SVM-map") != before


def test_verdicts_can_go_both_ways():
    rng = np.random.default_rng(0)
    base, noise = rng.random(60), 0.01 * rng.normal(size=60)

    def row(ours, theirs):
        return verdicts.against(*(dict(enumerate(side)) for side in (ours, theirs)))

    above, same, far = row(base + 0.05 + noise, base), row(base + noise, base), row(base + 0.05, base)
    assert [verdicts.better(one) for one in (above, row(base, base + 0.05 + noise), same)] == [
        verdicts.HOLDS,
        verdicts.FAILS,
        verdicts.UNDECIDED,
    ]
    wide = row(base + 0.2 * rng.normal(size=60), base)
    assert [verdicts.alike(one) for one in (same, above, far, wide)] == [
        verdicts.HOLDS,
        verdicts.FAILS,
        verdicts.FAILS,
        verdicts.UNDECIDED,
    ]
    assert verdicts.not_worse(above) == verdicts.not_worse(same) == verdicts.HOLDS
    assert verdicts.not_worse(row(base, base + 0.05 + noise)) == verdicts.FAILS
    assert verdicts.not_worse(wide) == verdicts.UNDECIDED


def test_the_bound_of_theorem_1_has_both_cases():
    assert theory.constraint_bound(10, 1.0, 0.1, 1.0, 0.01) == pytest.approx(200)
    assert theory.constraint_bound(10, 1.0, 0.1, 1.0, 2.0) == pytest.approx(3200)


def test_the_radius_is_at_least_the_longest_difference():
    from itertools import permutations

    from tests.reference import svm_map

    X, y, qid = documents(n_queries=1, n_documents=6, n_features=3)
    relevant = (y >= 1).tolist()
    right = np.array(svm_map.psi_weights(svm_map.right_ranking(relevant), relevant))
    lengths = [np.linalg.norm((right - svm_map.psi_weights(r, relevant)) @ X) for r in permutations(range(6))]
    assert max(lengths) <= theory.radius(X, y, qid) <= 4 * max(lengths)
    losses = [svm_map.delta("map", r, relevant) for r in permutations(range(6))]
    assert theory.largest_loss(y, qid) == pytest.approx(max(losses))


def test_every_file_and_test_of_the_coverage_exists(request):
    root = request.config.rootpath
    for item in coverage.ITEMS:
        assert item.files or item.verdict.startswith("absent: ")
        for name in item.files:
            assert (root / name).is_file(), name
        if item.test:
            path, _, test = item.test.partition("::")
            assert re.search(rf"^def {test}", (root / path).read_text(), re.MULTILINE), item.test


def test_the_page_shows_the_verdicts_that_its_figures_give(request):
    path = request.config.rootpath / "benchmarks" / "results" / "svm-map-paper.json"
    result = json.loads(path.read_text())
    for name, part in tables.PARTS.items():
        assert part(result), name
    judged = claims.judged(result)
    assert {verdict for _, _, verdict, _ in judged} <= {
        verdicts.HOLDS,
        verdicts.FAILS,
        verdicts.UNDECIDED,
        verdicts.UNTESTED,
    }
    # Turned round, the figures turn the verdict round.
    swapped = json.loads(path.read_text())
    systems = swapped["sets"]["letor-agg"]["systems"]
    systems["SVM-map"], systems["SVM-acc"] = systems["SVM-acc"], systems["SVM-map"]
    text = "SVM-map is better than SVM-acc"

    def verdict(found):
        (one,) = [v for where, claim, v, _ in claims.judged(found) if (where, claim) == ("table 10", text)]
        return one

    opposite = {verdicts.HOLDS: verdicts.FAILS, verdicts.FAILS: verdicts.HOLDS, verdicts.UNDECIDED: verdicts.UNDECIDED}
    assert verdict(swapped) == opposite[verdict(result)]


def test_figures_that_were_typed_in_are_marked():
    assert paper.published("table 6", "best function") == "0.204, 0.181"
    assert paper.published("table 10", "SVM-roc").endswith(paper.MARK)
    assert paper.published("table 9", "reciprocal rank fusion") == ""


@pytest.mark.data
@pytest.mark.usefixtures("data_folder")
def test_svm_map_beats_every_ranker_and_their_fusion_on_part_of_letor():
    from benchmarks.papers.collections import letor_agg

    parts = [part.of_queries(np.unique(part.qid)[:60]) for part in letor_agg()]
    train, valid, test = splits.rotated(parts, 0)
    outcome = run_learner(LEARNERS["SVM-map"], train, valid, test, threads=1)
    assert max(outcome.gaps) <= 0.001
    filled = Collection(np.nan_to_num(test.X, nan=-1e9), test.y, test.qid, test.documents, test.retrieved)
    group = splits.group_of("part", filled, -test.X)
    assert mean(average_precisions(test, outcome.scores)) > max(mean(figures) for figures in group.baselines().values())


def test_the_sections_of_the_pages_are_known():
    assert {f"svm-map-{name}" for name in tables.PARTS} <= set(readme.SECTIONS)
