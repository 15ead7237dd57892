"""Rows as all kernels take them: features, values and, for learning, labels and wrong labels."""

from libc.stdint cimport int32_t, int64_t

import numpy as np

cdef const int64_t[::1] NO_POINTERS = np.zeros(0, np.int64)
cdef const int32_t[::1] NO_LABELS = np.zeros(0, np.int32)
cdef const double[::1] NO_WEIGHTS = np.zeros(0)


cdef class Batch:
    """Rows with their labels.

    Row i has the features indices[indptr[i]:indptr[i+1]] of `rows`, and the labels ids[indptr[i]:indptr[i+1]] of
    `targets`, in ascending order. Labels that are known to be wrong have the same form, and are optional.

    Attributes
    ----------
    rows : (indptr, indices, data)
    targets : (indptr, ids, n_known), optional
        `n_known` labels were known before the first row.
    wrong : (indptr, ids), optional
    weights : array of float, optional
        The weight of each row. A kernel takes weights of at most 1, which scale the updates; see `rows.repeated`.
    n_features : int
        The highest feature number plus one.
    """

    def __init__(self, rows, targets=None, wrong=None, weights=None):
        self.rows, self.targets, self.wrong, self.weights = rows, targets, wrong, weights
        self.indptr, self.indices, self.data = rows
        self.n_rows = self.indptr.shape[0] - 1
        self.label_indptr, self.labels, self.n_known = NO_POINTERS, NO_LABELS, 0
        self.wrong_indptr, self.wrong_labels, self.scales = NO_POINTERS, NO_LABELS, NO_WEIGHTS
        if targets is not None:
            self.label_indptr, self.labels, self.n_known = targets
            if self.label_indptr.shape[0] != self.n_rows + 1:
                raise ValueError(f"there are {self.n_rows} rows, but labels for {self.label_indptr.shape[0] - 1}")
            self.n_features = <int64_t> rows[1].max() + 1 if self.indices.shape[0] else 0
        if wrong is not None:
            self.wrong_indptr, self.wrong_labels = wrong
            if self.wrong_indptr.shape[0] != self.n_rows + 1:
                raise ValueError(f"there are {self.n_rows} rows, but wrong labels for {self.wrong_indptr.shape[0] - 1}")
        if weights is not None:
            self.scales = weights
            if self.scales.shape[0] != self.n_rows:
                raise ValueError(f"there are {self.n_rows} rows, but {self.scales.shape[0]} weights")
