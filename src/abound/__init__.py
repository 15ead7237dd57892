"""Rank labels when labels abound: online, on ordinary CPUs, with reasons."""

from typing import TYPE_CHECKING

from abound.errors import AboundError, DamagedModel, DataError, ModelError, UnknownFormat
from abound.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from abound.estimators import MMP, Cascade, FeatureFocus, Frequency, Independent, KernelMMP, Perceptron, Rocchio
    from abound.estimators.selection import RocchioSelector
    from abound.loading import load
    from abound.merging import merge
    from abound.ordinal.bands import Bands
    from abound.ordinal.baselines import MulticlassPerceptron, WidrowHoff
    from abound.ordinal.prank import PRank
    from abound.rankers.ranking import Explanation, Ranking
    from abound.retrieval.export import export_ranking
    from abound.retrieval.query_scaling import QueryScaler
    from abound.retrieval.reranker import Reranker
    from abound.retrieval.svm_map import SVMMap
    from abound.retrieval.thermometer import ThermometerFeatures
    from abound.tagger import Entry, Tagger
    from abound.text.pivoted import PivotedWeights
    from abound.text.vectorizer import TextVectorizer
    from abound.version import __version__ as __version__

# Imported on first use: importing scikit-learn alone takes longer than loading a model and ranking a text.
_LAZY = {
    "loading": ("load",),
    "merging": ("merge",),
    "ordinal.bands": ("Bands",),
    "ordinal.baselines": ("MulticlassPerceptron", "WidrowHoff"),
    "ordinal.prank": ("PRank",),
    "estimators": ("Cascade", "FeatureFocus", "Frequency", "Independent", "KernelMMP", "MMP", "Perceptron", "Rocchio"),
    "rankers.ranking": ("Explanation", "Ranking"),
    "estimators.selection": ("RocchioSelector",),
    "retrieval.export": ("export_ranking",),
    "retrieval.query_scaling": ("QueryScaler",),
    "retrieval.reranker": ("Reranker",),
    "retrieval.svm_map": ("SVMMap",),
    "retrieval.thermometer": ("ThermometerFeatures",),
    "tagger": ("Entry", "Tagger"),
    "text.pivoted": ("PivotedWeights",),
    "text.vectorizer": ("TextVectorizer",),
    "version": ("__version__",),
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
    "KernelMMP",
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

__getattr__, __dir__ = lazy_exports(__name__, _LAZY, __all__)
