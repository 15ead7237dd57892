import pytest

from benchmarks import tune


@pytest.mark.data
def test_what_is_found_is_found_again(data_folder, tmp_path):
    result = tune.run("gutenberg-lcsh", tmp_path, seconds=2.0, limit=1_500)
    assert result["again_is_equal"]
    assert result["seconds"] < 4
    assert result["held_out"] == 150
    assert "defaults" in result["verdict"]
