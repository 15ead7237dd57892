"""The selector takes the terms that the oracle takes, labels in every form, and passes scikit-learn's checks."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from abound import FeatureFocus, RocchioSelector
from tests.rankers.streams import stream
from tests.reference.mmp import RocchioReference

rows = st.lists(st.integers(0, 8).map(lambda n: n / 4), min_size=6, max_size=6)


@parametrize_with_checks([RocchioSelector()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@given(
    st.lists(st.tuples(rows, st.sets(st.integers(0, 3))), min_size=1, max_size=8),
    st.sampled_from((0, 1, 2)),
    st.sampled_from((0.0, 0.4, 1.0)),
    st.sampled_from((4.0, 16.0, 0.0)),
)
@settings(max_examples=100, deadline=None)
@pytest.mark.filterwarnings("ignore:No features were selected")
def test_selects_what_the_oracle_selects(examples, least, share, negative):
    oracle = RocchioReference(16.0, negative)
    for row, labels in examples:
        oracle.learn(dict(enumerate(row)), labels, 4)
    selector = RocchioSelector(least=least, share=share, negative=negative)
    selector.fit(np.array([row for row, _ in examples]), [sorted(labels) for _, labels in examples])
    assert set(selector.get_support(indices=True).tolist()) == oracle.selected(least, share)


def test_labels_may_be_given_in_any_form():
    X, Y = stream()
    names = sorted({name for row in Y for name in row})
    indicator = np.array([[name in row for name in names] for row in Y], int)
    chosen = RocchioSelector(least=2).fit(X, Y).get_support()
    assert 0 < chosen.sum() < len(chosen)
    for form in (indicator, sp.csr_array(indicator), [set(row) for row in Y]):
        assert np.array_equal(RocchioSelector(least=2).fit(X.toarray(), form).get_support(), chosen)
    single = RocchioSelector(least=2).fit(X, [row[0] for row in Y]).get_support()
    assert np.array_equal(RocchioSelector(least=2).fit(X, [row[:1] for row in Y]).get_support(), single)


def test_works_in_a_pipeline_with_cross_validation():
    X, Y = stream(400)
    scores = cross_val_score(make_pipeline(RocchioSelector(least=1), FeatureFocus()), X, Y, cv=KFold(3))
    assert scores.min() > 0.6


@pytest.mark.parametrize(
    ("params", "message"),
    [({"share": 2}, "share must be between 0 and 1, got 2"), ({"least": -1}, "least must be at least 0, got -1")],
)
def test_a_bad_parameter_is_named(params, message):
    with pytest.raises(ValueError, match=message):
        RocchioSelector(**params).fit([[1]], ["a"])


def test_labels_must_fit_the_rows():
    with pytest.raises(ValueError, match="X has 2 rows but Y has 1"):
        RocchioSelector().fit([[1], [2]], ["a"])
