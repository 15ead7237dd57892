"""Merge rankers that were trained separately; labels are matched by name."""

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from abound.rankers.base import Ranker
from abound.rankers.labels import LabelIndex
from abound.rankers.signs import positive_parts

AnyRanker = TypeVar("AnyRanker", bound=Ranker)
# Parameters that only `fit` uses; they do not affect how a model ranks and continues to learn.
FIT_ONLY = ("n_jobs", "shards", "rounds", "passes", "random_state")


def merge_rankers(rankers: Sequence[AnyRanker], numbers: Sequence[NDArray[np.int32]] | None = None) -> AnyRanker:
    """Return a ranker that knows what all of them learned.

    Labels are matched by name and keep the numbers of the first ranker. Features are matched by column, or by
    `numbers`, which has the new number of each feature of each ranker.
    """
    first = rankers[0]
    for ranker in rankers:
        ranker.check_fitted()
    check_alike(rankers)
    merged = type(first)(**first.params())
    merged.reset()
    maps = [_add_labels(merged.labels_, ranker) for ranker in rankers]
    merged.n_rows_seen_ = sum(ranker.n_rows_seen_ for ranker in rankers)
    n_features = max(ranker.n_features_in_ for ranker in rankers)
    for ranker in reversed(rankers):  # so that the first one wins
        merged.set_columns(n_features, ranker.form, getattr(ranker, "feature_names_in_", None))
    merged.has_signs_ = any(ranker.has_signs_ for ranker in rankers)
    if merged.has_signs_:
        numbers = [
            np.arange(ranker.n_stored, dtype=np.int32) if ranker.has_signs_ else positive_parts(ranker.n_stored)
            for ranker in rankers
        ]
    merged.take_form_of(rankers)
    n_labels = len(merged.labels_)
    for component in merged.components:
        parts = []
        for number, (ranker, labels) in enumerate(zip(rankers, maps, strict=True)):
            part = ranker.component(type(component))
            if part is not None:  # a young model may lack some components
                parts.append(part.renumbered(None if numbers is None else numbers[number], labels, n_labels))
        component.merge(parts, n_labels, base=False)
    merged.calibration_.merge([ranker.calibration_ for ranker in rankers], maps)
    return merged


def check_alike(rankers: Sequence[Ranker]) -> None:
    """Raise unless the rankers are of one kind that can be merged, with the same parameters and columns."""
    first = rankers[0]
    if not all(component.can_merge for component in first.components):
        raise ValueError(
            f"rankers of kind {first.kind!r} cannot be merged: models that learned different rows cannot be combined"
        )
    for other in rankers[1:]:
        if other.kind != first.kind:
            raise ValueError(f"only rankers of one kind can be merged, got {first.kind!r} and {other.kind!r}")
        check_params(first.params(), other.params())
        if not _columns_agree(getattr(first, "feature_names_in_", None), getattr(other, "feature_names_in_", None)):
            raise ValueError("the rankers' columns have different names; features are matched by column")


def check_params(first: dict[str, Any], other: dict[str, Any]) -> None:
    """Raise unless two models have the same parameters, except those of `fit`."""
    differing = [name for name in first if name not in FIT_ONLY and first[name] != other[name]]
    if differing:
        values = ", ".join(f"{name} ({first[name]!r} and {other[name]!r})" for name in differing)
        raise ValueError(f"models must have the same parameters to be merged, but these differ in {values}")


def _columns_agree(one: NDArray[Any] | None, other: NDArray[Any] | None) -> bool:
    if one is None or other is None:
        return True
    n = min(len(one), len(other))
    return bool(np.all(one[:n] == other[:n]))


def _add_labels(merged: LabelIndex, ranker: Ranker) -> NDArray[np.int32]:
    """Add a ranker's labels and their counts, and return the number of each in the merged index."""
    merged.add(ranker.labels_.names)
    numbers = np.array([merged.id_of(name) for name in ranker.labels_.names], np.int32)
    merged.counts[numbers] += ranker.label_counts
    return numbers
