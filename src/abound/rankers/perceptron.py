"""One binary perceptron per label: the baseline of the category rankers."""

from dataclasses import dataclass
from typing import Literal

from abound.kernels.batch import Batch
from abound.kernels.category import PrototypeSettings
from abound.rankers.prototypes import PrototypeRanker
from abound.rankers.validation import check_whole
from abound.rankers.weighting import check_class_weight
from abound.training.source import RowSource


@dataclass(eq=False, repr=False, kw_only=True)
class PerceptronRanker(PrototypeRanker):
    """Rank labels by independent perceptrons, one per label.

    Parameters
    ----------
    candidates : {"all", "touched"}
        "all" lets every known label learn from every row. "touched" leaves out labels without a weight on any feature
        of the row, unless the row has them, and scales to many labels.
    passes : int
        The number of passes of `fit` over the rows; from the second pass on, in random order.
    averaged : bool
        Whether `fit` averages the weights over the rows of its last pass.
    random_state : int or None
        The seed of the order of later passes.
    class_weight : None or "balanced"
        "balanced" weights the rows of `fit` so that every label counts the same; each row must have one label.

    References
    ----------
    K. Crammer, Y. Singer, "A new family of online algorithms for category ranking", SIGIR 2002, section 4.

    Examples
    --------
    >>> from abound import Perceptron
    >>> ranker = Perceptron().fit([[1, 0], [0, 1]], ["cat", "dog"])
    >>> ranker.predict([[0, 1]]).tolist()
    ['dog']
    """

    kind = "perceptron"
    takes_fractions = True

    candidates: Literal["all", "touched"] = "all"
    passes: int = 1
    averaged: bool = False
    random_state: int | None = 0
    class_weight: Literal["balanced"] | None = None

    def check_params(self) -> None:
        """Raise on an invalid parameter."""
        self.check_candidates()
        check_whole("passes", self.passes, 1)
        check_class_weight(self.class_weight)

    def settings(self) -> PrototypeSettings:
        """Return the settings of the kernels."""
        return PrototypeSettings(rule="perceptron", all_labels=self.candidates == "all")

    def learn_all(self, source: RowSource, names: Batch | None = None) -> None:
        """Learn all rows from scratch, after the label names."""
        self.passes_ = self.passes
        for store in self.passes_over(source.whole(), names, self.passes, self.averaged, self.random_state):
            self.use(store)
