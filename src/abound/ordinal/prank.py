"""PRank: a perceptron that learns a direction and ordered thresholds on it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import assert_all_finite, check_is_fitted

from abound.components.rows import Rows
from abound.errors import DamagedModel
from abound.kernels.thresholds import (
    SupportRows,
    prank_kernel_learn,
    prank_kernel_scores,
    prank_learn,
    prank_scores,
)
from abound.ordinal.base import OrdinalEstimator
from abound.ordinal.voting import Hypotheses, Kernel
from abound.rankers.validation import UNLIMITED, check_number, check_whole
from abound.store import Model
from abound.store.directory import Source
from abound.store.model import is_sorted

HIGHEST_DEGREE = 100  # of a polynomial; above it, values overflow
WEIGHT, SUM = 0, 1  # the columns of weights and thresholds; a mean is weight - sum / rows
SUPPORT = ("support_indptr", "support_indices", "support_data", "support_steps", "support_born")
VOTED = ("voted_indptr", "voted_indices", "voted_data", "voted_steps", "voted_born")
TYPES = (np.int64, np.int32, np.float64, np.int64, np.int64)  # of both


@dataclass(eq=False, repr=False, kw_only=True)
class PRank(OrdinalEstimator):
    """Rank rows on an ordinal scale, learned online: a score, and thresholds that divide scores into ranks.

    If a row is ranked wrongly, the thresholds that its score is on the wrong side of move towards the score, and the
    score moves towards them. A row that is ranked correctly changes nothing, unless there is a margin. Thresholds
    stay in order. If some rule ranks all rows with margin g, and their norms are at most R, the rank
    errors sum to at most (k - 1)(R^2 + 1) / g^2.

    Parameters
    ----------
    average : bool
        Predict by the mean of the weights and thresholds over all rows, which is more stable than the last ones.
        Learning always continues from the last ones, and a kernel whose budget is full predicts by them.
    voting : bool
        Predict by a vote instead, whatever `average` is: the median of the ranks that the weights and thresholds
        after each row predict. Every update is stored, and learning and predicting run in Python: a prediction takes
        time in proportion to the number of updates. Choose it before the first row; a budget excludes it.
        `coef_`, `thresholds_` and `decision_function` are those of the mean or of the last row.
    margin : float
        A threshold is also updated if the score is on its right side by no more than this. Above 0, rows that are
        ranked correctly are learned from, too.
    passes : int
        The number of passes of `fit` over the rows.
    kernel : {"linear", "poly", "rbf"}
        "poly" is (gamma x.x' + coef0)^degree, "rbf" is exp(-gamma |x - x'|^2).
    degree : int
        The degree of the kernel "poly".
    gamma : float
        The factor of the kernels "poly" and "rbf".
    coef0 : float
        The constant of the kernel "poly".
    budget : int or None
        The maximum number of support vectors; the oldest are removed first.
    ranks : sequence, optional
        All ranks in their order, for strings that are not in alphabetical order. Without it, ranks may appear at any
        time: one between others is empty at first, one at an end begins beyond all scores seen.

    Attributes
    ----------
    classes_ : ndarray of shape (n_ranks,)
        The ranks, lowest first.
    coef_ : ndarray of shape (n_features,)
        The weights that predict; only for the linear kernel.
    thresholds_ : ndarray of shape (n_ranks - 1,)
        A score below the first threshold has the lowest rank.

    References
    ----------
    K. Crammer, Y. Singer, "Pranking with ranking", NIPS 2001, figure 2.

    Examples
    --------
    >>> from abound import PRank
    >>> prank = PRank(passes=5).fit([[0.0], [1.0], [2.0], [3.0]], ["low", "low", "mid", "mid"])
    >>> prank.partial_fit([[6.0]] * 3, ["top"] * 3).predict([[0.5], [2.5], [6.5]]).tolist()
    ['low', 'mid', 'top']
    """

    kind = "prank"

    average: bool = True
    voting: bool = False
    margin: float = 0.0
    passes: int = 1
    kernel: Literal["linear", "poly", "rbf"] = "linear"
    degree: int = 2
    gamma: float = 1.0
    coef0: float = 1.0
    budget: int | None = None
    ranks: Sequence[Any] | None = None

    def _check_params(self) -> None:
        check_number("margin", self.margin, 0.0, 1e300)
        check_whole("passes", self.passes, 1)
        check_whole("degree", self.degree, 1, HIGHEST_DEGREE)
        check_number("gamma", self.gamma, 0.0, 1e300)
        check_number("coef0", self.coef0, -1e300, 1e300)
        if self.kernel not in ("linear", "poly", "rbf"):
            raise ValueError(f"kernel must be 'linear', 'poly' or 'rbf', got {self.kernel!r}")
        if not isinstance(self.voting, bool | np.bool_):
            raise ValueError(f"voting must be True or False, got {self.voting!r}")
        if self.budget is not None:
            check_whole("budget", self.budget, 1)
            if self.voting:
                raise ValueError("voting needs every row that was learned from; budget must be None")
            if self.kernel == "linear":
                raise ValueError("budget needs kernel='poly' or 'rbf'; the linear kernel keeps no rows")

    def _reset(self) -> None:
        self._weights = np.zeros((0, 2))
        self._thresholds = np.zeros((0, 2))
        self._span = np.array([math.inf, -math.inf])  # lowest and highest score seen
        self.n_updates_ = 0
        self._hypotheses = Hypotheses.empty() if self.voting else None
        self._support: SupportRows | None = None
        if self.kernel != "linear":
            budget = UNLIMITED if self.budget is None else self.budget
            self._support = SupportRows(self.kernel, self.gamma, self.coef0, self.degree, budget)

    # -- new ranks and columns -----------------------------------------------------------------------

    def _ensure_features(self, n: int) -> None:
        if self._support is None and n > len(self._weights):
            self._weights = np.concatenate([self._weights, np.zeros((n - len(self._weights), 2))])

    def _insert_rank(self, at: int, n_known: int) -> None:
        if n_known == 0:
            return
        is_between = 0 < at < n_known
        if is_between:
            new, where = self._thresholds[at - 1], at - 1
        else:
            new, where = np.array([self._beyond(at), 0.0]), 0 if at == 0 else len(self._thresholds)
        self._thresholds = np.insert(self._thresholds, where, new, axis=0)
        if self._hypotheses is not None:
            self._hypotheses.insert_threshold(where, None if is_between else float(new[WEIGHT]))

    def _beyond(self, at: int) -> float:
        """Return a whole number that no score and no threshold has ever passed at this end.

        Thresholds move only towards scores, and at most to one beyond the margin. So new thresholds at an end are in
        order with the others, and their means with the other means.
        """
        if self.n_updates_ == 0:
            return 0.0
        low, high = float(self._span[0]), float(self._span[1])
        if at == 0:
            return min(0.0, math.ceil(low - self.margin) - 1.0)
        return max(0.0, math.floor(high + self.margin) + 1.0)

    # -- learning and predicting ---------------------------------------------------------------------

    @property
    def _rejects_nonfinite(self) -> bool:
        return self._support is None

    def _learn(self, rows: Rows, ranks: NDArray[np.int32]) -> NDArray[np.int32]:
        if self._hypotheses is None:
            return self._learn_after(self.n_rows_seen_, rows, ranks)
        predicted, before = np.empty(rows.n_rows, np.int32), self.n_rows_seen_
        for number in range(rows.n_rows):
            row, old = rows.row(number), self._thresholds[:, WEIGHT].copy()
            try:
                predicted[number : number + 1] = self._learn_after(before + number, row, ranks[number : number + 1])
            except ValueError:
                self.n_rows_seen_ = before + number  # the rows before it were learned
                raise
            new = self._thresholds[:, WEIGHT].copy()
            if np.any(new != old):
                self._hypotheses.add(row, round(float(np.sum(old - new))), before + number, new)
        return predicted

    def _learn_after(self, n: int, rows: Rows, ranks: NDArray[np.int32]) -> NDArray[np.int32]:
        """Learn rows after n others."""
        predicted = np.empty(rows.n_rows, np.int32)
        b, span, margin = self._thresholds, self._span, float(self.margin)
        if self._support is None:
            n_updates = prank_learn(*rows, ranks, self._weights, b, span, margin, n, predicted)
            if n_updates < 0:
                assert_all_finite(rows.data, input_name="X", estimator_name="PRank")
                raise ValueError("values of X are so large that a score is not finite; scale X first")
            self.n_updates_ += n_updates
        else:
            self.n_updates_ += prank_kernel_learn(self._support, *rows, ranks, b, span, margin, n, predicted)
        return predicted

    @property
    def _is_mean(self) -> bool:
        """Whether the means are used; with a full budget they are unknown, because rows were removed."""
        is_full = self.budget is not None and self.n_support_ >= self.budget
        return self.average and self.n_rows_seen_ > 0 and not is_full

    def _in_use(self, pairs: NDArray[np.float64]) -> NDArray[np.float64]:
        if self._is_mean:
            return np.asarray(pairs[:, WEIGHT] - pairs[:, SUM] / self.n_rows_seen_, np.float64)
        return np.ascontiguousarray(pairs[:, WEIGHT])

    def _scores(self, rows: Rows) -> NDArray[np.float64]:
        scores = np.empty(rows.n_rows)
        if self._support is None:
            prank_scores(*rows, self._in_use(self._weights), scores)
        else:
            prank_kernel_scores(self._support, *rows, self.n_rows_seen_ if self._is_mean else 0, scores)
        return scores

    def _predict(self, rows: Rows) -> NDArray[np.int32]:
        if self.voting and self.n_rows_seen_ > 0:
            if self._hypotheses is None:
                raise ValueError("voting=True must be chosen before the first row; the hypotheses were not stored")
            kernel = Kernel(self.kernel, self.degree, self.gamma, self.coef0)
            return self._hypotheses.ranks(rows, kernel, self.n_rows_seen_)
        return np.searchsorted(self.thresholds_, self._scores(rows), side="right").astype(np.int32)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the score of each row, to be compared with `thresholds_`.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self, "scale_")
        return self._scores(self._rows(X, learn=False))

    @property
    def coef_(self) -> NDArray[np.float64]:
        """The weights that predict."""
        if not hasattr(self, "_weights") or self._support is not None:
            raise AttributeError(f"coef_ exists after fit with kernel='linear', not with {self.kernel!r}")
        return self._in_use(self._weights)

    @property
    def thresholds_(self) -> NDArray[np.float64]:
        """The thresholds that predict, in order."""
        if not hasattr(self, "_thresholds"):
            raise AttributeError("thresholds_ exists after fit or partial_fit")
        return self._in_use(self._thresholds)

    @property
    def n_support_(self) -> int:
        """The number of support vectors."""
        return 0 if self._support is None else len(self._support)

    # -- saving --------------------------------------------------------------------------------------

    def _state(self) -> dict[str, Source]:
        common: dict[str, Source] = {
            "thresholds": self._thresholds,
            "score_span": self._span,
            "updates": np.array([self.n_updates_], np.int64),
        }
        if self._hypotheses is not None:
            rows, steps, born, thresholds = self._hypotheses.arrays()
            common |= dict(zip(VOTED, (*rows, steps, born), strict=True))
            common["voted_thresholds"] = thresholds
        if self._support is None:
            return {**common, "weights": self._weights}
        return {**common, **dict(zip(SUPPORT, self._support.arrays(), strict=True))}

    def _restore(self, model: Model) -> None:
        thresholds = model.take("thresholds", np.float64, max(0, len(self.scale_) - 1), 2)
        self._span = model.take("score_span", np.float64, 2, finite=False)
        if not is_sorted(thresholds[:, WEIGHT]) or np.isnan(self._span).any():
            raise DamagedModel("the thresholds are not in order, or the span of scores is NaN")
        self._thresholds = thresholds
        (self.n_updates_,) = model.take_counts("updates", 1)
        self._hypotheses = self._restored_hypotheses(model) if "voted_steps" in model.arrays else None
        if self._support is None:
            self._weights = model.take("weights", np.float64, self.n_features_in_, 2)
            return
        rows, steps, born = self._restored_rows(model, SUPPORT)
        budget = UNLIMITED if self.budget is None else self.budget
        self._support = SupportRows.from_arrays(
            self.kernel, self.gamma, self.coef0, self.degree, budget, *rows, steps, born
        )

    def _restored_rows(self, model: Model, names: tuple[str, ...]) -> tuple[Rows, NDArray[np.int64], NDArray[np.int64]]:
        """Return the rows that were learned from, their steps, and the rows seen before each, after validating them."""
        indptr, indices, data, steps, born = (model.take(*of, None) for of in zip(names, TYPES, strict=True))
        fits = len(indptr) and indptr[0] == 0 and indptr[-1] == len(indices) == len(data) and is_sorted(indptr)
        if not fits or not len(steps) == len(born) == len(indptr) - 1 or np.any(indices < 0):
            raise DamagedModel("the arrays of the support vectors do not match")
        if np.any(born < 0) or np.any(born > self.n_rows_seen_) or np.any(abs(steps) > len(self._thresholds)):
            raise DamagedModel("a support vector has an invalid row number or step")
        if np.any(indices >= self.n_features_in_):
            raise DamagedModel("the support vectors have unknown columns")
        return Rows(indptr, indices, data), steps, born

    def _restored_hypotheses(self, model: Model) -> Hypotheses:
        rows, steps, born = self._restored_rows(model, VOTED)
        thresholds = model.take("voted_thresholds", np.float64, len(steps) + 1, len(self._thresholds))
        if not is_sorted(born) or np.any(np.diff(thresholds, axis=1) < 0):
            raise DamagedModel("the hypotheses or their thresholds are not in order")
        return Hypotheses(rows, steps, born, thresholds)

    def content(self) -> dict[str, Any]:
        """Return the entries of the manifest besides the kind and the files."""
        content = super().content()
        if not content["params"].pop("voting"):  # without a vote, the manifest is that of earlier versions
            return content
        return {**content, "params": {**content["params"], "voting": True}}
