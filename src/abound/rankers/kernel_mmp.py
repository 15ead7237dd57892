"""MMP category ranking with kernels, and with averaged and voted prediction."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from abound.components.rows import select
from abound.components.support import Kernel, SupportRows
from abound.kernels.batch import Batch
from abound.kernels.category import PrototypeSettings
from abound.rankers.base import Ranker
from abound.rankers.mmp import check_loss_and_update, seed_of
from abound.rankers.validation import LARGEST_VALUE, check_number, check_whole
from abound.rankers.weighting import check_class_weight
from abound.training.source import RowSource

KERNELS = ("linear", "poly", "rbf")
PREDICTIONS = ("last", "averaged", "voted")
HIGHEST_DEGREE = 100  # of a polynomial; above it, values overflow


@dataclass(eq=False, repr=False, kw_only=True)
class KernelMMPRanker(Ranker):
    """Rank labels by the multiclass multilabel perceptron in the space of a kernel.

    It keeps every row that changed something. So learning and ranking a row take time in proportion to the number of
    rows that are kept, and it is written in Python: use it for some thousand rows. With the linear kernel it learns
    what `MMP` learns with `margin=0`, `rivals=None` and `negative_values="linear"`.

    Parameters
    ----------
    loss : {1, 2, 3, "avgp"}
        The size of a row's update; see `MMP`.
    update : {"uniform", "max", "proportional", "random"}
        How an update is divided among the wrong pairs; see `MMP`.
    margin : float
        A relevant label must beat the others by more than this; 0 is the paper's.
    passes : int
        The number of passes of `fit` over the rows; from the second pass on, in random order.
    prediction : {"last", "averaged", "voted"}
        "last" ranks by the last prototypes, as in the paper. "averaged" ranks by the mean of the prototypes after each
        row of the last pass, and of all rows learned later. "voted" lets all these prototypes rank, and ranks labels by
        their mean place: a score of 1 is above all other labels in all rankings, ties share their places. Prediction
        does not change what is learned.
    kernel : {"linear", "poly", "rbf"}
        "poly" is (gamma x.x' + coef0)^degree, "rbf" is exp(-gamma |x - x'|^2).
    degree : int
        The degree of the kernel "poly".
    gamma : float
        The factor of the kernels "poly" and "rbf".
    coef0 : float
        The constant of the kernel "poly".
    random_state : int or None
        The seed of the order of later passes, and of `update="random"`.
    class_weight : None or "balanced"
        "balanced" weights the rows of `fit` so that every label counts the same; each row must have one label.

    Attributes
    ----------
    n_support_ : int
        Rows that are kept.

    References
    ----------
    K. Crammer, Y. Singer, "A new family of online algorithms for category ranking", SIGIR 2002, section 5, which names
    kernels and other predictions as extensions. Y. Freund, R. Schapire, "Large margin classification using the
    perceptron algorithm", Machine Learning 37 (1999), which has both for two classes.

    Examples
    --------
    >>> from abound import KernelMMP
    >>> X = [[1, 1], [-1, -1], [1, -1], [-1, 1]]
    >>> ranker = KernelMMP(kernel="rbf", passes=5).fit(X, ["same", "same", "not", "not"])
    >>> ranker.predict([[2, 1], [-1, 2]]).tolist()
    ['same', 'not']
    """

    kind = "kernel-mmp"
    takes_fractions = True
    splits_signs = False

    loss: Literal[1, 2, 3, "avgp"] = 1
    update: Literal["uniform", "max", "proportional", "random"] = "uniform"
    margin: float = 0.0
    passes: int = 1
    prediction: Literal["last", "averaged", "voted"] = "last"
    kernel: Literal["linear", "poly", "rbf"] = "poly"
    degree: int = 2
    gamma: float = 1.0
    coef0: float = 1.0
    random_state: int | None = 0
    class_weight: Literal["balanced"] | None = None

    def check_params(self) -> None:
        """Raise on an invalid parameter."""
        check_loss_and_update(self.loss, self.update)
        check_number("margin", self.margin, 0.0, LARGEST_VALUE)
        check_whole("passes", self.passes, 1)
        if self.prediction not in PREDICTIONS:
            raise ValueError(f"prediction must be 'last', 'averaged' or 'voted', got {self.prediction!r}")
        if self.kernel not in KERNELS:
            raise ValueError(f"kernel must be 'linear', 'poly' or 'rbf', got {self.kernel!r}")
        check_whole("degree", self.degree, 1, HIGHEST_DEGREE)
        check_number("gamma", self.gamma, 0.0, LARGEST_VALUE)
        check_number("coef0", self.coef0, -LARGEST_VALUE, LARGEST_VALUE)
        check_class_weight(self.class_weight)

    @property
    def n_support_(self) -> int:
        """Rows that are kept."""
        return self.support.n_support

    @property
    def support(self) -> SupportRows:
        """The component."""
        support = self.component(SupportRows)
        assert support is not None
        return support

    def _settings(self) -> PrototypeSettings:
        seed = seed_of(self.random_state) if self.update == "random" else 0
        return PrototypeSettings(
            rule=f"mmp{self.loss}", all_labels=True, margin=self.margin, update=self.update, seed=seed
        )

    def _kernel(self) -> Kernel:
        return Kernel(self.kernel, float(self.gamma), float(self.coef0), int(self.degree))

    def build(self) -> list[SupportRows]:
        """Return its component."""
        return [SupportRows(self._settings(), self._kernel(), self.prediction)]

    def configure(self) -> None:
        """Set the component by the current parameters."""
        support = self.support
        support.settings, support.kernel, support.prediction = self._settings(), self._kernel(), self.prediction

    def learn_all(self, source: RowSource, names: Batch | None = None) -> None:
        """Learn all rows from scratch, after the label names."""
        self.passes_ = self.passes
        if names is not None:
            self.learn(names)
        batch, random = source.whole(), np.random.default_rng(self.random_state)
        known = Batch(batch.rows, batch.targets._replace(n_known=len(self.labels_)), weights=batch.weights)
        for done in range(self.passes):
            self.support.start = self.support.n_rows
            self.learn(select(known, random.permutation(batch.n_rows)) if done else batch)
