"""A short run of the bands on a real stream."""

import pytest

from benchmarks import bands, sets


@pytest.mark.data
def test_the_target_is_met_on_later_rows(data_folder, monkeypatch):
    whole = sets.load("finna-10k")
    monkeypatch.setattr(sets, "load", lambda _: whole)
    monkeypatch.setattr(bands, "STREAM", 1_500)
    result = bands.run("finna-10k", "feature-focus", targets=(0.5,))
    assert result["stream"] == 1_500
    assert set(result["runs"]) == {"as it is", "shift", "as it is, in groups", "shift, in groups"}
    for runs in result["runs"].values():
        assert runs["0.5"]["suggested_a_row"] > 0
        assert "the target of 50%" in runs["0.5"]["report"]
