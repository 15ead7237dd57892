"""Detect the language of texts, and choose text settings for it.

The language is detected once per fit, from a seeded sample: detection is unreliable for one short title, but not for a
thousand. The choice is stored in the model. Learning more texts and ranking detect nothing.
"""

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

SAMPLE_TEXTS = 1000
SAMPLE_CHARACTERS = 1000  # of each text, from its beginning
MIN_CHARACTERS = 1000  # of all sampled texts together; with fewer, no language is detected
MIN_SHARE = 0.7  # of the texts must be in one language; otherwise no stemmer is used
ROUNDS = 20  # of expectation maximisation

# Snowball's stemmers that every supported version of PyStemmer has, by the code of their language.
STEMMERS = {
    "ar": "arabic",
    "ca": "catalan",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "eu": "basque",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "nb": "norwegian",
    "ne": "nepali",
    "nl": "dutch",
    "nn": "norwegian",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    "yi": "yiddish",
}
# Languages with compounds in one word, or with many endings: parts of words match what two words share.
COMPOUNDS = frozenset({"da", "de", "et", "fi", "hu", "is", "nb", "nl", "nn", "no", "sv"})
UNSPACED = frozenset({"km", "lo", "my", "ja", "th", "zh"})  # languages without spaces between words
PARTS = (5, 5)  # lengths of those parts; from 4 to 6 is no better and takes three times the time and memory
AUTO = "auto"
NO_LANGUAGE = "zxx"  # of newer versions of the detector; texts without letters are left out before detection


class DetectedLanguage(NamedTuple):
    """The language detected in a sample of texts."""

    language: str | None
    """The code of the main language; None if too few texts are in it or the sample is too small."""
    likeliest: str | None
    """The code of the most frequent language, even if few texts are in it."""
    share: float
    """The share of the texts in the most frequent language."""
    n_texts: int
    """Number of sampled texts."""

    def sentence(self) -> str:
        """Return the result of the detection in one line."""
        if self.likeliest is None:
            return f"too little text to detect a language ({self.n_texts:,} sampled texts)"
        share = f"{self.likeliest} in {self.share:.0%} of {self.n_texts:,} sampled texts"
        return share if self.language else f"no language in {MIN_SHARE:.0%} of the texts: {share}"


class LanguageSettings(NamedTuple):
    """Parameters of `abound.text.TextEncoder` that suit a language."""

    stem: str | None
    char_ngrams: tuple[int, int] | None
    run_weight: float
    form_weight: float

    def sentence(self, language: str | None = None) -> str:
        """Return the settings for texts of a language in a few words."""
        parts = [f"stem={self.stem}"] if self.stem else []
        if self.char_ngrams:
            parts.append("char_ngrams={}-{}".format(*self.char_ngrams))
        if language and primary_subtag(language) in UNSPACED:
            parts.append("characters, their pairs and triples")
        return ", ".join(parts) or "whole words"


def settings_from_params(params: Mapping[str, Any]) -> LanguageSettings:
    """Return the settings among the parameters of an encoder."""
    return LanguageSettings(*(params[name] for name in LanguageSettings._fields))


WHOLE_WORDS = LanguageSettings(None, None, 1.0, 0.0)


def settings_for_language(language: str | None) -> LanguageSettings:
    """Return how words of a language are cut: to their stems, and into parts where it writes compounds as one word.

    Words are used besides their stems with half the weight, because an ending may be informative. Word pairs have half
    the weight, because they would otherwise outweigh the words of a long text. Parts of words have both effects.

    Parameters
    ----------
    language : str or None
        A code such as "fi" or "pt-BR". None, or a code without a stemmer, means whole words.

    Examples
    --------
    >>> settings_for_language("fi")
    LanguageSettings(stem='finnish', char_ngrams=(5, 5), run_weight=1.0, form_weight=0.0)
    >>> settings_for_language("en")
    LanguageSettings(stem='english', char_ngrams=None, run_weight=0.5, form_weight=0.5)
    >>> settings_for_language(None) == WHOLE_WORDS
    True
    """
    code = primary_subtag(language) if language else ""
    if code in COMPOUNDS:
        return LanguageSettings(STEMMERS.get(code), PARTS, 1.0, 0.0)
    return LanguageSettings(STEMMERS[code], None, 0.5, 0.5) if code in STEMMERS else WHOLE_WORDS


def primary_subtag(language: str) -> str:
    """Return the language of a code in lower case, without region or script: "pt" for "pt-BR".

    Examples
    --------
    >>> primary_subtag("pt-BR")
    'pt'
    """
    code = language.replace("_", "-").partition("-")[0].lower()
    if not (code.isascii() and code.isalpha() and 2 <= len(code) <= 3):
        raise ValueError(f"language must be {AUTO!r}, None or a code such as 'en' or 'fi', got {language!r}")
    return code


def sample_texts(texts: Iterable[str], seed: int = 0) -> list[str]:
    """Return the beginnings of a uniform sample of at most `SAMPLE_TEXTS` texts.

    The texts are iterated once. The sample depends only on the seed and on their number.
    """
    chance, rest = random.Random(seed), iter(texts)  # noqa: S311  no secret
    kept = [text[:SAMPLE_CHARACTERS] for text in islice(rest, SAMPLE_TEXTS)]
    weight = 1.0
    while True:  # Li's algorithm L: one draw per sampled text, not per text
        weight *= math.exp(math.log(chance.random() or 0.5) / SAMPLE_TEXTS)
        skipped = math.floor(math.log(chance.random() or 0.5) / math.log1p(-weight)) if weight < 1 else 0
        text = next(islice(rest, skipped, None), None)
        if text is None:
            return kept
        kept[chance.randrange(SAMPLE_TEXTS)] = text[:SAMPLE_CHARACTERS]


def detect(texts: Iterable[str], seed: int = 0) -> DetectedLanguage:
    """Detect the main language of the texts.

    Each sampled text has a likelihood for each language. The shares of the languages are their maximum-likelihood
    estimates, by expectation maximisation from equal shares. So a short text that may be in several languages counts
    for the language of the other texts, and a text in two languages counts for both.

    Parameters
    ----------
    texts : iterable of str
        Iterated once.
    seed : int
        Random seed of the sample.

    Returns
    -------
    DetectedLanguage
        It is the same for the same texts in the same order.
    """
    sample = [text for text in sample_texts(texts, seed) if any(map(str.isalpha, text))]
    if sum(map(len, sample)) < MIN_CHARACTERS:
        return DetectedLanguage(None, None, 0.0, len(sample))
    codes, likelihoods = _likelihoods(sample)
    shares = np.full(len(codes), 1.0 / len(codes))
    for _ in range(ROUNDS):
        joint = likelihoods * shares
        shares = (joint / joint.sum(axis=1, keepdims=True)).mean(axis=0)
    best = int(shares.argmax())
    share = round(float(shares[best]), 3)
    return DetectedLanguage(codes[best] if share >= MIN_SHARE else None, codes[best], share, len(sample))


def likely_languages(text: str, languages: Sequence[str]) -> dict[str | None, float]:
    """Return the probability of each of some languages, and under None that of all others.

    Examples
    --------
    >>> shares = likely_languages("The quick brown fox jumped over the lazy dog", ["en", "fi"])
    >>> max(shares, key=shares.get)
    'en'
    """
    if not any(map(str.isalpha, text)):
        return {**dict.fromkeys(languages, 0.0), None: 1.0}
    from py3langid import rank

    scores = dict(rank(text[:SAMPLE_CHARACTERS]))
    for language in languages:
        if language not in scores:
            raise ValueError(f"language {language!r} is not known; known are {', '.join(sorted(scores))}")
    best = max(scores.values())
    total = math.fsum(math.exp(score - best) for score in scores.values())
    shares = {language: math.exp(scores[language] - best) / total for language in languages}
    found: dict[str | None, float] = {language: shares[language] for language in languages}
    return {**found, None: max(0.0, 1.0 - sum(found.values()))}


def _likelihoods(texts: list[str]) -> tuple[list[str], "np.ndarray[tuple[int, int], np.dtype[np.float64]]"]:
    """Return the codes of all languages, and the likelihood of each for each text, scaled to a maximum of 1."""
    from py3langid import rank  # imported here, because loading its weights takes most of a second

    scores = [dict(rank(text)) for text in texts]
    codes = sorted(scores[0].keys() - {NO_LANGUAGE})
    logarithms = np.array([[of_text[code] for code in codes] for of_text in scores], np.float64)
    # The detector wrongly assumes independent features. Without this, it would be too confident for long texts.
    logarithms /= np.sqrt([[max(1, len(text.encode(errors="replace")))] for text in texts])
    return codes, np.exp(logarithms - logarithms.max(axis=1, keepdims=True))
