"""Vectors that a tagger makes of the words of texts, without an encoder."""

from abound.encoders.base import VectorEncoder, Vectors
from abound.errors import ModelError

WORDS = "words"  # the name of these vectors
N_HASHED = 1024  # numbers of a vector


class HashedWords(VectorEncoder):
    """Vectors of words: they show similar texts, and do not change rankings.

    Only a tagger can make them, because it knows how rare words are.
    """

    name, dimensions, encodes_texts = WORDS, N_HASHED, False

    def raw(self, texts: list[str]) -> Vectors:  # noqa: ARG002
        """Raise ModelError."""
        raise ModelError("vectors of words are made by a tagger: use Tagger(embeddings='words')")
