"""The records that readers yield and writers take.

The records are named tuples, because one is created for every line, and a frozen dataclass takes several times as long
to create.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from abound.texts import Text


class Document(NamedTuple):
    """A text and its labels.

    Attributes
    ----------
    labels : tuple of str
        Label names in file order; may be empty.
    text : str or mapping from field to str
        The text, unchanged.
    id : str or None
        The name of the document, if the format has one.
    weight : float
        How much the document counts as an example; 1 unless a field of weights was named.
    wrong : tuple of str
        Labels that a person has rejected for the document.
    vector : tuple of float or None
        The vector of the text, if a field of vectors was named.
    """

    labels: tuple[str, ...]
    text: Text
    id: str | None = None
    weight: float = 1.0
    wrong: tuple[str, ...] = ()
    vector: tuple[float, ...] | None = None


# A third faster than calling Document, which matters when a line is parsed in a microsecond. Takes all fields as one
# tuple.
make_document: Callable[
    [tuple[tuple[str, ...], Text, str | None, float, tuple[str, ...], tuple[float, ...] | None]], Document
] = partial(tuple.__new__, Document)


class Row(NamedTuple):
    """A sparse row of numbered features and its labels.

    Attributes
    ----------
    labels : tuple of str
        Label names, or the grade of a LETOR row.
    indices : tuple of int
        Feature numbers exactly as in the file: not sorted, and not shifted between bases 0 and 1.
    values : tuple of float
        One value for each index; NaN only for NULL in LETOR.
    qid : str or None
        The query of the row.
    id : str or None
        The name of the document (LETOR's docid).
    comment : str or None
        The text after the hash sign.
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
        Label names; may be empty.
    names : tuple of str
        Feature names. In namespace ``ns``, a name is ``ns^name``, as Vowpal Wabbit prints it.
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
