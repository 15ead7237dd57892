from libc.stdint cimport int32_t, int64_t


cdef class Batch:
    cdef const int64_t[::1] indptr, label_indptr, wrong_indptr
    cdef const int32_t[::1] indices, labels, wrong_labels
    cdef const double[::1] data, scales
    cdef readonly object rows, targets, wrong, weights
    cdef readonly int64_t n_rows, n_features, n_known


cdef inline double scale_of_row(const double[::1] scales, int64_t row) noexcept nogil:
    """Return the factor of a row's update."""
    return scales[row] if scales.shape[0] else 1.0
