"""The votes of one text for some labels, and the words that cast them."""

from collections.abc import Iterator

from abound.components.rows import Rows
from abound.rankers.base import Ranker
from abound.tagger.answers import TextExplanation, WordVote
from abound.text import TextEncoder
from abound.texts import FieldSpan, Text


class TextVotes:
    """The votes of one text for some labels.

    Creating the object computes all votes, so they are of one state of the model. Looking up the words takes longer and
    can be done in steps, even if the model has learned more texts by then.

    Parameters
    ----------
    encoder : TextEncoder
    ranker : Ranker
    text : str or mapping from field to str
    numbers : list of int
        The labels.
    """

    def __init__(self, encoder: TextEncoder, ranker: Ranker, text: Text, numbers: list[int]) -> None:
        self._encoder, self._text = encoder, text
        row = Rows(*encoder.rows([text]))
        self._names = [ranker.labels_.names[number] for number in numbers]
        self._votes = [ranker.explain_row(row, number) for number in numbers]
        self._spans: dict[int, list[tuple[int, int]]] | dict[int, list[FieldSpan]] | None = (
            None  # positions in the text by term, once located
        )

    def locate(self) -> dict[int, list[tuple[int, int]]] | dict[int, list[FieldSpan]]:
        """Find the positions of the voting words in the text, and keep them."""
        voting = {term for features, _, _ in self._votes for term in features.tolist()}
        self._spans = self._encoder.positions(self._text, voting)
        return self._spans

    def explanations(self, start: int = 0, stop: int | None = None) -> Iterator[TextExplanation]:
        """Yield the explanations of some of the labels, in order."""
        spans = self.locate() if self._spans is None else self._spans
        for name, (features, votes, prior) in list(zip(self._names, self._votes, strict=True))[start:stop]:
            words = [
                WordVote(self._encoder.name(term), vote, spans[term])
                for term, vote in zip(features.tolist(), votes.tolist(), strict=True)
            ]
            score = prior
            for word in words:
                score += word.vote
            yield TextExplanation(name, score, words, prior)
