"""Normalise texts for the kernels, and map positions back to the original text."""

import re
import unicodedata
from collections.abc import Callable
from itertools import pairwise
from typing import Literal, TypeAlias

from abound.kernels.words import word_spans
from abound.text.characters import UNIT, alphanumeric_kinds, character_kinds

Tokenizer: TypeAlias = Literal["unicode", "alphanumeric"]
KINDS: dict[str, Callable[[], bytes]] = {"unicode": character_kinds, "alphanumeric": alphanumeric_kinds}

# Characters that do not count: soft hyphens, joiners, marks of direction, variation selectors, skin tones, the dot of a
# lower-cased İ, the vowel signs of Arabic and Hebrew, which most texts leave out, and the Arabic elongation.
IGNORED = re.compile(
    "[\u00ad\u0307\u034f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u061c\u0640\u064b-\u065f\u0670\u180b-\u180d"
    "\u200c-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufe00-\ufe0f\ufeff\U0001f3fb-\U0001f3ff\U000e0100-\U000e01ef]+"
)


ASCII_RUN = re.compile(r"[\x00-\x7f]+(?![^\x00-\x7f])")  # without a letter that may have a combining mark
MOST_JAMO = 3  # letters of a Hangul syllable
LONG_LIGATURES = re.compile("[\ufdfa\ufdfb]")  # phrases of 18 and 8 letters, which say nothing about a topic


def prepare(text: str, tokenizer: str = "unicode") -> str:
    """Return a text in the form in which words are compared.

    Compatible characters become one (NFKC: the ligature U+FB01 and "fi", the full-width letter U+FF21 and "A"), case is
    folded ("STRASSE" and "Straße"), and characters that do not count are removed. Diacritics are kept, because words
    differ by them in many languages; the stemmers remove those that do not matter in their language. With tokenizer
    "alphanumeric", as in older models, a text is lower-cased and in composed Unicode (NFC).

    Examples
    --------
    >>> prepare("Äiti"), prepare("STRAẞE"), prepare("ｶﾞ Ⅷ")
    ('äiti', 'strasse', 'ガ viii')
    """
    if not isinstance(text, str):
        raise TypeError(f"a text must be a string, got {type(text).__name__}: {text!r:.60}")
    if text.isascii():
        return text.lower()
    form: Literal["NFC", "NFKC"] = "NFC" if tokenizer == "alphanumeric" else "NFKC"
    if not unicodedata.is_normalized(form, text):
        text = unicodedata.normalize(form, text if form == "NFC" else LONG_LIGATURES.sub(" ", text))
    return text.lower() if tokenizer == "alphanumeric" else IGNORED.sub("", text.casefold())


def words_of(text: str, tokenizer: str = "unicode") -> list[str]:
    """Return the words of a prepared text, as the kernels see them; a unit is a word.

    Examples
    --------
    >>> words_of(prepare("日本語 für 2 Kätzchen 🐱"))
    ['日', '本', '語', 'für', '2', 'kätzchen', '🐱']
    """
    return [text[start:stop] for start, stop, _ in word_spans(text, KINDS[tokenizer]())]


def join_words(name: str) -> str:
    """Return the name of an n-gram without the spaces between units.

    Examples
    --------
    >>> join_words("日 本 語 ab c")
    '日本語 ab c'
    """
    if name.isascii():
        return name
    words = name.split(" ")
    kinds = character_kinds()
    is_unit = [ord(word[0]) < len(kinds) and kinds[ord(word[0])] == UNIT for word in words if word]
    if len(is_unit) < len(words):
        return name
    spaces = ["" if left and right else " " for left, right in pairwise(is_unit)]
    return "".join(word + space for word, space in zip(words, [*spaces, ""], strict=True))


def original_offsets(text: str, tokenizer: str = "unicode") -> list[int]:
    """Return the offset in the original text for each offset in the prepared text, including its end.

    Normalising may change the length of a text. Here one character and its combining marks are normalised at a time,
    which is slow but gives the same prepared text. Most texts are normalised already and keep their length. Changing
    case never shortens a character, so equal length means equal offsets unless characters were removed.
    """
    form: Literal["NFC", "NFKC"] = "NFC" if tokenizer == "alphanumeric" else "NFKC"
    is_kept = tokenizer == "alphanumeric" or IGNORED.search(text) is None
    if len(prepare(text, tokenizer)) == len(text) and is_kept and unicodedata.is_normalized(form, text):
        return list(range(len(text) + 1))
    whole = prepare(text, tokenizer)
    for with_jamo in (False, True):
        prepared, origin = _prepare_parts(text, tokenizer, with_jamo)
        if prepared == whole:
            return [*origin, len(text)]
    # In a few scripts, context matters: fall back to equal offsets.
    return [*(min(i, len(text) - 1) for i in range(len(whole))), len(text)]


def _prepare_parts(text: str, tokenizer: str, with_jamo: bool) -> tuple[str, list[int]]:
    """Prepare one character and its combining marks at a time; return the text and the origin of each character.

    Parameters
    ----------
    text, tokenizer : str
    with_jamo : bool
        Whether to check that characters do not combine with the next ones, as the parts of a Hangul syllable do. This
        is rare and takes longer.
    """
    prepared: list[str] = []
    origin: list[int] = []
    start = 0
    while start < len(text):
        plain = ASCII_RUN.match(text, start)
        if plain is not None:
            prepared.append(plain[0].lower())
            origin.extend(range(start, plain.end()))
            start = plain.end()
            continue
        stop = start + 1
        while stop < len(text) and unicodedata.combining(text[stop]):
            stop += 1
        part = prepare(text[start:stop], tokenizer)
        for following in text[stop : stop + MOST_JAMO - 1] if with_jamo else "":
            longer = prepare(text[start : stop + 1], tokenizer)
            if longer == part + prepare(following, tokenizer):
                break
            part, stop = longer, stop + 1
        prepared.append(part)
        origin.extend(min(start + i, stop - 1) for i in range(len(part)))
        start = stop
    return "".join(prepared), origin
