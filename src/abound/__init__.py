"""Rank labels when labels abound: online, on ordinary CPUs, with reasons."""

import importlib
from typing import TYPE_CHECKING, Any

from abound.errors import AboundError, DamagedModel, DataError, ModelError, UnknownFormat

if TYPE_CHECKING:
    from abound.loading import load
    from abound.merging import merge
    from abound.rankers.estimators import MMP, Cascade, FeatureFocus, Frequency, Independent, Perceptron, Rocchio
    from abound.rankers.ranking import Explanation, Ranking
    from abound.rankers.selection import RocchioSelector
    from abound.tagger import Entry, Tagger
    from abound.text.pivoted import PivotedWeights
    from abound.text.vectorizer import TextVectorizer

# Imported when first asked for: scikit-learn alone takes longer to import than a model to load and to rank a text.
_LAZY = {
    "Cascade": "rankers.estimators",
    "Entry": "tagger",
    "Explanation": "rankers.ranking",
    "FeatureFocus": "rankers.estimators",
    "Frequency": "rankers.estimators",
    "Independent": "rankers.estimators",
    "MMP": "rankers.estimators",
    "Perceptron": "rankers.estimators",
    "PivotedWeights": "text.pivoted",
    "Ranking": "rankers.ranking",
    "Rocchio": "rankers.estimators",
    "RocchioSelector": "rankers.selection",
    "Tagger": "tagger",
    "TextVectorizer": "text.vectorizer",
    "load": "loading",
    "merge": "merging",
}

__all__ = [
    "MMP",
    "AboundError",
    "Cascade",
    "DamagedModel",
    "DataError",
    "Entry",
    "Explanation",
    "FeatureFocus",
    "Frequency",
    "Independent",
    "ModelError",
    "Perceptron",
    "PivotedWeights",
    "Ranking",
    "Rocchio",
    "RocchioSelector",
    "Tagger",
    "TextVectorizer",
    "UnknownFormat",
    "load",
    "merge",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'abound' has no attribute {name!r}")
    return getattr(importlib.import_module(f"abound.{_LAZY[name]}"), name)


def __dir__() -> list[str]:
    return __all__
