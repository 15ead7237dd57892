"""What the readers yield and the writers take.

The records are named tuples because one is made for every line, and a frozen dataclass costs several times as
much to build.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple


class Document(NamedTuple):
    """A text and its labels.

    Attributes
    ----------
    labels : tuple of str
        Label names in file order, possibly none.
    text : str
        The text, unchanged.
    id : str or None
        The document's own name, where the format has one.
    """

    labels: tuple[str, ...]
    text: str
    id: str | None = None


# A third cheaper than calling Document, which shows where a line is parsed in a microsecond; takes all
# three fields as one tuple.
make_document: Callable[[tuple[tuple[str, ...], str, str | None]], Document] = partial(tuple.__new__, Document)


class Row(NamedTuple):
    """A sparse row of numbered features and its labels.

    Attributes
    ----------
    labels : tuple of str
        Label names, or the one grade of a LETOR row.
    indices : tuple of int
        Feature numbers exactly as the file has them: no shift between bases, no sorting.
    values : tuple of float
        One value for each index; NaN only where LETOR says NULL.
    qid : str or None
        The query that the row belongs to.
    id : str or None
        The document's own name (LETOR's docid).
    comment : str or None
        What follows the hash sign.
    """

    labels: tuple[str, ...]
    indices: tuple[int, ...]
    values: tuple[float, ...]
    qid: str | None = None
    id: str | None = None
    comment: str | None = None


class NamedRow(NamedTuple):
    """A sparse row of named features and its labels, as in Vowpal Wabbit files.

    Attributes
    ----------
    labels : tuple of str
        Label names, possibly none.
    names : tuple of str
        Feature names; one of namespace ``ns`` is ``ns^name``, which is how Vowpal Wabbit prints it.
    values : tuple of float
        One value for each name.
    id : str or None
        The example's tag.
    """

    labels: tuple[str, ...]
    names: tuple[str, ...]
    values: tuple[float, ...]
    id: str | None = None


class RunLine(NamedTuple):
    """One retrieved document of a TREC run."""

    qid: str
    doc: str
    rank: int
    score: float
    tag: str


class Qrel(NamedTuple):
    """One relevance judgement of a TREC qrels file."""

    qid: str
    doc: str
    grade: int


Record = Document | Row | NamedRow | RunLine | Qrel
