"""Rank labels when labels abound: online, on ordinary CPUs, with reasons."""

import importlib
from typing import TYPE_CHECKING, Any

from abound.errors import AboundError, DamagedModel, DataError, ModelError, UnknownFormat

if TYPE_CHECKING:
    from abound.loading import load
    from abound.merging import merge
    from abound.ordinal.bands import Bands
    from abound.ordinal.baselines import MulticlassPerceptron, WidrowHoff
    from abound.ordinal.prank import PRank
    from abound.rankers.estimators import MMP, Cascade, FeatureFocus, Frequency, Independent, Perceptron, Rocchio
    from abound.rankers.ranking import Explanation, Ranking
    from abound.rankers.selection import RocchioSelector
    from abound.retrieval.export import export_ranking
    from abound.retrieval.query_scaling import QueryScaler
    from abound.retrieval.reranker import Reranker
    from abound.retrieval.svm_map import SVMMap
    from abound.retrieval.thermometer import ThermometerFeatures
    from abound.tagger import Entry, Tagger
    from abound.text.pivoted import PivotedWeights
    from abound.text.vectorizer import TextVectorizer

# Imported when first asked for: scikit-learn alone takes longer to import than a model to load and to rank a text.
_LAZY = {
    "Bands": "ordinal.bands",
    "Cascade": "rankers.estimators",
    "Entry": "tagger",
    "Explanation": "rankers.ranking",
    "FeatureFocus": "rankers.estimators",
    "Frequency": "rankers.estimators",
    "Independent": "rankers.estimators",
    "MMP": "rankers.estimators",
    "MulticlassPerceptron": "ordinal.baselines",
    "PRank": "ordinal.prank",
    "Perceptron": "rankers.estimators",
    "PivotedWeights": "text.pivoted",
    "QueryScaler": "retrieval.query_scaling",
    "Ranking": "rankers.ranking",
    "Reranker": "retrieval.reranker",
    "Rocchio": "rankers.estimators",
    "RocchioSelector": "rankers.selection",
    "SVMMap": "retrieval.svm_map",
    "Tagger": "tagger",
    "TextVectorizer": "text.vectorizer",
    "ThermometerFeatures": "retrieval.thermometer",
    "WidrowHoff": "ordinal.baselines",
    "export_ranking": "retrieval.export",
    "load": "loading",
    "merge": "merging",
}

__all__ = [
    "MMP",
    "AboundError",
    "Bands",
    "Cascade",
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
    "Perceptron",
    "PivotedWeights",
    "QueryScaler",
    "Ranking",
    "Reranker",
    "Rocchio",
    "RocchioSelector",
    "SVMMap",
    "Tagger",
    "TextVectorizer",
    "ThermometerFeatures",
    "UnknownFormat",
    "WidrowHoff",
    "export_ranking",
    "load",
    "merge",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'abound' has no attribute {name!r}")
    return getattr(importlib.import_module(f"abound.{_LAZY[name]}"), name)


def __dir__() -> list[str]:
    return __all__
