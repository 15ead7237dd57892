"""Rank labels when labels abound: online, on ordinary CPUs, with reasons."""

import importlib
from typing import TYPE_CHECKING, Any

from abound.errors import AboundError, DamagedModel, DataError, ModelError, UnknownFormat

if TYPE_CHECKING:
    from abound.loading import load
    from abound.rankers.estimators import FeatureFocus, Frequency, Independent
    from abound.rankers.ranking import Explanation, Ranking
    from abound.retrieval.export import export_ranking
    from abound.retrieval.query_scaling import QueryScaler
    from abound.retrieval.reranker import Reranker
    from abound.retrieval.svm_map import SVMMap
    from abound.retrieval.thermometer import ThermometerFeatures
    from abound.tagger import Entry, Tagger
    from abound.text.vectorizer import TextVectorizer

# Imported when first asked for: scikit-learn alone takes longer to import than a model to load and to rank a text.
_LAZY = {
    "Entry": "tagger",
    "Explanation": "rankers.ranking",
    "FeatureFocus": "rankers.estimators",
    "Frequency": "rankers.estimators",
    "Independent": "rankers.estimators",
    "QueryScaler": "retrieval.query_scaling",
    "Ranking": "rankers.ranking",
    "Reranker": "retrieval.reranker",
    "SVMMap": "retrieval.svm_map",
    "Tagger": "tagger",
    "TextVectorizer": "text.vectorizer",
    "ThermometerFeatures": "retrieval.thermometer",
    "export_ranking": "retrieval.export",
    "load": "loading",
}

__all__ = [
    "AboundError",
    "DamagedModel",
    "DataError",
    "Entry",
    "Explanation",
    "FeatureFocus",
    "Frequency",
    "Independent",
    "ModelError",
    "QueryScaler",
    "Ranking",
    "Reranker",
    "SVMMap",
    "Tagger",
    "TextVectorizer",
    "ThermometerFeatures",
    "UnknownFormat",
    "export_ranking",
    "load",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'abound' has no attribute {name!r}")
    return getattr(importlib.import_module(f"abound.{_LAZY[name]}"), name)


def __dir__() -> list[str]:
    return __all__
