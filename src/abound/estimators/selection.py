"""Feature selection: keep the columns with the highest Rocchio weight for some label.

It is here and not in `text` because it takes labels in every form that a ranker takes.
"""

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from abound.matrices import check_sparse, check_width
from abound.rankers.labels import LabelIndex
from abound.rankers.validation import check_number


class RocchioSelector(SelectorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Keep the columns with the highest Rocchio weights for some label.

    A column's weight for a label is `positive` times its mean in the rows that have the label, minus `negative` times
    its mean in the others. Each label selects its heaviest columns of positive weight; the union is kept.

    Parameters
    ----------
    positive, negative : float
        The weights of the means of the rows with and without the label.
    least : int
        The minimum number of columns that a label selects, if it has as many of positive weight.
    share : float
        The share of its columns of positive weight that a label selects, if that is more.

    Attributes
    ----------
    support_ : ndarray of shape (n_features,), bool
        Which columns are kept.

    References
    ----------
    K. Crammer, Y. Singer, "A new family of online algorithms for category ranking", SIGIR 2002, section 4.4.

    Examples
    --------
    >>> from abound import RocchioSelector
    >>> rows = [[3, 1, 0, 1], [2, 0, 0, 1], [0, 0, 2, 1]]
    >>> RocchioSelector(least=1).fit(rows, [["fruit"], ["fruit"], ["vehicle"]]).get_support(indices=True).tolist()
    [0, 2]
    """

    def __init__(
        self, *, positive: float = 16.0, negative: float = 4.0, least: int = 100, share: float = 0.025
    ) -> None:
        self.positive = positive
        self.negative = negative
        self.least = least
        self.share = share

    def fit(self, X: Any, y: Any) -> Self:
        """Choose columns.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows without negative values.
        y : sequence of names, sequence of lists of names, or indicator matrix
            The labels of each row.

        Returns
        -------
        self
        """
        for name, low, high in (
            ("positive", 0, np.inf),
            ("negative", 0, np.inf),
            ("least", 0, np.inf),
            ("share", 0, 1),
        ):
            check_number(name, getattr(self, name), low, high)
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        check_sparse(X)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, ensure_non_negative=True)
        check_width(X)
        weights = rocchio_weights(sp.csr_array(X), _indicator(y, X.shape[0]), self.positive, self.negative)
        self.support_ = np.zeros(X.shape[1], bool)
        for start, end in zip(weights.indptr[:-1], weights.indptr[1:], strict=True):
            columns, values = weights.indices[start:end], weights.data[start:end]
            n = max(int(self.least), int(np.ceil(self.share * len(values))))
            self.support_[columns[np.lexsort((columns, -values))[:n]]] = True
        return self

    def transform(self, X: Any) -> Any:
        """Return the kept columns."""
        check_sparse(X)
        return super().transform(X)

    def inverse_transform(self, X: Any) -> Any:
        """Return rows of kept columns at their original width, with zeros in the other columns."""
        check_sparse(X)
        return super().inverse_transform(X)

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self, "support_")
        return self.support_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags


def _indicator(Y: Any, n_rows: int) -> "sp.csr_array[Any]":
    book = LabelIndex()
    targets = book.encode(Y, n_rows, learn=True)
    return sp.csr_array((np.ones(len(targets.ids)), targets.ids, targets.indptr), shape=(n_rows, len(book)))


def rocchio_weights(
    X: "sp.csr_array[Any]", Y: "sp.csr_array[Any]", positive: float, negative: float
) -> "sp.csr_array[Any]":
    """Return the positive Rocchio weights, one row per label; a label without rows has none.

    Only columns that occur in a label's own rows can have a positive weight, so nothing dense is built.
    """
    inside = sp.csr_array(Y.T @ X)
    n_inside = np.asarray(Y.sum(axis=0)).ravel()
    n_outside = np.maximum(X.shape[0] - n_inside, 1)  # if every row has the label, the sum over the others is 0
    owners = np.repeat(np.arange(inside.shape[0]), np.diff(inside.indptr))
    outside = np.asarray(X.sum(axis=0)).ravel()[inside.indices] - inside.data
    inside.data = positive * inside.data / n_inside[owners] - negative * outside / n_outside[owners]
    inside.data[inside.data <= 0] = 0.0
    inside.eliminate_zeros()
    return inside
