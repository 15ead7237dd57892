"""A second opinion: voters beside the words, and how their votes are blended."""

from abound.second_opinion.opinion import SecondOpinion, SimilarText
from abound.second_opinion.vectors import quantised

__all__ = ["SecondOpinion", "SimilarText", "quantised"]
