"""A short version of the damage harness: what it would find, and what it must not find in our own files."""

import pytest

from benchmarks.damage import VERDICTS, measure

pytest.importorskip("resource")


@pytest.mark.parametrize("name", ["model", "journal"])
def test_damage_to_our_files_is_noticed_or_harmless(name):
    figures = measure([name], 0.01)[name]
    for damage, n in (("flipped bits", 100), ("cuts", 100), ("torn blocks", 10)):
        found = figures[damage]
        assert sum(found[verdict] for verdict in VERDICTS) == n
        assert found["noticed"] > n / 2
        assert found["noticed"] + found["harmless"] == n


def test_the_harness_sees_what_goes_unnoticed():
    found = measure(["npy"], 0.002)["npy"]["flipped bits"]
    assert found["silently wrong"] > 10
