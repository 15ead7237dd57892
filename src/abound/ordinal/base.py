"""The interface of the ordinal learners: rows in, one rank per row out, learning one row at a time."""

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import _check_feature_names, check_array, check_is_fitted

from abound.components.rows import Rows
from abound.errors import DamagedModel
from abound.matrices import check_sparse, check_width
from abound.ordinal.scale import Scale, validate_targets
from abound.store import Model, Stored, decode_names, encode_names
from abound.store.directory import Source


class OrdinalEstimator(Stored, ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Assign each row one of several ordered ranks.

    A subclass implements the abstract methods; ranks, validation and saving are here.
    """

    kind: ClassVar[str]  # the learner's name in model directories
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]

    # -- for subclasses ------------------------------------------------------------------------------

    @abstractmethod
    def _check_params(self) -> None:
        """Raise on an invalid parameter."""

    @abstractmethod
    def _reset(self) -> None:
        """Forget everything except the parameters."""

    @abstractmethod
    def _insert_rank(self, at: int, n_known: int) -> None:
        """Insert a new rank with number `at` among `n_known` known ones."""

    @abstractmethod
    def _ensure_features(self, n: int) -> None:
        """Allocate n columns."""

    @abstractmethod
    def _learn(self, rows: Rows, ranks: NDArray[np.int32]) -> NDArray[np.int32]:
        """Learn rows in order; return the rank number of each before it was learned."""

    @abstractmethod
    def _predict(self, rows: Rows) -> NDArray[np.int32]:
        """Return the rank number of each row."""

    @abstractmethod
    def _state(self) -> dict[str, Source]:
        """Return what was learned, besides the ranks, in canonical form."""

    @abstractmethod
    def _restore(self, model: Model) -> None:
        """Restore the result of `_state` after validating it."""

    # -- learning ------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any) -> Self:
        """Learn rows from scratch.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Ranks: numbers, or strings whose order `ranks` gives.

        Returns
        -------
        self
        """
        self._start()
        rows, ranks = self._take(X, y, whole=True)
        try:
            for _ in range(getattr(self, "passes", 1)):
                self._learn_counted(rows, ranks)
        except ValueError:
            del self.scale_  # the rows are only partly learned: not a state to predict from
            raise
        return self

    def partial_fit(self, X: Any, y: Any, classes: Iterable[Any] | None = None) -> Self:
        """Learn more rows, in order; learning row by row gives the same state as learning all rows in one call.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            A sparse X may have columns beyond the known ones; a dense one must keep its width.
        y : array-like of shape (n_samples,)
            Ranks; unknown ones are inserted among the known ones.
        classes : iterable, optional
            Ranks to add without an example.

        Returns
        -------
        self
        """
        self.predict_learn(X, y, classes)
        return self

    def predict_learn(self, X: Any, y: Any, classes: Iterable[Any] | None = None) -> NDArray[Any]:
        """Predict each row before learning it, and return the predictions: progressive validation.

        The parameters are those of `partial_fit`. All ranks of y become known before the first row.
        """
        if not hasattr(self, "scale_"):
            self._start()
        else:
            self._check_params()
        if classes is not None:
            self._extend(np.asarray(list(classes)))
        rows, ranks = self._take(X, y, whole=False)
        return self.scale_.values[self._learn_counted(rows, ranks)]

    def _start(self) -> None:
        self._check_params()
        self.scale_ = Scale(getattr(self, "ranks", None))
        self.n_rows_seen_ = 0
        self.n_features_in_ = 0
        self._reset()
        for at in range(len(self.scale_)):
            self._insert_rank(at, at)

    def _take(self, X: Any, y: Any, *, whole: bool) -> tuple[Rows, NDArray[np.int32]]:
        width = self.n_features_in_
        rows = self._rows(X, learn=True, is_checked_later=whole and self._rejects_nonfinite)
        try:
            targets = validate_targets(y, rows.n_rows, whole=whole)
            self._extend(targets)
        except BaseException:
            self.n_features_in_ = width  # the new columns were not learned
            raise
        self._ensure_features(self.n_features_in_)
        return rows, self.scale_.numbers(targets)

    def _extend(self, values: NDArray[Any]) -> None:
        n_known = len(self.scale_)
        for n_more, at in enumerate(self.scale_.extend(values)):
            self._insert_rank(at, n_known + n_more)

    def _learn_counted(self, rows: Rows, ranks: NDArray[np.int32]) -> NDArray[np.int32]:
        predicted = self._learn(rows, ranks)
        self.n_rows_seen_ += rows.n_rows
        return predicted

    @property
    def _rejects_nonfinite(self) -> bool:
        """Whether `_learn` itself rejects values that are not finite, so that `fit` need not check them first."""
        return False

    def _rows(self, X: Any, *, learn: bool, is_checked_later: bool = False) -> Rows:
        first = learn and self.n_features_in_ == 0
        check_sparse(X)
        _check_feature_names(self, X, reset=first)
        X = check_array(
            X,
            accept_sparse="csr",
            dtype=np.float64,
            order="C",
            ensure_all_finite=not is_checked_later,
            input_name="X",
            estimator=self,
        )
        is_dense = not sp.issparse(X)
        if is_dense:
            if not first and X.shape[1] != self.n_features_in_:
                raise ValueError(
                    f"X has {X.shape[1]} features, but {type(self).__name__} is expecting "
                    f"{self.n_features_in_} features as input"
                )
            self.n_features_in_ = X.shape[1]
            # Every entry is treated as stored: zeros need not be searched for, and do not change a sum.
            n_rows, width = X.shape
            indptr = np.arange(n_rows + 1, dtype=np.int64) * width
            return Rows(indptr, np.tile(np.arange(width, dtype=np.int32), n_rows), X.ravel())
        check_width(X)
        # Rebuilt from copies: flags on a matrix, such as that it is canonical, may be wrong.
        X = sp.csr_array((X.data, X.indices, X.indptr), X.shape, copy=True)
        X.sum_duplicates()
        if learn:
            self.n_features_in_ = max(self.n_features_in_, X.shape[1])
        return Rows(X.indptr.astype(np.int64), X.indices.astype(np.int32, copy=False), X.data)

    # -- predicting ----------------------------------------------------------------------------------

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the rank of each row, one of the values of y."""
        check_is_fitted(self, "scale_")
        if not len(self.scale_):
            raise ValueError("no rank has been learned, so none can be predicted")
        return self.scale_.values[self._predict(self._rows(X, learn=False))]

    @property
    def classes_(self) -> NDArray[Any]:
        """The known ranks, lowest first."""
        if not hasattr(self, "scale_"):
            raise AttributeError(f"{type(self).__name__} has no ranks before fit or partial_fit")
        return self.scale_.values

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        # The classes in scikit-learn's checks are unordered blobs, which one direction cannot always separate.
        tags.classifier_tags.poor_score = True
        return tags

    # -- saving --------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, Source]:
        """Return everything that was learned, by name."""
        check_is_fitted(self, "scale_")
        values, offsets = encode_names(self.scale_.values.tolist())
        seen = np.array([self.n_rows_seen_], np.int64)
        return {"rank_values": values, "rank_offsets": offsets, "rows_seen": seen, **self._state()}

    def content(self) -> dict[str, Any]:
        """Return the entries of the manifest besides the kind and the files."""
        params = self.get_params(deep=False)
        if params.get("ranks") is not None:
            params["ranks"] = np.asarray(params["ranks"]).tolist()
        columns: dict[str, Any] = {"n_features_in": self.n_features_in_}
        if hasattr(self, "feature_names_in_"):
            columns["feature_names"] = list(self.feature_names_in_)
        return {"params": params, "columns": columns}

    @classmethod
    def from_model(cls, model: Model, **params: Any) -> Self:
        """Build an estimator from a loaded model directory, with some parameters replaced."""
        try:
            estimator = cls(**model.content["params"])
            estimator._check_params()
            Scale(getattr(estimator, "ranks", None))
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise DamagedModel(f"the model's parameters cannot be used: {error}") from None
        estimator.set_params(**params)
        estimator._start()
        try:
            n_features, names = model.columns()
            if names is not None:
                estimator.feature_names_in_ = names
            estimator.n_features_in_ = n_features
            estimator.scale_.restore(decode_names(model.arrays["rank_values"], model.arrays["rank_offsets"]))
            (estimator.n_rows_seen_,) = model.take_counts("rows_seen", 1)
            estimator._restore(model)
        except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
            raise DamagedModel(f"the model does not hold what a {cls.__name__} needs: {error}") from None
        return estimator
