"""Documents: files that hold one text each, as PDF, Word, HTML or plain text, and directories of them."""

from abound.data.documents.directory import NoDocuments
from abound.data.documents.extractor import Extracted, Extractor
from abound.data.documents.format import FORMAT, Documents
from abound.data.documents.kinds import KINDS, MEDIA_TYPES, Kind, kind_of
from abound.data.documents.limits import COMMAND_LIMITS, Limits
from abound.data.documents.reader import DocumentsReader

__all__ = [
    "COMMAND_LIMITS",
    "FORMAT",
    "KINDS",
    "MEDIA_TYPES",
    "Documents",
    "DocumentsReader",
    "Extracted",
    "Extractor",
    "Kind",
    "Limits",
    "NoDocuments",
    "kind_of",
]
