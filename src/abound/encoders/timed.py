"""An encoder that measures how long another one takes."""

import time
from collections.abc import Sequence

from abound.encoders.base import VectorEncoder, Vectors


class TimedEncoder(VectorEncoder):
    """Encode texts by another encoder, and measure the time.

    Parameters
    ----------
    encoder : VectorEncoder
    opened_by : str
        What `open_encoder` opens the encoder by.

    Attributes
    ----------
    n_texts : int
        Texts that were encoded.
    seconds : float
        How long that took.
    """

    def __init__(self, encoder: VectorEncoder, opened_by: str) -> None:
        self._encoder, self.opened_by = encoder, opened_by
        self.name, self.dimensions, self.encodes_texts = encoder.name, encoder.dimensions, encoder.encodes_texts
        self.n_texts, self.seconds = 0, 0.0

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text; see `VectorEncoder`."""
        started = time.perf_counter()
        rows = self._encoder.encode(texts)
        self.seconds += time.perf_counter() - started
        self.n_texts += len(texts)
        return rows

    def raw(self, texts: list[str]) -> object:
        """Return one row of numbers per text."""
        return self._encoder.raw(texts)
