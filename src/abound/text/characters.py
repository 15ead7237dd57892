"""What each character of a text is: part of a word, a mark on another character, a unit, or none of these."""

import re
import unicodedata
import zlib
from functools import lru_cache
from pathlib import Path

SEPARATOR, LETTER, MARK, UNIT = range(4)
N_CHARACTERS = 0x323B0  # characters in the table; all later ones are separators

# Scripts that put no spaces between words: each character is a unit, and n-grams of units take the place of words.
UNSPACED = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Burmese
    (0x1780, 0x17FF),  # Khmer
    (0x1950, 0x19DF),  # Tai Le, New Tai Lue
    (0x1A20, 0x1AAF),  # Tai Tham
    (0x1B00, 0x1B7F),  # Balinese
    (0x2E80, 0x2FDF),  # radicals of Han
    (0x3005, 0x3007),
    (0x3021, 0x3029),
    (0x3040, 0x30FF),  # Hiragana, Katakana
    (0x3100, 0x312F),  # Bopomofo
    (0x31A0, 0x31BF),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),
    (0xA000, 0xA4CF),  # Yi
    (0xA980, 0xA9FF),  # Javanese, Burmese
    (0xAA60, 0xAA7F),
    (0xF900, 0xFAFF),
    (0x1B000, 0x1B16F),
    (0x20000, N_CHARACTERS - 1),
)
SYMBOLS = frozenset({"So", "Sm", "Sc"})  # emoji and other symbols, mathematical signs, currencies
TABLE = Path(__file__).with_name("characters.bin")


@lru_cache(maxsize=1)
def character_kinds() -> bytes:
    """Return the kind of each character of a normalised text.

    They are stored, so that they do not depend on the version of Unicode that Python has.
    `python -m abound.text.characters` writes them again.
    """
    return zlib.decompress(TABLE.read_bytes())


@lru_cache(maxsize=1)
def alphanumeric_kinds() -> bytes:
    """Return the kinds by the rules of older models: a word is a run of letters and digits."""
    kinds = bytearray(N_CHARACTERS)
    for run in re.finditer(r"(?:\w|\u0307)+", "".join(map(chr, range(N_CHARACTERS)))):
        kinds[run.start() : run.end()] = bytes([LETTER]) * len(run[0])
    return bytes(kinds)


def kind_of(code: int) -> int:
    """Return the kind of a character by Python's version of Unicode."""
    category = unicodedata.category(chr(code))
    if category[0] == "M":
        return MARK
    if category[0] in "LN" or code == ord("_"):
        is_unspaced = category != "Nd" and any(first <= code <= last for first, last in UNSPACED)
        return UNIT if is_unspaced else LETTER
    return UNIT if category in SYMBOLS and code >= 128 else SEPARATOR


if __name__ == "__main__":
    TABLE.write_bytes(zlib.compress(bytes(map(kind_of, range(N_CHARACTERS))), 9))
