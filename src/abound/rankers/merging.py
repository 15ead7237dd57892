"""Join rankers that were trained on different days or in different places; labels are matched by name."""

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from abound.rankers.base import Ranker
from abound.rankers.labels import LabelIndex

AnyRanker = TypeVar("AnyRanker", bound=Ranker)
# Parameters of `fit` alone, which leave no trace in how a model ranks and goes on learning.
FREE = ("n_jobs", "shards", "rounds", "passes", "random_state")


def merge_rankers(rankers: Sequence[AnyRanker], numbers: Sequence[NDArray[np.int32]] | None = None) -> AnyRanker:
    """Return a ranker that knows what all of them learnt.

    Labels are matched by name, and keep the numbers that the first ranker gave them; features are matched by column,
    or by `numbers`, which has the new number of each feature of each ranker.
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
    for ranker in reversed(rankers):  # so that the first has the last word
        merged.set_columns(n_features, ranker.form, getattr(ranker, "feature_names_in_", None))
    merged.take_form_of(rankers)
    n_labels = len(merged.labels_)
    for component in merged.components:
        parts = []
        for place, (ranker, labels) in enumerate(zip(rankers, maps, strict=True)):
            found = ranker.component(type(component))
            if found is not None:  # a young model may not have all of them
                parts.append(found.renumbered(None if numbers is None else numbers[place], labels, n_labels))
        component.merge(parts, n_labels, base=False)
    return merged


def check_alike(rankers: Sequence[Ranker]) -> None:
    """Raise unless the rankers are of one kind that can be merged, with the same parameters and columns."""
    first = rankers[0]
    if not all(component.can_merge for component in first.components):
        raise ValueError(
            f"rankers of kind {first.kind!r} cannot be merged: what they learnt of different rows does not add up"
        )
    for other in rankers[1:]:
        if other.kind != first.kind:
            raise ValueError(f"rankers of one kind can be merged, but these are {first.kind!r} and {other.kind!r}")
        check_params(first.params(), other.params())
        if not _columns_agree(getattr(first, "feature_names_in_", None), getattr(other, "feature_names_in_", None)):
            raise ValueError("the rankers' columns have different names; features are matched by column")


def check_params(first: dict[str, Any], other: dict[str, Any]) -> None:
    """Raise unless two models have the same parameters, those of `fit` apart."""
    differing = [name for name in first if name not in FREE and first[name] != other[name]]
    if differing:
        found = ", ".join(f"{name} ({first[name]!r} and {other[name]!r})" for name in differing)
        raise ValueError(f"models must have the same parameters to be merged, but these differ in {found}")


def _columns_agree(one: NDArray[Any] | None, other: NDArray[Any] | None) -> bool:
    if one is None or other is None:
        return True
    n = min(len(one), len(other))
    return bool(np.all(one[:n] == other[:n]))


def _add_labels(book: LabelIndex, ranker: Ranker) -> NDArray[np.int32]:
    """Make a ranker's labels known, add their counts, and return the number that each has in the book."""
    book.add(ranker.labels_.names)
    numbers = np.array([book.id_of(name) for name in ranker.labels_.names], np.int32)
    book.counts[numbers] += ranker.label_counts
    return numbers
