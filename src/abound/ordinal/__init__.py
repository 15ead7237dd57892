"""Ordinal targets: ranks for rows, and bands for ranked lists."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from abound.ordinal.base import OrdinalEstimator

# Module and class of each kind, imported on use, because they import scikit-learn.
_KINDS = {
    "prank": ("prank", "PRank"),
    "widrow-hoff": ("baselines", "WidrowHoff"),
    "multiclass-perceptron": ("baselines", "MulticlassPerceptron"),
}
KINDS = tuple(_KINDS)


def ordinal_class(kind: str) -> "type[OrdinalEstimator]":
    """Return the class of a kind of ordinal learner.

    Examples
    --------
    >>> ordinal_class("prank").__name__
    'PRank'
    """
    module, name = _KINDS[kind]
    estimator: type[OrdinalEstimator] = getattr(importlib.import_module(f"abound.ordinal.{module}"), name)
    return estimator
