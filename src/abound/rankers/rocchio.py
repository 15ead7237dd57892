"""Rocchio's prototypes: the mean of a label's rows, minus a part of the mean of the other rows."""

from abound.components.counts import RocchioSums
from abound.rankers.base import Ranker
from abound.rankers.validation import check_number


class RocchioRanker(Ranker):
    """Rank labels by similarity to the mean of their rows, minus a part of the mean of the other rows.

    Learning only adds sums. The prototypes are computed from them at the first ranking after learning, which takes time
    in proportion to the size of the model. Labels without a feature in common with a row are not ranked.

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
    [['dog', 'pet']]
    """

    kind = "rocchio"

    def __init__(self, *, positive: float = 16.0, negative: float = 4.0) -> None:
        self.positive = positive
        self.negative = negative

    def check_params(self) -> None:
        """Raise on an invalid parameter."""
        check_number("positive", self.positive, 0.0)
        check_number("negative", self.negative, 0.0)

    def build(self) -> list[RocchioSums]:
        """Return its component."""
        return [RocchioSums()]

    def configure(self) -> None:
        """Pass the parameters and the label counts to the component."""
        sums = self.component(RocchioSums)
        assert sums is not None
        sums.weights = (self.positive, self.negative)
        sums.counts, sums.n_rows_seen = self.label_counts, self.n_rows_seen_
