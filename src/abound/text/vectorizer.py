"""The text encoder as a scikit-learn transformer."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from abound.text.encoder import TextEncoder
from abound.text.words import Tokenizer
from abound.texts import Text


@dataclass(eq=False, repr=False, kw_only=True)
class TextVectorizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Turn texts into sparse rows, with a vocabulary that can grow with `partial_fit`.

    Parameters
    ----------
    ngrams, char_ngrams, stem, min_count, weighting, slope, max_terms
        See `abound.text.TextEncoder`.
    run_weight, part_weight, form_weight, fields, field_weights, tokenizer
        See `abound.text.TextEncoder`.

    Examples
    --------
    >>> from abound import TextVectorizer
    >>> vectorizer = TextVectorizer().fit(["a red apple", "a fast car"])
    >>> vectorizer.partial_fit(["a red car"]).get_feature_names_out()[-2:].tolist()
    ['fast car', 'red car']
    """

    ngrams: int = 2
    char_ngrams: tuple[int, int] | None = None
    stem: str | None = None
    min_count: int = 1
    weighting: str = "tfidf"
    slope: float = 0.3
    max_terms: int | None = None
    run_weight: float = 1.0
    part_weight: float = 1.0
    form_weight: float = 0.0
    fields: Sequence[str] | None = None
    field_weights: Mapping[str, float] | None = None
    tokenizer: Tokenizer = "unicode"

    def fit(self, texts: Iterable[Text], y: Any = None) -> Self:  # noqa: ARG002  scikit-learn's signature
        """Count texts. Terms in fewer than `min_count` texts are left out."""
        self.encoder_ = TextEncoder(**self.get_params())
        self.encoder_.begin_counting()
        self.encoder_.count(_validate_texts(texts))
        return self

    def partial_fit(self, texts: Iterable[Text], y: Any = None) -> Self:  # noqa: ARG002
        """Count more texts, in order: update document frequencies and add new terms."""
        if not hasattr(self, "encoder_"):
            self.encoder_ = TextEncoder(**self.get_params())
        self.encoder_.rows(_validate_texts(texts), learn=True)
        return self

    def transform(self, texts: Iterable[Text]) -> "sp.csr_matrix":
        """Return the rows of texts. Unknown words are ignored."""
        check_is_fitted(self, "encoder_")
        indptr, indices, data = self.encoder_.rows(_validate_texts(texts))
        return sp.csr_matrix((data, indices, indptr), shape=(len(indptr) - 1, self.encoder_.n_terms))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:  # noqa: ARG002
        """Return the terms."""
        check_is_fitted(self, "encoder_")
        return np.array([self.encoder_.name(i, unique=True) for i in range(self.encoder_.n_terms)], object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


def _validate_texts(texts: Iterable[Text]) -> list[Text]:
    if isinstance(texts, str | Mapping):
        raise ValueError("give a list of texts, not a single string or mapping")
    return list(texts)
