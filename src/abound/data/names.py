"""Read the names of labels, and how they are related, from a separate file."""

import os
from collections.abc import Callable
from typing import BinaryIO, TypeVar

from abound.data.formats import DAMAGE, Malformed, damage
from abound.data.parsing import shown
from abound.data.plain_lines import each_line
from abound.data.relations import Relations, read_table
from abound.data.skos import Vocabulary, parser_of, read_skos, read_skos_relations
from abound.data.streams import compression_of, open_input, source_name
from abound.errors import DataError

T = TypeVar("T")


def is_vocabulary(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a SKOS vocabulary, judging by its name."""
    file = os.fspath(path)
    return parser_of(file.lower().removesuffix(compression_of(file))) is not None


def read_label_names(
    path: str | os.PathLike[str], language: str | None = None, *, likely_language: str | None = None
) -> dict[str, list[str]]:
    """Read the names of labels.

    Parameters
    ----------
    path : str or path
        A file of lines 'id<TAB>name', where more columns and repeated ids are synonyms. With suffix .txt: one name
        per line for the labels 0, 1, 2 and so on. With suffix .ttl, .nt, .rdf or .skos: a SKOS vocabulary, whose
        labels are URIs. The file is decompressed by its suffix. Angle brackets around an id are removed, as in
        Annif's vocabularies.
    language : str, optional
        The language of the names in a SKOS vocabulary, such as "en"; needed if it has several languages.
    likely_language : str, optional
        The language to use if none is given and the vocabulary has several.

    Returns
    -------
    dict
        The names of each label id, the preferred one first.
    """
    file = os.fspath(path)
    plain = file.lower().removesuffix(compression_of(file))
    by_number = plain.endswith(".txt")
    if parser_of(plain) is not None:
        return read_vocabulary(path, language, likely_language=likely_language).names
    if language is not None:
        raise ValueError(f"a language can be chosen only for a SKOS vocabulary (.ttl, .nt, .rdf or .skos), got {file}")
    names: dict[str, list[str]] = {}

    def parse(number: int, line: str) -> None:
        if by_number:
            names[str(number - 1)] = [_require_text(line, "the name")]
        elif line:
            _add(line, names)

    each_line(file, parse)
    return names


def read_labels(path: str | os.PathLike[str]) -> list[str]:
    """Read a list of labels: one per line, or in the first of several columns that are separated by tabs."""
    labels: dict[str, None] = {}

    def parse(_: int, line: str) -> None:
        label = line.partition("\t")[0].strip()
        if label:
            labels[label.removeprefix("<").removesuffix(">") if label.endswith(">") else label] = None

    each_line(os.fspath(path), parse)
    return list(labels)


def read_vocabulary(
    path: str | os.PathLike[str], language: str | None = None, *, likely_language: str | None = None
) -> Vocabulary:
    """Read the names and relations of labels from a SKOS vocabulary; the parameters are those of `read_label_names`."""
    return _parse(path, lambda stream, parser: read_skos(stream, parser, language, likely_language))


def read_relations(path: str | os.PathLike[str]) -> Relations:
    """Read how labels are related from a SKOS vocabulary, or from a table of children and parents (.tsv or .csv)."""
    return _parse(path, read_skos_relations) if is_vocabulary(path) else read_table(path)


def _parse(path: str | os.PathLike[str], read: Callable[[BinaryIO, str], T]) -> T:
    file = os.fspath(path)
    parser = parser_of(file.lower().removesuffix(compression_of(file)))
    if parser is None:
        raise ValueError(f"a SKOS vocabulary must be a .ttl, .nt, .rdf or .skos file, got {file}")
    try:
        with open_input(file) as (stream, _):
            return read(stream, parser)
    except Malformed as error:
        raise _error(file, 1, str(error)) from None
    except DAMAGE as error:
        reason = damage(error)
        if reason is None:
            raise
        raise _error(file, 1, reason) from error


def _add(line: str, names: dict[str, list[str]]) -> None:
    label, *columns = line.split("\t")
    if not columns:
        raise Malformed(f"no tab in {shown(line)}; write 'id<TAB>name', or one name per line in a .txt file")
    if label.startswith("<") and label.endswith(">"):
        label = label[1:-1]
    known = names.setdefault(_require_text(label, "the id"), [])
    for name in columns:
        if _require_text(name, "a name") not in known:
            known.append(name)


def _require_text(text: str, what: str) -> str:
    if not text or text.isspace():
        raise Malformed(f"{what} is empty; every label needs an id and a name")
    return text


def _error(file: str, line: int, reason: str) -> DataError:
    return DataError(source_name(file), line, reason)
