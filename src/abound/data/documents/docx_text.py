"""The text of a Word document, which is a zip archive of XML files."""

import io
import lzma
import struct
import zipfile
import zlib
from typing import Any
from xml.parsers import expat

from abound.data.formats import Malformed

TYPES = "[Content_Types].xml"
# Ends of the content types of the parts that have text, in the order in which they are read.
_PARTS = (".main+xml", ".header+xml", ".footer+xml", ".footnotes+xml", ".endnotes+xml")
# What zipfile raises for damaged archives, for example RuntimeError for a password and ValueError for wrong positions.
_ZIP_ERRORS: tuple[type[Exception], ...] = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError)
_ZIP_ERRORS += (LookupError, OSError, OverflowError, RuntimeError, ValueError)
_READ_BYTES = 1 << 16
_BREAKS = {"p": "\n", "br": "\n", "cr": "\n", "tab": "\t", "noBreakHyphen": "-"}
_DAMAGED = "the Word document is damaged ({}); save or download it again"


class TooMuchText(Exception):  # noqa: N818  not an error: the rest is not wanted
    """The text has reached the limit."""


def docx_text(body: bytes, unpacked: int, characters: int) -> str:
    """Return the text of the body with its tables, then of headers, footers and notes.

    Parameters
    ----------
    body : bytes
    unpacked : int
        Maximum bytes of the XML.
    characters : int
        Maximum characters of the text; reading stops after them.
    """
    text: list[str] = []
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            names = _text_parts(archive, unpacked)
            size = sum(archive.getinfo(name).file_size for name in names)
            if size > unpacked:
                raise Malformed(f"the Word document unpacks to {size:,} bytes; at most {unpacked:,} are read")
            for name in names:
                _read(archive, name, _TextParser(text, characters))
    except TooMuchText:
        pass
    except _ZIP_ERRORS as error:
        raise Malformed(_DAMAGED.format(error)) from None
    except expat.ExpatError as error:
        raise Malformed(_DAMAGED.format(f"invalid XML: {error}")) from None
    return "".join(text)


def _text_parts(archive: zipfile.ZipFile, unpacked: int) -> list[str]:
    """Return the names of the parts that have text."""
    entries = set(archive.namelist())
    if TYPES not in entries or archive.getinfo(TYPES).file_size > unpacked:
        raise Malformed("the file is a zip archive, but not a Word document; save it as .docx")
    types = _TypesParser()
    _read(archive, TYPES, types)
    names = [name for end in _PARTS for name, kind in types.parts if kind.endswith(end) and "wordprocessing" in kind]
    names += [name for name, kind in types.parts if kind.endswith("macroEnabled.main+xml")]
    found = list(dict.fromkeys(name for name in names if name in entries))
    if not found:
        raise Malformed("the file is an Office document, but not a Word document; save it as .docx or PDF")
    return found


class _Parser:
    """Receives the elements of an XML file by their local names."""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Begin an element."""

    def end(self, name: str) -> None:
        """End an element."""

    def data(self, text: str) -> None:
        """Take text."""


class _TypesParser(_Parser):
    """Collects the parts of an archive and their content types."""

    def __init__(self) -> None:
        self.parts: list[tuple[str, str]] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "Override":
            self.parts.append((attributes.get("PartName", "").lstrip("/"), attributes.get("ContentType", "")))


class _TextParser(_Parser):
    """Collects the text of runs; deleted text and field codes are in other elements."""

    def __init__(self, text: list[str], characters: int) -> None:
        self._text = text
        self._left = characters - sum(map(len, text))
        self._in_run = False
        self._fallbacks = 0  # text boxes are repeated for old programs in an element of this name

    def start(self, name: str, attributes: dict[str, str]) -> None:  # noqa: ARG002
        if name == "Fallback":
            self._fallbacks += 1
        self._in_run = name == "t" and not self._fallbacks
        if name != "p":
            self._break(name)

    def end(self, name: str) -> None:
        if name == "Fallback":
            self._fallbacks -= 1
        self._in_run = False
        if name == "p":
            self._break(name)

    def _break(self, name: str) -> None:
        if name in _BREAKS and not self._fallbacks:
            self._add(_BREAKS[name])

    def data(self, text: str) -> None:
        if self._in_run:
            self._add(text)

    def _add(self, text: str) -> None:
        self._text.append(text[: self._left + 1])  # one more than the limit shows that there was more
        self._left -= len(text)
        if self._left < 0:
            raise TooMuchText


def _read(archive: zipfile.ZipFile, name: str, parser: _Parser) -> None:
    xml = expat.ParserCreate(namespace_separator=" ")
    xml.buffer_text = True
    xml.StartElementHandler = lambda name, attributes: parser.start(name.rpartition(" ")[2], attributes)
    xml.EndElementHandler = lambda name: parser.end(name.rpartition(" ")[2])
    xml.CharacterDataHandler = parser.data
    xml.StartDoctypeDeclHandler = _refuse_doctype
    with archive.open(name) as stream:
        while block := stream.read(_READ_BYTES):
            xml.Parse(block, False)
    xml.Parse(b"", True)


def _refuse_doctype(*_: Any) -> None:
    # Word never writes one, and its entities can expand without end.
    raise Malformed(_DAMAGED.format("it has a document type declaration"))
