"""Kinds of documents, by file name and media type."""

import os
from typing import NamedTuple

from abound.data.formats import Malformed

_WORD = "vnd.openxmlformats-officedocument.wordprocessingml.document"


class Kind(NamedTuple):
    """A kind of document.

    Attributes
    ----------
    name : str
        "text", "html", "docx" or "pdf".
    title : str
        The kind in a message, with its article.
    suffixes, media_types : tuple of str
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    media_types: tuple[str, ...]


TEXT = Kind("text", "a text file", (".txt", ".md"), ("text/plain", "text/markdown"))
HTML = Kind("html", "an HTML file", (".html", ".htm", ".xhtml"), ("text/html", "application/xhtml+xml"))
DOCX = Kind("docx", "a Word document", (".docx",), (f"application/{_WORD}",))
PDF = Kind("pdf", "a PDF", (".pdf",), ("application/pdf",))
KINDS = (TEXT, HTML, DOCX, PDF)

MEDIA_TYPES = {media_type: kind for kind in KINDS for media_type in kind.media_types}
_BY_SUFFIX = {suffix: kind for kind in KINDS for suffix in kind.suffixes}
SUFFIXES = tuple(_BY_SUFFIX)

_PDF_START = b"%PDF-"
_PDF_SEARCHED = 1024  # bytes; some programs write something before the header, and readers accept it
_ZIP_START = b"PK\x03\x04"
_OLE_START = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def kind_of(path: str) -> Kind | None:
    """Return the kind of a document by its file name, or None.

    Examples
    --------
    >>> kind_of("Report.PDF").name
    'pdf'
    """
    return _BY_SUFFIX.get(os.path.splitext(path)[1].lower())


def detect_kind(body: bytes) -> Kind:
    """Return the kind of a document by its content, for a stream without a name."""
    if body[:_PDF_SEARCHED].find(_PDF_START) >= 0:
        return PDF
    if body.startswith(_ZIP_START):
        return DOCX
    start = body[:_PDF_SEARCHED].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return HTML if start.startswith((b"<!doctype html", b"<html", b"<?xml")) else TEXT


def check_kind(kind: Kind, body: bytes) -> None:
    """Raise Malformed if the content is obviously of another kind than the name.

    Such a file is refused instead of read: a web page that is named .pdf is often the message of a failed download.
    """
    if kind in (PDF, DOCX) and not body:
        raise Malformed(f"the file is empty, so it is not {kind.title}")
    if body.startswith(_OLE_START):
        raise Malformed("the file is an old or encrypted Office document; save it as .docx without a password")
    found = detect_kind(body)
    if kind in (PDF, DOCX) and found is not kind:
        seems = f", but seems to be {found.title}" if found is not TEXT else ""
        raise Malformed(f"the file is not {kind.title}{seems}; download or save it again")
    if kind in (TEXT, HTML) and body.startswith((_PDF_START, _ZIP_START)):
        what = "a PDF" if found is PDF else "a zip archive or a Word document"
        raise Malformed(f"the file is {what}, not {kind.title}; give it the right suffix")
