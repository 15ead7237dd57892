"""Export the index as a table, to rank in Spark SQL, DuckDB or any database with window functions."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from abound.components.votes import VoteIndex
from abound.data.extras import require
from abound.tagger import Tagger

if TYPE_CHECKING:
    import pyarrow as pa

CHUNK = 1 << 16  # features to convert at once
# Rounded, because engines add in any order. Labels with equal scores must stay equal, so that label_number decides.
QUERY = """\
WITH votes AS (
  SELECT t.document, i.label, i.label_number, ROUND(SUM(t.value * i.weight), 9) AS score
  FROM terms AS t JOIN label_index AS i ON t.feature = i.feature
  GROUP BY t.document, i.label, i.label_number
), places AS (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY document ORDER BY score DESC, label_number) AS place FROM votes
)
SELECT document, place, label, score FROM places WHERE place <= {k} ORDER BY document, place
"""


def query(k: int = 10) -> str:
    """Return the SQL that ranks the documents of table `terms` by table `label_index`.

    Examples
    --------
    >>> "place <= 5" in query(5)
    True
    """
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise ValueError(f"k must be a whole number of at least 1, got {k!r}")
    return QUERY.format(k=k)


def export_index(tagger: Tagger, path: str | Path) -> int:
    """Write the index of a tagger as a Parquet table: feature, label, label_number, weight.

    The score of a label is the sum of value times weight over the features of a document. `label_number` orders equal
    scores. Features are written as words, as in `terms_table`.

    Returns
    -------
    int
        The number of rows written.
    """
    pa = require("pyarrow", "spark", "tables of an index")
    pq = require("pyarrow.parquet", "spark", "tables of an index")
    ranker = tagger.ranker
    votes, *others = ranker.components
    if ranker.has_second_stage:
        raise ValueError("only a ranker without a second stage can be exported as a table; train it with candidates=0")
    if others or not isinstance(votes, VoteIndex):
        raise ValueError("only a ranker with an index can be exported as a table; this one is a linear model")
    names = pa.array([str(name) for name in ranker.labels_.names], pa.string())
    fields = [("feature", pa.string()), ("label", pa.string()), ("label_number", pa.int32()), ("weight", pa.float64())]
    schema, n = pa.schema(fields), 0
    with pq.ParquetWriter(path, schema, compression="zstd") as table:
        for first in range(0, votes.n_features, CHUNK):
            last, d_max = min(first + CHUNK, votes.n_features), getattr(ranker, "d_max", None)
            lengths, labels, weights = votes.weights(first, last, d_max)
            words = pa.array([tagger.encoder.name(first + i, unique=True) for i in range(len(lengths))], pa.string())
            owners = pa.array(np.repeat(np.arange(len(lengths)), lengths))
            numbers = pa.array(labels, pa.int32())
            columns = [words.take(owners), names.take(numbers), numbers, pa.array(weights)]
            table.write_batch(pa.record_batch(columns, schema=schema))
            n += len(labels)
    return n


def terms_table(tagger: Tagger, texts: Iterable[str]) -> "pa.Table":
    """Return the terms of texts as a table: document (the number of the text), feature, value."""
    pa = require("pyarrow", "spark", "tables of terms")
    indptr, indices, values = tagger.encoder.rows(list(texts))
    if getattr(tagger.ranker, "boolean", False):
        values = np.ones_like(values)
    distinct, inverse = np.unique(indices, return_inverse=True)
    words: Any = pa.array([tagger.encoder.name(term, unique=True) for term in distinct.tolist()], pa.string())
    documents = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    columns = {"document": pa.array(documents), "feature": words.take(pa.array(inverse)), "value": pa.array(values)}
    return pa.table(columns)
