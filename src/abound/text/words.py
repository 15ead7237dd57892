"""Texts made ready for the kernels, and ways back to the text that a person sees."""

import re
import unicodedata

WORD = re.compile(r"(?:\w|\u0307)+")


def prepare(text: str) -> str:
    """Return a text in composed Unicode and lower case.

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
    """Return, for each place of the prepared text and its end, the place in the text that it comes from.

    Composing and lower-casing may change a text's length; both are done here for one character and its
    combining marks at a time, which is slow, but gives the same prepared text. Most texts are composed already, and
    keep their length: letters only ever grow, so each is then where it was.
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
    if "".join(prepared) != prepare(text):  # context matters to a few scripts: fall back to the same places
        return [min(i, len(text)) for i in range(len(prepare(text)) + 1)]
    return [*origin, len(text)]
