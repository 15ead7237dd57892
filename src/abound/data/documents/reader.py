"""Read the documents of a directory, or a single document."""

import importlib.util
import os
import warnings
from collections.abc import Iterator
from typing import Any

from abound.data.documents.directory import LABEL_SUFFIXES, Entry, list_documents, read_labels
from abound.data.documents.extractor import Extractor
from abound.data.documents.format import FORMAT
from abound.data.documents.kinds import PDF, Kind, detect_kind, kind_of
from abound.data.documents.limits import COMMAND_LIMITS
from abound.data.documents.pdf_text import PACKAGE, load_pdfium
from abound.data.formats import DAMAGE, Malformed, damage
from abound.data.reader import Reader
from abound.data.records import Document
from abound.data.streams import STANDARD, compression_of, open_input, source_name
from abound.errors import DataError, DocumentsWarning

_EMPTY = "without text; scanned pages need text recognition (OCR) first"
_CUT = f"with more than {COMMAND_LIMITS.characters:,} characters, of which the rest was cut off"


class DocumentsReader(Reader):
    """The documents of a directory, or a single one, read lazily.

    Attributes
    ----------
    size : int or None
        Bytes of all documents.
    """

    def __init__(self, path: str, on_error: str, options: dict[str, Any]) -> None:
        self._entries: list[Entry] | None = None
        if path != STANDARD and os.path.isdir(path):
            self._entries, skipped = list_documents(path)
            if skipped is not None:
                warnings.warn(skipped, DocumentsWarning, stacklevel=3)
        super().__init__(path, FORMAT, on_error, options)
        self._n_bytes = 0
        if any(kind is PDF for kind in self._kinds()) and importlib.util.find_spec(PACKAGE) is None:
            load_pdfium()  # raises an error now, not after hours

    @property
    def is_single(self) -> bool:
        """Whether there is one document, not a directory."""
        return self._entries is None

    @property
    def bytes_read(self) -> int:
        """Bytes of the documents that the latest iteration has read."""
        return self._n_bytes

    def _stored_size(self) -> int | None:
        return super()._stored_size() if self._entries is None else sum(entry.size for entry in self._entries)

    def _kinds(self) -> Iterator[Kind | None]:
        if self._entries is None:
            yield kind_of(_plain(self.path))
        else:
            yield from (entry.kind for entry in self._entries)

    def __iter__(self) -> Iterator[Document]:
        self._n_bytes = 0
        self._restart()
        notes = _Notes(self.path)
        with Extractor(COMMAND_LIMITS) as extractor:
            try:
                for entry in [self._single()] if self._entries is None else self._entries:
                    document = self._document(entry, extractor, notes)
                    self._n_bytes += entry.size
                    if document is not None:
                        yield document
            finally:
                notes.warn()

    def _single(self) -> Entry:
        name = os.path.basename(self.path)
        stem, _ = os.path.splitext(_plain(self.path))
        beside = [stem + end for end in LABEL_SUFFIXES if self.path != STANDARD and os.path.isfile(stem + end)]
        kind = kind_of(_plain(self.path))
        return Entry(source_name(name), self.path, kind, next(iter(beside), None), self.size or 0)

    def _document(self, entry: Entry, extractor: Extractor, notes: "_Notes") -> Document | None:
        wants_labels = self._options["label_files"] == "beside" and entry.labels is not None
        at = entry.path
        try:
            body = _read(entry.path, extractor.limits.n_bytes)
            kind = entry.kind or detect_kind(body)
            text, is_cut, guessed = extractor.extract(body, kind, self._options["encoding"])
            at = entry.labels if wants_labels and entry.labels is not None else at
            labels = read_labels(at) if wants_labels else ()
        except Malformed as error:
            self._refuse(at, str(error))
            return None
        except OSError as error:
            if self._entries is None:
                raise
            self._refuse(at, error.strerror or str(error))
            return None
        notes.see(entry.id, text, is_cut, guessed)
        return Document(labels, text, entry.id)

    def _refuse(self, path: str, reason: str) -> None:
        """Raise an error for a document, or skip it."""
        hint = "" if self._entries is None else "; skip such documents with on_error='skip'"
        self._handle(DataError(source_name(path), 0, reason + (hint if self._stops else "")))


class _Notes:
    """Counts documents about which a user should know something, and warns of them once."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._counts: dict[str, tuple[int, str]] = {}

    def see(self, name: str, text: str, is_cut: bool, guessed: str | None) -> None:
        """Count a document."""
        if not text or text.isspace():
            self._add(_EMPTY, name)
        if is_cut:
            self._add(_CUT, name)
        if guessed is not None:
            self._add(f"not in UTF-8 or in the declared encoding, read as {guessed}; name it with encoding=...", name)

    def _add(self, what: str, name: str) -> None:
        count, first = self._counts.get(what, (0, name))
        self._counts[what] = count + 1, first

    def warn(self) -> None:
        """Warn of each kind of document once, with the first of them."""
        for what, (count, first) in self._counts.items():
            documents = f"{first} is" if count == 1 else f"{count:,} documents (the first: {first}) are"
            warnings.warn(f"{source_name(self._path)}: {documents} {what}", DocumentsWarning, stacklevel=3)


def _plain(path: str) -> str:
    """Return a path without its compression suffix."""
    return path[: len(path) - len(compression_of(path))]


def _read(path: str, limit: int) -> bytes:
    try:
        with open_input(path) as (stream, _):
            body = stream.read(limit + 1)
    except DAMAGE as error:
        reason = damage(error)
        if reason is None:
            raise
        raise Malformed(reason) from None
    if len(body) > limit:
        raise Malformed(f"the file has more than {limit:,} bytes, which is the limit for a document")
    return body
