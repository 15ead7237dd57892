"""Metrics of a model on labelled rows, with confidence intervals."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from abound.cli.common import note
from abound.cli.inputs import chunks

if TYPE_CHECKING:
    from abound.data import Document
    from abound.tagger import Tagger

CHUNK = 2_000
HELD_OUT = ("P@1", "P@3", "P@5", "nDCG@5", "PSP@5")  # what `abound fit` measures


class NothingToMeasure(ValueError):  # noqa: N818  a clear name without Error
    """There is no row with a label."""


def check_measures(names: Sequence[str], depth: int) -> int:
    """Return how many ranks the metrics need. Raise an error for an unknown metric.

    Parameters
    ----------
    names : sequence of str
    depth : int
        The number of ranks for metrics without a number, such as MRR.
    """
    from abound.metrics import metric

    return max(metric(name)[1] or depth for name in names)


def measure(
    tagger: "Tagger",
    documents: Iterable["Document"],
    names: Sequence[str],
    n_ranks: int,
    watch: Callable[[int], None] = lambda _: None,
) -> dict[str, Any]:
    """Rank documents and compute metrics of the rankings.

    Returns
    -------
    dict
        ``rows``: the number of ranked rows. ``labelled``: those with a label, the only ones that count. ``measures``:
        value, low and high by name.
    """
    import numpy as np

    from abound.metrics import interval, judge
    from abound.rankers.ranking import Ranking

    indices, scores, labels = [], [], []
    for chunk in chunks(documents, CHUNK):
        ranking = tagger.rank_arrays([document.text for document in chunk], n_ranks)
        indices.append(ranking.indices)
        scores.append(ranking.scores)
        labels += [document.labels for document in chunk]
        watch(len(labels))
    n_labelled = sum(map(bool, labels))
    if not labels:
        raise NothingToMeasure("there is nothing to measure: no row was read or held out")
    if not n_labelled:
        words = f"there is nothing to measure: none of the {len(labels):,} rows has a label"
        raise NothingToMeasure(
            f"{words}; name the field of the labels with --labels-field, or the format with --format"
        )
    names_known = set(map(str, tagger.ranker.labels_.names))
    n_unknown = sum(bool(row) and not names_known.intersection(map(str, row)) for row in labels)
    if n_unknown > n_labelled / 2:
        note(f"{n_unknown:,} of {n_labelled:,} measured rows have no label that the model knows, and count as wrong")
    judgement = judge(
        tagger.truth(labels),
        Ranking(np.concatenate(indices), np.concatenate(scores), ()),
        label_counts=tagger.label_counts,
        n_train_rows=tagger.n_rows,
    )
    figures = {name: interval(name, judgement)._asdict() for name in names}
    return {"rows": len(labels), "labelled": n_labelled, "measures": figures}
