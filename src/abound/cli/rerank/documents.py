"""Read graded documents of queries from files."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from abound.data import Row

WANTED = ("letor", "svmlight")


@dataclass(frozen=True)
class Documents:
    """Rows of features with grades, queries and names. A missing feature is 0; NULL is NaN."""

    X: "NDArray[np.float64]"
    grades: "NDArray[np.float64]"
    qids: "NDArray[Any]"
    names: "NDArray[Any]"


def read_documents(paths: Sequence[str], format_: str | None, n_features: int | None = None) -> Documents:
    """Read files of graded documents.

    Parameters
    ----------
    paths : sequence of str
    format_ : str or None
        letor or svmlight. Default: from the file name, otherwise letor.
    n_features : int, optional
        The number of features of a model. A file with more features raises an error.
    """
    import numpy as np

    rows = [row for path in paths for row in _rows(path, format_)]
    if not rows:
        raise ValueError(f"there are no documents in {', '.join(paths)}")
    most = max((max(row.indices, default=0) for row in rows), default=0)
    width = max(most, 1) if n_features is None else n_features
    if most > width:
        raise ValueError(f"the documents have feature {most}, but the model has {width} features")
    X = np.zeros((len(rows), width))
    for number, row in enumerate(rows):
        if 0 in row.indices:
            raise ValueError("feature numbers must start at 1, got 0")
        X[number, np.array(row.indices, np.int64) - 1] = row.values
    grades = np.array([float(row.labels[0]) for row in rows])
    # A document without a name gets the number of its row.
    names = np.array([row.id or str(number) for number, row in enumerate(rows, 1)])
    return Documents(X, grades, np.array([row.qid for row in rows]), names)


def _rows(path: str, format_: str | None) -> "list[Row]":
    from abound.data import detect_format, read

    if format_ is None:
        try:
            format_ = detect_format(path)
        except ValueError:
            format_ = "letor"
    if format_ not in WANTED:
        raise ValueError(f"format {format_!r} of {path!r} has no queries; formats with queries: {', '.join(WANTED)}")
    rows = list(read(path, format_))
    for number, row in enumerate(rows, 1):
        if row.qid is None or len(row.labels) != 1:
            raise ValueError(f"row {number} of {path!r} must have one grade and a qid, as in '2 qid:10 1:0.5'")
        try:
            float(row.labels[0])
        except ValueError:
            raise ValueError(
                f"row {number} of {path!r} must have a number as its grade, got {row.labels[0]!r}"
            ) from None
    return rows
