"""Rank labels when labels abound: online, on ordinary CPUs, with reasons."""

import importlib
from typing import TYPE_CHECKING, Any

from abound.errors import AboundError, DamagedModel, DataError, ModelError, UnknownFormat

if TYPE_CHECKING:
    from abound.loading import load
    from abound.ordinal.bands import Bands
    from abound.ordinal.baselines import MulticlassPerceptron, WidrowHoff
    from abound.ordinal.prank import PRank
    from abound.rankers.estimators import FeatureFocus, Frequency, Independent
    from abound.rankers.ranking import Explanation, Ranking
    from abound.tagger import Entry, Tagger
    from abound.text.vectorizer import TextVectorizer

# Imported when first asked for: scikit-learn alone takes longer to import than a model to load and to rank a text.
_LAZY = {
    "Bands": "ordinal.bands",
    "Entry": "tagger",
    "Explanation": "rankers.ranking",
    "FeatureFocus": "rankers.estimators",
    "Frequency": "rankers.estimators",
    "Independent": "rankers.estimators",
    "MulticlassPerceptron": "ordinal.baselines",
    "PRank": "ordinal.prank",
    "Ranking": "rankers.ranking",
    "Tagger": "tagger",
    "TextVectorizer": "text.vectorizer",
    "WidrowHoff": "ordinal.baselines",
    "load": "loading",
}

__all__ = [
    "AboundError",
    "Bands",
    "DamagedModel",
    "DataError",
    "Entry",
    "Explanation",
    "FeatureFocus",
    "Frequency",
    "Independent",
    "ModelError",
    "MulticlassPerceptron",
    "PRank",
    "Ranking",
    "Tagger",
    "TextVectorizer",
    "UnknownFormat",
    "WidrowHoff",
    "load",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'abound' has no attribute {name!r}")
    return getattr(importlib.import_module(f"abound.{_LAZY[name]}"), name)


def __dir__() -> list[str]:
    return __all__
