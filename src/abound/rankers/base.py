"""The interface of every ranker: rows in, ranked labels out, learning one row at a time."""

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from abound.calibration import Calibration
from abound.components import BatchPosition
from abound.components.rows import Rows, Targets, select_rows
from abound.components.weighting import copies_of, repeated
from abound.errors import DamagedModel
from abound.kernels.batch import Batch
from abound.rankers.labels import LabelIndex, TargetForm, plain_name, target_form
from abound.rankers.predicting import Predicting
from abound.rankers.ranking import Explanation, Ranking
from abound.rankers.signs import columns_of, positive_parts, split_signs, without_negative
from abound.rankers.validation import as_csr, canonical_rows
from abound.rankers.weighting import (
    Weights,
    balanced,
    check_some,
    check_weights,
    check_whole_weights,
    chosen_targets,
)
from abound.store import Model, decode_names, encode_names
from abound.store.directory import Source
from abound.training.local import train
from abound.training.schedule import Plan
from abound.training.source import MatrixRows, RowSource

if TYPE_CHECKING:
    import scipy.sparse as sp

FORMS = get_args(TargetForm)
CALIBRATION_PREFIX = "calibration_"
SIGNS = "has_signs"


class Ranker(Predicting):
    """Rank labels by what was learned from rows.

    A subclass defines its components; labels, validation, training, merging and saving are here. `abound.estimators`
    adds the scikit-learn interface. Rows may be dense or sparse. A column with negative values is learned as two
    features, its positive and its negative part, unless a subclass sets `splits_signs` to False. Labels are one name
    per row, a list of names per row, or an indicator matrix. New labels and columns may appear in any call of
    `partial_fit`.
    """

    feature_names_in_: NDArray[np.object_]
    learns_wrong: ClassVar[bool] = False  # whether it can learn from wrong labels
    takes_fractions: ClassVar[bool] = False  # whether its components scale the update of a row by its weight
    splits_signs: bool = True  # whether a column with negative values is learned as two features
    class_weight: Literal["balanced"] | None = None
    passes_: int | None = None  # passes of `fit` over the rows
    has_signs_: bool = False  # whether a negative value was learned; see `abound.rankers.signs`
    _form: TargetForm = "names"  # of the last learned labels

    # -- for subclasses ----------------------------------------------------------------------------

    def check_params(self) -> None:
        """Raise on an invalid parameter."""

    def plan(self, n_rows: int) -> Plan:  # noqa: ARG002 -- the cascade uses it
        """Return how `fit` visits `n_rows` rows, whose labels are all known: in one online pass."""
        return Plan(shards=self.n_shards, n_jobs=self.n_jobs)

    def choose_form(self, n_rows: int) -> None:
        """Choose the form in which `n_rows` rows are learned from scratch; all their labels are known."""

    def learn(self, batch: Batch) -> None:
        """Learn rows in order, as one online pass; all their labels are known."""
        n_before = 0
        for rows in repeated(batch):
            for component in self.components:
                component.learn(rows, len(self.labels_), BatchPosition(n_before=n_before))
            n_before += rows.n_rows

    def insist(self, batch: Batch) -> None:
        """Repeat rows that were just learned until their labels rank first and wrong ones do not, if supported."""

    def count_learned(self, n_rows: int) -> None:
        """Count rows that are learned elsewhere."""

    def source(self, batch: Batch) -> RowSource:
        """Return the rows of a matrix in the order in which `fit` visits them: unchanged, unless overridden."""
        return MatrixRows(batch)

    def own_state(self) -> dict[str, Source]:
        """Return what was learned besides labels and components."""
        return {}

    def restore(self, model: Model) -> None:
        """Restore the components of a model directory after validating them."""
        self.set_components(self.build())
        for component in self.components:
            component.restore(model, len(self.labels_))

    def take_form_of(self, rankers: Sequence[Self]) -> None:
        """Choose the form of a merge of some rankers; all their labels are known."""

    # -- learning ----------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn rows from scratch.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        y : sequence of names, sequence of lists of names, or indicator matrix
            The labels of each row.
        sample_weight : array-like of shape (n_samples,), optional
            Weights from 0 to 1,000. A row of weight 2 is learned twice, one copy after the other. A fraction scales
            the update; a ranker that only counts rows refuses it. A row of weight 0 is ignored. A row counts in
            `label_counts` as often as it is learned. The calibration takes each row once.

        Returns
        -------
        self
        """
        self.check_params()
        self.reset()
        self.learn_all(self.source(self.encode(X, y, sample_weight, balance=True)))
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Iterable[Any] | None = None,
        wrong: Sequence[Iterable[Any]] | None = None,
        sample_weight: Any = None,
    ) -> Self:
        """Learn more rows, in order; learning row by row gives the same state as learning all rows in one call.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, any number of features)
            Rows; columns beyond the known ones are new features.
        y : sequence of names, sequence of lists of names, or indicator matrix
            The labels of each row; unknown ones are new labels.
        classes : iterable of names, optional
            Labels to add without an example.
        wrong : sequence of lists of names, optional
            Labels that are known to be wrong for each row. A row may have wrong labels and no labels in y. Not every
            ranker can learn from them.
        sample_weight : array-like of shape (n_samples,), optional
            Weights from 0 to 1,000; see `fit`. A whole weight gives the same state as the row given as often.

        Returns
        -------
        self
        """
        self.check_params()
        if self.class_weight is not None:
            raise ValueError("class_weight='balanced' needs all rows: use fit, or class_weight=None and sample_weight")
        if not hasattr(self, "labels_"):
            self.reset()
        if classes is not None:
            self.labels_.add(classes)
        if wrong is not None:
            self.check_wrong(y, wrong)
        batch = self.encode(X, y, sample_weight, wrong=wrong)
        if batch.n_rows:
            self.learn_online(batch)
        return self

    def learn_all(self, source: RowSource, names: Batch | None = None) -> None:
        """Learn all rows from scratch, after the names of the labels."""
        self.choose_form(source.n_rows)
        if names is not None:
            self.learn(names)
        plan = self.plan(source.n_rows)
        self.passes_ = plan.passes
        train(self, source, plan)
        self.count_learned(source.n_copies(0, source.n_rows - plan.held_out))
        if self.calibrates:
            self.calibrate_on(source, names)

    def calibrate_on(self, source: RowSource, names: Batch | None) -> None:
        """Calibrate on rows that no pass has visited, and learn these; all passes are done."""
        held_out = self.plan(source.n_rows).held_out
        if held_out:
            self.learn_held_out(source, held_out)
        else:
            self.calibrate_on_few(source, names)

    def new_like_this(self) -> Self:
        """Return a ranker with the same parameters and labels that has learned nothing."""
        other = type(self)(**self.params())
        other.reset()
        other.labels_ = self.labels_
        other.set_columns(self.n_features_in_, self._form)
        return other

    def reset(self) -> None:
        """Forget everything except the parameters."""
        self.labels_ = LabelIndex()
        self.n_rows_seen_ = 0
        self.n_features_in_ = 0
        self.has_signs_ = False
        self.calibration_ = Calibration()
        self.set_components(self.build())

    def check_wrong(self, Y: Any, wrong: Sequence[Iterable[Any]]) -> None:
        """Raise if wrong labels cannot be learned, before anything is learned."""
        if not self.learns_wrong:
            raise ValueError(f"a {self.kind} ranker cannot learn from wrong labels; a cascade can")
        if target_form(Y) != "lists":
            raise TypeError("wrong labels need Y as a list of labels for each row, which may be empty")
        for right, rejected in zip(Y, wrong, strict=False):
            both = {plain_name(name) for name in right} & {plain_name(name) for name in rejected}
            if both:
                raise ValueError(f"label {sorted(both, key=str)[0]!r} is both right and wrong for the same row")

    def encode(
        self,
        X: Any,
        Y: Any,
        sample_weight: Any = None,
        *,
        wrong: Sequence[Iterable[Any]] | None = None,
        balance: bool = False,
    ) -> Batch:
        """Validate rows for learning, and add their labels and columns to the known ones.

        With `balance`, all rows to learn are given, and `class_weight` can be applied.
        """
        if Y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        width, had_signs = self.n_features_in_, self.has_signs_
        try:
            batch = self._batch_of(X, Y, sample_weight, wrong, balance)
        except BaseException:
            self.n_features_in_, self.has_signs_ = width, had_signs  # the new columns were not learned
            raise
        if not batch.n_rows:  # all rows have the weight 0
            self.n_features_in_, self.has_signs_ = width, had_signs
        elif self.has_signs_ and not had_signs:
            self._make_room_for_signs()
        return batch

    def _batch_of(
        self, X: Any, Y: Any, sample_weight: Any, wrong: Sequence[Iterable[Any]] | None, balance: bool
    ) -> Batch:
        had_signs, rows = self.has_signs_, self.rows_of(X, learn=True)
        if wrong is not None and len(wrong) != rows.n_rows:
            raise ValueError(f"X has {rows.n_rows} rows but wrong has {len(wrong)}; give one list per row")
        form, weights = target_form(Y), self.valid_weights(sample_weight, rows.n_rows)
        if balance:
            check_some(weights)
        if weights is not None and not weights.all():
            kept = np.flatnonzero(weights)
            Y, weights = chosen_targets(Y, rows.n_rows, kept), weights[kept]
            rows, wrong = select_rows(rows, kept), None if wrong is None else [wrong[row] for row in kept.tolist()]
            if not len(kept):
                return Batch(rows, Targets(rows.indptr, rows.indices, len(self.labels_)))
            if self.has_signs_ and not had_signs and not (rows.indices % 2).any():  # negative values were left out
                rows, self.has_signs_ = rows._replace(indices=rows.indices // 2), False
        batch = self.make_batch(rows, Y, form, self.n_features_in_, weights=weights, balance=balance)
        if wrong is None:
            return batch
        return Batch(batch.rows, batch.targets, self.labels_.known(wrong), batch.weights)

    def _make_room_for_signs(self) -> None:
        """Renumber the features that were learned before the first negative value."""
        features, labels = positive_parts(self.n_stored), np.arange(len(self.labels_), dtype=np.int32)
        if len(features):
            components = self.components
            self.set_components([component.renumbered(features, labels, len(labels)) for component in components])

    def valid_weights(self, sample_weight: Any, n_rows: int) -> Weights | None:
        """Return the weights of rows, or None if all are 1; raise if the ranker cannot learn them."""
        weights = check_weights(sample_weight, n_rows)
        if not self.takes_fractions:
            check_whole_weights(weights, self.kind)
        return weights

    def make_batch(
        self,
        rows: Rows,
        Y: Any,
        form: TargetForm,
        n_features: int,
        *,
        count: bool = True,
        weights: Weights | None = None,
        balance: bool = False,
    ) -> Batch:
        """Add the labels and columns of rows to the known ones, count them, and return the rows as a batch."""
        targets = self.labels_.encode(Y, rows.n_rows, learn=True)
        if balance and self.class_weight is not None:
            weights = balanced(targets, weights)
        if count:
            self.count(targets, weights)
        self.n_features_in_, self._form = n_features, form
        return Batch(rows, targets, weights=weights)

    def count(self, targets: Targets, weights: Weights | None = None) -> None:
        """Add rows to the counts of their labels, as often as each is learned."""
        copies = None if weights is None else copies_of(weights)
        self.labels_.count(targets, copies)
        self.n_rows_seen_ += len(targets.indptr) - 1 if copies is None else int(copies.sum())

    @property
    def form(self) -> TargetForm:
        """The form in which the last learned labels were given."""
        return self._form

    def set_columns(self, n_features: int, form: TargetForm, names: NDArray[np.object_] | None = None) -> None:
        """Set the number of columns, optionally their names, and the form of the labels."""
        self.n_features_in_, self._form = n_features, form
        if names is not None:
            self.feature_names_in_ = names

    def rows_of(self, X: Any, *, learn: bool = False) -> Rows:
        """Validate rows and return them as components take them; with `learn`, new columns become known."""
        rows, has_negative = canonical_rows(X), False
        if rows is None:
            X = as_csr(self, X, learn=learn)
            rows = Rows(X.indptr.astype(np.int64), X.indices.astype(np.int32, copy=False), X.data)
            has_negative = bool(rows.data.min(initial=0.0) < 0)
        if learn:
            self.n_features_in_ = max(self.n_features_in_, X.shape[1])
            self.has_signs_ = self.has_signs_ or (has_negative and self.splits_signs)
        if self.has_signs_:
            return split_signs(rows)
        if has_negative and self.splits_signs:
            return without_negative(rows)  # a part of a column that was never learned is unknown
        return rows

    # -- ranking -----------------------------------------------------------------------------------

    def rank(self, X: Any, k: int = 5) -> Ranking:
        """Rank the best labels of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows; unknown columns are ignored, and so are negative values if none has been learned.
        k : int
            Labels per row; a row with fewer is padded.

        Returns
        -------
        Ranking
        """
        self.check_fitted()
        if not isinstance(k, int | np.integer) or k < 1:
            raise ValueError(f"k must be a whole number of at least 1, got {k!r}")
        return self.rank_rows(self.rows_of(X, learn=False), int(k))

    def score_rows(self, rows: Rows, labels: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the scores of some labels for validated rows; see `Component.scores`."""
        return self.head.scores(rows, len(self.labels_), labels)

    def explain_row(self, row: Rows, label: int) -> tuple[NDArray[np.int64], NDArray[np.float64], float]:
        """Return the features of a single row that vote for a label, their votes, and the label's bias."""
        positions, votes, prior = self.head.explain(row, label)
        return row.indices[positions].astype(np.int64), votes, prior

    def explain(self, X: Any, label: Any) -> Explanation:
        """Return the exact votes of one row for a label.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (1, n_features)
        label : name

        Returns
        -------
        Explanation
            The bias and the votes sum to the label's score.
        """
        self.check_fitted()
        rows = self.rows_of(X, learn=False)
        if rows.n_rows != 1:
            raise ValueError(f"explain takes one row, got {rows.n_rows}")
        try:
            number = self.labels_.id_of(label)
        except KeyError:
            raise ValueError(f"label {label!r} is not known; give a label that was learned") from None
        features, votes, prior = self.explain_row(rows, number)
        columns, signs = columns_of(features) if self.has_signs_ else (features, np.ones(len(features), np.int64))
        return Explanation(self.labels_.names[number], columns, votes, prior, self._names_of(columns), signs)

    def _names_of(self, columns: NDArray[np.int64]) -> list[str]:
        known = getattr(self, "feature_names_in_", ())
        return [str(known[column]) if column < len(known) else f"x{column}" for column in columns.tolist()]

    def truth(self, Y: Any) -> "sp.csr_array[Any]":
        """Return true labels as an indicator matrix over label numbers, for the metrics.

        Unknown labels get columns after the known ones.
        """
        import scipy.sparse as sp

        self.check_fitted()
        target_form(Y)  # raises if there are no rows
        n_rows = Y.shape[0] if hasattr(Y, "shape") else len(Y)
        targets = self.labels_.encode(Y, n_rows, learn=False)
        width = max(len(self.labels_), int(targets.ids.max(initial=-1)) + 1)
        return sp.csr_array((np.ones(len(targets.ids), np.int8), targets.ids, targets.indptr), shape=(n_rows, width))

    # -- names -------------------------------------------------------------------------------------

    def check_fitted(self) -> None:
        """Raise if nothing has been learned."""
        if not hasattr(self, "labels_"):
            from sklearn.exceptions import NotFittedError

            raise NotFittedError(f"This {type(self).__name__} is not fitted yet: call fit or partial_fit first.")

    @property
    def label_counts(self) -> NDArray[np.int64]:
        """The number of rows of each label, by label number."""
        return self.labels_.counts[: len(self.labels_)]

    # -- saving ------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, Source]:
        """Return everything that was learned, by name."""
        self.check_fitted()
        names, offsets = encode_names(self.labels_.names)
        arrays: dict[str, Source] = {
            "label_names": names,
            "label_offsets": offsets,
            "label_counts": self.label_counts,
            "rows_seen": np.array([self.n_rows_seen_], np.int64),
            **self.own_state(),
        }
        for component in self.components:
            arrays |= component.state()
        if self.has_signs_:
            arrays[SIGNS] = np.ones(1, np.int64)
        if self.calibration_.n_rows:
            arrays |= {CALIBRATION_PREFIX + name: array for name, array in self.calibration_.state().items()}
        return arrays

    @classmethod
    def param_names(cls) -> list[str]:
        """Return the names of the parameters."""
        return [name for name in inspect.signature(cls).parameters if name not in ("args", "kwargs")]

    def params(self) -> dict[str, Any]:
        """Return every parameter."""
        return {name: getattr(self, name) for name in self.param_names()}

    def content(self) -> dict[str, Any]:
        """Return the entries of the manifest besides the kind and the files."""
        columns: Mapping[str, Any] = {"n_features_in": self.n_features_in_, "form": self._form}
        if hasattr(self, "feature_names_in_"):
            columns = {**columns, "feature_names": list(self.feature_names_in_)}
        return {"params": self.params(), "columns": columns}

    @classmethod
    def from_model(cls, model: Model, **params: Any) -> Self:
        """Build a ranker from a loaded model directory, with some parameters replaced."""
        try:
            ranker = cls(**model.content["params"])
            ranker.check_params()
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise DamagedModel(f"the model's parameters cannot be used: {error}") from None
        for name, value in params.items():
            if name not in cls.param_names():
                known = ", ".join(cls.param_names())
                raise ValueError(f"a {cls.kind} ranker has no parameter {name!r}; it has {known}")
            setattr(ranker, name, value)
        ranker.check_params()
        try:
            n_features, columns = model.columns()
            form = model.content["columns"].get("form")
            if form not in FORMS:
                raise DamagedModel(f"the form of the labels must be one of {', '.join(FORMS)}, got {form!r}")
            ranker.set_columns(n_features, form, columns)
            ranker.has_signs_ = SIGNS in model.arrays and model.take_counts(SIGNS, 1) != [0]
            names = decode_names(model.arrays["label_names"], model.arrays["label_offsets"])
            counts, (ranker.n_rows_seen_,) = model.arrays["label_counts"], model.take_counts("rows_seen", 1)
            fits = counts.dtype == np.int64 and counts.shape == (len(names),)
            if not fits or np.any(counts < 0) or np.any(counts > ranker.n_rows_seen_):
                raise DamagedModel("the label counts do not match the names, or exceed the number of rows")
            ranker.labels_ = LabelIndex.restore(names, counts)
            ranker.restore(model)
            ranker.calibration_ = Calibration()
            if saved := model.under(CALIBRATION_PREFIX):
                ranker.calibration_.restore(saved)
        except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
            raise DamagedModel(f"the model does not hold what a {cls.__name__} needs: {error}") from None
        return ranker


def require_rankers(models: Sequence[Any]) -> list[Ranker]:
    """Return the models as rankers; raise TypeError if one is not a ranker."""
    for model in models:
        if not isinstance(model, Ranker):
            raise TypeError(f"merge takes taggers or rankers, got {type(model).__name__}")
    return list(models)
