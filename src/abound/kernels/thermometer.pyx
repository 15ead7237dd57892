"""Rows of thermometer bits without the bits: a row is one bin per column, and its score one table lookup per column.

A column with t thresholds has t bits and t + 1 bins; a row in bin b has the first b bits. The sum of the first b
weights is a table entry, and a sum of rows over bits is a cumulative sum over bins from the top.
"""

from libc.stdint cimport int32_t, int64_t


def thermometer_score(const int32_t[:, ::1] cells, const double[::1] tables, int64_t start, int64_t stop,
                      double[::1] out):
    """Write the scores of rows; cells[row, column] is the position of the row's bin in `tables`."""
    cdef int64_t row, column, n_columns = cells.shape[1]
    cdef double total
    if not 0 <= start <= stop <= cells.shape[0] or out.shape[0] < stop:
        raise ValueError("rows out of range")
    with nogil:
        for row in range(start, stop):
            total = 0.0
            for column in range(n_columns):
                total += tables[cells[row, column]]
            out[row] = total


def thermometer_sum(const int32_t[:, ::1] cells, const double[::1] weights, int64_t start, int64_t stop,
                    double[::1] out):
    """Add the weights of rows to their cells; skip rows of weight 0."""
    cdef int64_t row, column, n_columns = cells.shape[1]
    cdef double weight
    if not 0 <= start <= stop <= cells.shape[0] or weights.shape[0] < stop:
        raise ValueError("rows out of range")
    with nogil:
        for row in range(start, stop):
            weight = weights[row]
            if weight == 0.0:
                continue
            for column in range(n_columns):
                out[cells[row, column]] += weight
