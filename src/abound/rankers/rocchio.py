"""Rocchio's prototypes: what a label's rows have in common, less what the others have."""

from abound.components.counts import RocchioSums
from abound.rankers.base import Ranker
from abound.rankers.validation import check_number


class RocchioRanker(Ranker):
    """Rank labels by their closeness to the mean of their rows, less a part of the mean of the others.

    Learning only adds sums; the prototypes are made from them at the first ranking after it, which takes time in
    proportion to the whole model. Labels without a single word in common with a row are not ranked.

    Parameters
    ----------
    positive, negative : float
        The weights of a label's own rows and of the others.

    References
    ----------
    K. Crammer, Y. Singer, "A new family of online algorithms for category ranking", SIGIR 2002, section 4.

    Examples
    --------
    >>> from abound import Rocchio
    >>> ranker = Rocchio().fit([[1, 0], [0, 1]], [["cat", "pet"], ["dog", "pet"]])
    >>> ranker.predict([[0, 1]]).tolist()
    ['dog']
    """

    kind = "rocchio"

    def __init__(self, *, positive: float = 16.0, negative: float = 4.0) -> None:
        self.positive = positive
        self.negative = negative

    def check_params(self) -> None:
        """Raise on a parameter that cannot be used."""
        check_number("positive", self.positive, 0.0)
        check_number("negative", self.negative, 0.0)

    def build(self) -> list[RocchioSums]:
        """Return its component."""
        return [RocchioSums()]

    def configure(self) -> None:
        """Give the component the parameters, and the counts of labels."""
        sums = self.component(RocchioSums)
        assert sums is not None
        sums.weights = (self.positive, self.negative)
        sums.counts, sums.n_rows_seen = self.label_counts, self.n_rows_seen_
