"""The guide shows the stored figures, and the decompounder that it mentions splits compounds."""

import json
import re
from pathlib import Path

import pytest

from benchmarks import languages, lengths

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "languages.md"


@pytest.mark.parametrize("module", [languages, lengths])
def test_the_guide_shows_the_stored_figures(module):
    guide = GUIDE.read_text().splitlines()
    for line in module.show(json.loads(module.RESULT.read_text())):
        assert line in guide


def test_scripts_without_spaces_are_ranked_as_well_as_by_a_linear_model():
    stored = json.loads(languages.RESULT.read_text())["scripts"]
    assert set(stored) == {*languages.MESSAGES, "debian-ja"}
    for row in stored.values():
        assert row["held"] >= 1000
        assert row["ranked"] >= 0.95


def test_compounds_are_split_where_both_parts_are_frequent():
    texts = ["Datenbank", "Server", "Verwaltung", "Programm"] * languages.MIN_PART_COUNT
    decompounder = languages.Decompounder("de", texts)
    assert decompounder.split("datenbankserver") == ["datenbank", "serv"]
    assert decompounder.split("verwaltungsprogramm") == ["verwalt", "programm"]
    assert decompounder.split("datenbank") == decompounder.split("zebrastreifen") == []
    assert "datenbank" in re.findall(r"\w+", decompounder.add_parts("Ein Datenbankserver"))
