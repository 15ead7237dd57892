"""The tagger: it ranks label names for texts and learns each correction immediately."""

from abound.tagger.answers import BandedEntry, Entry, TextExplanation, WordVote
from abound.tagger.tagger import Tagger

__all__ = ["BandedEntry", "Entry", "Tagger", "TextExplanation", "WordVote"]
