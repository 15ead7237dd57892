"""Hierarchical precision, recall and F1 of sets of labels (Kiritchenko, Matwin and Famili, 2005).

Each set is extended by the ancestors of its labels. A label near the right one then counts in part, because the two
share ancestors.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import NamedTuple, TypeAlias

Extended: TypeAlias = Mapping[Hashable, float]  # a label and its ancestors, with their weights


class HierarchicalQuality(NamedTuple):
    """Precision, recall and F1 of all labels together, each with its ancestors."""

    precision: float
    recall: float
    f1: float


def hierarchical_quality(
    true: Iterable[Iterable[int]], predicted: Iterable[Iterable[int]], extended: Callable[[int], Extended]
) -> HierarchicalQuality:
    """Compare predicted with true labels, each with its ancestors.

    Parameters
    ----------
    true, predicted : iterable of iterables of int
        The labels of each text.
    extended : callable
        Returns a label and its ancestors, with weights. In a set, each has the largest of its weights; what two sets
        share has the smaller of the two.

    Examples
    --------
    >>> above = {1: {1: 1, 10: 1}, 2: {2: 1, 10: 1}, 3: {3: 1}}
    >>> quality = hierarchical_quality([[1], [1]], [[2], [1, 3]], above.__getitem__)
    >>> quality.precision, quality.recall
    (0.6, 0.75)
    """
    shared = n_predicted = n_true = 0.0
    for right, given in zip(true, predicted, strict=True):
        wanted, found = _union(right, extended), _union(given, extended)
        shared += sum(min(weight, wanted[node]) for node, weight in found.items() if node in wanted)
        n_predicted, n_true = n_predicted + sum(found.values()), n_true + sum(wanted.values())
    precision = shared / n_predicted if n_predicted else float("nan")
    recall = shared / n_true if n_true else float("nan")
    return HierarchicalQuality(precision, recall, 2 * shared / (n_predicted + n_true) if n_true else float("nan"))


def _union(labels: Iterable[int], extended: Callable[[int], Extended]) -> dict[Hashable, float]:
    found: dict[Hashable, float] = {}
    for label in labels:
        for node, weight in extended(label).items():
            found[node] = max(weight, found.get(node, 0.0))
    return found
