"""The text front end as a scikit-learn transformer; the generic checks pass over those of texts."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline

from abound import FeatureFocus, TextVectorizer
from abound.text import TextEncoder

TEXTS = ["the red apple", "the red car", "a blue car and a red car", "blue"]


def test_equals_scikit_learns_vectorizer():
    theirs = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), token_pattern=r"\w+")
    ours = TextVectorizer().fit(TEXTS)
    expected = theirs.fit_transform(TEXTS)
    names = ours.get_feature_names_out()
    columns = [theirs.vocabulary_[name] for name in names]
    assert np.allclose(ours.transform(TEXTS).toarray(), expected[:, columns].toarray())


def test_min_count_equals_min_df():
    theirs = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), token_pattern=r"\w+", min_df=2).fit(TEXTS)
    ours = TextVectorizer(min_count=2).fit(TEXTS)
    rows = ours.transform(TEXTS)
    used = ours.get_feature_names_out()[np.unique(rows.indices)]
    assert set(used) == set(theirs.vocabulary_)
    assert np.allclose(np.sort(rows.data), np.sort(theirs.transform(TEXTS).data))


def test_partial_fit_in_chunks_equals_all_at_once():
    whole, parts = TextVectorizer().partial_fit(TEXTS), TextVectorizer()
    for text in TEXTS:
        parts.partial_fit([text])
    assert (whole.transform(TEXTS) != parts.transform(TEXTS)).nnz == 0


def test_clones_set_params_and_refuses_before_fit():
    vectorizer = clone(TextVectorizer(ngrams=3)).set_params(slope=0.2)
    assert vectorizer.get_params()["ngrams"] == 3
    with pytest.raises(NotFittedError):
        vectorizer.transform(TEXTS)
    with pytest.raises(ValueError, match="not a single string"):
        vectorizer.fit("text")


def test_works_in_a_pipeline_and_a_grid_search():
    labels = [["fruit"], ["vehicle"], ["vehicle"], ["colour"]] * 6
    pipeline = make_pipeline(TextVectorizer(), FeatureFocus())
    search = GridSearchCV(pipeline, {"textvectorizer__ngrams": [1, 2]}, cv=KFold(2)).fit(TEXTS * 6, labels)
    assert search.best_score_ == 1.0


def test_its_defaults_are_the_encoders():
    assert inspect.signature(TextVectorizer).parameters.keys() == inspect.signature(TextEncoder).parameters.keys()
    assert TextVectorizer().get_params() == TextEncoder().params()


def test_unknown_words_have_no_say():
    assert TextVectorizer().fit(TEXTS).transform(["zebra"]).nnz == 0
