"""Rank the documents of queries."""

from abound.retrieval.cutting_plane import Certificate
from abound.retrieval.design import ThermometerTable
from abound.retrieval.export import export_ranking
from abound.retrieval.query_scaling import QueryScaler
from abound.retrieval.reranker import Reranker
from abound.retrieval.svm_map import RankedQuery, SVMMap
from abound.retrieval.thermometer import ThermometerFeatures

__all__ = [
    "Certificate",
    "QueryScaler",
    "RankedQuery",
    "Reranker",
    "SVMMap",
    "ThermometerFeatures",
    "ThermometerTable",
    "export_ranking",
]
