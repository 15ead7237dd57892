"""Rows in, ranked labels out."""

import importlib

from abound.rankers.base import Ranker

# Module and class of each kind. Estimators, which import scikit-learn, are in `abound.estimators`.
_KINDS = {
    "cascade": ("abound.rankers.cascade", "CascadeRanker"),
    "feature-focus": ("abound.rankers.feature_focus", "FeatureFocusRanker"),
    "frequency": ("abound.rankers.frequency", "FrequencyRanker"),
    "independent": ("abound.rankers.independent", "IndependentRanker"),
    "kernel-mmp": ("abound.rankers.kernel_mmp", "KernelMMPRanker"),
    "mmp": ("abound.rankers.mmp", "MMPRanker"),
    "perceptron": ("abound.rankers.perceptron", "PerceptronRanker"),
    "rocchio": ("abound.rankers.rocchio", "RocchioRanker"),
}
KINDS = tuple(_KINDS)

__all__ = ["KINDS", "Ranker", "known_kinds", "ranker_class", "register"]


def ranker_class(kind: str) -> type[Ranker]:
    """Return the class of a kind of ranker; `abound.estimators.estimator_class` returns its scikit-learn estimator.

    Examples
    --------
    >>> ranker_class("feature-focus").__name__
    'FeatureFocusRanker'
    """
    if kind not in _KINDS:
        raise ValueError(f"unknown ranker {kind!r}; known are {', '.join(_KINDS)}")
    module, name = _KINDS[kind]
    ranker: type[Ranker] = getattr(importlib.import_module(module), name)
    return ranker


def known_kinds() -> list[str]:
    """Return every kind, including registered ones."""
    return list(_KINDS)


def register(ranker: type[Ranker]) -> type[Ranker]:
    """Register a custom ranker by its kind; can be used as a class decorator.

    Every process that loads its models must import its module first.
    """
    _KINDS[ranker.kind] = (ranker.__module__, ranker.__qualname__)
    return ranker
