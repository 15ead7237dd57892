"""Stem words with Snowball's compiled stemmers."""

import Stemmer

MAX_STEMS = 100_000  # cached stems: about 15 MB


class Stems(dict[str, str]):
    """A cache from the words of a language to their stems.

    The kernels look up every word of every text here. PyStemmer's own cache is switched off: with many different
    words, its maintenance takes longer than stemming.
    """

    def __init__(self, language: str) -> None:
        super().__init__()
        if language not in Stemmer.algorithms():
            raise ValueError(f"no stemmer for {language!r}; stemmers: {', '.join(Stemmer.algorithms())}")
        self.language = language
        self._stemmer = Stemmer.Stemmer(language, 0)

    def __missing__(self, word: str) -> str:
        if len(self) >= MAX_STEMS:
            self.clear()
        stem: str = self._stemmer.stemWord(word)
        self[word] = stem
        return stem

    def __reduce__(self) -> tuple[type["Stems"], tuple[str]]:
        """Copy and pickle only the language."""
        return Stems, (self.language,)
