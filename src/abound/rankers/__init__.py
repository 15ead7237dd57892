"""Rows in, ranked labels out."""

import importlib
from typing import Literal

from abound.rankers.base import Ranker

# Where each kind lives: its bare ranker, and its estimator, which brings scikit-learn along. Imported when asked for.
_KINDS = {
    "cascade": ("cascade", "Cascade"),
    "feature-focus": ("feature_focus", "FeatureFocus"),
    "frequency": ("frequency", "Frequency"),
    "independent": ("independent", "Independent"),
    "mmp": ("mmp", "MMP"),
    "perceptron": ("perceptron", "Perceptron"),
    "rocchio": ("rocchio", "Rocchio"),
}
KINDS = tuple(_KINDS)

__all__ = ["KINDS", "Ranker", "ranker_class"]


def ranker_class(kind: str, form: Literal["bare", "estimator"] = "bare") -> type[Ranker]:
    """Return the class of a kind of ranker.

    Examples
    --------
    >>> ranker_class("feature-focus").__name__
    'FeatureFocusRanker'
    """
    if kind not in _KINDS:
        raise ValueError(f"unknown ranker {kind!r}; known are {', '.join(KINDS)}")
    module, name = _KINDS[kind]
    if form == "estimator":
        module, name = "estimators", name
    else:
        name += "Ranker"
    found: type[Ranker] = getattr(importlib.import_module(f"abound.rankers.{module}"), name)
    return found
