"""A sparse matrix that does not hold together is refused before anything follows its indices."""

import numpy as np
import pytest
import scipy.sparse as sp

from abound.matrices import check_sparse, indicator

X = sp.random_array((6, 5), density=0.4, rng=np.random.default_rng(3), format="csr")
FORMATS = ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")


@pytest.mark.parametrize("format_", FORMATS)
def test_sound_matrices_of_every_format_pass(format_):
    check_sparse(X.asformat(format_))
    check_sparse(sp.csr_array((0, 3)).asformat(format_) if format_ not in ("bsr", "dia") else X)


def changed(format_, change):
    matrix = X.asformat(format_).copy()
    change(matrix)
    return matrix


def first(name, value):
    def change(matrix):
        getattr(matrix, name)[0] = value

    return change


def replaced(name, make):
    return lambda matrix: setattr(matrix, name, make(getattr(matrix, name)))


def one_list_longer(matrix):
    matrix.rows[0] = [*matrix.rows[0], 1]


def another_column(matrix):
    matrix.rows[0], matrix.data[0] = [99], [1.0]


DAMAGED = {
    "a column beyond the last": ("csr", first("indices", 5)),
    "a negative column": ("csr", first("indices", -1)),
    "indptr that falls": ("csr", lambda X: X.indptr.__setitem__(2, X.indptr[1] - 1)),
    "indptr beyond the indices": ("csr", lambda X: X.indptr.__setitem__(-1, 10**6)),
    "indptr that does not begin with 0": ("csr", first("indptr", 1)),
    "too short an indptr": ("csr", replaced("indptr", lambda indptr: indptr[:-1])),
    "fewer values than indices": ("csr", replaced("data", lambda data: data[:-1])),
    "indices that are no whole numbers": ("csr", replaced("indices", lambda indices: indices.astype(float))),
    "values that are a list": ("csr", replaced("data", list)),
    "a row beyond the last": ("csc", first("indices", 6)),
    "a block beyond the last": ("bsr", first("indices", 99)),
    "blocks that do not fit": ("bsr", replaced("data", lambda data: np.zeros((len(data), 4, 1)))),
    "a coordinate beyond the last": ("coo", first("row", 6)),
    "a negative coordinate": ("coo", first("col", -3)),
    "fewer values than coordinates": ("coo", replaced("data", lambda data: data[1:])),
    "a diagonal twice": ("dia", lambda X: X.offsets.__setitem__(0, X.offsets[1])),
    "fewer diagonals than offsets": ("dia", replaced("data", lambda data: data[1:])),
    "a list without values": ("lil", one_list_longer),
    "a list with another column": ("lil", another_column),
    "fewer lists than rows": ("lil", replaced("rows", lambda rows: rows[1:])),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_matrix_is_refused(name):
    with pytest.raises(ValueError, match="X is a damaged sparse matrix: "):
        check_sparse(changed(*DAMAGED[name]))


def test_a_sparse_array_of_one_dimension_is_refused():
    with pytest.raises(ValueError, match="rows and columns"):
        check_sparse(sp.coo_array(np.array([1.0, 0.0])))


@pytest.mark.parametrize("format_", FORMATS)
def test_an_indicator_may_have_any_format(format_):
    dense = (X.toarray() > 0).astype(int)
    assert indicator(sp.csr_array(dense).asformat(format_)).toarray().astype(int).tolist() == dense.tolist()


@pytest.mark.parametrize("dtype", [bool, np.uint8, int, float])
def test_a_repeated_entry_of_an_indicator_counts_once(dtype):
    ones = np.ones(256, dtype)  # as many as make 0 of a byte
    for matrix in (
        sp.csr_array((ones, np.zeros(256, int), [0, 256]), (1, 2)),
        sp.coo_array((ones, (np.zeros(256, int), np.zeros(256, int))), (1, 2)),
    ):
        found = indicator(matrix)
        assert found.indices.tolist() == [0]
        assert found.toarray().tolist() == [[True, False]]


@pytest.mark.parametrize("value", [2, -1, np.nan, np.inf, 0.5])
def test_an_indicator_holds_0_and_1_only(value):
    with pytest.raises(ValueError, match="0 and 1 only"):
        indicator(np.array([[0.0, value], [1.0, 0.0]]))
    with pytest.raises(ValueError, match="0 and 1 only"):
        indicator(np.array([["a", "b"]]))
