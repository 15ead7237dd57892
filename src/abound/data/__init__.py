"""Read and write files of labelled documents, rows and rankings as streams.

`read` and `write` support all formats of `FORMATS`. By default, the format follows from the file name.
"""

from abound.data.files import read, write
from abound.data.formats import Format, Option
from abound.data.names import is_vocabulary, read_label_names
from abound.data.reader import Reader, Skipped
from abound.data.records import Document, NamedRow, Qrel, Record, Row, RunLine
from abound.data.registry import FORMATS, detect_format
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
    "Row",
    "RunLine",
    "Skipped",
    "detect_format",
    "is_vocabulary",
    "read",
    "read_label_names",
    "write",
]
