"""Derive choices from bytes, with the interface of a random generator, so that a fuzzer can steer them."""

import numpy as np


class Chooser:
    """A generator like numpy's that reads bytes; when they are used up, everything is 0."""

    def __init__(self, data):
        self._data = data
        self._at = 0

    def _number(self, n_bytes):
        part = self._data[self._at : self._at + n_bytes]
        self._at += n_bytes
        return int.from_bytes(part, "little")

    def integers(self, low, high=None):
        """Return an integer in [low, high)."""
        if high is None:
            low, high = 0, low
        return int(low) + self._number(1 if high - low <= 256 else 3) % max(1, int(high) - int(low))

    def random(self):
        """Return a number in [0, 1)."""
        return self._number(1) / 256

    def permutation(self, n):
        """Return one of a few permutations."""
        return np.roll(np.arange(n)[:: 1 if self._number(1) % 2 else -1], self._number(1))
