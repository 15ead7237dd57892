"""Words that no language has, and texts in which each label has words of its own."""

import random
from collections.abc import Sequence
from itertools import accumulate

SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstv" for vowel in "aeiou"]


def made_words(n_words: int, rng: random.Random) -> list[str]:
    """Return different words of two to four syllables."""
    found: dict[str, None] = {}
    while len(found) < n_words:
        found["".join(rng.choices(SYLLABLES, k=rng.randint(2, 4)))] = None
    return list(found)


class Topics:
    """Labels with frequencies like those of real ones, and texts about some of them.

    Parameters
    ----------
    names : sequence of str
        The labels, the most frequent first.
    most : int
        A row has 1 to so many labels.
    missing : float
        The share of rows that lack one of the labels of their words, so that no ranker is always right.
    stride : int
        How many words further the five words of the next label begin; if fewer than five, labels share words.
    """

    def __init__(self, names: Sequence[str], seed: int, most: int = 1, missing: float = 0.1, stride: int = 5) -> None:
        self.rng = random.Random(seed)
        self.names, self.most, self.missing = list(names), most, missing
        n_own = stride * len(self.names) + 5
        words = made_words(n_own + 600, self.rng)
        self.own = {name: words[stride * i : stride * i + 5] for i, name in enumerate(self.names)}
        self.common = words[n_own:]
        self.shares = list(accumulate(1 / (i + 5) for i in range(len(self.names))))
        self.common_shares = list(accumulate(1 / (i + 5) for i in range(len(self.common))))

    def labels(self) -> list[str]:
        """Draw the labels of a row."""
        found = self.rng.choices(self.names, cum_weights=self.shares, k=self.rng.randint(1, self.most))
        return list(dict.fromkeys(found))

    def words(self, labels: Sequence[str], own: int, common: int) -> str:
        """Return so many words of each label among so many common words, in random order."""
        found = [word for name in labels for word in self.rng.choices(self.own[name], k=own)]
        found += self.rng.choices(self.common, cum_weights=self.common_shares, k=common)
        self.rng.shuffle(found)
        return " ".join(found)

    def kept(self, labels: list[str]) -> list[str]:
        """Return the labels that a row is given: sometimes one is missing, or a random one stands for the only one."""
        if self.rng.random() >= self.missing:
            return labels
        if len(labels) == 1:
            return [self.rng.choice(self.names)]
        return [name for name in labels if name != self.rng.choice(labels)] or labels[:1]
