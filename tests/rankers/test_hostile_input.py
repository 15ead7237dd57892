"""Whatever comes from outside: it is refused in a sentence or learnt, and the process lives on."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from abound import MMP, Cascade, FeatureFocus, Perceptron, load
from abound.rankers.base import Ranker
from tests.rankers.streams import VARIANTS, stream

pytestmark = pytest.mark.kernel
MANY = 200_000


def repeated(n, width=3):
    """Return an indicator of two rows, the first of which names label 1 so many times."""
    indices = np.concatenate([np.full(n, 1), [0]])
    return sp.csr_array((np.ones(n + 1, int), indices, [0, n, n + 1]), (2, width))


@pytest.mark.parametrize("ranker", VARIANTS, ids=str)
@pytest.mark.parametrize("n", [2, MANY])
def test_a_label_that_is_named_many_times_counts_once(ranker, n, tmp_path):
    X = sp.csr_array([[1.0, 0.0], [0.5, 1.0]])
    found, wanted = clone(ranker).fit(X, repeated(n)), clone(ranker).fit(X, repeated(1))
    assert found.state_hash() == wanted.state_hash()
    found.save(tmp_path / "model")
    assert load(tmp_path / "model").state_hash() == wanted.state_hash()


@pytest.mark.parametrize("ranker", VARIANTS, ids=str)
def test_a_list_may_repeat_a_label(ranker):
    X = sp.csr_array([[1.0, 0.0], [0.5, 1.0]])
    found = clone(ranker).fit(X, [["b"] * MANY, ["a"]])
    assert found.state_hash() == clone(ranker).fit(X, [["b"], ["a"]]).state_hash()


def spoilt(change):
    X = sp.csr_array((np.ones(4), np.array([0, 1, 1, 2], np.int32), np.array([0, 2, 4], np.int32)), (2, 3))
    X.has_canonical_format  # noqa: B018  noted on the matrix, and no longer so afterwards
    change(X)
    return X


SPOILT = {
    "negative": lambda X: X.indices.__setitem__(0, -7),
    "far too negative": lambda X: X.indices.__setitem__(0, -(2**31)),
    "too large": lambda X: X.indices.__setitem__(3, 2**30),
    "just too large": lambda X: X.indices.__setitem__(3, 3),
    "overlapping": lambda X: X.indptr.__setitem__(slice(None), [0, 4, 2]),
    "beyond the indices": lambda X: X.indptr.__setitem__(2, 10**6),
    "below the indices": lambda X: X.indptr.__setitem__(slice(None), [-5, 2, 4]),
    "not a number": lambda X: X.data.__setitem__(1, np.nan),
    "infinite": lambda X: X.data.__setitem__(1, np.inf),
    "beyond single precision": lambda X: X.data.__setitem__(1, 1e300),
    "beyond single precision and negative": lambda X: X.data.__setitem__(1, -1e300),
    "too few values": lambda X: setattr(X, "data", X.data[:2]),
    "too short": lambda X: setattr(X, "indptr", X.indptr[:2]),
}


@pytest.mark.parametrize("ranker", [Cascade(), Cascade(few_labels=0), FeatureFocus(), MMP(), Perceptron()], ids=str)
@pytest.mark.parametrize("name", SPOILT)
def test_rows_that_do_not_hold_together_are_refused(ranker, name):
    X, Y = stream()
    fitted = clone(ranker).fit(X, Y)
    known = fitted.state_hash()
    bad = spoilt(SPOILT[name])
    for call in (
        lambda: fitted.rank(bad),
        lambda: fitted.partial_fit(bad, [["a"], ["new"]]),
        lambda: fitted.explain(bad, "a"),
    ):
        with pytest.raises(ValueError, match=r"X|[Vv]alue|NaN|infinity"):
            call()
    with pytest.raises(ValueError, match=r"X|[Vv]alue|NaN|infinity"):
        clone(ranker).fit(bad, [["a"], ["b"]])
    assert fitted.state_hash() == known


def test_rows_that_are_only_laid_out_otherwise_are_learnt_alike():
    """Unsorted or repeated columns, wide indices, strided, read-only and byte-swapped arrays."""
    X, Y = stream()
    wanted = Cascade().fit(X, Y).state_hash()

    def made(data, indices, indptr):
        other = sp.csr_array(X)
        other.data, other.indices, other.indptr = data, indices, indptr
        return other

    strided = [np.repeat(array, 2)[::2] for array in (X.data, X.indices, X.indptr)]
    frozen = [array.copy() for array in (X.data, X.indices, X.indptr)]
    for array in frozen:
        array.flags.writeable = False
    backwards = np.concatenate([np.arange(b - 1, a - 1, -1) for a, b in zip(X.indptr, X.indptr[1:], strict=False)])
    unaligned = np.frombuffer(b"\0" + X.data.tobytes(), np.uint8)[1:].view(np.float64)
    for other in (
        made(*strided),
        made(*frozen),
        made(X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)),
        made(X.data, X.indices, X.indptr.astype(np.int64)),
        made(X.data[backwards], X.indices[backwards], X.indptr),
        made(X.data.astype(">f8"), X.indices, X.indptr),
        made(unaligned, X.indices, X.indptr),
        made(np.append(X.data, 1.0), np.append(X.indices, 9999), X.indptr),
        made(np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), X.indptr * 2),
    ):
        assert Cascade().fit(other, Y).state_hash() == wanted


@pytest.mark.parametrize("ranker", VARIANTS, ids=str)
def test_what_is_refused_leaves_no_trace(ranker):
    """Neither labels nor columns of a call that failed become known."""
    X, Y = stream()
    fitted = clone(ranker).fit(X, Y)
    known, width = fitted.state_hash(), fitted.n_features_in_
    wide = sp.csr_array((np.ones(1), [width + 5], [0, 1]), (1, width + 6))
    for labels in ([["new"], ["other"]], [["new", None]], [["new", float("nan")]], [["new", 1 << 5000]], None, "new"):
        with pytest.raises((TypeError, ValueError)):
            fitted.partial_fit(wide, labels)
    with pytest.raises(TypeError):
        fitted.partial_fit(wide, [["new"]], classes=["newer", None])
    assert (fitted.state_hash(), fitted.n_features_in_) == (known, width)
    fitted.partial_fit(X[:1], [["newest"]])
    fitted.state_hash()


def test_a_row_whose_words_know_its_own_labels_only_has_nothing_to_learn():
    """There is no wrong label to compete with; under sanitizers this was a number beyond all."""
    X = sp.csr_array([[1.0, 0.5]])
    model = Cascade(few_labels=0).partial_fit(X, [["a"]])
    ratings = model.head.store.headers()[2].tolist()
    for _ in range(3):
        model.partial_fit(X, [["a"]])
    assert model.head.store.headers()[2].tolist() == ratings


@pytest.mark.parametrize("candidates", [2**31, 2**60, 2**62 + 1])
def test_more_candidates_than_memory_holds_are_as_many_as_there_are(candidates):
    X, Y = stream()
    found, wanted = (Cascade(few_labels=0, candidates=n).fit(X, Y) for n in (candidates, 1000))
    assert found.rank(X).indices.tolist() == wanted.rank(X).indices.tolist()


def test_an_incomplete_ranker_cannot_be_made():
    class Incomplete(Ranker):
        kind = "incomplete"

        def _check_params(self):
            pass

    with pytest.raises(TypeError, match="abstract"):
        Incomplete()


WIDE = sp.csr_array((2, 2**31 + 5))


def test_more_columns_than_fit_are_refused_with_their_number():
    with pytest.raises(ValueError, match=rf"X must have fewer than 2\*\*31 columns, got {2**31 + 5}"):
        FeatureFocus().fit(WIDE, [["a"], ["b"]])
    with pytest.raises(ValueError, match=rf"an indicator matrix must have fewer than 2\*\*31 columns, got {2**31 + 5}"):
        FeatureFocus().fit(np.eye(2), WIDE)


@pytest.mark.parametrize("share", [-0.5, -1e-9, 0.91, float("nan")])
def test_a_share_for_early_stopping_is_checked(share):
    with pytest.raises(ValueError, match="early_stopping must be"):
        MMP(early_stopping=share).fit(np.eye(3), [["a"], ["b"], ["c"]])


def test_an_explanation_learns_nothing():
    ranker = FeatureFocus().fit(np.eye(3), [["a"], ["b"], ["c"]])
    before = ranker.state_hash(), ranker.has_signs_
    ranker.explain(-np.eye(3)[:1], "a")
    assert (ranker.state_hash(), ranker.has_signs_) == before
