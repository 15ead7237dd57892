"""The formats by name, and the detection of a format from a file name."""

import difflib
import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from abound.data import annif, fasttext, jsonl, labels_tsv, letor, parquet, svmlight, vw, xmc
from abound.data.delimited import CSV, TSV
from abound.data.documents import FORMAT as DOCUMENTS
from abound.data.formats import Format
from abound.data.streams import COMPRESSIONS, STANDARD, compression_of
from abound.data.trec import QRELS, RUN

FORMATS: Mapping[str, Format[Any]] = MappingProxyType(
    {
        format_.name: format_
        for format_ in (
            annif.FORMAT,
            CSV,
            DOCUMENTS,
            fasttext.FORMAT,
            jsonl.FORMAT,
            labels_tsv.FORMAT,
            letor.FORMAT,
            parquet.FORMAT,
            svmlight.FORMAT,
            QRELS,
            RUN,
            TSV,
            vw.FORMAT,
            xmc.FORMAT,
        )
    }
)

_BY_SUFFIX = {suffix: format_.name for format_ in FORMATS.values() for suffix in format_.suffixes}


def detect_format(path: str | os.PathLike[str]) -> str:
    """Detect the format from a file name.

    Parameters
    ----------
    path : str or path
        The file name. A compression suffix is ignored, so docs.jsonl.gz is jsonl. A directory has documents.

    Returns
    -------
    str
        A key of `FORMATS`.

    Examples
    --------
    >>> detect_format("docs.jsonl.gz")
    'jsonl'
    """
    name = os.fspath(path)
    known = f"pass format=..., one of {', '.join(FORMATS)}"
    if name == STANDARD:
        raise ValueError(f"the format of a standard stream cannot be detected; {known}")
    if os.path.isdir(name):
        return DOCUMENTS.name
    stem = name[: len(name) - len(compression_of(name))]
    suffix = os.path.splitext(stem)[1].lower()
    if suffix not in _BY_SUFFIX:
        suffixes = ", ".join(_BY_SUFFIX)
        raise ValueError(
            f"cannot detect the format of {name!r} from its name; {known}, "
            f"or use one of the suffixes {suffixes} (optionally followed by {', '.join(COMPRESSIONS)})"
        )
    return _BY_SUFFIX[suffix]


def find_format(name: str | None, path: str) -> Format[Any]:
    """Return the format by name, or detect it from the path."""
    name = detect_format(path) if name is None else name
    if name not in FORMATS:
        near = difflib.get_close_matches(name, FORMATS, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ValueError(f"there is no format {name!r}; {hint}the formats are {', '.join(FORMATS)}")
    return FORMATS[name]
