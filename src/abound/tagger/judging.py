"""Teach the calibration, the bands and the blend of a tagger by texts that are about to be learned."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from abound.components.rows import Rows
from abound.kernels.calibration import N_COMPARED
from abound.rankers.calibrated import ALL_JUDGED, ONE_OF, judgements
from abound.second_opinion import SecondOpinion
from abound.tagger.blending import Codes, TextRows, candidates_of
from abound.tagger.estimator import TextEstimator
from abound.texts import Text, joined

ENCODED = 256  # texts to turn into vectors at once
Labelled: TypeAlias = tuple[Text, Sequence[Any], Sequence[Any]]  # a text, its right labels and its wrong ones


class JudgingTagger(TextEstimator):
    """Compare rankings with the right labels of a text before the text is learned."""

    def _codes_of_many(self, texts: Sequence[Text]) -> Codes:
        return np.concatenate(
            [self.codes_of(texts[start : start + ENCODED]) for start in range(0, len(texts), ENCODED)]
        )

    def _teach_blend(self, given: Labelled, code: Codes, *, insist: bool) -> None:
        """Teach the blend by a text that is about to be learned.

        Of a stream, the first texts teach it, and later one in many. A correction always does, and teaches the
        calibration of the words, too.
        """
        opinion, known = self.second_opinion, self.ranker.labels_.known
        is_judged = insist or self.n_rows < ALL_JUDGED or self.n_rows % ONE_OF == 0
        if opinion is None or not is_judged:
            return
        text, right, wrong = given
        row = self.with_vectors(Rows(*self.encoder.rows([text])), [text], code[None])
        assert isinstance(row, TextRows)
        numbers = known([right])[1], known([wrong])[1]
        if not any(map(len, numbers)):
            return
        if insist and self.blends and self.ranker.calibrates:
            words = self.ranker.rank_scores(row, N_COMPARED)
            self.ranker.calibration_.update(*words, *judgements(words[0], *numbers))
        elif not insist and self.blends:
            ranking = self.rank_rows(row, N_COMPARED)
            marks = judgements(ranking.indices, *numbers)
            opinion.blend.calibration.update(ranking.indices, ranking.scores, *marks)
        opinion.judge(candidates_of(self.ranker, opinion, row), *numbers, only_named=False)

    def _weigh_scores(self, given: Labelled) -> None:
        """Learn how much the scores of a service count, if it gave some to the labels of a text."""
        text, right, wrong = given
        row = self.with_vectors(Rows(*self.encoder.rows([text])), [text]) if self._known else None
        if not isinstance(row, TextRows):
            return
        if self.outside_opinion is None:
            self.outside_opinion = SecondOpinion(0)
        opinion, known = self.outside_opinion, self.ranker.labels_.known
        opinion.judge(candidates_of(self.ranker, opinion, row), known([right])[1], known([wrong])[1], only_named=False)

    def _learn_vector(self, given: Labelled, code: Codes, *, corrected: bool) -> None:
        """Learn the vector of a text that was just learned by its words."""
        text, right, wrong = given
        assert self.second_opinion is not None
        numbers = [self.ranker.labels_.known([names])[1] for names in (right, wrong)]
        self.second_opinion.learn(code, numbers[0], joined(text), wrong=numbers[1], corrected=corrected)

    def _judge(self, text: Text, right: Sequence[Any], wrong: Sequence[Any]) -> None:
        """Teach calibration and bands by a text that is about to be learned."""
        if self.bands is not None or self.ranker.calibrates:
            ranking, known = self.ranking_to_judge(text), self.ranker.labels_.known
            self.judge_ranking(*ranking, known([right])[1], known([wrong])[1])

    def ranking_to_judge(self, text: Text) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return the numbers and scores of the first labels of a text, without probabilities."""
        rows = self.rows_of([text])
        if not self.blends and not (isinstance(rows, TextRows) and rows.has_scores):
            return self.ranker.rank_scores(rows, N_COMPARED)
        ranking = self.rank_rows(rows, N_COMPARED)
        return ranking.indices, ranking.scores

    def judge_ranking(
        self,
        labels: NDArray[np.int32],
        scores: NDArray[np.float64],
        right: NDArray[np.int32],
        wrong: NDArray[np.int32],
        *,
        only_named: bool = False,
    ) -> None:
        """Teach calibration and bands, if there are any, by a ranking whose right and wrong labels are known.

        Parameters
        ----------
        labels, scores : ndarray of shape (1, k)
            A ranking of ten labels, or of all there are.
        right, wrong : ndarray of int
            Label numbers.
        only_named : bool
            Whether nothing is known about other labels. By default, labels beside the right ones are taken as wrong.
        """
        if not len(right) and not len(wrong):
            return  # the right labels are new, which says nothing about the ranking
        is_right, judged = judgements(labels, right, wrong, only_named=only_named)
        if self.bands is not None:
            self.bands.learn(labels, scores, is_right, judged)
        elif self.ranker.calibrates:
            self.calibration.update(labels, scores, is_right, judged)
