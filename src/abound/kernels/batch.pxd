from libc.stdint cimport int32_t, int64_t


cdef class Batch:
    cdef const int64_t[::1] indptr, label_indptr, wrong_indptr
    cdef const int32_t[::1] indices, labels, wrong_labels
    cdef const double[::1] data
    cdef readonly object rows, targets, wrong
    cdef readonly int64_t n_rows, n_features, n_known
