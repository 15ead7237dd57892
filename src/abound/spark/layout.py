"""How the features of a model are cut for the shuffle: blocks that are merged at once, buckets that a task merges."""

from typing import NamedTuple

# Features of a block times shards: what a merging task holds at once, so that it does not grow with the shards.
LISTS_PER_BLOCK = 1 << 16
BUCKETS_PER_CORE = 8  # the first features have most of the edges, so one bucket takes longer than another


class Layout(NamedTuple):
    """Blocks of neighbouring features, in buckets of neighbouring blocks."""

    n_features: int
    block: int  # features in a block
    buckets: int

    @classmethod
    def of(cls, n_features: int, shards: int, cores: int) -> "Layout":
        """Cut so many features for so many shards, to be merged by so many tasks at once.

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
        """How many blocks there are."""
        return -(-self.n_features // self.block)

    def span(self, block: int) -> tuple[int, int]:
        """Return the first feature of a block and the one after its last."""
        return block * self.block, min((block + 1) * self.block, self.n_features)

    def blocks(self, bucket: int) -> range:
        """Return the blocks of a bucket."""
        return range(self.n_blocks * bucket // self.buckets, self.n_blocks * (bucket + 1) // self.buckets)

    def bucket_of(self, block: int) -> int:
        """Return the bucket that a block is in."""
        return ((block + 1) * self.buckets - 1) // self.n_blocks
