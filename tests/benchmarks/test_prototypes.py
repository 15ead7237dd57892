"""A short run of the benchmark of prototypes for many labels."""

from benchmarks import prototypes


def test_memory_follows_the_touched_pairs():
    few = prototypes.series(4_000, 1_000, steps=2)["points"][-1]
    many = prototypes.series(4_000, 100_000, steps=2)["points"][-1]
    # A hundred times the labels: no more pairs than words and labels met, and about 8 bytes each, and the columns.
    assert many["pairs"] < 20 * 4_000 * 8
    assert many["megabytes"] < few["megabytes"] + 20
