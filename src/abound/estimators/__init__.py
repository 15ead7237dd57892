"""The rankers as scikit-learn estimators: the classes that users import."""

from typing import Any

from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if

from abound.calibration.decisions import NO_PROBABILITIES
from abound.rankers import Ranker, ranker_class
from abound.rankers.cascade import CascadeRanker
from abound.rankers.feature_focus import FeatureFocusRanker
from abound.rankers.frequency import FrequencyRanker
from abound.rankers.independent import IndependentRanker
from abound.rankers.kernel_mmp import KernelMMPRanker
from abound.rankers.mmp import MMPRanker
from abound.rankers.perceptron import PerceptronRanker
from abound.rankers.rocchio import RocchioRanker


def _has_probabilities(estimator: Any) -> bool:
    """Tell whether a ranker has probabilities, or, if it has learned nothing yet, whether it is going to learn them."""
    if estimator.calibration_.is_ready if hasattr(estimator, "calibration_") else estimator.calibrates:
        return True
    raise AttributeError(NO_PROBABILITIES)


class Estimator(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """The scikit-learn interface of a ranker: parameters by name, cloning, tags, and matrices of all classes."""

    def decision_function(self, X: Any) -> Any:
        """Return the score of each class for each row.

        The columns are in the order of `classes_`. A label without votes has the lowest score of its row, and at most
        0. With one name per row, the label with the highest score is the one that `predict` returns.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes), ndarray of shape (n_samples,), or csr_array
            After one name per row with two names in all, one column: the score of the second class minus that of the
            first. With more than 1,000 labels, a sparse matrix with the 20 best labels of each row; labels without an
            entry are not ranked, so they do not have the score 0.
        """
        return self.score_matrix(X)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each class for each row; only a calibrated ranker has this method.

        The columns are in the order of `classes_`. After one name per row, the probabilities of a row sum to 1. After
        lists of names or an indicator matrix, each is the probability that the row has the label.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or csr_array
            With more than 1,000 labels, a sparse matrix with the 20 best labels of each row.
        """
        return self.probability_matrix(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.classifier_tags.multi_label = True
        # Votes are designed for many sparse features, unlike the two dense features of scikit-learn's checks.
        tags.classifier_tags.poor_score = True
        return tags


class Cascade(CascadeRanker, Estimator):
    __doc__ = CascadeRanker.__doc__


class FeatureFocus(FeatureFocusRanker, Estimator):
    __doc__ = FeatureFocusRanker.__doc__


class Frequency(FrequencyRanker, Estimator):
    __doc__ = FrequencyRanker.__doc__


class Independent(IndependentRanker, Estimator):
    __doc__ = IndependentRanker.__doc__


class KernelMMP(KernelMMPRanker, Estimator):
    __doc__ = KernelMMPRanker.__doc__


class MMP(MMPRanker, Estimator):
    __doc__ = MMPRanker.__doc__


class Perceptron(PerceptronRanker, Estimator):
    __doc__ = PerceptronRanker.__doc__


class Rocchio(RocchioRanker, Estimator):
    __doc__ = RocchioRanker.__doc__


def estimator_class(kind: str) -> type[Ranker]:
    """Return the estimator of a kind of ranker.

    Examples
    --------
    >>> estimator_class("feature-focus").__name__
    'FeatureFocus'
    """
    bare = ranker_class(kind)
    known = [estimator for estimator in Estimator.__subclasses__() if issubclass(estimator, bare)]
    return known[0] if known else type(bare.__name__, (bare, Estimator), {"__doc__": bare.__doc__})
