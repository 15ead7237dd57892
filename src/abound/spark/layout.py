"""Partition the features of a model for the shuffle: into blocks, which are merged at once, and buckets per task."""

from typing import NamedTuple

# Features per block times shards: the lists that a merging task holds at once, whatever the number of shards.
LISTS_PER_BLOCK = 1 << 16
BUCKETS_PER_CORE = 8  # several, because the first features have most of the edges, so buckets differ in size


class Layout(NamedTuple):
    """Blocks of neighbouring features, in buckets of neighbouring blocks."""

    n_features: int
    block: int  # features in a block
    buckets: int

    @classmethod
    def of(cls, n_features: int, shards: int, cores: int) -> "Layout":
        """Return the layout for numbers of features, shards and parallel tasks.

        Examples
        --------
        >>> Layout.of(100_000, shards=8, cores=1)
        Layout(n_features=100000, block=8192, buckets=8)
        """
        block = max(1, LISTS_PER_BLOCK // shards)
        n_blocks = -(-n_features // block)
        return cls(n_features, block, max(1, min(n_blocks, BUCKETS_PER_CORE * cores)))

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return -(-self.n_features // self.block)

    def span(self, block: int) -> tuple[int, int]:
        """Return the range of features of a block."""
        return block * self.block, min((block + 1) * self.block, self.n_features)

    def blocks(self, bucket: int) -> range:
        """Return the blocks of a bucket."""
        return range(self.n_blocks * bucket // self.buckets, self.n_blocks * (bucket + 1) // self.buckets)

    def bucket_of(self, block: int) -> int:
        """Return the bucket of a block."""
        return ((block + 1) * self.buckets - 1) // self.n_blocks
