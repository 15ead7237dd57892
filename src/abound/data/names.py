"""Read the names of labels from a separate file."""

import os

from abound.data.formats import DAMAGE, Malformed, damage, lines_of, undecodable, without_bom
from abound.data.parsing import shown
from abound.data.skos import parser_of, read_skos
from abound.data.streams import compression_of, open_input, source_name
from abound.errors import DataError


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
    by_number, parser = plain.endswith(".txt"), parser_of(plain)
    if parser is not None:
        return _vocabulary(file, parser, language, likely_language)
    if language is not None:
        raise ValueError(f"a language can be chosen only for a SKOS vocabulary (.ttl, .nt, .rdf or .skos), got {file}")
    names: dict[str, list[str]] = {}
    number = 0
    try:
        with open_input(file) as (stream, _):
            for number, raw in enumerate(without_bom(lines_of(stream)), 1):
                line = raw.decode().removesuffix("\n").removesuffix("\r")
                if by_number:
                    names[str(number - 1)] = [_require_text(line, "the name")]
                elif line:
                    _add(line, names)
    except Malformed as error:
        # A fatal error is raised before the loop sees the line.
        raise _error(file, number + error.fatal, str(error)) from None
    except UnicodeDecodeError as error:
        raise _error(file, number, undecodable(error)) from None
    except DAMAGE as error:
        reason = damage(error)
        if reason is None:
            raise
        raise _error(file, number + 1, reason) from error
    return names


def _vocabulary(file: str, parser: str, language: str | None, likely: str | None) -> dict[str, list[str]]:
    try:
        with open_input(file) as (stream, _):
            return read_skos(stream, parser, language, likely)
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
