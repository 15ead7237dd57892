"""Test the tables and diagrams of the calibration."""

import pytest

from benchmarks import calibration, readme

CELL = {
    "rows": 1000,
    "measured": 200,
    "calibrated_on": 100,
    "ECE": 0.0123,
    "ECE_after": 0.0099,
    "corrections": 100,
    "P@1": 0.8,
    "P@1_without": 0.81,
    "bins": [[0.01, 0.012, 700], [0.4, 0.35, 650], [0.9, 0.95, 650]],
    "ranking_time": {"batch": 1.01, "single rows": 1.1, "texts": 1.02},
    "F1_assigned": 0.7,
    "F1_fixed": 0.65,
    "fixed_k": 2,
    "precision_0.8": {"is_reachable": True, "precision": 0.81},
    "precision_0.9": {"is_reachable": True, "precision": 0.9},
    "precision_0.95": {"is_reachable": False, "precision": None},
}
RESULT = {"machine": "a machine", "sets": {"reuters-90": CELL}}


def test_every_data_set_has_a_line_in_each_table():
    (line,) = calibration.probability_table(RESULT)[2:]
    expected = "| reuters-90 | 100 of 1,000 rows | 0.0123 | 0.0099 (100) | 0.8000 | 0.8100 | 1.010 | 1.020 |"
    assert line == expected
    (line,) = calibration.decision_table(RESULT)[2:]
    assert line == "| reuters-90 | 0.700 | 0.650 (k = 2) | 0.810 | 0.900 | not reachable |"


def test_stored_bins_are_drawn(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    (file,) = calibration.plot(RESULT, tmp_path / "images")
    assert file == tmp_path / "images" / "reliability-reuters-90.png"
    assert file.read_bytes().startswith(b"\x89PNG")
    assert file.stat().st_size < 60_000
    monkeypatch.setattr(calibration, "IMAGES", tmp_path / "images")
    assert calibration.diagrams(RESULT)[0].endswith("(../images/reliability-reuters-90.png)")
    monkeypatch.setattr(calibration, "IMAGES", tmp_path)
    assert calibration.diagrams(RESULT) == []  # a page shows only what was drawn


def test_pages_stay_empty_until_something_was_measured(tmp_path, monkeypatch):
    page = "before\n\n<!-- figures:calibration-{} -->\nold\n<!-- /figures -->\n"
    monkeypatch.setattr(calibration, "RESULT", tmp_path / "calibration.json")
    for name in calibration.TABLES:
        assert readme.render(page.format(name)).split() == page.format(name).replace("old", "").split()
    calibration.keep("reuters-90", CELL)
    assert "| reuters-90 | 0.700 |" in readme.render(page.format("decisions"))
