"""Why a text has no ranking."""

import warnings
from collections.abc import Sequence

from abound.errors import EmptyRanking
from abound.tagger.answers import Entry
from abound.tagger.parts import TaggerParts
from abound.text import prepare
from abound.text.words import words_of


def why_empty(tagger: TaggerParts, text: str) -> str:
    """Say why no label is ranked for a text."""
    if not tagger.n_labels:
        return "the model has not learned any label yet"
    n_words, n_known = len(words_of(prepare(text))), len(tagger.encoder.rows([text])[1])
    if not n_words:
        return "the text has no words"
    if not n_known:
        words = "its only word does not occur" if n_words == 1 else f"none of its {n_words:,} words occurs"
        return f"no known word: {words} in what was learned"
    return "the words of the text that are known vote for no label"


def warn_of_empty(tagger: TaggerParts, texts: Sequence[str], found: Sequence[Sequence[Entry]]) -> None:
    """Warn, once for all texts, of those that have no ranking."""
    empty = [at for at, entries in enumerate(found) if not entries]
    if not empty:
        return
    words = f"the ranking is empty: {why_empty(tagger, texts[empty[0]])}"
    if len(texts) > 1:
        words = f"{len(empty):,} of {len(texts):,} rankings are empty; the first: {why_empty(tagger, texts[empty[0]])}"
    warnings.warn(words, EmptyRanking, stacklevel=4)
