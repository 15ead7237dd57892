"""Read how labels are related: a SKOS vocabulary, or a table of children and parents."""

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from abound.data.formats import Malformed
from abound.data.parsing import shown
from abound.data.plain_lines import each_line
from abound.data.streams import compression_of

Pairs = Sequence[tuple[str, str]]
SEPARATORS = {".csv": ",", ".tsv": "\t"}
HEADS = (("child", "parent"), ("narrower", "broader"), ("label", "parent"))


@dataclass(frozen=True)
class Relations:
    """The relations of a vocabulary, as they were read.

    Attributes
    ----------
    concepts : sequence of str
        All concepts that are not deprecated; if empty, those of `broader`.
    broader : sequence of pairs
        A concept and a broader one, its parent. The parent may be missing from the vocabulary.
    related, matches : sequence of pairs
        A concept and a related concept; a concept and an equal concept (exactMatch), often of another vocabulary.
    schemes, tops : sequence of pairs
        A concept and a scheme that contains it, or whose top concept it is.
    scheme_names : mapping
        The name of each scheme that has one.
    replaced : sequence of pairs
        A deprecated concept and its replacement; an empty replacement if it has none.
    """

    concepts: Sequence[str] = ()
    broader: Pairs = ()
    related: Pairs = ()
    matches: Pairs = ()
    schemes: Pairs = ()
    tops: Pairs = ()
    scheme_names: Mapping[str, str] = field(default_factory=dict)
    replaced: Pairs = ()


def read_table(path: str | os.PathLike[str]) -> Relations:
    """Read a table of two columns, child and parent.

    Parameters
    ----------
    path : str or path
        A file with suffix .csv or .tsv, compressed or not. A first line of column names is skipped. A child with an
        empty parent is a top concept. A child with several parents has several lines.
    """
    file = os.fspath(path)
    plain = file.lower().removesuffix(compression_of(file))
    separator = next((found for suffix, found in SEPARATORS.items() if plain.endswith(suffix)), None)
    if separator is None:
        raise ValueError(
            f"a hierarchy must be a table of child and parent (.tsv or .csv) or a SKOS vocabulary, got {file}"
        )
    pairs: list[tuple[str, str]] = []
    concepts: dict[str, None] = {}

    def parse(number: int, line: str) -> None:
        if not line.strip():
            return
        row = _cells(line, separator)
        if number == 1 and tuple(cell.strip().lower() for cell in row) in HEADS:
            return
        child, parent = _pair(row, separator)
        concepts[child] = None
        if parent:
            concepts[parent] = None
            pairs.append((child, parent))

    each_line(file, parse)
    return Relations(concepts=sorted(concepts), broader=pairs)


def _cells(line: str, separator: str) -> list[str]:
    if separator == "\t":
        return line.split("\t")
    try:
        [row] = csv.reader([line], strict=True)
    except csv.Error as error:
        raise Malformed(f"the line is not valid CSV: {error}") from None
    return row


def _pair(row: list[str], separator: str) -> tuple[str, str]:
    if len(row) != 2:
        how = "child<TAB>parent" if separator == "\t" else "child,parent"
        raise Malformed(f"{len(row)} columns in {shown(separator.join(row))}; write '{how}' in each line")
    child, parent = (cell.strip().removeprefix("<").removesuffix(">") for cell in row)
    if not child:
        raise Malformed("the child is empty; each line needs a child, and a parent unless it is a top concept")
    return child, parent
