"""The contract of every ranker: rows in, ranked labels out, learning a row at a time.

Neither scipy nor scikit-learn is imported before a matrix comes in: they take longer to import than a model takes
to load and to rank a text.
"""

import inspect
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from abound.errors import DamagedModel
from abound.kernels.rows import are_plain
from abound.matrices import check_sparse
from abound.rankers.labels import LabelBook, TargetForm, Targets, plain_name, target_form
from abound.rankers.ranking import Explanation, Ranking
from abound.rankers.rows import NOTHING, Lists, Part, Rows
from abound.rankers.source import MatrixRows, RowSource
from abound.store import Model, decode_names, encode_names, state_hash, write_model
from abound.store.directory import Source
from abound.store.names import Name

if TYPE_CHECKING:
    import scipy.sparse as sp


LARGEST_VALUE = float(np.finfo(np.float32).max)
INDICES = (np.dtype(np.int32), np.dtype(np.int64))
VALUES = (np.dtype(np.float64),)
UNLIMITED = np.iinfo(np.int64).max
FORMS = get_args(TargetForm)


def check_whole(name: str, value: Any, low: int, high: int = UNLIMITED) -> None:
    """Raise unless `value` is a whole number from `low` to `high`, which a kernel can take."""
    check_number(name, value, low, float("inf") if high == UNLIMITED else high)
    if not isinstance(value, int | np.integer) or value > high:
        raise TypeError(f"{name} must be a whole number of at most 64 bits, got {value!r}")


def _plain_rows(X: Any) -> Rows | None:
    """Return X as it is, if the kernels can take it so; full validation takes longer than to rank a row."""
    import scipy.sparse as sp

    if not isinstance(X, sp.csr_array | sp.csr_matrix) or X.ndim != 2 or X.shape[0] == 0:
        return None
    indptr, indices, data = X.indptr, X.indices, X.data
    for array, dtypes in ((indptr, INDICES), (indices, INDICES[:1]), (data, VALUES)):
        if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype not in dtypes:
            return None
    if len(indptr) != X.shape[0] + 1 or not (indices.flags.c_contiguous and data.flags.c_contiguous):
        return None
    if not (indices.flags.aligned and data.flags.aligned):
        return None
    rows = Rows(indptr.astype(np.int64), indices, data)
    return rows if are_plain(*rows, X.shape[1], LARGEST_VALUE) else None


def check_number(name: str, value: Any, low: float, high: float = float("inf")) -> None:
    """Raise ValueError unless `value` is a number from `low` to `high`."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"{name} must be a number, got {value!r}")
    if not low <= value <= high:
        limits = f"at least {low:g}" if high == float("inf") else f"between {low:g} and {high:g}"
        raise ValueError(f"{name} must be {limits}, got {value!r}")


class Ranker(ABC):
    """Rank labels by what was learnt from rows.

    A subclass gives the steps that carry an underscore; labels, validation and saving are here, and scikit-learn's
    face is put on in `estimators.py`. Rows may be dense or sparse and hold no negative value. Labels are one name a
    row, a list of names a row, or an indicator matrix; both labels and columns may appear at any call of `partial_fit`.
    """

    feature_names_in_: NDArray[np.object_]
    kind: ClassVar[str]  # the ranker's name in model directories and on the command line
    learns_wrong: ClassVar[bool] = False  # whether it can be told which labels are wrong
    _form: TargetForm = "names"  # of the last labels that were learnt

    # -- what a subclass gives ---------------------------------------------------------------------

    @abstractmethod
    def _check_params(self) -> None:
        """Raise on a parameter that cannot be used."""

    @abstractmethod
    def _reset(self) -> None:
        """Forget everything but the parameters."""

    @abstractmethod
    def _learn(self, rows: Rows, targets: Targets) -> None:
        """Learn rows in order, as one online pass."""

    def _learn_with_wrong(self, rows: Rows, targets: Targets, wrong: Lists) -> None:
        """Learn rows in order, with labels that are known to be wrong, if the ranker can."""
        raise NotImplementedError

    def _insist(self, rows: Rows, targets: Targets, wrong: Lists = NOTHING) -> None:  # noqa: B027  few can
        """Learn rows that were just learnt on, until their labels stand first and wrong ones do not, if it can."""

    def _learn_all(self, source: RowSource, names: Part | None = None) -> None:
        """Learn all rows from scratch, after the names of labels: one online pass, unless a ranker overrides it."""
        if names is not None:
            self._learn(*names)
        for rows, targets in source.parts(0, source.n_rows):
            self._learn(rows, targets)

    passes_: int | None = None  # that `fit` makes through the rows

    @property
    def has_second_stage(self) -> bool:
        """Whether the best labels are re-ranked by weights of their own."""
        return False

    def drop_second_stage(self) -> bool:
        """Leave out what only re-ranks the best labels, to save memory; return whether there was any."""
        return False

    @property
    def in_shards(self) -> bool:
        """Whether `fit` learns ranges of the rows apart and merges them."""
        return False

    def _source(self, rows: Rows, targets: Targets) -> RowSource:
        """Return the rows of a matrix in the order in which `fit` visits them: as they are, unless overridden."""
        return MatrixRows(rows, targets)

    @abstractmethod
    def _rank(self, rows: Rows, out_labels: NDArray[np.int32], out_scores: NDArray[np.float64]) -> None:
        """Write the best labels of each row and their scores."""

    def _scores(self, rows: Rows, labels: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the scores of some labels for each row, NaN for one that would not be ranked.

        Of labels that are weighed again when they are candidates, it is what they have without.
        """
        n_labels = max(1, len(self.labels_))
        found = np.full((rows.n_rows, len(labels)), np.nan)
        ids, scores = np.full((1, n_labels), -1, np.int32), np.zeros((1, n_labels))
        every = np.empty(n_labels)
        for row in range(rows.n_rows):
            ids[:] = -1
            self._rank(rows.row(row), ids, scores)
            ranked = ids[0] >= 0
            every[:] = np.nan
            every[ids[0][ranked]] = scores[0][ranked]
            found[row] = every[labels]
        return found

    @abstractmethod
    def _explain(self, rows: Rows, label: int) -> tuple[NDArray[np.int64], NDArray[np.float64], float]:
        """Return features, votes and prior of a label for the single row of `rows`."""

    @property
    def nbytes_(self) -> int:
        """Bytes of memory that what was learnt of features holds."""
        return 0

    def _n_stored(self) -> int:
        """Return how many features there is room for in what was learnt."""
        return 0

    def _feature_bytes(self) -> NDArray[np.int64]:
        """Return the bytes that each feature takes."""
        return np.zeros(0, np.int64)

    def _keep_features(self, wanted: NDArray[np.bool_]) -> None:  # noqa: B027  few can
        """Forget all features but the wanted ones, which are numbered anew in their order."""

    @abstractmethod
    def _state(self) -> dict[str, Source]:
        """Return what was learnt, beside the labels, in its canonical form."""

    @abstractmethod
    def _restore(self, model: Model) -> None:
        """Take up what `_state` gave, after checking it."""

    # -- learning ----------------------------------------------------------------------------------

    def fit(self, X: Any, Y: Any) -> Self:
        """Learn rows from scratch.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows without negative values.
        Y : sequence of names, sequence of lists of names, or indicator matrix
            The labels of each row.

        Returns
        -------
        self
        """
        self._check_params()
        self._start()
        self._learn_all(self._source(*self._encode(X, Y)))
        return self

    def partial_fit(
        self,
        X: Any,
        Y: Any,
        classes: Iterable[Any] | None = None,
        wrong: Sequence[Iterable[Any]] | None = None,
    ) -> Self:
        """Learn more rows, in order; a row at a time gives the same state as all at once.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, any number of features)
            Rows without negative values; columns beyond the known ones are new features.
        Y : sequence of names, sequence of lists of names, or indicator matrix
            The labels of each row; unknown ones are new labels.
        classes : iterable of names, optional
            Labels to make known without an example.
        wrong : sequence of lists of names, optional
            Labels that are known to be wrong for each row, and only these: a row may have them without having any in
            Y. Not every ranker can learn from them.

        Returns
        -------
        self
        """
        self._check_params()
        if not hasattr(self, "labels_"):
            self._start()
        if classes is not None:
            self.labels_.add(classes)
        if wrong is None:
            self._learn(*self._encode(X, Y))
            return self
        self._check_wrong(Y, wrong)
        rows, targets = self._encode(X, Y)
        if len(wrong) != rows.n_rows:
            raise ValueError(f"X has {rows.n_rows} rows but there are wrong labels for {len(wrong)}")
        self._learn_with_wrong(rows, targets, self.labels_.known(wrong))
        return self

    def _start(self) -> None:
        self.labels_ = LabelBook()
        self.n_rows_seen_ = 0
        self.n_features_in_ = 0
        self._reset()

    def _check_wrong(self, Y: Any, wrong: Sequence[Iterable[Any]]) -> None:
        """Raise if wrong labels cannot be learnt, before anything is."""
        if not self.learns_wrong:
            raise ValueError(f"a {self.kind} ranker cannot learn from wrong labels; a cascade can")
        if target_form(Y) != "lists":
            raise TypeError("wrong labels go with lists of labels for each row, which may be empty")
        for right, rejected in zip(Y, wrong, strict=False):
            both = {plain_name(name) for name in right} & {plain_name(name) for name in rejected}
            if both:
                raise ValueError(f"label {sorted(both, key=str)[0]!r} is said to be right and wrong for the same row")

    def _encode(self, X: Any, Y: Any) -> tuple[Rows, Targets]:
        """Check rows that are to be learnt, and make their labels and columns known."""
        if Y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        width = self.n_features_in_
        rows = self._rows(X, learn=True)
        try:
            targets = self.labels_.encode(Y, rows.n_rows, learn=True)
        except BaseException:
            self.n_features_in_ = width  # nothing was learnt of the new columns
            raise
        self._form = target_form(Y)
        self.labels_.count(targets)
        self.n_rows_seen_ += rows.n_rows
        return rows, targets

    def _rows(self, X: Any, *, learn: bool) -> Rows:
        rows = _plain_rows(X)
        if rows is None:
            X = self._as_csr(X, learn)
            rows = Rows(X.indptr.astype(np.int64), X.indices.astype(np.int32, copy=False), X.data)
        if learn:
            self.n_features_in_ = max(self.n_features_in_, X.shape[1])
        return rows

    def _as_csr(self, X: Any, learn: bool) -> "sp.csr_array[Any]":
        """Return any rows that scikit-learn knows as a canonical CSR matrix, or say what is wrong with them."""
        import scipy.sparse as sp
        from sklearn.utils.validation import _check_feature_names, check_array

        check_sparse(X)
        _check_feature_names(self, X, reset=learn and self.n_features_in_ == 0)
        X = check_array(
            X, accept_sparse="csr", dtype=np.float64, ensure_non_negative=True, input_name="X", estimator=self
        )
        sparse: bool = sp.issparse(X)
        if not learn and not sparse and X.shape[1] != self.n_features_in_:
            # A dense matrix states its width; only a sparse one may leave its last columns out, or have more.
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        if X.shape[1] > np.iinfo(np.int32).max:
            raise ValueError(f"X must have fewer than 2**31 columns, got {X.shape[1]}")
        # Made anew from copies: what somebody has noted on a matrix, such as that it is canonical, need not be so.
        arrays: Any = (X.data, X.indices, X.indptr) if sparse else X
        X = sp.csr_array(arrays, shape=X.shape, copy=True)
        X.sum_duplicates()
        if X.nnz and X.data.max() > LARGEST_VALUE:
            raise ValueError(f"values of X must fit into 32-bit floats, got {X.data.max()}")
        return cast("sp.csr_array[Any]", X)

    # -- ranking -----------------------------------------------------------------------------------

    def rank(self, X: Any, k: int = 5) -> Ranking:
        """Rank the best labels of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows; columns that were never learnt have no say.
        k : int
            How many labels a row; a row that gets fewer is padded.

        Returns
        -------
        Ranking
        """
        self._check_fitted()
        if not isinstance(k, int | np.integer) or k < 1:
            raise ValueError(f"k must be a whole number of at least 1, got {k!r}")
        rows = self._rows(X, learn=False)
        width = min(int(k), max(1, len(self.labels_)))
        labels = np.full((rows.n_rows, width), -1, np.int32)
        scores = np.zeros((rows.n_rows, width))
        self._rank(rows, labels, scores)
        return Ranking(labels, scores, self.labels_.names)

    def predict(self, X: Any) -> Any:
        """Return the best label of each row, in the form of the last Y that was learnt.

        A row that gets no vote has the most frequent label.

        Returns
        -------
        ndarray of names, or an indicator matrix with one label a row
        """
        best = self._best(X)
        if self._form in ("names", "lists"):
            return self._as_array([self.labels_.names[i] for i in best])
        import scipy.sparse as sp

        ones, n = np.ones(len(best), np.int64), len(best)
        matrix = sp.csr_array((ones, (np.arange(n), best)), shape=(n, len(self.labels_)))
        return matrix if self._form == "sparse" else matrix.toarray()

    def _best(self, X: Any) -> NDArray[np.int64]:
        best = self.rank(X, 1).indices[:, 0]
        if not len(self.labels_):
            raise ValueError("no label was ever learnt, so none can be predicted")
        return np.where(best < 0, np.argmax(self._counts()), best)

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of rows whose best label is one of theirs: accuracy, where each has one."""
        best = self._best(X)
        truth = self.labels_.encode(y, len(best), learn=False)
        owners = np.repeat(np.arange(len(best)), np.diff(truth.indptr))
        hits = np.bincount(owners, best[owners] == truth.ids, len(best))  # a label is one of a row's or not: 1 or 0
        return float(np.average(hits, weights=None if sample_weight is None else np.asarray(sample_weight)))

    def explain(self, X: Any, label: Any) -> Explanation:
        """Return the exact votes for a label from one row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (1, n_features)
        label : name

        Returns
        -------
        Explanation
            Its votes sum to the label's score.
        """
        self._check_fitted()
        rows = self._rows(X, learn=False)
        if rows.n_rows != 1:
            raise ValueError(f"explain takes one row, got {rows.n_rows}")
        try:
            number = self.labels_.id_of(label)
        except KeyError:
            raise ValueError(f"label {label!r} is not known; it must have been learnt before") from None
        features, votes, prior = self._explain(rows, number)
        return Explanation(self.labels_.names[number], features, votes, prior)

    def truth(self, Y: Any) -> "sp.csr_array[Any]":
        """Return true labels as an indicator over label numbers, for the metrics.

        Labels that the ranker has never seen get columns of their own after the known ones.
        """
        import scipy.sparse as sp

        self._check_fitted()
        target_form(Y)  # raises on what has no rows
        n_rows = Y.shape[0] if hasattr(Y, "shape") else len(Y)
        targets = self.labels_.encode(Y, n_rows, learn=False)
        width = max(len(self.labels_), int(targets.ids.max(initial=-1)) + 1)
        return sp.csr_array((np.ones(len(targets.ids), np.int8), targets.ids, targets.indptr), shape=(n_rows, width))

    # -- names -------------------------------------------------------------------------------------

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels known so far, sorted."""
        self._check_fitted()
        return self._as_array(sorted(self.labels_.names, key=lambda name: (isinstance(name, str), name)))

    @staticmethod
    def _as_array(names: list[Name]) -> NDArray[Any]:
        if len({isinstance(name, str) for name in names}) > 1:  # numpy would turn 1 into "1"
            array = np.empty(len(names), object)
            array[:] = names
            return array
        return np.array(names)

    def _check_fitted(self) -> None:
        if not hasattr(self, "labels_"):
            from sklearn.exceptions import NotFittedError

            raise NotFittedError(f"This {type(self).__name__} is not fitted yet: call fit or partial_fit first.")

    def _counts(self) -> NDArray[np.int64]:
        return self.labels_.counts[: len(self.labels_)]

    # -- saving ------------------------------------------------------------------------------------

    def _arrays(self) -> dict[str, Source]:
        self._check_fitted()
        names, offsets = encode_names(self.labels_.names)
        return {
            "label_names": names,
            "label_offsets": offsets,
            "label_counts": self._counts(),
            "rows_seen": np.array([self.n_rows_seen_], np.int64),
            **self._state(),
        }

    @classmethod
    def param_names(cls) -> list[str]:
        """Return the names of the parameters."""
        return [name for name in inspect.signature(cls).parameters if name not in ("args", "kwargs")]

    def _params(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.param_names()}

    def state_hash(self) -> str:
        """Return a hash of what was learnt; equal states have equal hashes, however they came about."""
        return state_hash(self.kind, self._arrays())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model directory, or replace the model in one; see `abound.load`."""
        arrays = self._arrays()
        write_model(path, self._content(), arrays)

    def _content(self) -> dict[str, Any]:
        """Return what the manifest says beside the files."""
        columns: Mapping[str, Any] = {"n_features_in": self.n_features_in_, "form": self._form}
        if hasattr(self, "feature_names_in_"):
            columns = {**columns, "feature_names": list(self.feature_names_in_)}
        return {"kind": self.kind, "params": self._params(), "columns": columns}

    @classmethod
    def from_model(cls, model: Model, **params: Any) -> Self:
        """Build a ranker from a model directory that was read, with some parameters replaced."""
        try:
            ranker = cls(**model.content["params"])
            ranker._check_params()
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise DamagedModel(f"the model's parameters cannot be used: {error}") from None
        for name, value in params.items():
            if name not in cls.param_names():
                known = ", ".join(cls.param_names())
                raise ValueError(f"a {cls.kind} ranker has no parameter {name!r}; it has {known}")
            setattr(ranker, name, value)
        ranker._check_params()
        try:
            ranker.n_features_in_, column_names = model.columns()
            if column_names is not None:
                ranker.feature_names_in_ = column_names
            ranker._form = model.content["columns"].get("form")
            if ranker._form not in FORMS:
                raise DamagedModel(f"the form of the labels must be one of {', '.join(FORMS)}, got {ranker._form!r}")
            names = decode_names(model.arrays["label_names"], model.arrays["label_offsets"])
            counts, (ranker.n_rows_seen_,) = model.arrays["label_counts"], model.take_counts("rows_seen", 1)
            fits = counts.dtype == np.int64 and counts.shape == (len(names),)
            if not fits or np.any(counts < 0) or np.any(counts > ranker.n_rows_seen_):
                raise DamagedModel("the labels' counts do not fit their names, or the rows that were seen")
            ranker.labels_ = LabelBook.restore(names, counts)
            ranker._restore(model)
        except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
            raise DamagedModel(f"the model does not hold what a {cls.__name__} needs: {error}") from None
        return ranker
