"""The whole product in one object: text in, ranked label names out, every correction learned at once."""

from abound.tagger.answers import BandedEntry, Entry, TextExplanation, WordVote
from abound.tagger.tagger import Tagger

__all__ = ["BandedEntry", "Entry", "Tagger", "TextExplanation", "WordVote"]
