"""The edge pool keeps every list whole while it grows, shrinks and moves, and wastes little room."""

import numpy as np
import pytest
import scipy.sparse as sp

from abound import FeatureFocus
from abound.kernels.pool import EDGE_BYTES, EDGE_DTYPE, FEATURE_BYTES, EdgePool, check_arrays

pytestmark = pytest.mark.kernel


def random_rows(rng, n_rows, n_features, active=10):
    """Rows of ones; a feature drawn twice counts once."""
    indices = rng.integers(n_features, size=n_rows * active)
    X = sp.csr_matrix((np.ones(n_rows * active), indices, np.arange(n_rows + 1) * active), shape=(n_rows, n_features))
    X.sum_duplicates()
    X.data[:] = 1.0
    return X


def counted(X, y, n_labels):
    """Return {feature: {label: rows}} counted by scipy."""
    Y = sp.csr_matrix((np.ones(len(y)), (np.arange(len(y)), y)), shape=(len(y), n_labels))
    joint = sp.csr_matrix(X.T @ Y)
    joint.sort_indices()
    return joint


def test_lists_that_grow_at_the_same_pace_stay_whole_and_close_together():
    # Every list passes through every size at about the same time: what is left behind must be used again.
    rng = np.random.default_rng(0)
    n_features, n_labels = 20_000, 5_000
    X, y = random_rows(rng, 45_000, n_features), rng.integers(n_labels, size=45_000)
    ranker = FeatureFocus(margin=None, w_min=0.0).partial_fit(X[:1], [0], classes=range(n_labels))
    for start in range(1, 45_000, 5_000):
        ranker.partial_fit(X[start : start + 5_000], y[start : start + 5_000].tolist())
    y[0] = 0
    expected = counted(X, y, n_labels)
    indptr, totals, seen = ranker.head.store.headers()
    edges = ranker.head.store.edges(0, n_features)
    assert check_arrays(indptr, edges, totals, seen, n_labels) is None
    learnt = sp.csr_matrix((edges["weight"].astype(float), edges["label"].copy(), indptr), shape=expected.shape)
    learnt.sort_indices()
    assert (learnt != expected).nnz == 0
    assert np.array_equal(totals, np.asarray(X.sum(axis=0)).ravel())
    spare = ranker.nbytes_ - EDGE_BYTES * ranker.n_edges_ - FEATURE_BYTES * n_features
    assert spare < 0.4 * EDGE_BYTES * ranker.n_edges_
    ranker.compact()
    assert ranker.nbytes_ <= 12 * ranker.n_edges_
    assert np.array_equal(ranker.head.store.edges(0, n_features), edges)


def test_a_list_longer_than_a_slab_has_room():
    n_labels = 30_000  # a slab holds 4,096 edges
    X = sp.csr_matrix((np.ones(n_labels), (np.arange(n_labels), np.arange(n_labels) % 2)), shape=(n_labels, 2))
    ranker = FeatureFocus(margin=None, w_min=0.0, d_max=None).fit(X, list(range(n_labels)))
    assert ranker.n_edges_ == n_labels
    found = ranker.rank(X[:1], n_labels)
    assert found.indices[0, :15_000].tolist() == list(range(0, n_labels, 2))  # equal weights stand in label order
    assert (found.indices[0, 15_000:] == -1).all()


def test_learning_on_borrowed_edges_moves_only_the_lists_that_grow():
    rng = np.random.default_rng(3)
    X, y = random_rows(rng, 2_000, 500), rng.integers(50, size=2_000).tolist()
    live, mapped = FeatureFocus().fit(X, y), FeatureFocus().fit(X, y)
    mapped.compact()
    more, labels = random_rows(rng, 2_000, 900), rng.integers(90, size=2_000).tolist()
    assert live.partial_fit(more, labels).state_hash() == mapped.partial_fit(more, labels).state_hash()


def test_read_only_edges_are_copied_not_written_to():
    edges = np.array([(0, 1.0)], EDGE_DTYPE)
    edges.flags.writeable = False
    pool = EdgePool.from_arrays(np.array([0, 1]), edges, np.ones(1), np.ones(1, np.int64))
    assert pool.edges(0, 1).tolist() == [(0, 1.0)]


def test_the_kernels_notice_a_bad_index_when_built_to():
    """On the ordinary build this is the caller's duty, so the check runs on the bounds-checked one only."""
    from abound.kernels import BOUNDS_CHECKED
    from abound.kernels.batch import Batch
    from abound.kernels.index import index_rank
    from abound.kernels.votes import Votes

    if not BOUNDS_CHECKED:
        pytest.skip("built without bounds checks")
    ranker = FeatureFocus().fit(np.eye(3), ["a", "b", "c"])
    out = np.full((1, 2), -1, np.int32), np.zeros((1, 2))
    indptr, indices = np.array([0, 5]), np.array([0], np.int32)  # the row claims five entries, there is one
    with pytest.raises(IndexError):
        index_rank(ranker.head.store, Votes(), ranker.head.settings, Batch((indptr, indices, np.ones(1))), 3, *out)
