"""The tagger: it ranks label names for texts and learns each correction immediately."""

from typing import TYPE_CHECKING

from abound.lazy_exports import lazy_exports
from abound.tagger.answers import BandedEntry, Entry, TextExplanation, WordVote
from abound.tagger.label_quality import LabelQuality
from abound.tagger.tagger import Tagger

if TYPE_CHECKING:
    from abound.tagger.evaluation import Evaluation

__all__ = ["BandedEntry", "Entry", "Evaluation", "LabelQuality", "Tagger", "TextExplanation", "WordVote"]

__getattr__, __dir__ = lazy_exports(__name__, {"evaluation": ("Evaluation",)}, __all__)
