"""The format of documents: how `read` and `convert` refer to files that hold one text each."""

from collections.abc import Iterable, Iterator
from typing import BinaryIO

from abound.data.documents.kinds import SUFFIXES
from abound.data.formats import Format, Option, Options, Report
from abound.data.records import Document

_LABEL_FILES = "Whether the labels of NAME.pdf are read from NAME.tsv or NAME.key beside it."
_ENCODING = "Encoding of text and HTML files; None detects it."
_OPTIONS = {
    "label_files": Option("beside", _LABEL_FILES, choices=("beside", "none"), use="read"),
    "encoding": Option(None, _ENCODING, (str, type(None)), use="read"),
}


class Documents(Format[Document]):
    """A file that holds one text, or a directory of such files; `DocumentsReader` reads them."""

    name = "documents"
    summary = (
        "one text per file: a directory, or a .pdf, .docx, .html or .txt file; NAME.tsv or NAME.key has the labels"
    )
    record = Document
    # Not .txt, of which each line is a text, as in Annif's corpora of short texts.
    suffixes = tuple(suffix for suffix in SUFFIXES if suffix != ".txt")
    options = _OPTIONS
    can_write = False

    def read(self, stream: BinaryIO, report: Report, options: Options) -> Iterator[Document]:
        """Raise an error, because a stream has no name and no labels; `DocumentsReader` reads files."""
        raise NotImplementedError

    def write(self, stream: BinaryIO, records: Iterable[Document], options: Options) -> int:
        """Raise an error, which `complete` reports before."""
        raise NotImplementedError


FORMAT = Documents()
