"""Read and write records of any format."""

import os
from collections.abc import Container, Iterable
from typing import Any, Literal

from abound.data.documents import FORMAT as DOCUMENTS
from abound.data.documents import DocumentsReader
from abound.data.reader import Reader
from abound.data.records import Document, Record
from abound.data.registry import find_format
from abound.data.streams import open_output


def read(
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002  the word that users know
    *,
    on_error: Literal["stop", "skip"] = "stop",
    **options: Any,
) -> Reader:
    """Read the records of a file, or the documents of a directory.

    Parameters
    ----------
    path : str or path
        The file, which is decompressed by its suffix (.gz, .bz2, .xz, .zst); '-' is standard input. A directory is
        read as documents: .txt, .md, .html, .docx and .pdf files, sorted by path, each with its labels in a file of
        the same name with the suffix .tsv or .key.
    format : str, optional
        A key of `FORMATS`. By default, the file name decides.
    on_error : {"stop", "skip"}
        Whether a malformed line or document raises DataError or is counted in `skipped`. A truncated file or an
        invalid header always raises DataError.
    **options
        Options of the format; see `FORMATS[name].options`.

    Returns
    -------
    Reader
        An iterable of the format's records.

    Examples
    --------
    >>> for document in read("docs.jsonl.gz"):  # doctest: +SKIP
    ...     print(document.labels, document.text)
    """
    if on_error not in ("stop", "skip"):
        raise ValueError(f"on_error must be 'stop' or 'skip', got {on_error!r}")
    name = os.fspath(path)
    format_ = find_format(format, name)
    completed = format_.complete(options, "read")
    if format_ is DOCUMENTS:
        return DocumentsReader(name, on_error, completed)
    return Reader(name, format_, on_error, completed)


def write(
    path: str | os.PathLike[str],
    records: Iterable[Record],
    format: str | None = None,  # noqa: A002  the word that users know
    **options: Any,
) -> int:
    """Write records to a file atomically.

    Parameters
    ----------
    path : str or path
        The file, which is compressed by its suffix; '-' is standard output.
    records : iterable
        Records of the format's type. They are written one by one.
    format : str, optional
        A key of `FORMATS`. By default, the file name decides.
    **options
        Options of the format; see `FORMATS[name].options`.

    Returns
    -------
    int
        The number of records written.

    Raises
    ------
    ValueError
        If the format cannot represent a record. The file is then unchanged.
    """
    name = os.fspath(path)
    format_ = find_format(format, name)
    complete = format_.complete(options, "write")
    records = _representable(records, name, format_.name, format_.options)
    with open_output(name) as stream:
        return format_.write(stream, records, complete)


def _representable(records: Iterable[Record], path: str, format_name: str, known: Container[str]) -> Iterable[Record]:
    """Yield records; raise an error for wrong labels and vectors, which only jsonl can represent."""
    takes_wrong, takes_vector = "wrong_field" in known, format_name == "jsonl"
    for number, record in enumerate(records, 1):
        if isinstance(record, Document):
            what = "wrong labels" if record.wrong and not takes_wrong else ""
            what = "a vector" if record.vector is not None and not takes_vector else what
            if what:
                words = f"record {number}: the document has {what}, which {format_name} cannot represent"
                raise ValueError(f"{words}; write jsonl instead of {path}")
        yield record
