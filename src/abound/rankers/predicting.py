"""What a ranker says about rows in the forms of scikit-learn: labels, sets of labels, and matrices with all classes."""

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from abound.calibration import Calibration, Decision
from abound.calibration.decisions import CONSIDERED, NO_PROBABILITIES
from abound.components.rows import Rows
from abound.errors import NotCalibrated
from abound.rankers.calibrated import Calibrated
from abound.rankers.labels import TargetForm
from abound.rankers.ranking import Ranking
from abound.store.names import Name

if TYPE_CHECKING:
    import scipy.sparse as sp

DENSE_LABELS = 1_000  # up to which a matrix has a value for every label
TOP = 20  # labels per row in the matrix of more labels
TIE = 1e-12  # by how much a best label that ties with another is raised; it is lost neither in sums nor in quotients


class HowRanked(NamedTuple):
    """How rows are ranked: by a ranker, or by something that uses one."""

    rank: Callable[[Rows, int], Ranking]
    calibration: Calibration


class Predicting(Calibrated):
    """A ranker that predicts in the form in which labels were learned last: names, lists of names, or an indicator."""

    @property
    @abstractmethod
    def form(self) -> TargetForm:
        """The form in which the last learned labels were given."""

    @property
    @abstractmethod
    def label_counts(self) -> NDArray[np.int64]:
        """The number of rows of each label, by label number."""

    @abstractmethod
    def check_fitted(self) -> None:
        """Raise if nothing has been learned."""

    @abstractmethod
    def rows_of(self, X: Any, *, learn: bool = False) -> Rows:
        """Validate rows and return them as components take them."""

    # -- names -------------------------------------------------------------------------------------

    @property
    def classes_(self) -> NDArray[Any]:
        """The known labels, sorted."""
        self.check_fitted()
        return _as_array([self.labels_.names[number] for number in self._sorted_numbers()])

    def _sorted_numbers(self) -> list[int]:
        names = self.labels_.names
        return sorted(range(len(names)), key=lambda number: (isinstance(names[number], str), names[number]))

    def _columns(self) -> NDArray[np.int64]:
        """Return the position of each label number in `classes_`."""
        columns = np.empty(len(self.labels_), np.int64)
        columns[self._sorted_numbers()] = np.arange(len(self.labels_))
        return columns

    # -- labels ------------------------------------------------------------------------------------

    def predict(self, X: Any) -> Any:
        """Return labels for each row, in the form of the last learned Y.

        After one name per row, this is the best label; a row without votes gets the most frequent one.

        After lists of names or an indicator matrix, this is the set of labels with the best expected F1 by their
        probabilities; a row without votes gets none. Without probabilities, each row gets its best labels, as many as
        a learned row has on average. Probabilities need a `Cascade` with `calibrate=True` and at least 40 rows.

        Returns
        -------
        ndarray of names, ndarray of lists of names with the best first, or an indicator matrix
        """
        self.check_fitted()
        return self.predict_rows(self.rows_of(X))

    def predict_rows(self, rows: Rows, how: HowRanked | None = None) -> Any:
        """Return labels for validated rows; see `predict`. `how` ranks them in another way."""
        if self.form == "names":
            return _as_array([self.labels_.names[number] for number in self.best_labels(rows, how).tolist()])
        numbers, assigned = self._assigned(rows, how)
        if self.form == "lists":
            lists = np.empty(rows.n_rows, object)  # of one dimension, even if all lists have the same length
            for row, (ranked, mine) in enumerate(zip(numbers, assigned, strict=True)):
                lists[row] = [self.labels_.names[number] for number in ranked[mine].tolist()]
            return lists
        import scipy.sparse as sp

        owners, columns = np.nonzero(assigned)[0], self._columns()[numbers[assigned]]
        shape = (rows.n_rows, len(self.labels_))
        matrix = sp.csr_array((np.ones(len(owners), np.int64), (owners, columns)), shape=shape)
        return matrix if self.form == "sparse" else matrix.toarray()

    def best_labels(self, rows: Rows, how: HowRanked | None = None) -> NDArray[np.int64]:
        """Return the number of the best label of each row; without votes, that of the most frequent label."""
        self._check_labels()
        best = (self.rank_rows if how is None else how.rank)(rows, 1).indices[:, 0]
        return np.where(best < 0, np.argmax(self.label_counts), best)

    def _assigned(self, rows: Rows, how: HowRanked | None = None) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """Return the ranked labels of each row, and which of them to assign."""
        self._check_labels()
        usual = max(1, round(float(self.label_counts.sum()) / max(1, self.n_rows_seen_)))
        how = HowRanked(self.rank_rows, self.calibration_) if how is None else how
        ranking = how.rank(rows, max(CONSIDERED, 3 * usual))
        if ranking.probabilities is not None:
            return ranking.indices, Decision().assigned(ranking.probabilities, how.calibration)
        return ranking.indices, (np.arange(ranking.indices.shape[1]) < usual) & (ranking.indices >= 0)

    def _check_labels(self) -> None:
        if not len(self.labels_):
            raise ValueError("no label has been learned, so none can be predicted")

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of rows whose best label is one of theirs; with one label per row, this is accuracy."""
        self.check_fitted()
        return self.score_of(self.rows_of(X), y, sample_weight)

    def score_of(
        self, rows: Rows, y: Any, sample_weight: ArrayLike | None = None, how: HowRanked | None = None
    ) -> float:
        """Return the share of validated rows whose best label is one of theirs."""
        best = self.best_labels(rows, how)
        truth = self.labels_.encode(y, len(best), learn=False)
        owners = np.repeat(np.arange(len(best)), np.diff(truth.indptr))
        hits = np.bincount(owners, best[owners] == truth.ids, len(best))  # 1 or 0: a row has a label at most once
        return float(np.average(hits, weights=None if sample_weight is None else np.asarray(sample_weight)))

    # -- matrices ----------------------------------------------------------------------------------

    def score_matrix(self, X: Any) -> "NDArray[np.float64] | sp.csr_array[Any]":
        """Return the scores of the classes; see `abound.estimators.Estimator.decision_function`."""
        ranked, _ = self._ranked_values(X)
        is_ranked = ranked.labels >= 0
        values = np.minimum.accumulate(np.where(is_ranked, ranked.values, np.inf), axis=1)  # ordered as ranked
        missing = np.minimum(0.0, np.where(is_ranked, values, 0.0).min(axis=1))
        rivals = np.column_stack([missing, np.where(is_ranked, values, -np.inf)[:, 1:2]]).max(axis=1)
        ties = is_ranked[:, 0] & (rivals >= values[:, 0])
        values[ties, 0] = np.nextafter(values[ties, 0], np.inf)
        matrix = self._by_class(Ranked(ranked.labels, values), missing)
        if self.form == "names" and len(self.labels_) == 2:
            return np.asarray(matrix[:, 1] - matrix[:, 0])
        return matrix

    def probability_matrix(self, X: Any) -> "NDArray[np.float64] | sp.csr_array[Any]":
        """Return the probabilities of the classes; see `abound.estimators.Estimator.predict_proba`."""
        _, ranked = self._ranked_values(X)
        if ranked is None:
            raise NotCalibrated(NO_PROBABILITIES)
        values = ranked.values
        if self.form == "names":  # exactly one label is right, and the best one is the most probable
            highest = values.max(axis=1)
            ties = (values[:, 1:] >= values[:, :1]).any(axis=1)
            values[ties, 0] = highest[ties] * (1.0 + TIE)
            values[highest <= 0.0, 0] = 1.0
            values /= values.sum(axis=1, keepdims=True)
        return self._by_class(ranked, np.zeros(len(values)))

    def _ranked_values(self, X: Any) -> "tuple[Ranked, Ranked | None]":
        """Rank rows, and return the labels with their scores, and with their probabilities, if there are any.

        A row without votes has the most frequent labels if exactly one label is right.
        """
        self.check_fitted()
        self._check_labels()
        n_labels = len(self.labels_)
        ranking = self.rank_rows(self.rows_of(X), n_labels if n_labels <= DENSE_LABELS else TOP)
        labels, scores, probabilities = ranking.indices, ranking.scores, ranking.probabilities
        empty = labels[:, 0] < 0
        if self.form == "names" and empty.any():
            frequent = np.argsort(-self.label_counts, kind="stable")[: labels.shape[1]]
            shares = self.label_counts[frequent] / max(1, int(self.label_counts.sum()))
            labels[empty], scores[empty] = frequent, shares
            if probabilities is not None:
                probabilities[empty] = shares
        return Ranked(labels, scores), None if probabilities is None else Ranked(labels, probabilities)

    def _by_class(self, ranked: "Ranked", missing: NDArray[np.float64]) -> "NDArray[np.float64] | sp.csr_array[Any]":
        """Return values in a matrix with a column for each class; in a dense one, other labels have `missing`."""
        is_ranked = ranked.labels >= 0
        rows, columns = np.nonzero(is_ranked)[0], self._columns()[ranked.labels[is_ranked]]
        shape = (len(ranked.labels), len(self.labels_))
        if len(self.labels_) > DENSE_LABELS:
            import scipy.sparse as sp

            return sp.csr_array((ranked.values[is_ranked], (rows, columns)), shape=shape)
        matrix = np.repeat(missing[:, None], shape[1], axis=1)
        matrix[rows, columns] = ranked.values[is_ranked]
        return matrix


class Ranked(NamedTuple):
    """Label numbers, best first and padded with -1, and a value for each."""

    labels: NDArray[np.int32]
    values: NDArray[np.float64]


def _as_array(names: list[Name]) -> NDArray[Any]:
    if len({isinstance(name, str) for name in names}) > 1:  # numpy would convert 1 to "1"
        array = np.empty(len(names), object)
        array[:] = names
        return array
    return np.array(names)
