"""Validation of rows from outside, before any other loop trusts them."""

from libc.stdint cimport int32_t, int64_t


cdef bint is_canonical(const int64_t[::1] indptr, const int32_t[::1] indices, const double[::1] data,
                       int64_t n_columns, double largest) noexcept nogil:
    cdef int64_t n_rows = indptr.shape[0] - 1, n = indices.shape[0], row, p, start, stop, last
    if n_rows < 0 or data.shape[0] != n or indptr[0] != 0 or indptr[n_rows] != n:
        return False
    for row in range(n_rows):
        start, stop = indptr[row], indptr[row + 1]
        if stop < start or stop > n:
            return False
        last = -1
        for p in range(start, stop):
            if indices[p] <= last or not 0.0 <= data[p] <= largest:  # false for NaN
                return False
            last = indices[p]
        if last >= n_columns:
            return False
    return True


def is_canonical_csr(const int64_t[::1] indptr, const int32_t[::1] indices, const double[::1] data,
                     int64_t n_columns, double largest):
    """Tell whether three arrays are rows that every kernel can take: a canonical CSR matrix without negative values.

    Columns ascend in each row and are below `n_columns`, rows cover the whole arrays, and values are numbers from 0 to
    `largest`.
    """
    cdef bint canonical
    with nogil:
        canonical = is_canonical(indptr, indices, data, n_columns, largest)
    return canonical
