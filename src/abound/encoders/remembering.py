"""An encoder that remembers the vectors of the last texts."""

import threading
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from abound.encoders.base import VectorEncoder, Vectors

REMEMBERED = 2_000  # texts


class RememberingEncoder(VectorEncoder):
    """Encode texts by another encoder, in one thread at a time, and remember the last ones.

    A text is then encoded once though it is ranked, explained and learned, and a server can encode it in a thread
    before it locks the model.

    Parameters
    ----------
    encoder : VectorEncoder

    Examples
    --------
    >>> from abound.encoders import CallableEncoder
    >>> asked = []
    >>> encoder = RememberingEncoder(CallableEncoder(lambda texts: [asked.append(t) or [1, 0] for t in texts], "e", 2))
    >>> encoder.encode(["a", "b"]).tolist() == encoder.encode(["b", "a"]).tolist()
    True
    >>> asked
    ['a', 'b']
    """

    def __init__(self, encoder: VectorEncoder) -> None:
        self._encoder = encoder
        self.name, self.dimensions, self.is_slow = encoder.name, encoder.dimensions, encoder.is_slow
        self.encodes_texts, self.opened_by = encoder.encodes_texts, encoder.opened_by
        self._known: OrderedDict[str, Vectors] = OrderedDict()
        self._knowing, self._encoding = threading.Lock(), threading.Lock()

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text; see `VectorEncoder`."""
        found = self._found(texts)
        if any(text not in found for text in texts):
            with self._encoding:  # another thread may have encoded some of them meanwhile
                found |= self._found(texts)
                missing = list(dict.fromkeys(text for text in texts if text not in found))
                if missing:
                    found |= dict(zip(missing, self._encoder.encode(missing), strict=True))
                    self._remember({text: found[text] for text in missing})
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in enumerate(texts):
            rows[row] = found[text]
        return rows

    def _found(self, texts: Sequence[str]) -> dict[str, Vectors]:
        with self._knowing:
            return {text: self._known[text] for text in texts if text in self._known}

    def _remember(self, vectors: dict[str, Vectors]) -> None:
        with self._knowing:
            self._known |= vectors
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)

    def raw(self, texts: list[str]) -> object:
        """Return one row of numbers per text."""
        return self._encoder.raw(texts)
