"""Short runs of the cascade's benchmarks."""

import pytest

from benchmarks import cascade

pytestmark = pytest.mark.data


def test_names_help_most_where_examples_are_few(data_folder):
    runs = cascade.names(((3_000, 500),))["runs"]
    plain, named = runs["3k, words and pairs"], runs["3k, with names"]
    assert named["P@1"].value > plain["P@1"].value + 0.05
    assert plain["R@10_without_example"] == 0.0
    assert named["R@10_without_example"] > 0.1


def test_growth_is_measured(data_folder):
    result = cascade.growth((500, 1_000), draw=False)
    assert [point["rows"] for point in result["points"]] == [500, 1_000]
