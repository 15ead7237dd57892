"""Short runs of the comparison: tuning on development rows, equal runs, keys that void cells, and committed pages."""

import dataclasses
import importlib
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from abound.metrics import compare, interval, judge
from abound.store.locks import FileLock
from benchmarks import sets
from benchmarks.comparison import __main__ as command
from benchmarks.comparison import excerpts, measures, pictures, registry, results, runs, standings, tables, tuning
from benchmarks.comparison.registry import OURS, SYSTEMS
from benchmarks.peers.environments import interpreter

pytestmark = pytest.mark.xdist_group("comparison")  # its results are made once, not by every worker


def made(n_rows=300, n_labels=12, seed=0):
    """Return the rows and labels of a set whose labels follow from two features each, with some noise."""
    rng = np.random.default_rng(seed)
    X, Y = np.zeros((n_rows, 40)), np.zeros((n_rows, n_labels), np.float32)
    for i in range(n_rows):
        label = min(int(rng.exponential(3)), n_labels - 1)
        X[i, [2 * label, 2 * label + 1, 24 + rng.integers(16)]] = 1.0, 0.5, 0.7
        Y[i, label] = 1
    cut = n_rows * 2 // 3
    return [(sp.csr_matrix(X[part]), sp.csr_matrix(Y[part])) for part in (slice(cut), slice(cut, None))]


def cut_in_two(rows):
    half = rows[0].shape[0] // 2
    return tuple(tuple(matrix[part] for matrix in rows) for part in (slice(half), slice(half, None)))


def prepare(tmp_path, monkeypatch):
    """Use rows and results in a folder, one set, and two systems with short grids."""
    monkeypatch.setattr(sets, "CACHE", tmp_path / "sets")
    parts = made()
    build = lambda name, train, test: sets.LabelSet(name, *train, *test)  # noqa: E731
    monkeypatch.setitem(sets.RECIPES, "made", sets.Recipe(lambda: parts, build, cut_in_two))
    monkeypatch.setitem(SYSTEMS, OURS, dataclasses.replace(SYSTEMS[OURS], grid=({"passes": 1}, {"w_min": 0.3})))
    other = registry.System("another", "abound_cascade", None, ({"few_labels": 0},))
    monkeypatch.setitem(SYSTEMS, "omikuji", other)
    for module in (registry, results, tables, command):
        monkeypatch.setattr(module, "SETS", ("made",))
    return tmp_path / "results"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    return prepare(tmp_path, monkeypatch)


@pytest.fixture(scope="module")
def measured_once(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        found = prepare(tmp_path_factory.mktemp("comparison"), patch)
        results.run("made", [OURS, "omikuji"], found)
    return found


@pytest.fixture
def measured(folder, measured_once):
    """A copy of the results of both systems on the set."""
    shutil.copytree(measured_once, folder)
    return folder


def test_every_system_is_tuned_and_run_as_often_and_nothing_is_run_again(measured, monkeypatch):
    found = results.read("made", measured)
    for name in (OURS, "omikuji"):
        tuned = found["tuning"][name]
        assert [trial["options"] for trial in tuned["trials"]] == [dict(options) for options in SYSTEMS[name].settings]
        assert tuned["chosen"] == max(tuned["trials"], key=lambda trial: trial["score"])["options"]
        assert tuned["not_tried"] == []
    cells = found["cells"]
    assert {f"{OURS}/default", "omikuji/default"} <= cells.keys()
    for key, cell in cells.items():
        assert len(cell["runs"]) == registry.RUNS, key
        assert cell["same_ranking"], key
        assert cell["runs"][0]["train_cpu_seconds"] > 0
    monkeypatch.setattr(runs, "once", lambda *_, **__: pytest.fail("a known cell was run"))
    results.run("made", [OURS, "omikuji"], measured)
    assert results.read("made", measured)["cells"] == cells


def test_tuning_opens_no_test_rows(folder, monkeypatch):
    recipe = sets.RECIPES["made"]
    (X, Y), _ = recipe.parts()
    parts = [(X, Y), None]  # whoever opens the test rows fails
    monkeypatch.setitem(sets.RECIPES, "made", dataclasses.replace(recipe, parts=lambda: parts))
    monkeypatch.setattr(sets, "load", lambda *_: pytest.fail("the test rows were loaded"))
    found = tuning.tune("made", SYSTEMS["omikuji"])
    assert len(found["trials"]) == 2
    assert [path.name for path in sets.CACHE.iterdir()] == [tuning.folder_of("made").name]
    used = tuning.rows_for("made")
    assert (used.X_train != X[:100]).nnz == (used.X_test != X[100:]).nnz == 0


def test_tuning_uses_at_most_so_many_rows(folder, monkeypatch):
    monkeypatch.setattr(tuning, "TUNING_ROWS", 30)
    monkeypatch.setattr(tuning, "HELD_ROWS", 20)
    found = tuning.rows_for("made")
    assert (found.X_train.shape[0], found.X_test.shape[0]) == (30, 20)


def test_tuning_ends_with_its_time_and_lists_what_it_did_not_reach(folder):
    found = tuning.tune("made", SYSTEMS[OURS], budget=0.001)
    assert len(found["trials"]) == 1
    assert found["trials"][0]["options"] == {}
    assert "stopped after" in found["trials"][0]["failed"]
    assert found["not_tried"] == [{"passes": 1}, {"w_min": 0.3}]
    assert found["chosen"] == {}


def test_changed_rows_options_and_sources_make_a_cell_void(measured, monkeypatch, tmp_path):
    cell = results.load("made", measured)["cells"][f"{OURS}/default"]
    assert any(source == "abound/rankers/cascade.py" for source in cell["sources"])
    assert any(source.endswith("rated.pyx") for source in cell["sources"])
    found = results.load("made", measured)

    def is_void(cell=cell, **other):
        return results.is_void(f"{OURS}/default", {**found, **other, "cells": {f"{OURS}/default": cell}})

    assert not is_void()
    assert is_void(rows_digest="other rows")
    assert is_void({**cell, "options": {"passes": 1}})
    assert is_void({**cell, "sources": cell["sources"][:-1]})
    seen = results.code
    changed = results.ROOT / "src" / "abound" / "rankers" / "cascade.py"
    monkeypatch.setattr(results, "code", lambda path: b"changed" if path == changed else seen(path))
    assert is_void()
    assert all(not name.startswith(OURS) for name in (results.read("made", measured) or {"cells": {}})["cells"])
    assert results.load("made", measured)["cells"]


def test_a_tuned_cell_is_void_if_tuning_chose_something_else(measured):
    found = results.load("made", measured)
    name, chosen = f"{OURS}/tuned", {"passes": 1}
    cell = found["cells"][f"{OURS}/default"]
    key = results.key_of(SYSTEMS[OURS], chosen, found["rows_digest"], cell["sources"])
    found["cells"][name] = {**cell, "options": chosen, "key": key}
    trials = {**found["tuning"][OURS], "chosen": chosen}

    def is_void(**tuning):
        return results.is_void(name, {**found, "tuning": tuning})

    assert not is_void(abound=trials)
    assert is_void()
    assert is_void(abound={**trials, "chosen": {"passes": 7}})
    assert is_void(abound={**trials, "key": "of another budget"})


def test_a_run_that_fails_after_a_good_one_changes_nothing(measured, monkeypatch):
    path = results.place("made", measured)
    found = json.loads(path.read_text())
    for cell in found["cells"].values():
        cell["runs"] = cell["runs"][:1]
    path.write_text(json.dumps(found))
    monkeypatch.setattr(runs, "once", lambda *_, **__: {"failed": "stopped at 12 GB"})
    results.run("made", [OURS, "omikuji"], measured)
    after = results.read("made", measured)["cells"]
    assert after.keys() == found["cells"].keys()
    assert all(len(cell["runs"]) == 1 for cell in after.values())


def test_a_failure_of_ours_is_tried_again_and_that_of_another_system_is_not(folder, monkeypatch):
    monkeypatch.setitem(SYSTEMS, "omikuji", dataclasses.replace(SYSTEMS["omikuji"], environment="omikuji"))
    monkeypatch.setattr(runs, "interpreter", lambda _: sys.executable)
    monkeypatch.setattr(runs, "once", lambda *_, **__: {"failed": "failed: ValueError"})
    results.run("made", [OURS, "omikuji"], folder)
    tried = []
    monkeypatch.setattr(runs, "once", lambda system, *_, **__: tried.append(system.name) or {"failed": "again"})
    results.run("made", [OURS, "omikuji"], folder)
    assert set(tried) == {"abound"}


def test_rows_are_trained_on_again_after_a_random_failure(monkeypatch):
    monkeypatch.syspath_prepend(str(runs.SYSTEMS))
    harness = importlib.import_module("harness")

    class Failing(harness.System):
        calls = 0

        def train(self, *_):
            self.calls += 1
            if self.calls < 3:
                sum(range(2_000_000))
                raise RuntimeError("NaN")
            return "model"

        def may_retry(self, error):
            return str(error) == "NaN"

    model, _, used, wasted = harness.trained(Failing({}), None, None, None)
    assert model == "model"
    assert wasted > used


def test_fasttext_takes_no_word_of_a_text_for_a_label():
    code = "import fasttext_words as f; print(f.PREFIX, *f.FastText({}).inputs(['a __label__ in C, an @dataclass']))"
    done = subprocess.run([interpreter("fasttext"), "-c", code], cwd=runs.SYSTEMS, capture_output=True, check=True)
    prefix, *words = done.stdout.decode().split()
    assert words == ["__label__", "in", "an", "dataclass"]
    assert not any(word.startswith(prefix) for word in words)


PYTHON = '"""What."""\n\n\ndef f():\n    """Say."""\n    return 1\n'
CYTHON = "cdef int f():\n    return 1\n"


@pytest.mark.parametrize(
    ("ending", "one", "same", "other"),
    [
        (".py", PYTHON, PYTHON.replace("Say", "Tell").replace("return 1", "return 1  # one"), PYTHON.replace("1", "2")),
        (".pyx", CYTHON, "# why\n" + CYTHON.replace("return 1", "\n    return 1  # one"), CYTHON.replace("1", "2")),
    ],
)
def test_comments_and_docstrings_change_no_key(tmp_path, ending, one, same, other):
    codes = []
    for number, text in enumerate((one, same, other)):
        path = tmp_path / f"{number}{ending}"
        path.write_text(text)
        codes.append(results.code(path))
    assert codes[0] == codes[1] != codes[2]


def test_measures_of_hits_are_those_of_the_library(folder):
    data, rng = sets.load("made"), np.random.default_rng(0)
    found = measures.Measured(data)
    judged, hits = [], []
    for _ in range(2):
        labels = np.stack([rng.permutation(12)[:10] for _ in range(100)]).astype(np.int32)
        ranked = measures.Ranked(labels, np.tile(np.arange(10, 0, -1.0), (100, 1)))
        counts = np.asarray(data.Y_train.sum(axis=0)).ravel().astype(np.int64)
        judged.append(judge(sp.csr_array(data.Y_test), ranked, label_counts=counts, n_train_rows=200))
        hits.append(found.judged(measures.hits_of(found.truth, labels)))
    for measure in measures.MEASURES:
        mine = measures.with_interval(*hits[0][measure])
        assert mine == pytest.approx(interval(measure, judged[0]), abs=2e-6)
        expected = compare(measure, judged[0], judged[1])
        assert measures.difference(hits[0][measure], hits[1][measure]) == pytest.approx(expected, abs=2e-6)


def test_recall_by_frequency_counts_each_true_label_once(measured):
    data, found = sets.load("made"), results.read("made", measured)
    assert sum(found["buckets"].values()) == data.Y_test.nnz
    hits = results.hits_in("made", measured)[f"{OURS}/default"]
    shares = found["cells"][f"{OURS}/default"]["by_frequency"]
    total = sum(n * share for n, share in zip(found["buckets"].values(), shares, strict=True) if n)
    assert total == pytest.approx((hits > 0).sum(), abs=0.01)


@pytest.mark.parametrize(
    ("code", "limits", "why"),
    [
        ("while True: pass", {"core_seconds": 0.3}, "stopped after 0 core-seconds"),
        (
            "x = bytearray(300_000_000); import time; time.sleep(60)",
            {"core_seconds": 60, "gigabytes": 0.1},
            "stopped at 0.1 GB",
        ),
        ("raise ValueError('a label too many')", {"core_seconds": 60}, "failed: ValueError: a label too many"),
        ("pass", {"core_seconds": 60}, None),
    ],
)
def test_limits_end_a_run_and_say_why(tmp_path, code, limits, why):
    assert runs.limited([sys.executable, "-c", code], tmp_path / "errors.txt", **limits) == why


def test_only_a_run_that_does_nothing_is_ended_by_the_clock(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "IDLE_SECONDS", 0.6)
    sleeping = [sys.executable, "-c", "import time; time.sleep(60)"]
    assert runs.limited(sleeping, tmp_path / "errors.txt", 60) == "stopped, because it did nothing for 0.6 s"
    working = [sys.executable, "-c", "import time\nwhile time.process_time() < 1.5: sum(range(100_000))"]
    assert runs.limited(working, tmp_path / "errors.txt", 60) is None


def test_a_system_that_cannot_run_is_listed_with_the_reason(folder, monkeypatch):
    few = registry.System("few", "sklearn_linearsvc", "sklearn", most_labels=5)
    monkeypatch.setitem(SYSTEMS, "linearsvc", few)
    results.run("made", ["linearsvc", "abound-fit"], folder)
    cells = results.read("made", folder)["cells"]
    assert cells["linearsvc/default"]["failed"] == "not run: it trains a model for each of 12 labels"
    assert cells["abound-fit/default"]["failed"] == "not run: the data set has no texts"
    for form in registry.FORMS:
        assert results.cell_of(results.read("made", folder), "linearsvc", form)[1]["refused"]


def show_only(monkeypatch, *peers):
    """Let the pages know no other systems than abound and these."""
    for module in (standings, tables, pictures, excerpts):
        monkeypatch.setattr(module, "PEERS", peers)
    monkeypatch.setattr(standings, "SYSTEMS", {name: SYSTEMS[name] for name in (OURS, *peers)})


def test_pages_show_complete_sets_only(measured, monkeypatch):
    assert "Not measured completely with this code: made." in tables.page(results.read_all(measured))
    show_only(monkeypatch, "omikuji")
    pages = tables.pages(results.read_all(measured))
    assert list(pages) == ["peers.md", "peers/made.md"]
    row = next(line for line in pages["peers.md"].splitlines() if line.startswith("| [made]"))
    assert "| another |" in row
    for heading in ("## Default", "## Abound minus the others", "## By label frequency", "## Settings that were tried"):
        assert heading in pages["peers/made.md"]


def test_data_sets_side_by_side_show_what_the_results_say(measured, monkeypatch):
    assert excerpts.side_by_side(results.read_all(measured), ["made"]) == [
        "made are not measured completely with this code."
    ]
    show_only(monkeypatch, "omikuji")
    found = results.read_all(measured)
    results.cell_of(found["made"], OURS, "tuned")[1]["accuracy"]["P@1"][0] = 0.4321
    head, _, ours, other, *_ = excerpts.side_by_side(found, ["made", "missing"])
    assert head.endswith("training | made |")
    assert ours.startswith("| abound | .432 / ")
    assert other.startswith("| another | ")


def test_the_short_table_shows_what_the_results_say_and_names_what_is_missing(measured, monkeypatch):
    show_only(monkeypatch, "omikuji")
    found = results.read_all(measured)
    results.cell_of(found["made"], OURS, "tuned")[1]["accuracy"]["P@1"][0] = 0.4321
    found["made"]["cells"]["abound-fit/default"] = json.loads(json.dumps(found["made"]["cells"]["omikuji/default"]))
    found["made"]["cells"]["abound-fit/default"]["accuracy"]["P@1"][0] = 0.1234
    _, _, row, _, words = excerpts.short(found, ["made", "missing"])
    assert row.startswith("| made | 12 | .123 / ")
    assert "| .432 / " in row
    assert "| another |" in row
    assert "Not measured completely with this code: missing." in words


def test_one_data_set_shows_every_system(measured, monkeypatch):
    assert excerpts.brief(results.read_all(measured), "made") == ["made is not measured completely with this code."]
    show_only(monkeypatch, "omikuji")
    lines = excerpts.brief(results.read_all(measured), "made")
    assert [line.split(" | ")[0] for line in lines[2:4]] == ["| abound", "| another"]
    assert lines[-1].startswith("made: 200 training and 100 test rows")


def test_data_sets_that_were_set_aside_have_a_table_of_their_own(measured, monkeypatch):
    show_only(monkeypatch, "omikuji")
    found = results.read_all(measured)
    assert tables.LOCKED not in tables.page(found)
    monkeypatch.setattr(tables, "LOCKED_SETS", ("made",))
    page = tables.page(found)
    assert "## All data sets" not in page
    assert page.index("## Data sets that were set aside") < page.index("| [made]")


def test_two_processes_do_not_measure_a_data_set_at_once(folder, tmp_path):
    sets.CACHE.mkdir(parents=True, exist_ok=True)
    with FileLock(sets.CACHE / "made.lock"), pytest.raises(SystemExit, match="made is being measured by another"):
        results.run("made", [OURS], folder)


def test_a_system_without_figures_is_named_in_the_row(measured, monkeypatch):
    show_only(monkeypatch, "omikuji", "pecos")
    found = results.read_all(measured)
    found["made"]["cells"]["pecos/default"] = {"options": {}, "failed": "stopped after 3,600 core-seconds"}
    found["made"]["tuning"]["pecos"] = {"chosen": {}, "trials": [], "not_tried": []}
    row = next(line for line in tables.summary(found) if line.startswith("| [made]"))
    assert "| another (without figures: PECOS XR-Linear) |" in row


def test_pictures_are_drawn_for_complete_sets(measured, monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    show_only(monkeypatch, "omikuji")
    found = results.read_all(measured)
    pictures.draw(found, tmp_path / "images")
    assert {path.name for path in (tmp_path / "images").iterdir()} == set(pictures.of(found))
    assert {"peers-time.png", "peers-memory.png"} <= set(pictures.of(found))
    pictures.draw({}, tmp_path / "images")
    assert not list((tmp_path / "images").iterdir())


def test_losses_are_listed(measured, monkeypatch):
    show_only(monkeypatch, "omikuji")
    found = results.read_all(measured)
    _, cell = results.cell_of(found["made"], "omikuji", "default")
    cell["ours_less_it"]["default"]["P@3"] = [-0.03, -0.05, -0.01]
    # Another system has a higher figure, which is not above ours by more than the interval.
    higher = json.loads(json.dumps(cell)) | {"options": {}}
    higher["accuracy"]["P@3"], higher["ours_less_it"]["default"]["P@3"] = [0.9, 0.8, 1.0], [-0.05, -0.2, 0.1]
    found["made"]["cells"]["pecos/default"] = higher
    show_only(monkeypatch, "omikuji", "pecos")
    assert "P@3" in standings.standing(found["made"], "default")["below"]
    assert "| made | default | P@3 | another | -0.0300 (-0.0500, -0.0100) |" in tables.losses(found)


def test_committed_pages_show_the_committed_results_and_no_void_cell():
    expected = tables.pages(results.read_all())
    shown = {str(path.relative_to(tables.DOCS)) for path in tables.FOLDER.glob("*.md")} | {"peers.md"}
    assert shown == expected.keys(), "run python -m benchmarks.comparison pages"
    for path, text in expected.items():
        assert (tables.DOCS / path).read_text() == text, f"{path}: run python -m benchmarks.comparison pages"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "--systems", "weka"], "unknown system 'weka'; known are"),
        (["run", "--set", "iris"], "unknown data set 'iris'; known are"),
        ([], "arguments are required: command"),
    ],
)
def test_the_command_says_what_it_needs(arguments, message, capsys):
    with pytest.raises(SystemExit, match="2"):
        command.main(arguments)
    assert message in capsys.readouterr().err


def test_results_are_plain_json(measured):
    found = json.loads(results.place("made", measured).read_text())
    assert found["labels"] == 12
    assert found["cells"][f"{OURS}/default"]["version"]
