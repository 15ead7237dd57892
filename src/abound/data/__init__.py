"""Read and write files of labelled documents, rows and rankings as streams.

`read` and `write` support all formats of `FORMATS`. By default, the format follows from the file name.
"""

from abound.data.files import read, write
from abound.data.formats import Format, Option
from abound.data.names import is_vocabulary, read_label_names, read_labels, read_relations, read_vocabulary
from abound.data.reader import Reader, Skipped
from abound.data.records import Document, NamedRow, Qrel, Record, Row, RunLine
from abound.data.registry import FORMATS, detect_format
from abound.data.relations import Relations
from abound.data.skos import Vocabulary
from abound.errors import DataError

__all__ = [
    "FORMATS",
    "DataError",
    "Document",
    "Format",
    "NamedRow",
    "Option",
    "Qrel",
    "Reader",
    "Record",
    "Relations",
    "Row",
    "RunLine",
    "Skipped",
    "Vocabulary",
    "detect_format",
    "is_vocabulary",
    "read",
    "read_label_names",
    "read_labels",
    "read_relations",
    "read_vocabulary",
    "write",
]
