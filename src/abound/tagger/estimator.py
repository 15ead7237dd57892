"""The tagger as a scikit-learn estimator of texts, without importing scikit-learn before it is used."""

from collections.abc import Iterable
from typing import Any, Self

from numpy.typing import ArrayLike

from abound.tagger.arguments import as_texts, validate_targets
from abound.tagger.emptiness import warn_of_empty
from abound.tagger.parts import TaggerParts
from abound.tagger.settings import OWN_PARAMS
from abound.texts import Text


class TextEstimator(TaggerParts):
    """Parameters by name, cloning, predictions and a score.

    Its tags do not call it a classifier, because scikit-learn stratifies the folds of classifiers, and cannot do so
    with lists of labels.
    """

    # -- parameters --------------------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 -- scikit-learn's signature
        """Return the parameters: those of the tagger, all of its ranker, and those of the text that were given."""
        settings = self.settings
        same_kind = self.ranker.kind == settings.ranker
        ranker = self.ranker.params() if same_kind else settings.new_ranker().params()
        own = {name: getattr(settings, name) for name in OWN_PARAMS}
        return {**own, **ranker, **settings.text}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name.

        Parameters of the ranker and `name_weight` take effect immediately. Another ranker, another language and
        parameters of the text take effect with the next `fit`, because what was learned does not fit them.
        """
        settings = self.settings.replaced(**params)
        settings.new_encoder(settings.language)  # raises on an invalid parameter
        if not self.n_rows and not self.n_features:
            self.use(settings)
            return self
        if self.ranker.kind == settings.ranker:
            for name, value in settings.new_ranker().params().items():
                if name in settings.ranker_params:
                    setattr(self.ranker, name, value)
        self.settings, self.name_weight = settings, settings.name_weight
        return self

    def __sklearn_clone__(self) -> "TextEstimator":
        return type(self)(**self.settings.arguments())

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        inputs = InputTags(one_d_array=True, two_d_array=False, string=True)
        return Tags(estimator_type=None, target_tags=TargetTags(required=True), input_tags=inputs)

    def __sklearn_is_fitted__(self) -> bool:
        return bool(self.n_rows)

    def __repr__(self) -> str:
        params = ", ".join(f"{name}={value!r}" for name, value in self.settings.unusual().items())
        text = f"{type(self).__name__}({params})"
        if not self.n_rows:
            return text
        return f"{text}  # {self.n_rows:,} texts, {self.n_labels:,} labels, {self.n_features:,} terms"

    # -- predictions -------------------------------------------------------------------------------

    def predict(self, texts: Iterable[Text]) -> Any:
        """Return labels for each text, in the form of the labels that `fit` was given.

        After lists of labels, these are the labels that `assign` returns; a model without probabilities returns as many
        as a learned text has on average. After one name per text, it is the best label; a text without known words
        gets the most frequent one.

        Returns
        -------
        ndarray of lists of names with the best first, or ndarray of names
        """
        self._check_fitted()
        given = as_texts(texts)
        labels = self.ranker.predict_rows(self.rows_of(given), self.how_ranked)
        if self.ranker.form == "lists":
            warn_of_empty(self, given, labels)
        return labels

    def score(self, texts: Iterable[Text], labels: Iterable[Any], sample_weight: ArrayLike | None = None) -> float:
        """Return the share of texts whose best label is one of theirs; with one label per text, this is accuracy."""
        self._check_fitted()
        given, (names, _) = as_texts(texts), validate_targets(labels)
        return self.ranker.score_of(self.rows_of(given), names, sample_weight, self.how_ranked)

    def _check_fitted(self) -> None:
        if not self.n_rows:
            from sklearn.exceptions import NotFittedError

            raise NotFittedError(f"this {type(self).__name__} has learned nothing yet: call fit or learn first")
