"""Targets in order: a rank for a row, and bands for a ranked list."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from abound.ordinal.base import OrdinalEstimator

# Where each kind lives; imported when asked for, because scikit-learn comes with it.
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
    found: type[OrdinalEstimator] = getattr(importlib.import_module(f"abound.ordinal.{module}"), name)
    return found
