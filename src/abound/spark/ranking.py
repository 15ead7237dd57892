"""Rank on Spark: add lists of labels and scores to Arrow batches of texts."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from abound.spark.jobs import Batches, check_column, check_frame, map_in_arrow
from abound.store.directory import read_manifest
from abound.tagger import Tagger

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_taggers: dict[tuple[str, str], tuple[Tagger, Any]] = {}  # at most one model per process, with its label names


class Ranker:
    """Add ranked labels and their scores to batches, with the model of the process."""

    def __init__(self, model: str, state: str, k: int, text: str, columns: tuple[str, str, str]) -> None:
        self.model, self.state, self.k, self.text, self.columns = model, state, k, text, columns

    def __call__(self, batches: Batches) -> Batches:
        """Rank the texts of each batch."""
        tagger, names = self.open()
        for batch in batches:
            for column, values in zip(
                self.columns, lists_of(tagger, names, batch.column(self.text).to_pylist(), self.k), strict=True
            ):
                batch = batch.append_column(column, values)
            yield batch

    def open(self) -> tuple[Tagger, Any]:
        """Return the model and its label names. A process loads the model once."""
        import pyarrow as pa

        key = (self.model, self.state)
        if key not in _taggers:
            if read_manifest(Path(self.model))["state_hash"] != self.state:
                raise ValueError(f"the model in {self.model} was replaced during ranking")
            _taggers.clear()
            tagger = Tagger.load(self.model)
            _taggers[key] = (tagger, pa.array([str(name) for name in tagger.ranker.labels_.names], pa.string()))
        return _taggers[key]


def lists_of(tagger: Tagger, names: Any, texts: list[str | None], k: int) -> "tuple[pa.ListArray, ...]":
    """Return labels, scores and probabilities of each text as lists of Arrow; a text that is missing has none."""
    import pyarrow as pa

    ranking = tagger.rank_arrays([text or "" for text in texts], k)
    voted = ranking.indices >= 0
    offsets = np.zeros(len(texts) + 1, np.int32)
    np.cumsum(voted.sum(axis=1), out=offsets[1:])
    found = pa.array(ranking.indices[voted])
    likely = ranking.probabilities
    unknown = pa.nulls(len(found), pa.float64()) if likely is None else pa.array(likely[voted])
    values = (names.take(found), pa.array(ranking.scores[voted]), unknown)
    return tuple(pa.ListArray.from_arrays(pa.array(offsets), array) for array in values)


def rank(
    df: "DataFrame",
    model: str | Path,
    k: int = 10,
    *,
    text: str = "text",
    labels: str = "ranked",
    scores: str = "scores",
    probabilities: str = "probabilities",
) -> "DataFrame":
    """Rank the best labels of each text of a DataFrame.

    Parameters
    ----------
    df : DataFrame
    model : path
        A model directory that driver and executors share. Each process loads it once.
    k : int
        Number of labels per text.
    text : str
        Column of the texts.
    labels, scores, probabilities : str
        Columns that are added: lists of labels, best first, their scores, and their probabilities, which are null if
        the model is not calibrated.

    Returns
    -------
    DataFrame
        The rows of `df` with the three columns; row for row what `Tagger.rank` gives.
    """
    check_frame(df)
    check_column(df, text, "the texts", ("string",))
    for name in (labels, scores, probabilities):
        if name in df.columns:
            raise ValueError(f"column {name!r} already exists; choose other names for the new columns")
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise ValueError(f"k must be a whole number of at least 1, got {k!r}")
    content = read_manifest(Path(model))
    if content["kind"] != Tagger.kind:
        raise ValueError(f"{model} contains a {content['kind']!r}, not a tagger")
    from pyspark.sql.types import ArrayType, DoubleType, StringType, StructType

    schema = StructType([*df.schema.fields])
    schema = schema.add(labels, ArrayType(StringType()))
    schema = schema.add(scores, ArrayType(DoubleType())).add(probabilities, ArrayType(DoubleType()))
    path = str(Path(model).absolute())
    return map_in_arrow(df, Ranker(path, content["state_hash"], k, text, (labels, scores, probabilities)), schema)
