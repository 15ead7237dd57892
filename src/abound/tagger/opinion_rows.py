"""The rows of a training as a second opinion needs them: vectors, labels and texts, in memory."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abound.components.rows import Targets
from abound.kernels.batch import Batch
from abound.second_opinion.neighbours import LONGEST_TEXT
from abound.second_opinion.opinion import N_WORDS, SecondOpinion, WordVotes
from abound.tagger.blending import GivenCodes
from abound.tagger.parts import TaggerParts
from abound.texts import Text, joined
from abound.training.source import training_order

ENCODED = 256  # texts that are encoded at once


class OpinionRows:
    """The vectors, labels and beginnings of the texts of one training. Without embeddings, nothing is kept.

    Parameters
    ----------
    tagger : Tagger
        The tagger to fit; its second opinion is reset.
    keeps_texts : bool
        Whether the beginnings of texts are kept, to show similar ones.
    """

    def __init__(self, tagger: TaggerParts, *, keeps_texts: bool = True) -> None:
        self._tagger = tagger
        tagger.second_opinion = tagger.outside_opinion = None
        self._opinion: SecondOpinion | None = tagger.need_second_opinion(keeps_texts=keeps_texts)
        self._codes: list[NDArray[np.int8]] = []
        self._labels: list[NDArray[np.int32]] = []
        self._texts: list[str] = []
        self._ranked: list[tuple[NDArray[np.int32], NDArray[np.float64]]] = []

    @property
    def watched_ranks(self) -> int:
        """The number of labels of each ranking of held-out rows that are needed."""
        return N_WORDS if self._opinion is not None and self._opinion.votes else 0

    def reset(self) -> None:
        """Forget the rows, because they are counted again."""
        self._codes, self._labels, self._texts = [], [], []

    def add(self, texts: Sequence[Text], targets: Targets, codes: GivenCodes | None = None) -> None:
        """Add texts, and the numbers of their labels; texts without a given vector are encoded.

        Words are hashed later, when all of them are counted.
        """
        if self._opinion is None:
            return
        for start in range(0, 0 if self._tagger.hashes_words else len(texts), ENCODED):
            part = slice(start, start + ENCODED)
            self._codes.append(self._tagger.codes_of(texts[part], None if codes is None else codes[part]))
        self._texts += [joined(text)[:LONGEST_TEXT] for text in texts]
        self._labels += np.split(targets.ids, targets.indptr[1:-1])

    def watch(self, labels: NDArray[np.int32], scores: NDArray[np.float64]) -> None:
        """Take the rankings of the next held-out rows by a model that has not learned them."""
        self._ranked.append((labels, scores))

    def fit(self, named: Sequence[tuple[str, Any]], batches: Iterable[Batch]) -> None:
        """Fit the second opinion after the ranker was trained.

        Parameters
        ----------
        named : sequence of tuples
            Names with their labels.
        batches : iterable of Batch
            The words of the texts in training order.
        """
        if self._opinion is None or not self._texts:
            return
        tagger, ranker = self._tagger, self._tagger.ranker
        order = training_order(len(self._texts), tagger.seed)
        if tagger.hashes_words:
            codes, named = np.concatenate([tagger.hashed_codes(batch.rows) for batch in batches]), ()
        else:
            codes = np.concatenate(self._codes)[order]
        held = [votes for labels, scores in self._ranked for votes in self._votes(labels, scores)]
        if tagger.vector_encoder is None or not tagger.vector_encoder.encodes_texts:
            named = ()
        numbers = np.array([ranker.labels_.id_of(label) for _, label in named], np.int64)
        names = [name for name, _ in named]
        parts = [tagger.codes_of(names[start : start + ENCODED]) for start in range(0, len(names), ENCODED)]
        name_codes = np.concatenate([np.zeros((0, self._opinion.dimensions), np.int8), *parts])
        self._opinion.fit(
            codes,
            [self._labels[row] for row in order.tolist()],
            [self._texts[row] for row in order.tolist()],
            ranker.label_counts.copy(),
            held,
            (numbers, name_codes),
        )
        self.reset()

    def _votes(self, labels: NDArray[np.int32], scores: NDArray[np.float64]) -> list[WordVotes]:
        """Return rankings without padding, with the probabilities of the calibration that was fitted since."""
        calibration = self._tagger.ranker.calibration_
        likely = calibration.probabilities(labels, scores) if calibration.is_ready else None
        counts = np.count_nonzero(labels >= 0, axis=1).tolist()
        return [
            WordVotes(labels[row, :n], scores[row, :n], None if likely is None else likely[row, :n])
            for row, n in enumerate(counts)
        ]
