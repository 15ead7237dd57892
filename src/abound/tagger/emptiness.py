"""Explain why a ranking is empty."""

import warnings
from collections.abc import Sequence

from abound.errors import EmptyRanking
from abound.tagger.answers import Entry
from abound.tagger.parts import TaggerParts
from abound.texts import Text


def why_empty(tagger: TaggerParts, text: Text) -> str:
    """Return a sentence on why no label is ranked for a text."""
    if not tagger.n_labels:
        return "the model has not learned any label yet"
    encoder = tagger.encoder
    n_words, n_known = len(encoder.words(text)), len(encoder.rows([text])[1])
    if not n_words:
        return "the text has no words"
    if not n_known:
        words = "its only word does not occur" if n_words == 1 else f"none of its {n_words:,} words occurs"
        return f"no known word: {words} in the training texts"
    return "none of the known words of the text votes for a label"


def warn_of_empty(tagger: TaggerParts, texts: Sequence[Text], rankings: Sequence[Sequence[Entry]]) -> None:
    """Issue one warning if any rankings are empty."""
    empty = [number for number, entries in enumerate(rankings) if not entries]
    if not empty:
        return
    words = f"the ranking is empty: {why_empty(tagger, texts[empty[0]])}"
    if len(texts) > 1:
        words = f"{len(empty):,} of {len(texts):,} rankings are empty; the first: {why_empty(tagger, texts[empty[0]])}"
    warnings.warn(words, EmptyRanking, stacklevel=4)
