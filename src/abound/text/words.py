"""Normalise texts for the kernels, and map positions back to the original text."""

import re
import unicodedata

WORD = re.compile(r"(?:\w|\u0307)+")


def prepare(text: str) -> str:
    """Return a text in lower case and in composed Unicode (NFC).

    Examples
    --------
    >>> prepare("Äiti")
    'äiti'
    """
    if not isinstance(text, str):
        raise TypeError(f"a text must be a string, got {type(text).__name__}: {text!r:.60}")
    if not text.isascii() and not unicodedata.is_normalized("NFC", text):
        text = unicodedata.normalize("NFC", text)
    return text.lower()


def words_of(text: str) -> list[str]:
    """Return the words of a prepared text, as the kernels see them."""
    return WORD.findall(text)


def original_offsets(text: str) -> list[int]:
    """Return the offset in the original text for each offset in the prepared text, including its end.

    Composing and lower-casing may change the length of a text. Here both are done for one character and its combining
    marks at a time, which is slow but gives the same prepared text. Most texts are composed already and keep their
    length. Lower-casing never shortens a character, so equal length means equal offsets.
    """
    if len(prepare(text)) == len(text) and unicodedata.is_normalized("NFC", text):
        return list(range(len(text) + 1))
    prepared: list[str] = []
    origin: list[int] = []
    start = 0
    while start < len(text):
        stop = start + 1
        while stop < len(text) and unicodedata.combining(text[stop]):
            stop += 1
        part = unicodedata.normalize("NFC", text[start:stop]).lower()
        prepared.append(part)
        origin.extend(min(start + i, stop - 1) for i in range(len(part)))
        start = stop
    if "".join(prepared) != prepare(text):  # in a few scripts, context matters: fall back to equal offsets
        return [min(i, len(text)) for i in range(len(prepare(text)) + 1)]
    return [*origin, len(text)]
