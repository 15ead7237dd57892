"""The vectors of a tagger: its encoder, what is similar to a text, and how words and vectors are ranked together."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from abound.calibration import Calibration
from abound.components.rows import Rows
from abound.encoders import VectorEncoder, open_encoder
from abound.encoders.given import given_rows
from abound.encoders.hashed import N_HASHED, WORDS
from abound.encoders.remembering import RememberingEncoder
from abound.errors import ModelError
from abound.rankers.base import Ranker
from abound.rankers.predicting import HowRanked
from abound.rankers.ranking import Ranking
from abound.second_opinion import SecondOpinion, SimilarText, quantised
from abound.second_opinion.vectors import scaled_codes
from abound.store import Stored
from abound.tagger.arguments import check_depth
from abound.tagger.blending import Codes, GivenCodes, KnownText, OutsideScores, TextRows, rank_again, rank_blended
from abound.tagger.settings import TaggerSettings
from abound.text import TextEncoder
from abound.text.hashing import HashedTerms
from abound.texts import Text, joined

NEW_OPINION = SecondOpinion(0)  # weighs the scores of a service before anything was learned about them


class VectorParts(Stored):
    """The parts of a tagger that have to do with vectors. A subclass sets settings, text encoder and ranker."""

    settings: TaggerSettings
    encoder: TextEncoder
    ranker: Ranker

    def forget_vectors(self) -> None:
        """Begin without vectors."""
        self.second_opinion: SecondOpinion | None = None
        self.outside_opinion: SecondOpinion | None = None  # weighs the scores of a service if vectors do not vote
        self._vector_encoder: VectorEncoder | None = None
        self._hashed = HashedTerms(N_HASHED)
        self._encoder_name: str | None = None  # of a model directory
        self._known: dict[str, KnownText] = {}  # texts whose vectors are given
        self._heard: Mapping[str, OutsideScores] = {}  # what a service says about texts

    @property
    def embeddings_name(self) -> str | None:
        """What the encoder is opened by; None without embeddings."""
        given = self.settings.embeddings
        return given if isinstance(given, str | None) else given.opened_by or given.name

    @property
    def vector_encoder(self) -> VectorEncoder | None:
        """What turns texts into vectors, opened on first use; None without embeddings, or if words are hashed."""
        given = self.settings.embeddings
        if self._vector_encoder is None and given is not None and not self.hashes_words:
            found = open_encoder(given) if isinstance(given, str) else given
            if self.second_opinion is not None and found.dimensions != self.second_opinion.dimensions:
                raise ModelError(
                    f"the model has vectors of {self.second_opinion.dimensions} numbers, "
                    f"but those of {found.name} have {found.dimensions}; fit the model again"
                )
            if self.second_opinion is not None and self._encoder_name not in (None, found.name):
                raise ModelError(
                    f"the model has vectors of the encoder {self._encoder_name}, which differ from those of "
                    f"{found.name}; fit the model again"
                )
            self._vector_encoder = RememberingEncoder(found) if found.is_slow else found
        return self._vector_encoder

    @property
    def hashes_words(self) -> bool:
        """Whether the vectors of texts are made of their words, only to show similar texts."""
        return self.embeddings_name == WORDS

    @property
    def has_encoder(self) -> bool:
        """Whether an encoder makes the vectors of texts."""
        return self.settings.embeddings is not None and not self.hashes_words

    @property
    def opened_encoder(self) -> VectorEncoder | None:
        """What turns texts into vectors, if it was used before."""
        return self._vector_encoder

    @property
    def encoder_name(self) -> str | None:
        """What identifies the vectors of the second opinion; the encoder is not opened to find it."""
        return self._encoder_name if self._vector_encoder is None else self._vector_encoder.name

    def share_encoder(self, other: "VectorParts") -> None:
        """Use the encoder of another tagger, opened or not, if it is the same."""
        is_named_so = self.encoder_name in (None, other.encoder_name)
        if self._vector_encoder is None and is_named_so and self.settings.embeddings == other.settings.embeddings:
            self._vector_encoder, self._encoder_name = other.opened_encoder, other.encoder_name

    def need_second_opinion(self, *, keeps_texts: bool = True) -> SecondOpinion | None:
        """Return the second opinion, created if the tagger has embeddings and has learned nothing yet."""
        if self.second_opinion is None and self.hashes_words:
            self.second_opinion = SecondOpinion(N_HASHED, keeps_texts=keeps_texts, votes=False)
        elif self.second_opinion is None and self.settings.embeddings is not None:
            assert self.vector_encoder is not None
            self.second_opinion = SecondOpinion(self.vector_encoder.dimensions, keeps_texts=keeps_texts)
        return self.second_opinion

    def given_codes(self, vectors: Any, n_texts: int) -> GivenCodes | None:
        """Return the quantised form of vectors that are given with texts; ValueError if they cannot be used."""
        if vectors is None:
            return None
        opinion = self.need_second_opinion()
        if opinion is None:
            raise ValueError(
                "vectors are given, but the tagger has no embeddings; "
                "use Tagger(embeddings=GivenVectors(N)) for vectors of N numbers"
            )
        if self.hashes_words:
            raise ValueError("vectors are given, but those of this tagger are made of the words of texts")
        rows = given_rows(vectors, n_texts, opinion.dimensions)
        return [None if row is None else quantised(row[None])[0] for row in rows]

    def with_vectors(self, rows: Rows, texts: Sequence[Text], codes: GivenCodes | None = None) -> Rows:
        """Return rows with the vectors of their texts, and with what is known about them, if any of it may count."""
        votes = self.second_opinion is not None and self.second_opinion.votes
        outside = [self._outside_of(joined(text)) for text in texts] if self._known or self._heard else None
        if not votes and not (outside and any(outside)):
            return rows
        vectors = self.codes_of(texts, codes) if votes else np.zeros((len(texts), 0), np.int8)
        return TextRows.of(rows, vectors, outside)

    def _outside_of(self, text: str) -> OutsideScores | None:
        return self._known[text].outside if text in self._known else self._heard.get(text)

    def codes_of(self, texts: Sequence[Text], given: GivenCodes | None = None) -> Codes:
        """Return the quantised vectors of texts; zeros if nothing is known about a text. Given ones are taken over."""
        assert self.second_opinion is not None
        if self.hashes_words:
            return self.hashed_codes(Rows(*self.encoder.rows(texts)))
        whole, codes = [joined(text) for text in texts], np.zeros((len(texts), self.second_opinion.dimensions), np.int8)
        missing: list[int] = []
        for row, text in enumerate(whole):
            own = None if given is None else given[row]
            if own is not None:
                codes[row] = own
            elif text in self._known:
                codes[row] = self._known[text].code
            else:
                missing.append(row)
        if missing and self.vector_encoder is not None:
            codes[missing] = quantised(self.vector_encoder.encode([whole[row] for row in missing]))
        return codes

    def hashed_codes(self, rows: Rows) -> Codes:
        """Return the quantised vectors of rows over terms, made of these terms and their weights."""
        return scaled_codes(self._hashed.vectors(self.encoder.vocabulary, *rows))[0]

    @property
    def shows_similar(self) -> bool:
        """Whether learned texts can be shown that are similar to a text."""
        opinion = self.second_opinion
        return opinion is not None and opinion.dimensions > 0 and opinion.keeps_texts

    def similar_texts(
        self, text: Text, k: int, wanted: Callable[[int], bool] | None = None, given: GivenCodes | None = None
    ) -> list[SimilarText]:
        """Return the learned texts that are most similar to a text; with `wanted`, those with a wanted label."""
        check_depth(k)
        if self.second_opinion is None or not self.shows_similar:
            return []
        has = None if wanted is None else lambda labels: any(map(wanted, labels))
        return self.second_opinion.similar(self.codes_of([text], given)[0], k, has)

    @contextmanager
    def knowing(self, text: Text, code: Codes | None, outside: OutsideScores | None = None) -> Iterator[None]:
        """Use the given vector of a text, and scores of a service, while the context lasts.

        Without a vector, nothing is known about the text except its words; the encoder is not asked. A vector of
        another length is left out. If words are hashed, a given vector is not used: the words are always known.
        """
        dimensions = 0 if self.second_opinion is None else self.second_opinion.dimensions
        fits = code is not None and code.shape == (dimensions,)
        used = code if code is not None and fits else np.zeros(dimensions, np.int8)
        self._known = {joined(text): KnownText(used, outside)}
        try:
            yield
        finally:
            self._known = {}

    @contextmanager
    def hearing(self, opinions: Mapping[str, OutsideScores]) -> Iterator[None]:
        """Rank with the scores that a service gave to labels of texts, while the context lasts.

        Parameters
        ----------
        opinions : mapping
            Scores by label number, by text; the fields of a text are joined, see `joined`.
        """
        self._heard = opinions
        try:
            yield
        finally:
            self._heard = {}

    @property
    def blends(self) -> bool:
        """Whether vectors count in rankings."""
        opinion = self.second_opinion
        return opinion is not None and opinion.votes and opinion.blend.is_used

    @property
    def calibration(self) -> Calibration:
        """The calibration of the rankings: that of the ranker, or that of the blend with a second opinion."""
        opinion = self.second_opinion
        return self.ranker.calibration_ if opinion is None or not self.blends else opinion.blend.calibration

    @property
    def how_ranked(self) -> HowRanked:
        """How rows of texts are ranked."""
        return HowRanked(self._rank_all, self.calibration)

    def _rank_all(self, rows: Rows, k: int) -> Ranking:
        opinion = self.second_opinion
        if not isinstance(rows, TextRows) or not (self.blends or rows.has_scores):
            return self.ranker.rank_rows(rows, k)
        if opinion is not None and self.blends:
            return rank_blended(self.ranker, opinion, rows, k)
        return rank_again(self.ranker, self.outside_opinion or NEW_OPINION, rows, k)
