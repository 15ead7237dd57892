import pytest

from benchmarks import tune


@pytest.mark.data
def test_what_is_found_is_found_again(data_folder, tmp_path):
    result = tune.run("gutenberg-lcsh", tmp_path, seconds=6.0, limit=1_500)
    assert result["again_is_equal"]
    assert result["again"]["P@1"]["value"] == result["best"]["measures"]["P@1"]["value"] > 0.1
    most = max(trial["rows"] for trial in result["trials"])
    assert {trial["value"] for trial in result["trials"] if trial["rows"] == most} != {0.0}
    assert result["settings_tried"] >= 1
    assert result["seconds"] < 12
    assert result["held_out"] == 150
