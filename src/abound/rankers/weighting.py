"""Weights of examples: validated, balanced by label, and rows of weight 0 left out."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abound.components.rows import Targets

HEAVIEST = 1_000.0  # a row is learned once for each unit of its weight
Weights = NDArray[np.float64]


def check_weights(sample_weight: Any, n_rows: int) -> Weights | None:
    """Return weights as an array, or None if all are 1; raise if they are not valid."""
    if sample_weight is None:
        return None
    try:
        weights = np.array(sample_weight, np.float64)
    except (TypeError, ValueError):
        raise TypeError("sample_weight must hold one number per row") from None
    if weights.ndim != 1:
        raise ValueError(f"sample_weight must have one dimension, got {weights.ndim}; give one number per row")
    if len(weights) != n_rows:
        raise ValueError(f"there are {n_rows} rows but {len(weights)} weights; give one weight per row")
    refused = np.flatnonzero(~((weights >= 0.0) & (weights <= HEAVIEST)))  # NaN, too
    if len(refused):
        row = int(refused[0])
        raise ValueError(f"a weight must be a number from 0 to {HEAVIEST:,.0f}, got {weights[row]} for row {row}")
    return None if np.all(weights == 1.0) else weights


def check_some(weights: Weights | None) -> None:
    """Raise if all rows have the weight 0."""
    if weights is not None and len(weights) and not weights.any():
        raise ValueError("all weights are zero, so there is nothing to learn; give at least one row a positive weight")


def check_whole_weights(weights: Weights | None, kind: str) -> None:
    """Raise if a weight is not a whole number, for a ranker that counts rows."""
    if weights is None:
        return
    fractions = weights[weights != np.floor(weights)]
    if len(fractions):
        raise ValueError(f"a {kind} ranker counts rows, so weights must be whole numbers, got {fractions[0]}")


def chosen_targets(Y: Any, n_rows: int, kept: NDArray[np.int64]) -> Any:
    """Return the labels of some rows, in the form in which they were given."""
    given = Y.shape[0] if hasattr(Y, "shape") else len(Y)
    if given != n_rows:
        raise ValueError(f"X has {n_rows} rows but Y has {given}; give labels for each row")
    if isinstance(Y, list | tuple):
        return [Y[row] for row in kept.tolist()]
    return Y.tocsr()[kept] if hasattr(Y, "tocsr") else np.asarray(Y)[kept]


def check_class_weight(class_weight: Any) -> None:
    """Raise if `class_weight` is not valid."""
    if class_weight is not None and class_weight != "balanced":
        raise ValueError(f"class_weight must be None or 'balanced', got {class_weight!r}; see sample_weight")


def balanced(targets: Targets, weights: Weights | None) -> Weights | None:
    """Return weights by which every label counts the same in all; the sum of the weights stays.

    Examples
    --------
    >>> one_each = Targets(np.arange(5), np.array([0, 0, 0, 1]), 0)
    >>> balanced(one_each, None).round(3).tolist()
    [0.667, 0.667, 0.667, 2.0]
    """
    n_labels_of = np.diff(targets.indptr)
    several = np.flatnonzero(n_labels_of != 1)
    if len(several):
        row = int(several[0])
        raise ValueError(
            f"class_weight='balanced' needs one label per row, but row {row} has {n_labels_of[row]}; "
            "give sample_weight instead"
        )
    given = np.ones(len(n_labels_of)) if weights is None else weights
    totals = np.bincount(targets.ids, given)
    found = np.count_nonzero(totals)
    all_weights = np.minimum(given * given.sum() / (found * totals[targets.ids]), HEAVIEST)
    return None if np.all(all_weights == 1.0) else all_weights


def balanced_lists(labels: Sequence[Sequence[Any]], weights: Weights | None) -> Weights | None:
    """Return balanced weights of rows whose labels are lists of names; see `balanced`."""
    numbers: dict[Any, int] = {}
    ids = [numbers.setdefault(name, len(numbers)) for names in labels for name in names]
    indptr = np.cumsum([0, *map(len, labels)])
    return balanced(Targets(indptr.astype(np.int64), np.array(ids, np.int32), 0), weights)


def learned_rows(weights: Weights | None, n_rows: int, step: int) -> Iterator[tuple[list[int], Weights | None]]:
    """Yield the numbers of rows in the order in which they are learned, at most `step` at once, and their fractions.

    Unlike `repeated`, this lets a text be encoded again for every copy, as if it had been given as often.

    Examples
    --------
    >>> [rows for rows, _ in learned_rows(np.array([2.0, 0.0, 1.5]), 3, step=2)]
    [[0, 0], [2, 2]]
    """
    if weights is None:
        for start in range(0, n_rows, step):
            yield list(range(start, min(start + step, n_rows))), None
        return
    chosen: list[int] = []
    fractions: list[float] = []
    for row, weight in enumerate(weights.tolist()):
        for copy in range(math.ceil(weight)):
            chosen.append(row)
            fractions.append(min(1.0, weight - copy))
            if len(chosen) == step:
                yield chosen, check_weights(fractions, len(fractions))
                chosen, fractions = [], []
    if chosen:
        yield chosen, check_weights(fractions, len(fractions))
