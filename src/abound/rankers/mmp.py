"""MMP category ranking: prototypes that move until every relevant label ranks above every other."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from abound.kernels.batch import Batch
from abound.kernels.category import PrototypeSettings
from abound.kernels.prototypes import Prototypes
from abound.rankers.held_out import held_out_score, split
from abound.rankers.prototypes import PrototypeRanker
from abound.rankers.validation import LARGEST_VALUE, UNLIMITED, check_number, check_whole
from abound.training.source import RowSource


@dataclass(eq=False, repr=False, kw_only=True)
class MMPRanker(PrototypeRanker):
    """Rank labels by prototypes learnt with the multiclass multilabel perceptron.

    A row's relevant labels should all score higher than every other label. Where they do not, each relevant label
    moves towards the row, each label above it away, in proportion to the pairs that stand wrong.

    Parameters
    ----------
    loss : {1, 2, 3}
        What a row's update is divided by: 1, the number of wrong pairs, which aims at perfect rankings; 2, nothing,
        which aims at few wrong pairs; 3, the number of all pairs, which aims at a small share of them.
    margin : float
        A relevant label must beat the others by more than this; 0 is the paper's.
    rivals : int or None
        Only so many of the highest-scoring other labels are compared with the relevant ones; None is the paper's, and
        spreads an update thinly where labels are many.
    passes : int
        How often `fit` goes through the rows at the most; from the second time on in random order.
    averaged : bool
        Whether `fit` keeps the mean of the weights after each row of its last pass. Rows learnt later are added to it
        at full step.
    candidates : {"all", "touched"}
        "all" lets every known label take part, as in the paper. "touched" leaves out labels without a weight on any
        feature of the row, unless they are relevant, and is what scales to many labels.
    early_stopping : float or None
        A share of the rows that `fit` holds out; it stops when another pass ranks them no better and keeps the best
        weights. None learns all rows in all passes.
    random_state : int or None
        Orders the rows of later passes, and chooses those that are held out.

    Attributes
    ----------
    n_pairs_ : int
        (feature, label) pairs with a weight.
    passes_ : int
        The passes after which `fit` kept the weights.

    References
    ----------
    K. Crammer, Y. Singer, "A new family of online algorithms for category ranking", SIGIR 2002.

    Examples
    --------
    >>> from abound import MMP
    >>> ranker = MMP().fit([[1, 0], [0, 1]], [["cat", "pet"], ["dog", "pet"]])
    >>> [label for label, score in ranker.rank([[0, 1]], 2)[0]]
    ['pet', 'dog']
    """

    kind = "mmp"

    loss: Literal[1, 2, 3] = 1
    margin: float = 1.0
    rivals: int | None = 5
    passes: int = 3
    averaged: bool = True
    candidates: Literal["all", "touched"] = "all"
    early_stopping: float | None = None
    random_state: int | None = 0

    def check_params(self) -> None:
        """Raise on a parameter that cannot be used."""
        self.check_candidates()
        if isinstance(self.loss, bool | float) or self.loss not in (1, 2, 3):
            raise ValueError(f"loss must be 1, 2 or 3, got {self.loss!r}")
        check_number("margin", self.margin, 0.0, LARGEST_VALUE)
        if self.rivals is not None:
            check_whole("rivals", self.rivals, 1)
        check_whole("passes", self.passes, 1)
        if self.early_stopping is not None:
            check_number("early_stopping", self.early_stopping, 0.0, 0.9)

    def settings(self) -> PrototypeSettings:
        """Return how the kernels rank and learn."""
        rivals = UNLIMITED if self.rivals is None else self.rivals
        return PrototypeSettings(
            rule=f"mmp{self.loss}", all_labels=self.candidates == "all", margin=self.margin, rivals=rivals
        )

    def learn_all(self, source: RowSource, names: Batch | None = None) -> None:
        """Learn all rows from scratch, after the names of labels, until another pass ranks held-out rows no better."""
        held, batch = None, source.whole()
        if self.early_stopping:
            batch, held = split(batch, self.early_stopping, self.random_state)
        best, best_score = Prototypes(may_be_dense=self.candidates == "all"), -1.0
        passes = self.passes_over(batch, names, self.passes, self.averaged, self.random_state)
        for done, learnt in enumerate(passes, 1):
            if held is not None:
                self.use(learnt)
                score = held_out_score(self, held)
                if score <= best_score:
                    break
                best_score = score
            best = learnt if self.averaged or held is None else learnt.kept(np.ones(learnt.n_features, bool))
            self.passes_ = done
        self.use(best)
