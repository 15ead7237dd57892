"""SVM-map: a linear ranking of documents for queries that optimises mean average precision."""

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from abound.errors import DamagedModel
from abound.matrices import check_sparse, check_width
from abound.metrics import evaluate_queries
from abound.retrieval.cutting_plane import Certificate, Floats, minimize, minimize_n_slack
from abound.retrieval.design import ThermometerTable, make_block
from abound.retrieval.queries import group_queries
from abound.retrieval.tangents import LOSSES, Tangents
from abound.store import Model, Stored, state_hash
from abound.store.model import column_names

SOLVERS = ("one-slack", "n-slack")
ROUNDING = 1e-6  # of the objective: what the solver of the programs may add to the gap of Algorithm 1


class RankedQuery(NamedTuple):
    """The documents of one query, best first: their row numbers and scores."""

    qid: Any
    rows: NDArray[np.int64]
    scores: Floats


@dataclass(eq=False, repr=False)
class SVMMap(Stored, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Learn to rank the documents of a query, with a proven distance to the best linear ranking.

    Minimises ``1/2 |w|^2 + C * mean over queries of the hinge of their loss``, a convex bound of the loss, by
    cutting planes. Yue, Finley, Radlinski and Joachims, "A support vector method for optimizing average precision",
    SIGIR 2007.

    Parameters
    ----------
    C : float
        The weight of the loss relative to the regularisation.
    tol : float
        Stop when the gap between objective and lower bound is at most this share of the objective. With
        solver="n-slack": stop when no ranking violates its constraint by more than this; it is epsilon of the paper,
        and the gap is then at most C times it.
    loss : {"map", "roc", "accuracy"}
        1 - average precision, 1 - ROC area, or the share of documents on the wrong side of a threshold, which is the
        ordinary SVM. Only "accuracy" has an intercept. Accuracy is averaged over queries, too; without qid, it is
        averaged over all documents.
    relevant_from : float
        The smallest grade of a relevant document.
    class_weight : None or "balanced"
        With loss="accuracy": whether relevant documents are weighted by the ratio of irrelevant to relevant ones.
    solver : {"one-slack", "n-slack"}
        How the objective is minimised: with one averaged cutting plane per round, or with Algorithm 1 of the paper,
        which has a working set of rankings per query and is slower.
    max_rounds : int
        The maximum number of rounds, whatever the gap.
    n_jobs : int, optional
        The number of threads, as in joblib. The result does not depend on it. Algorithm 1 uses one.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The weights of the features.
    intercept_ : float
        What all documents get in addition; it changes no ranking.
    certificate_ : Certificate
        primal, dual, gap, rounds, seconds, and the number of constraints of Algorithm 1.
    n_queries_ : int
        Queries that have a relevant and an irrelevant document; the others have no constraint.

    Examples
    --------
    >>> X, y, qid = [[0.0], [1.0], [3.0], [2.0]], [0, 1, 1, 0], [7, 7, 8, 8]
    >>> ranker = SVMMap(C=10).fit(X, y, qid=qid)
    >>> [query.rows.tolist() for query in ranker.rank(X, qid=qid)]
    [[1, 0], [2, 3]]
    >>> ranker.certificate_.relative_gap <= 0.001
    True
    """

    kind: ClassVar[str] = "svm-map"

    C: float = 1.0
    tol: float = 1e-3
    loss: str = "map"
    _: KW_ONLY
    relevant_from: float = 1.0
    class_weight: str | None = None
    solver: str = "one-slack"
    max_rounds: int = 2000
    n_jobs: int | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def check_params(self) -> None:
        """Raise ValueError or TypeError on an invalid parameter."""
        for name, value in (("C", self.C), ("tol", self.tol), ("relevant_from", self.relevant_from)):
            if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
                raise TypeError(f"{name} must be a number, got {value!r}")
            if name != "relevant_from" and not 0 < value < np.inf:
                raise ValueError(f"{name} must be positive and finite, got {value!r}")
        if self.loss not in LOSSES:
            raise ValueError(f"loss must be one of {', '.join(map(repr, LOSSES))}, got {self.loss!r}")
        if self.class_weight not in (None, "balanced"):
            raise ValueError(f"class_weight must be None or 'balanced', got {self.class_weight!r}")
        if self.class_weight is not None and self.loss != "accuracy":
            raise ValueError(f"class_weight needs loss='accuracy', got loss={self.loss!r}")
        if self.solver not in SOLVERS:
            raise ValueError(f"solver must be one of {', '.join(map(repr, SOLVERS))}, got {self.solver!r}")
        if not isinstance(self.max_rounds, int | np.integer) or self.max_rounds < 1:
            raise ValueError(f"max_rounds must be a whole number of at least 1, got {self.max_rounds!r}")

    # -- learning ----------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, qid: Any = None) -> Self:
        """Learn from graded documents of queries.

        Parameters
        ----------
        X : array-like, sparse matrix or ThermometerTable of shape (n_documents, n_features)
        y : array-like of shape (n_documents,)
            Grades; those of `relevant_from` and more are relevant.
        qid : array-like of shape (n_documents,), optional
            The query of each document, in any order; by default all documents belong to one query.

        Returns
        -------
        self
        """
        self.check_params()
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        check_sparse(y, "y")
        X, y = self._validate(X, reset=True), column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        if not len(y):
            raise ValueError("there is nothing to learn: X has 0 rows; give at least one document")
        if y.dtype.kind not in "biuf" or not np.isfinite(y).all():
            raise ValueError("y must hold a finite grade for each row; Unknown label type otherwise")
        queries = group_queries(qid, X.shape[0])
        relevant = y[queries.order] >= self.relevant_from
        n_relevant = np.add.reduceat(relevant, queries.indptr[:-1], dtype=np.int64)
        self.n_queries_ = int(np.sum((n_relevant > 0) & (n_relevant < np.diff(queries.indptr))))
        relevant_weight = 1.0
        if self.class_weight == "balanced" and relevant.any():
            relevant_weight = float((~relevant).sum() / relevant.sum())
        with Tangents(
            X,
            relevant.astype(np.uint8),
            queries,
            loss=self.loss,
            n_active=self.n_queries_,
            relevant_weight=relevant_weight,
            n_threads=effective_n_jobs(self.n_jobs) if self.solver == "one-slack" else 1,
            by_query=self.solver == "n-slack",
        ) as tangents:
            w = self._minimize(tangents)
        self.coef_, self.intercept_ = w[: X.shape[1]].copy(), float(w[X.shape[1] :].sum())
        return self

    def _minimize(self, tangents: Tangents) -> Floats:
        n_weights = tangents.n_weights
        if self.solver == "n-slack":
            w, done = minimize_n_slack(tangents.each_query(), n_weights, self.C, self.tol, self.max_rounds)
            reached = done.gap <= self.C * self.tol + ROUNDING * done.primal
        else:
            w, done = minimize(tangents, n_weights, self.C, self.tol, self.max_rounds)
            reached = done.relative_gap <= self.tol
        self.certificate_ = done
        if not reached:
            warnings.warn(
                f"the gap is {done.relative_gap:.2g} of the objective after max_rounds={self.max_rounds}; allow more "
                "rounds, a larger tol or a smaller C",
                ConvergenceWarning,
                stacklevel=3,
            )
        return w

    def _validate(self, X: Any, *, reset: bool) -> Any:
        if isinstance(X, ThermometerTable):
            if reset:
                self.n_features_in_ = X.shape[1]
            elif X.shape[1] != self.n_features_in_:
                raise ValueError(f"X has {X.shape[1]} bits, but SVMMap is expecting {self.n_features_in_} of them")
            return X
        check_sparse(X)
        X = validate_data(self, X, reset=reset, accept_sparse="csr", dtype=np.float64)
        check_width(X)
        return X

    # -- ranking -----------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Floats:
        """Return the score of each document; higher is better."""
        check_is_fitted(self, "coef_")
        return make_block(self._validate(X, reset=False)).scores(self.coef_) + self.intercept_

    def predict(self, X: Any) -> Floats:
        """Return the score of each document, like rankers of other libraries."""
        return self.decision_function(X)

    def rank(self, X: Any, qid: Any = None) -> list[RankedQuery]:
        """Rank the documents of each query.

        Parameters
        ----------
        X : array-like, sparse matrix or ThermometerTable of shape (n_documents, n_features)
        qid : array-like of shape (n_documents,), optional

        Returns
        -------
        list of RankedQuery
            In the order in which the queries first appear; for equal scores, the earlier row comes first.
        """
        return rank_scores(self.decision_function(X), qid)

    def score(self, X: Any, y: Any, qid: Any = None, sample_weight: None = None) -> float:
        """Return the mean average precision over the queries that have a relevant document.

        A Pipeline passes `sample_weight` even if there is none; all queries have the same weight.
        """
        if sample_weight is not None:
            raise ValueError("sample_weight must be None: all queries have the same weight")
        figures = evaluate_queries(y, self.decision_function(X), qid, ["MAP"], relevant_from=self.relevant_from)
        return figures["MAP"]

    # -- saving ------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what was learned, by name, as stored in a model directory."""
        check_is_fitted(self, "coef_")
        certificate = self.certificate_
        counted = {} if certificate.constraints is None else {"constraints": np.array([certificate.constraints])}
        return {
            **counted,
            "coef": self.coef_,
            "intercept": np.array([self.intercept_]),
            "bounds": np.array([certificate.primal, certificate.dual, certificate.seconds]),
            "counts": np.array([certificate.rounds, self.n_queries_], np.int64),
        }

    def state_hash(self) -> str:
        """Return a hash of what was learned."""
        arrays = self.arrays()
        return state_hash(self.kind, {name: arrays[name] for name in ("coef", "intercept")})

    def content(self) -> dict[str, Any]:
        """Return the entries of the manifest besides the kind and the files."""
        content: dict[str, Any] = {"params": plain_params(self.get_params())}
        if hasattr(self, "feature_names_in_"):
            content["feature_names"] = [str(name) for name in self.feature_names_in_]
        return content

    @classmethod
    def from_model(cls, model: Model, **params: Any) -> Self:
        """Build a ranker from a loaded model directory."""
        try:
            ranker = cls(**{**model.content["params"], **params})
            ranker.check_params()
            coef, (intercept,) = model.take("coef", np.float64, None), model.take("intercept", np.float64, 1).tolist()
            primal, dual, seconds = model.take("bounds", np.float64, 3, finite=False).tolist()
            rounds, n_queries = model.take_counts("counts", 2)
            constraints = model.take_counts("constraints", 1)[0] if "constraints" in model.arrays else None
            names = column_names(model.content.get("feature_names"), len(coef))
            if names is not None:
                ranker.feature_names_in_ = names
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise DamagedModel(f"the model does not hold what an SVMMap needs: {error}") from None
        ranker.coef_, ranker.intercept_, ranker.n_features_in_ = coef, intercept, len(coef)
        ranker.certificate_, ranker.n_queries_ = Certificate(primal, dual, rounds, seconds, constraints), n_queries
        return ranker


def rank_scores(scores: Floats, qid: Any = None) -> list[RankedQuery]:
    """Rank scored documents of queries; for equal scores, the earlier row comes first.

    Examples
    --------
    >>> [query.rows.tolist() for query in rank_scores(np.array([0.1, 0.5, 0.3]), ["a", "b", "a"])]
    [[2, 0], [1]]
    """
    queries = group_queries(qid, len(scores))
    ranked = []
    for name, start, stop in zip(queries.names.tolist(), queries.indptr[:-1], queries.indptr[1:], strict=True):
        rows = queries.order[start:stop]
        rows = rows[np.argsort(-scores[rows], kind="stable")]
        ranked.append(RankedQuery(name, rows, scores[rows]))
    return ranked


def plain_params(params: dict[str, Any]) -> dict[str, Any]:
    """Return parameters that JSON can represent."""
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in params.items()}
