"""A short run of the bands on a real stream."""

import pytest

from benchmarks import bands


@pytest.mark.data
def test_the_target_is_met_on_later_rows(data_folder, monkeypatch):
    monkeypatch.setattr(bands, "STREAM", 3_000)
    result = bands.run("debian-tags", "feature-focus", targets=(0.6,))
    assert (result["stream"], result["measured"]) == (3_000, 1_500)
    assert set(result["runs"]) == {"as it is", "shift", "as it is, in groups", "shift, in groups"}
    for kind, runs in result["runs"].items():
        found = runs["0.6"]
        assert found["applied"] > 500
        assert found["precision"] == pytest.approx(0.6, abs=0.03 if "groups" not in kind else 0.07)
        assert found["precision_suggested"] < found["precision"]
        assert "the target of 60% is reachable" in found["report"]
