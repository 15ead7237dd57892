"""MMP category ranking: prototypes that are updated until every relevant label ranks above every other."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from abound.kernels.batch import Batch
from abound.kernels.category import PrototypeSettings
from abound.kernels.prototypes import Prototypes
from abound.rankers.held_out import held_out_score, split
from abound.rankers.prototypes import PrototypeRanker
from abound.rankers.validation import LARGEST_VALUE, UNLIMITED, check_number, check_whole
from abound.rankers.weighting import check_class_weight
from abound.training.source import RowSource

LOSSES = (1, 2, 3, "avgp")
UPDATE_NAMES = ("uniform", "max", "proportional", "random")
SIGNS = ("split", "linear")


def check_loss_and_update(loss: Any, update: Any) -> None:
    """Raise if a loss of MMP or its update is invalid."""
    if isinstance(loss, bool | float) or loss not in LOSSES:
        raise ValueError(f"loss must be 1, 2, 3 or 'avgp', got {loss!r}")
    if update not in UPDATE_NAMES:
        raise ValueError(f"update must be one of {', '.join(map(repr, UPDATE_NAMES))}, got {update!r}")


def seed_of(random_state: int | None) -> int:
    """Return the seed of the random update."""
    return int(np.random.default_rng(random_state).integers(2**63))


@dataclass(eq=False, repr=False, kw_only=True)
class MMPRanker(PrototypeRanker):
    """Rank labels by prototypes learned with the multiclass multilabel perceptron.

    A row's relevant labels should all score higher than every other label. Otherwise each relevant label moves towards
    the row and each label above it moves away, in proportion to the number of wrongly ordered pairs.

    Parameters
    ----------
    loss : {1, 2, 3, "avgp"}
        The size of a row's update, if any pair is wrong. 1: always 1, which aims at perfect rankings; 2: the number of
        wrong pairs; 3: their share in all pairs; "avgp": 1 - the average precision of the row's ranking. A wrong pair
        counts as such in the average precision, too: ties are errors.
    update : {"uniform", "max", "proportional", "random"}
        How an update is divided among the wrong pairs. "uniform", the paper's: equally. "max": the lowest relevant
        label and the highest other one get all. "proportional": by the differences of the scores (equally, if all are
        0). "random": by random numbers between 0 and 1.
    margin : float
        A relevant label must beat the others by more than this; 0 is the paper's.
    rivals : int or None
        The number of highest-scoring other labels that are compared with the relevant ones. None compares all, as in
        the paper, and spreads an update thinly if there are many labels.
    passes : int
        The maximum number of passes of `fit` over the rows; from the second pass on, in random order.
    averaged : bool
        Whether `fit` averages the weights over the rows of its last pass. Rows learned later are added to the average
        at full step. `KernelMMP` also has voted prediction.
    candidates : {"all", "touched"}
        "all" scores every known label, as in the paper. "touched" leaves out labels without a weight on any feature of
        the row, unless they are relevant, and scales to many labels.
    early_stopping : float or None
        A share of the rows that `fit` holds out; it stops when another pass ranks them no better and keeps the best
        weights. None learns all rows in all passes.
    random_state : int or None
        The seed of the order of later passes, of the choice of held-out rows, and of `update="random"`.
    class_weight : None or "balanced"
        "balanced" weights the rows of `fit` so that every label counts the same; each row must have one label.
    negative_values : {"split", "linear"}
        "split" learns a column with negative values as two features, its positive and its negative part. "linear"
        multiplies them with the weight, as in the paper. Once a column has been split, it stays so.

    Attributes
    ----------
    n_pairs_ : int
        (feature, label) pairs with a weight.
    passes_ : int
        The number of passes after which `fit` kept the weights.

    References
    ----------
    K. Crammer, Y. Singer, "A new family of online algorithms for category ranking", SIGIR 2002. The updates are of its
    journal version, "A family of additive online algorithms for category ranking", JMLR 3 (2003).

    Examples
    --------
    >>> from abound import MMP
    >>> ranker = MMP().fit([[1, 0], [0, 1]], [["cat", "pet"], ["dog", "pet"]])
    >>> [label for label, score in ranker.rank([[0, 1]], 2)[0]]
    ['pet', 'dog']
    """

    kind = "mmp"
    takes_fractions = True

    loss: Literal[1, 2, 3, "avgp"] = 1
    margin: float = 1.0
    rivals: int | None = 5
    passes: int = 3
    averaged: bool = True
    candidates: Literal["all", "touched"] = "all"
    early_stopping: float | None = None
    random_state: int | None = 0
    class_weight: Literal["balanced"] | None = None
    update: Literal["uniform", "max", "proportional", "random"] = "uniform"
    negative_values: Literal["split", "linear"] = "split"

    @property
    def splits_signs(self) -> bool:  # type: ignore[override]
        """Whether a column with negative values is learned as two features."""
        return self.negative_values == "split"

    def check_params(self) -> None:
        """Raise on an invalid parameter."""
        self.check_candidates()
        check_loss_and_update(self.loss, self.update)
        if self.negative_values not in SIGNS:
            raise ValueError(f"negative_values must be 'split' or 'linear', got {self.negative_values!r}")
        check_number("margin", self.margin, 0.0, LARGEST_VALUE)
        if self.rivals is not None:
            check_whole("rivals", self.rivals, 1)
        check_whole("passes", self.passes, 1)
        check_class_weight(self.class_weight)
        if self.early_stopping is not None:
            check_number("early_stopping", self.early_stopping, 0.0, 0.9)

    def settings(self) -> PrototypeSettings:
        """Return the settings of the kernels."""
        rivals = UNLIMITED if self.rivals is None else self.rivals
        return PrototypeSettings(
            rule=f"mmp{self.loss}",
            all_labels=self.candidates == "all",
            margin=self.margin,
            rivals=rivals,
            update=self.update,
            seed=seed_of(self.random_state) if self.update == "random" else 0,
        )

    def learn_all(self, source: RowSource, names: Batch | None = None) -> None:
        """Learn all rows from scratch, after the label names, until another pass does not rank held-out rows better."""
        held, batch = None, source.whole()
        if self.early_stopping:
            batch, held = split(batch, self.early_stopping, self.random_state)
        best, best_score = Prototypes(may_be_dense=self.candidates == "all"), -1.0
        passes = self.passes_over(batch, names, self.passes, self.averaged, self.random_state)
        for done, store in enumerate(passes, 1):
            if held is not None:
                self.use(store)
                score = held_out_score(self, held)
                if score <= best_score:
                    break
                best_score = score
            best = store if self.averaged or held is None else store.kept(np.ones(store.n_features, bool))
            self.passes_ = done
        self.use(best)
