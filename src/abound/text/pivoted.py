"""Pivoted weights of term counts, as a scikit-learn transformer."""

from typing import Any, Self, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from abound.matrices import check_sparse, check_width


class PivotedWeights(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]  # no types there
    """Weight term counts by pivoted unique length normalisation and inverse document frequency.

    A term's weight is (1 + log count) / (1 + log mean count in the row) / (1 - slope + slope * distinct terms of the
    row / their mean) * log(rows / rows with the term). These are the weights of `TextVectorizer(weighting="pivoted")`,
    for counts from another source.

    Parameters
    ----------
    slope : float
        How strongly long rows are damped, from 0 to 1.

    Attributes
    ----------
    mean_length_ : float
        Mean number of distinct terms in a row.
    idf_ : ndarray of shape (n_features,)
        Logarithm of rows / rows with the term; 0 for a term that occurs in no row.

    Notes
    -----
    Counts between 0 and 1 are taken as 1, so that no weight is negative.

    References
    ----------
    A. Singhal, C. Buckley, M. Mitra, "Pivoted document length normalization", SIGIR 1996; K. Crammer, Y. Singer, "A new
    family of online algorithms for category ranking", SIGIR 2002, section 4.2.

    Examples
    --------
    >>> from abound import PivotedWeights
    >>> PivotedWeights().fit_transform([[1, 0, 2], [1, 1, 0]]).toarray().round(3).tolist()
    [[0.0, 0.0, 0.835], [0.0, 0.693, 0.0]]
    """

    def __init__(self, *, slope: float = 0.3) -> None:
        self.slope = slope

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002  scikit-learn's signature
        """Compute the document frequencies and the mean number of terms per row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Counts; none may be negative.
        y : ignored

        Returns
        -------
        self
        """
        if not 0 <= self.slope <= 1:
            raise ValueError(f"slope must be between 0 and 1, got {self.slope!r}")
        counts = self._counts(X, reset=True)
        n_rows = counts.shape[0]
        holders = np.bincount(counts.indices, minlength=counts.shape[1])
        self.mean_length_ = counts.nnz / n_rows
        self.idf_ = np.log(n_rows / np.where(holders > 0, holders, n_rows))
        return self

    def transform(self, X: Any) -> "sp.csr_matrix":
        """Return the weights of rows of counts.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        sparse matrix of shape (n_samples, n_features)
        """
        check_is_fitted(self, "idf_")
        counts = self._counts(X, reset=False)
        lengths = np.diff(counts.indptr)
        present = np.maximum(lengths, 1)  # avoids division by zero for empty rows
        owners = np.repeat(np.arange(counts.shape[0]), lengths)
        mean_counts = np.maximum(np.bincount(owners, counts.data, counts.shape[0]) / present, 1.0)
        pivot = 1 - self.slope + self.slope * lengths / (self.mean_length_ or 1.0)
        # With slope 1 an empty row has pivot 0.
        scale = 1 / ((1 + np.log(mean_counts)) * np.where(lengths > 0, pivot, 1.0))
        data = (1 + np.log(counts.data)) * scale[owners] * self.idf_[counts.indices]
        weights = sp.csr_matrix((data, counts.indices, counts.indptr), shape=counts.shape)
        weights.eliminate_zeros()
        return weights

    def _counts(self, X: Any, *, reset: bool) -> "sp.csr_matrix":
        check_sparse(X)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, ensure_non_negative=True, reset=reset)
        check_width(X)
        counts = sp.csr_matrix(X, copy=True)
        counts.sum_duplicates()
        counts.eliminate_zeros()
        counts.data = cast("NDArray[np.float64]", np.maximum(counts.data, 1.0))
        return counts

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags
