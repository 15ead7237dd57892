"""Words cut to their stems, by Snowball's compiled stemmers (the extra `stem`)."""

from collections.abc import Callable

from abound.text.words import words_of


def stemmer(language: str) -> Callable[[str], str]:
    """Return a function that replaces every word of a text by its stem."""
    try:
        import Stemmer
    except ImportError:
        raise ImportError("stemming needs an extra: pip install 'abound[stem]'") from None
    if language not in Stemmer.algorithms():
        raise ValueError(f"no stemmer for {language!r}; there are {', '.join(Stemmer.algorithms())}")
    stem = Stemmer.Stemmer(language)
    return lambda text: " ".join(stem.stemWords(words_of(text)))
