"""Metrics of a model on labelled rows, with confidence intervals."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from abound.cli.common import note
from abound.cli.inputs import chunks
from abound.cli.vectors import vectors_of
from abound.texts import Text

if TYPE_CHECKING:
    from abound.data import Document
    from abound.tagger import Evaluation, Tagger
    from abound.tagger.blending import GivenCodes

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


def evaluate_documents(
    tagger: "Tagger",
    documents: Iterable["Document"],
    n_ranks: int,
    watch: Callable[[int], None] = lambda _: None,
    **selected: Any,
) -> "Evaluation":
    """Rank documents and compare the rankings with their labels; `selected` has the parameters `only` and `without`."""
    from abound.tagger.evaluation import NothingToMeasure as NoLabels
    from abound.tagger.evaluation import evaluate_batches

    n_rows = 0

    def batches() -> Iterator[tuple[list[Text], list[Any], "GivenCodes | None"]]:
        nonlocal n_rows
        for chunk in chunks(documents, CHUNK):
            codes = tagger.given_codes(vectors_of(chunk), len(chunk))
            yield [document.text for document in chunk], [document.labels for document in chunk], codes
            n_rows += len(chunk)
            watch(n_rows)

    try:
        evaluation = evaluate_batches(tagger, batches(), n_ranks, tagger.chooser(**selected))
    except NoLabels as error:
        if not n_rows:
            raise NothingToMeasure("there is nothing to measure: no row was read or held out") from None
        how = "name the field of the labels with --labels-field, or the format with --format"
        raise NothingToMeasure(f"{error}; {how}") from None
    if evaluation.n_unknown > evaluation.n_labelled / 2:
        share = f"{evaluation.n_unknown:,} of {evaluation.n_labelled:,} measured rows"
        note(f"{share} have no label that the model knows, and count as wrong")
    return evaluation


def figures_of(evaluation: "Evaluation", names: Sequence[str]) -> dict[str, Any]:
    """Return the figures of an evaluation for printing.

    Returns
    -------
    dict
        ``rows``: the number of rows. ``labelled``: those with a label, the only ones that count. ``measures``: value,
        low and high by name. ``assigned``: how good the assigned labels are. ``calibration_error``: of the first ten
        labels; None if the model has no probabilities. ``hierarchical``: precision, recall and F1 of the assigned
        labels together with the labels above them, if the model has a hierarchy.
    """
    quality = evaluation.hierarchical_quality()
    return {
        "rows": evaluation.n_rows,
        "labelled": evaluation.n_labelled,
        "measures": {name: found._asdict() for name, found in evaluation.metrics(names).items()},
        "assigned": evaluation.assigned_quality()._asdict(),
        "calibration_error": evaluation.calibration_error,
        **({} if quality is None else {"hierarchical": quality._asdict()}),
    }
