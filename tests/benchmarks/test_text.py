"""Short runs of the benchmarks that start from texts."""

import pytest

from benchmarks import readme, text

pytestmark = pytest.mark.data


@pytest.fixture(autouse=True)
def few_rows(data_folder, monkeypatch):
    monkeypatch.setattr(text, "N_TRAIN", 4_000)
    monkeypatch.setattr(text, "N_TEST", 500)


def test_every_step_from_a_file_to_a_ranking_is_timed(tmp_path):
    figures = text.ours(*text.write_files(tmp_path))
    assert sum(figures["share"].values()) == pytest.approx(1.0, abs=0.1)
    assert figures["P@1"].value > 0.02
    assert figures["median_microseconds_one"] < 5_000


def test_a_correction_is_learnt_at_once():
    figures = text.corrections(50)["true_labels"]
    assert figures["first_after_one_learn"] >= 0.9
    assert figures["P@1_after_rejections"] > figures["P@1_before"] - 0.01


def test_readme_says_what_the_result_files_say():
    assert readme.render((readme.ROOT / "README.md").read_text()) == (readme.ROOT / "README.md").read_text()
