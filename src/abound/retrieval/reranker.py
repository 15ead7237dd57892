"""From raw scores of retrieval functions to a ranking: normalisation, thermometer and SVM-map in one model."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from abound.errors import DamagedModel
from abound.matrices import check_sparse
from abound.metrics import evaluate_queries
from abound.retrieval.cutting_plane import Certificate, Floats
from abound.retrieval.query_scaling import METHODS, QueryScaler
from abound.retrieval.svm_map import RankedQuery, SVMMap, plain_params, rank_scores
from abound.retrieval.thermometer import ThermometerFeatures
from abound.store import Model, Stored
from abound.store.model import is_sorted


@dataclass(eq=False, repr=False)
class Reranker(Stored, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Learn to rank documents of queries from the scores or ranks that retrieval functions gave them.

    Equivalent to a pipeline of `QueryScaler`, `ThermometerFeatures` and `SVMMap`, but passes on each row's query
    without scikit-learn's metadata routing, and is saved in one model directory.

    Parameters
    ----------
    C, tol, loss, relevant_from, n_jobs
        See `SVMMap`.
    n_thresholds : int
        Thermometer bits per column; 0 leaves the columns unchanged.
    per_query : None or {"minmax", "percentile", "standard"}
        How columns are first normalised within each query.
    lower_is_better : bool
        Whether smaller values are better, as for ranks; a missing value is worse than any other.

    Attributes
    ----------
    ranker_ : SVMMap
    thermometer_ : ThermometerFeatures or None
    certificate_ : Certificate

    Examples
    --------
    >>> X, y, qid = [[1.0], [9.0], [4.0], [2.0]], [1, 0, 0, 1], [7, 7, 8, 8]
    >>> reranker = Reranker(C=10, lower_is_better=True).fit(X, y, qid)
    >>> [query.rows.tolist() for query in reranker.rank(X, qid)]
    [[0, 1], [3, 2]]
    """

    kind: ClassVar[str] = "reranker"

    C: float = 1.0
    tol: float = 1e-3
    loss: str = "map"
    _: KW_ONLY
    n_thresholds: int = 50
    per_query: str | None = None
    lower_is_better: bool = False
    relevant_from: float = 1.0
    n_jobs: int | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = self.n_thresholds > 0
        tags.input_tags.sparse = self.n_thresholds == 0 and self.per_query is None
        return tags

    @property
    def certificate_(self) -> Certificate:
        """The bounds of the ranker's distance from the optimum."""
        check_is_fitted(self, "ranker_")
        return self.ranker_.certificate_

    def _check_params(self) -> None:
        if self.per_query is not None and self.per_query not in METHODS:
            raise ValueError(f"per_query must be None or one of {', '.join(METHODS)}, got {self.per_query!r}")
        if not isinstance(self.n_thresholds, int | np.integer) or self.n_thresholds < 0:
            raise ValueError(f"n_thresholds must be a whole number of at least 0, got {self.n_thresholds!r}")

    def fit(self, X: Any, y: Any, qid: Any = None) -> Self:
        """Learn from graded documents of queries; see `SVMMap.fit`."""
        self._check_params()
        ranker = SVMMap(self.C, self.tol, self.loss, relevant_from=self.relevant_from, n_jobs=self.n_jobs)
        ranker.check_params()
        X = self._scaled(X, qid)
        self.thermometer_ = None
        if self.n_thresholds:
            self.thermometer_ = ThermometerFeatures(self.n_thresholds, output="table").fit(X)
            self.n_features_in_ = self.thermometer_.n_features_in_
            X = self.thermometer_.transform(X)
        self.ranker_ = ranker.fit(X, y, qid)
        if self.thermometer_ is None:
            self.n_features_in_ = ranker.n_features_in_
        return self

    def _scaled(self, X: Any, qid: Any) -> Any:
        if self.per_query is not None:
            X = QueryScaler(self.per_query).fit(X).transform(X, qid)
        if not self.lower_is_better:
            return X
        check_sparse(X)
        given: Any = X if sp.issparse(X) else np.asarray(X, np.float64)
        return -given

    def decision_function(self, X: Any, qid: Any = None) -> Floats:
        """Return the score of each document, higher is better; qid is needed only with `per_query`."""
        check_is_fitted(self, "ranker_")
        X = self._scaled(X, qid)
        return self.ranker_.decision_function(X if self.thermometer_ is None else self.thermometer_.transform(X))

    def predict(self, X: Any, qid: Any = None) -> Floats:
        """Return the score of each document, like rankers of other libraries."""
        return self.decision_function(X, qid)

    def rank(self, X: Any, qid: Any = None) -> list[RankedQuery]:
        """Rank the documents of each query; see `SVMMap.rank`."""
        return rank_scores(self.decision_function(X, qid), qid)

    def score(self, X: Any, y: Any, qid: Any = None, sample_weight: None = None) -> float:
        """Return the mean average precision over the queries that have a relevant document.

        A Pipeline passes `sample_weight` even if there is none; all queries have the same weight.
        """
        if sample_weight is not None:
            raise ValueError("sample_weight must be None: all queries have the same weight")
        scores = self.decision_function(X, qid)
        return evaluate_queries(y, scores, qid, ["MAP"], relevant_from=self.relevant_from)["MAP"]

    # -- saving ------------------------------------------------------------------------------------

    def content(self) -> dict[str, Any]:
        """Return the entries of the manifest besides the kind and the files."""
        return {"params": plain_params(self.get_params())}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything that was learned, by name."""
        check_is_fitted(self, "ranker_")
        arrays: dict[str, NDArray[Any]] = dict(self.ranker_.arrays())
        if self.thermometer_ is not None:
            thresholds = self.thermometer_.thresholds_
            arrays["thresholds"] = np.concatenate([*thresholds, np.zeros(0)])
            arrays["threshold_offsets"] = np.cumsum([0, *map(len, thresholds)], dtype=np.int64)
        return arrays

    @classmethod
    def from_model(cls, model: Model, **params: Any) -> Self:
        """Build a reranker from a loaded model directory."""
        try:
            reranker = cls(**{**model.content["params"], **params})
            shared = {name: getattr(reranker, name) for name in ("C", "tol", "loss", "relevant_from", "n_jobs")}
            reranker.ranker_ = SVMMap.from_model(Model({"params": shared}, model.arrays))
            reranker.thermometer_ = None
            reranker.n_features_in_ = reranker.ranker_.n_features_in_
            reranker._check_params()
            if reranker.n_thresholds:
                flat = model.take("thresholds", np.float64, None)
                offsets = model.take("threshold_offsets", np.int64, None)
                if offsets[0] != 0 or offsets[-1] != len(flat) or not is_sorted(offsets):
                    raise ValueError("the thresholds do not match their columns")
                if len(flat) != len(reranker.ranker_.coef_):
                    raise ValueError("the numbers of weights and thresholds differ")
                falls = np.flatnonzero(np.diff(flat) < 0) + 1
                if not np.isin(falls, offsets).all():
                    raise ValueError("the thresholds of a column are not in order")
                reranker.thermometer_ = thermometer = ThermometerFeatures(reranker.n_thresholds, output="table")
                thermometer.thresholds_ = np.split(flat, offsets[1:-1])
                thermometer.n_features_in_ = reranker.n_features_in_ = len(offsets) - 1
        except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
            raise DamagedModel(f"the model does not hold what a Reranker needs: {error}") from None
        return reranker
