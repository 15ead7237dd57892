"""The rankers as scikit-learn estimators: the classes that users import."""

from typing import Any

from sklearn.base import BaseEstimator, ClassifierMixin

from abound.rankers import Ranker, ranker_class
from abound.rankers.cascade import CascadeRanker
from abound.rankers.feature_focus import FeatureFocusRanker
from abound.rankers.frequency import FrequencyRanker
from abound.rankers.independent import IndependentRanker
from abound.rankers.mmp import MMPRanker
from abound.rankers.perceptron import PerceptronRanker
from abound.rankers.rocchio import RocchioRanker


class Estimator(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """The scikit-learn interface of a ranker: parameters by name, cloning, tags."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.target_tags.required = True
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
