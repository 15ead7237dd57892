"""The names of labels, from a file of their own."""

import os

from abound.data.formats import DAMAGE, Malformed, damage, lines_of, undecodable, without_bom
from abound.data.parsing import shown
from abound.data.skos import parser_of, read_skos
from abound.data.streams import compression_of, open_input, source_name
from abound.errors import DataError


def is_vocabulary(path: str | os.PathLike[str]) -> bool:
    """Tell by its name whether a file is a SKOS vocabulary."""
    file = os.fspath(path)
    return parser_of(file.lower().removesuffix(compression_of(file))) is not None


def read_label_names(
    path: str | os.PathLike[str], language: str | None = None, *, likely_language: str | None = None
) -> dict[str, list[str]]:
    """Read the names of labels.

    Parameters
    ----------
    path : str or path
        A file of lines 'id<TAB>name', where further columns and repeated ids are synonyms; or, when it is
        called .txt, one name a line for the labels 0, 1, 2 and so on; or, when it is called .ttl, .nt, .rdf or
        .skos, a SKOS vocabulary, whose labels are URIs. Decompressed by its suffix. An id in angle brackets
        loses them, as in Annif's vocabularies.
    language : str, optional
        Which names of a SKOS vocabulary, such as "en"; needed where it has several languages.
    likely_language : str, optional
        What is taken from a vocabulary of several languages if none is given.

    Returns
    -------
    dict
        For each label id its names, the preferred one first.
    """
    file = os.fspath(path)
    plain = file.lower().removesuffix(compression_of(file))
    by_number, parser = plain.endswith(".txt"), parser_of(plain)
    if parser is not None:
        return _vocabulary(file, parser, language, likely_language)
    if language is not None:
        raise ValueError(f"a language can be chosen from a SKOS vocabulary only, and {file} is none by its name")
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
        # What is fatal was found before the loop got to see the line.
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
        raise Malformed(f"no tab in {shown(line)}; 'id<TAB>name' is wanted, or a file called .txt of one name a line")
    if label.startswith("<") and label.endswith(">"):
        label = label[1:-1]
    known = names.setdefault(_require_text(label, "the id"), [])
    for name in columns:
        if _require_text(name, "a name") not in known:
            known.append(name)


def _require_text(text: str, what: str) -> str:
    if not text or text.isspace():
        raise Malformed(f"{what} is empty; every label wants an id and a name")
    return text


def _error(file: str, line: int, reason: str) -> DataError:
    return DataError(source_name(file), line, reason)
