"""Decode the bytes of a text or HTML file, whose encoding may be declared, marked or unknown."""

import codecs
import re
from typing import NamedTuple

from abound.data.formats import Malformed

WINDOWS = "cp1252"
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark is its beginning
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# What browsers read for these names: supersets, which the files of the web really use.
_SUPERSETS = {
    "ascii": WINDOWS,
    "iso8859-1": WINDOWS,
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
}
_ALIASES = {"x-sjis": "cp932", "ks_c_5601-1987": "cp949", "x-x-big5": "big5", "unicode": "utf-8"}
_DECLARED = re.compile(
    rb"""<meta[^>]*?charset\s*=\s*["']?\s*([\w.:-]+)|<\?xml[^>]*?encoding\s*=\s*["']([\w.:-]+)""", re.IGNORECASE
)
_SEARCHED = 4096  # bytes of an HTML file in which its encoding may be declared
_MOST_NULS = 0.1  # of a text
REPLACEMENT = "\ufffd"


class Decoded(NamedTuple):
    """A text, and the encoding that was guessed because the text was not in the declared one, or None."""

    text: str
    guessed: str | None = None


def decode(body: bytes, encoding: str | None = None) -> Decoded:
    """Decode a text: by its byte order mark, in the given encoding, in UTF-8, or in Windows-1252.

    Parameters
    ----------
    body : bytes
    encoding : str, optional
        The declared encoding. It is ignored if it is unknown or does not fit.

    Raises
    ------
    Malformed
        If the bytes are not a text.
    """
    for mark, name in _MARKS:
        if body.startswith(mark):
            return Decoded(body[len(mark) :].decode(name, "replace"))
    if body.count(0) > _MOST_NULS * len(body):
        raise Malformed("the file is not text: it has many NUL bytes; save it as UTF-8")
    declared = None if encoding is None else _codec(encoding)
    if declared is not None and declared != WINDOWS:
        text = _decoded(body, declared)
        if text is not None:
            return Decoded(text)
    # Text of another encoding is hardly ever valid UTF-8, so this is also tried when Windows-1252 is declared.
    text = _decoded(body, "utf-8")
    if text is not None:
        return Decoded(text)
    if declared == WINDOWS:
        return Decoded(_from_windows(body))
    replaced = body.decode("utf-8", "replace")
    wrong = replaced.count(REPLACEMENT)
    beyond_ascii = len(replaced) - len(replaced.encode("ascii", "ignore"))
    if beyond_ascii > 2 * wrong:  # a few damaged characters of a text in UTF-8
        return Decoded(replaced, "UTF-8 with damaged characters")
    return Decoded(_from_windows(body), "Windows-1252")


def declared_encoding(body: bytes) -> str | None:
    """Return the encoding that an HTML file declares, or None."""
    match = _DECLARED.search(body[:_SEARCHED])
    if match is None:
        return None
    name = (match[1] or match[2]).decode("ascii", "replace")
    # The declaration was readable as ASCII, so it cannot be UTF-16.
    return "utf-8" if name.lower().startswith("utf-16") else name


def _codec(name: str) -> str | None:
    try:
        found = codecs.lookup(_ALIASES.get(name.lower(), name)).name
    except (LookupError, ValueError):  # ValueError: a NUL in the name
        return None
    return _SUPERSETS.get(found, found)


def _decoded(body: bytes, codec: str) -> str | None:
    try:
        return body.decode(codec)
    except (LookupError, ValueError):  # LookupError: a codec that is not for text
        return None


def _from_windows(body: bytes) -> str:
    # Five bytes have no meaning in Windows-1252; browsers read them as control characters, as Latin-1 does.
    return body.decode(WINDOWS, "surrogateescape").translate(_UNDEFINED)


_UNDEFINED = {0xDC00 + byte: chr(byte) for byte in (0x81, 0x8D, 0x8F, 0x90, 0x9D)}
