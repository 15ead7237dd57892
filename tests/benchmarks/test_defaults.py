"""The table of text settings: cells resume, take development rows only, and become tables."""

import json
import random

import pytest

from benchmarks import defaults, documents
from benchmarks.documents import Row

WORDS = {
    "fruit": ["apples", "pears", "plums"],
    "vehicle": ["cars", "boats", "trains"],
    "tree": ["oaks", "firs", "elms"],
}


def rows(n, seed):
    chance = random.Random(seed)
    found = []
    for place in range(n):
        label = chance.choice(sorted(WORDS))
        words = [chance.choice(WORDS[label]).removesuffix(chance.choice(["s", ""])) for _ in range(2)]
        found.append(Row(f"{' and '.join(words)} {place}", [label], place))
    return found


@pytest.fixture
def made(monkeypatch):
    """A small set in the place of all others, and settings that any tagger has."""
    source = documents.Source(lambda: (rows(200, 0), [Row("a test row", ["test label"], 999)]), documents.every_nth_row)
    monkeypatch.setitem(documents.SOURCES, "made", source)
    monkeypatch.setattr(defaults, "SETS", ("made",))
    settings = {"default": {}, "words": {"ngrams": 1}, "stems, pairs": {"stem": "STEM"}}
    monkeypatch.setattr(defaults, "SETTINGS", {**settings, "default, names count 4": {"name_weight": 4.0}})
    monkeypatch.setattr(defaults, "in_process", lambda asked: json.dumps(defaults.measure(*json.loads(asked))))


def test_cells_are_run_once_and_again_when_their_parameters_change(made, tmp_path, monkeypatch, capsys):
    path = tmp_path / "defaults.json"
    defaults.main(["run", "--json", str(path)])
    cells = defaults.read(path)["cells"]
    assert len(cells) == 7  # the weight of names is tried with names only
    assert cells["made | no names | words"]["params"] == {"ngrams": 1}
    assert cells["made | names | stems, pairs"]["params"] == {"stem": "english"}
    assert cells["made | no names | default"]["P@1"] > 0.9
    assert (cells["made | no names | default"]["rows"], cells["made | no names | default"]["held_out"]) == (180, 20)
    ran = []
    monkeypatch.setattr(defaults, "in_process", lambda asked: ran.append(asked) or json.dumps(cells[key]))
    key = "made | no names | words"
    defaults.main(["run", "--json", str(path)])
    assert ran == []
    monkeypatch.setitem(defaults.SETTINGS, "words", {"ngrams": 3})
    defaults.main(["run", "--json", str(path)])
    assert len(ran) == 2
    defaults.main(["run", "--json", str(path), "--setting", "default", "--again"])
    assert len(ran) == 4


def test_a_cell_that_fails_is_told_and_leaves_the_others(made, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(defaults, "in_process", lambda asked: None if "ngrams" in asked else json.dumps({"P@1": 0.5}))
    defaults.run(["made"], ["default", "words"], tmp_path / "defaults.json")
    assert list(defaults.read(tmp_path / "defaults.json")["cells"]) == [
        "made | no names | default",
        "made | names | default",
    ]


def test_a_cell_runs_in_a_process_of_its_own_and_its_failure_is_told(capfd):
    assert defaults.in_process(json.dumps(["no such set", False, {}])) is None
    assert "has no texts" in capfd.readouterr().err


def cell(p1, p5, **params):
    costs = {"train_core_seconds": 1.0, "rank_microseconds_a_row": 20.0, "model_megabytes": 5, "peak_megabytes": 90}
    return {"params": params, "P@1": p1, "P@3": 0.3, "P@5": p5, **costs, "rows": 180, "held_out": 20, "terms": 1000}


def test_tables_say_where_the_default_is_not_level(made):
    result = {
        "cells": {
            "made | no names | default": cell(0.60, 0.2),
            "made | no names | words": cell(0.604, 0.2, ngrams=1),
            "made | names | default": cell(0.6, 0.2),
            "made | names | words": cell(0.59, 0.206, ngrams=1),
        }
    }
    *_, without, with_names = defaults.beside_best(result)
    assert without == "| made | no | 0.600 / 0.200 | 0.604 | words | 0.200 | default | yes |"
    assert with_names == "| made | yes | 0.600 / 0.200 | 0.600 | default | 0.206 | words | **no** |"
    lines = defaults.all_tables(result)
    assert lines[:3] == ["### made", "", "180 rows learned, 20 held out."]
    assert lines[-1] == "| words | yes | 0.590 | 0.300 | 0.206 | 1.0 | 20 | 5 | 90 | 1,000 |"
    result["cells"]["made | names | words"]["params"] = {"ngrams": 2}
    *_, last, _, footnote = defaults.all_tables(result)
    assert last.startswith("| words\\* | yes |")
    assert footnote == defaults.OUTDATED


def test_stems_are_those_of_the_sets_language():
    assert {defaults.params_of("finna-fi-100k", setting).get("stem") for setting in defaults.SETTINGS} == {
        None,
        "finnish",
    }
    assert defaults.params_of("20news", "stems")["stem"] == "english"
