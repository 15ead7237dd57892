"""Rank texts by their words and by a second opinion."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from abound.components.rows import Rows
from abound.kernels.calibration import N_COMPARED
from abound.rankers import Ranker
from abound.rankers.ranking import Ranking
from abound.second_opinion import SecondOpinion
from abound.second_opinion.opinion import N_WORDS, Candidates, WordVotes

Codes: TypeAlias = NDArray[np.int8]
GivenCodes: TypeAlias = Sequence[Codes | None] | Codes  # of texts; None if a text has none
OutsideScores: TypeAlias = Mapping[int, float]  # by label number


class KnownText(NamedTuple):
    """The vector of a text, and what an outside opinion says about it."""

    code: Codes
    outside: OutsideScores | None = None


class TextRows(Rows):
    """Rows of texts, with the vectors of the texts and what an outside opinion says about them."""

    codes: Codes
    outside: Sequence[OutsideScores | None]

    @classmethod
    def of(cls, rows: Rows, codes: Codes, outside: Sequence[OutsideScores | None] | None = None) -> "TextRows":
        """Return rows with the vectors of their texts."""
        made = cls(*rows)
        made.codes = codes
        made.outside = [None] * rows.n_rows if outside is None else outside
        return made

    @property
    def has_scores(self) -> bool:
        """Whether an outside opinion says something about one of the texts."""
        return any(self.outside)

    def row(self, number: int) -> "TextRows":
        """Return one of the rows."""
        if self.n_rows == 1:
            return self
        return TextRows.of(super().row(number), self.codes[number : number + 1], [self.outside[number]])

    def select(self, chosen: NDArray[np.int64]) -> "TextRows":
        """Return the chosen rows, in the chosen order."""
        outside = [self.outside[number] for number in chosen.tolist()]
        return TextRows.of(super().select(chosen), self.codes[chosen], outside)


def words_of(ranking: Ranking, row: int) -> WordVotes:
    """Return a row of a ranking without padding."""
    n = int(np.count_nonzero(ranking.indices[row] >= 0))
    likely = None if ranking.probabilities is None else ranking.probabilities[row, :n]
    return WordVotes(ranking.indices[row, :n], ranking.scores[row, :n], likely)


def rank_blended(ranker: Ranker, opinion: SecondOpinion, rows: TextRows, k: int) -> Ranking:
    """Rank texts by their words and by a second opinion; scores are shares."""
    n_labels, calibration = len(ranker.labels_), opinion.blend.calibration
    words, counts = ranker.rank_rows(rows, max(k, N_WORDS)), ranker.label_counts
    width = min(max(k, N_COMPARED), max(1, n_labels))
    labels, scores = np.full((rows.n_rows, width), -1, np.int32), np.zeros((rows.n_rows, width))
    for row in range(rows.n_rows):
        ranked, shares = opinion.rank(words_of(words, row), rows.codes[row], counts, rows.outside[row])
        n = min(width, len(ranked))
        labels[row, :n], scores[row, :n] = ranked[:n], shares[:n]
    likely = calibration.probabilities(labels, scores) if calibration.is_ready else None
    k = min(k, width)
    return Ranking(
        labels[:, :k].copy(),
        scores[:, :k].copy(),
        ranker.labels_.names,
        None if likely is None else likely[:, :k].copy(),
    )


def rank_again(ranker: Ranker, opinion: SecondOpinion, rows: TextRows, k: int) -> Ranking:
    """Rank texts by their words, and the best labels again by the scores of a service; the opinion has no vectors.

    The scores of a text keep their places: the label that becomes the first has the best score. So all that was learned
    about the scores of words stays valid: probabilities, bands and thresholds.
    """
    words, counts = ranker.rank_rows(rows, max(k, N_WORDS, N_COMPARED)), ranker.label_counts
    labels, likely = words.indices.copy(), words.probabilities
    for row, outside in enumerate(rows.outside):
        if outside:
            ranked, _ = opinion.rank(words_of(words, row), np.zeros(0, np.int8), counts, outside)
            labels[row, : len(ranked)] = ranked
    if likely is not None:
        likely = ranker.calibration_.probabilities(labels, words.scores)[:, :k].copy()
    return Ranking(labels[:, :k].copy(), words.scores[:, :k].copy(), words.names, likely)


def candidates_of(ranker: Ranker, opinion: SecondOpinion, row: TextRows) -> Candidates:
    """Return the candidates of a single text."""
    words = words_of(ranker.rank_rows(row, N_WORDS), 0)
    return opinion.candidates(words, row.codes[0], ranker.label_counts, row.outside[0])
