"""Rank labels when labels abound: online, on ordinary CPUs, with reasons."""

from abound.errors import AboundError, DamagedModel, ModelError, UnknownFormat
from abound.rankers import Explanation, FeatureFocus, Frequency, Independent, Ranker, Ranking, load

__all__ = [
    "AboundError",
    "DamagedModel",
    "Explanation",
    "FeatureFocus",
    "Frequency",
    "Independent",
    "ModelError",
    "Ranker",
    "Ranking",
    "UnknownFormat",
    "load",
]
