"""A short run of the benchmark of shards."""

import pytest

from benchmarks import sets, shards

pytestmark = pytest.mark.data


def test_shards_are_timed_and_compared(data_folder, tmp_path, monkeypatch):
    monkeypatch.setattr(sets, "CACHE", tmp_path)
    result = shards.compare("yso-finna-en", rounds=1, label_set=shards.whole(limit=4_000))
    one, two = result["runs"][0], result["runs"][2]
    assert result["hash_independent_of_threads"]
    assert one["P@1"] > 0.02
    assert two["P@1"] > one["P@1"] - 0.05
    assert one["longest_way_seconds"] == one["processor_seconds"]
    assert two["longest_way_seconds"] < two["processor_seconds"]
