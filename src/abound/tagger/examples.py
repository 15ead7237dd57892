"""Short texts of the training data that show a person what a model is about."""

import zlib
from collections.abc import Iterable
from typing import Any

from abound.errors import DamagedModel
from abound.texts import Text, joined

N_EXAMPLES = 3
SHORTEST, LONGEST = 20, 160  # characters
SEARCHED = 20_000  # first texts of a training


class Examples:
    """Choose a few of the first texts by their checksums, so that the same data give the same examples."""

    def __init__(self) -> None:
        self._n_seen = 0
        self._chosen: list[tuple[int, str]] = []

    def add(self, texts: Iterable[Text]) -> None:
        """Look at more texts."""
        for text in texts:
            if self._n_seen >= SEARCHED:
                return
            self._n_seen += 1
            words = " ".join(joined(text).split())
            if SHORTEST <= len(words) <= LONGEST and words.isprintable():
                self._chosen = sorted({*self._chosen, (zlib.crc32(words.encode()), words)})[:N_EXAMPLES]

    def chosen(self) -> tuple[str, ...]:
        """Return the examples."""
        return tuple(words for _, words in self._chosen)


def check_examples(given: Any) -> tuple[str, ...]:
    """Return the examples of a manifest; raise DamagedModel for anything else."""
    if type(given) is not list or len(given) > N_EXAMPLES:
        raise DamagedModel(f"the examples of the model must be a list of at most {N_EXAMPLES} texts")
    if not all(type(text) is str and len(text) <= LONGEST for text in given):
        raise DamagedModel(f"the examples of the model must be texts of at most {LONGEST} characters")
    return tuple(given)
