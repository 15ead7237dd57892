"""Words cut to their stems, by Snowball's compiled stemmers."""

import Stemmer

MAX_STEMS = 100_000  # that are remembered: about 15 MB


class Stems(dict[str, str]):
    """Give the stem of each word of a language, and remember it.

    The kernels look every word of every text up here. PyStemmer's own cache is left out: where there are many different
    words, it takes longer to tidy itself than to stem.
    """

    def __init__(self, language: str) -> None:
        super().__init__()
        if language not in Stemmer.algorithms():
            raise ValueError(f"no stemmer for {language!r}; there are {', '.join(Stemmer.algorithms())}")
        self.language = language
        self._stemmer = Stemmer.Stemmer(language, 0)

    def __missing__(self, word: str) -> str:
        if len(self) >= MAX_STEMS:
            self.clear()
        stem: str = self._stemmer.stemWord(word)
        self[word] = stem
        return stem

    def __reduce__(self) -> tuple[type["Stems"], tuple[str]]:
        """Copy and pickle the language alone."""
        return Stems, (self.language,)
