"""Rows as all kernels take them: features, values and, for learning, labels and wrong labels."""

from libc.stdint cimport int32_t, int64_t

import numpy as np

cdef const int64_t[::1] NO_POINTERS = np.zeros(0, np.int64)
cdef const int32_t[::1] NO_LABELS = np.zeros(0, np.int32)


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
    n_features : int
        The highest feature number plus one.
    """

    def __init__(self, rows, targets=None, wrong=None):
        self.rows, self.targets, self.wrong = rows, targets, wrong
        self.indptr, self.indices, self.data = rows
        self.n_rows = self.indptr.shape[0] - 1
        self.label_indptr, self.labels, self.n_known = NO_POINTERS, NO_LABELS, 0
        self.wrong_indptr, self.wrong_labels = NO_POINTERS, NO_LABELS
        if targets is not None:
            self.label_indptr, self.labels, self.n_known = targets
            if self.label_indptr.shape[0] != self.n_rows + 1:
                raise ValueError(f"there are {self.n_rows} rows, but labels for {self.label_indptr.shape[0] - 1}")
            self.n_features = <int64_t> rows[1].max() + 1 if self.indices.shape[0] else 0
        if wrong is not None:
            self.wrong_indptr, self.wrong_labels = wrong
            if self.wrong_indptr.shape[0] != self.n_rows + 1:
                raise ValueError(f"there are {self.n_rows} rows, but wrong labels for {self.wrong_indptr.shape[0] - 1}")
