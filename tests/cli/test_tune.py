"""`abound tune`, and `abound evaluate --plot`."""

import doctest
import json
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from abound.cli import fit as fit_module
from abound.cli import tune as tune_module
from abound.cli.tune import parse_seconds, verdict
from abound.metrics import Interval
from abound.tuning import Setting
from tests.cli.running import Run, write_rows


@pytest.fixture
def many(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "many.jsonl", copies=40)


def test_the_command_that_is_found_gives_the_same_figures_again(run: Run, many: Path, tmp_path: Path) -> None:
    found = run("tune", many, "--budget", "3s", "--plot", tmp_path / "tried", "--seed", 3)
    assert found.code == 0, found.err
    assert found.json["held_out"] == 24
    command = shlex.split(found.json["command"].replace("MODEL", shlex.quote(str(tmp_path / "model"))))
    assert command[:2] == ["abound", "fit"]
    fitted = run(*command[1:]).json["held_out"]["measures"]
    for measure, figure in found.json["best"]["measures"].items():
        assert fitted[measure] == figure
    assert (tmp_path / "tried" / "tried.png").exists()
    rows = [json.loads(line) for line in (tmp_path / "tried" / "tried.jsonl").read_text().splitlines()]
    assert len({row["words"] for row in rows}) == found.json["settings_tried"]


def test_what_is_found_is_told_on_one_screen(run: Run, many: Path) -> None:
    shown = run("tune", many, "--budget", "1s", "--table", "--limit", 200)
    assert shown.code == 0, shown.err
    assert len(shown.out.splitlines()) < 24
    assert "defaults" in shown.out
    assert "--holdout every:10 --limit 200" in shown.out
    assert "the first 200 rows" in shown.err


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"passes": 3, "d_max": 100, "w_min": 0.001, "stem": "english"},
        {"ranker": "mmp", "passes": 2, "ngrams": 3},
        {"ranker": "feature-focus", "d_max": 10, "name_weight": 0.5},
        {"char_ngrams": (4, 5), "ngrams": 1, "min_count": 2},
    ],
)
def test_the_options_of_a_setting_make_the_same_tagger(
    run: Run, many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: dict[str, Any]
) -> None:
    made = []
    real = fit_module.make_tagger
    monkeypatch.setattr(fit_module, "make_tagger", lambda **params: made.append(real(**params)) or made[0])
    assert run("fit", many, "--limit", 20, "--model", tmp_path / "m", *Setting(values).options()).code == 0
    own = {name: value for name, value in made[0].params().items() if name != "language"}  # which was detected
    assert own.items() <= Setting(values).tagger().params().items()


def test_what_cannot_be_tuned_is_told(run: Run, many: Path, docs: Path) -> None:
    assert "--budget must be a time such as 60s, 5m or 1h, got 'soon'" in run("tune", many, "--budget", "soon").err
    assert "tuning needs files" in run("tune", "-").err
    assert "tuning needs files" in run("tune", many, "--holdout", docs).err
    assert "unknown metric 'P@x'" in run("tune", many, "--metric", "P@x").err


def test_more_rows_than_the_budget_allows_are_left_out(run: Run, many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tune_module, "PROBED", 50)
    monkeypatch.setattr(tune_module, "DEFAULTS_SHARE", 1e-9)
    monkeypatch.setattr(tune_module, "round_down", lambda number: 100 if number < 50 else 1 / 0)
    found = run("tune", many, "--budget", "1s").json
    assert found["limit"] == 100
    assert found["held_out"] == 10
    assert "--limit 100" in found["command"]


def test_times_and_examples() -> None:
    assert [parse_seconds(text) for text in ("60", "1.5m", "2 h", "90S")] == [60, 90, 7200, 90]
    assert doctest.testmod(tune_module).failed == 0


def test_the_verdict_is_plain() -> None:
    def said(best: Setting, gain: Interval, n_tried: int = 2) -> str:
        outcomes = {"defaults": SimpleNamespace(setting=Setting()), "best": SimpleNamespace(setting=best)}
        trials = [SimpleNamespace(setting=Setting({"ngrams": number})) for number in range(n_tried)]
        found: Any = SimpleNamespace(measure="P@5", gain=gain, beaten=gain.low > 0, trials=trials, **outcomes)
        return verdict(found)

    better = said(Setting({"passes": 2}), Interval(0.02, 0.01, 0.03))
    assert better == ("The best setting, passes 2, beats the defaults: P@5 +0.0200, 95% interval +0.0100 to +0.0300.")
    unsure = said(Setting({"passes": 2}), Interval(0.02, -0.01, 0.03))
    assert "could not be beaten: passes 2 was the best setting tried" in unsure
    assert "no other setting that was tried ranked better" in said(Setting(), Interval(0.0, 0.0, 0.0))
    assert "no time to try any setting but" in said(Setting(), Interval(0.0, 0.0, 0.0), n_tried=1)


PICTURES = (
    "precision-at-k",
    "precision-recall",
    "label-frequency",
    "label-quality",
    "reliability",
    "learning-curve",
    "memory",
    "confused-labels",
    "explanations",
)


def test_an_evaluation_is_drawn_with_its_figures(run: Run, many: Path, tmp_path: Path) -> None:
    model, drawn = tmp_path / "indexed", tmp_path / "drawn"
    options = ["--holdout", "every:10", "--ranker-param", "few_labels=0"]  # an index, whose edges can be cut
    assert run("fit", many, "--model", model, *options).code == 0
    plain = run("evaluate", model, many, "--holdout", "every:10").json
    result = run("evaluate", model, many, "--holdout", "every:10", "--plot", drawn, "--dark")
    assert result.code == 0, result.err
    assert result.json == plain
    for name in PICTURES:
        if name == "confused-labels" and not (drawn / f"{name}.png").exists():
            continue  # a model that is always right
        assert (drawn / f"{name}.png").read_bytes()[:4] == b"\x89PNG", name
        rows = [json.loads(line) for line in (drawn / f"{name}.jsonl").read_text().splitlines()]
        assert rows, name
    sizes = [json.loads(line) for line in (drawn / "memory.jsonl").read_text().splitlines()]
    assert [size["d_max"] for size in sizes] == sorted(size["d_max"] for size in sizes)
    assert sizes[0]["d_max"] == 1
    at_k = json.loads((drawn / "precision-at-k.jsonl").read_text().splitlines()[0])
    assert at_k["P"] == pytest.approx(plain["measures"]["P@1"]["value"])
    page = (drawn / "explanations.html").read_text()
    assert "color-scheme: dark" in page
    assert page.count("<section>") == len((drawn / "explanations.jsonl").read_text().splitlines()) > 0


def test_without_an_index_there_is_no_memory_to_draw(run: Run, model: Path, docs: Path, tmp_path: Path) -> None:
    result = run("evaluate", model, docs, "--plot", tmp_path / "drawn")
    assert result.code == 0, result.err
    assert "accuracy against memory is left out" not in result.err or not (tmp_path / "drawn" / "memory.png").exists()
    assert (tmp_path / "drawn" / "learning-curve.png").exists()
