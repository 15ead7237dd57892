"""Pivoted weights of counts: the paper's formula, our own text front end, and scikit-learn's checks."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from abound import PivotedWeights, TextVectorizer

counts = st.tuples(st.integers(1, 5), st.integers(1, 6)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(0, 4))
)


@parametrize_with_checks([PivotedWeights()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@given(counts, st.sampled_from((0.0, 0.3, 1.0)))
@settings(max_examples=100, deadline=None)
def test_is_the_formula_of_the_paper(X, slope):
    weights = PivotedWeights(slope=slope).fit_transform(X).toarray()
    n, lengths, holders = len(X), (X > 0).sum(axis=1), (X > 0).sum(axis=0)
    for i, j in np.ndindex(X.shape):
        expected = 0.0
        if X[i, j]:
            mean_count = X[i].sum() / lengths[i]
            pivot = (1 - slope) + slope * lengths[i] / lengths.mean()
            expected = (1 + np.log(X[i, j])) / (1 + np.log(mean_count)) / pivot * np.log(n / holders[j])
        assert weights[i, j] == pytest.approx(expected, abs=1e-12)


def test_equals_the_weights_of_the_text_front_end():
    texts = ["a red red apple", "a red car", "a blue car and a red car", "blue"]
    counter = CountVectorizer(token_pattern=r"\w+")
    ours = make_pipeline(counter, PivotedWeights()).fit(texts)
    texts.append("a blue zebra zebra")
    front = TextVectorizer(ngrams=1, weighting="pivoted").fit(texts[:4])
    columns = [counter.vocabulary_[name] for name in front.get_feature_names_out()]
    assert np.allclose(ours.transform(texts).toarray()[:, columns], front.transform(texts).toarray())


def test_a_term_that_was_never_counted_weighs_nothing():
    weights = PivotedWeights().fit([[1, 0], [0, 0]])
    assert weights.idf_.tolist() == [np.log(2), 0.0]
    assert weights.transform([[1, 5]]).indices.tolist() == [0]


def test_stored_zeros_and_repeated_entries_change_nothing():
    odd = sp.csr_matrix((np.array([1.0, 1.0, 0.0]), np.array([0, 0, 1]), np.array([0, 3, 3])), shape=(2, 2))
    plain = sp.csr_matrix(np.array([[2.0, 0.0], [0.0, 0.0]]))
    assert PivotedWeights().fit(odd).mean_length_ == 0.5
    assert (PivotedWeights().fit_transform(odd) != PivotedWeights().fit_transform(plain)).nnz == 0
    assert odd.nnz == 3  # the caller's matrix stays as it was


def test_a_slope_beyond_its_range_is_named():
    with pytest.raises(ValueError, match=r"slope must be between 0 and 1, got 1\.5"):
        PivotedWeights(slope=1.5).fit([[1]])
