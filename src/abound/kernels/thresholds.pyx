"""PRank: one score per row, and ordered thresholds that divide scores into ranks.

Figure 2 of Crammer and Singer, "Pranking with ranking", NIPS 2001. Rows are the three arrays of a CSR matrix, and
ranks are numbered from 0. Each weight is stored beside the sum that its mean over all rows needs
(weight - sum / rows), so that both are in one cache line. Thresholds are stored in the same way. Thresholds are whole
numbers; therefore unit steps keep them in order.
"""

from libc.math cimport exp
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memmove

from abound.kernels.pool cimport prefetch

import numpy as np

cdef enum:
    WEIGHT = 0
    SUM = 1
    POLYNOMIAL = 1
    RBF = 2


cdef inline int64_t rank_of(double score, const double[:, ::1] thresholds) noexcept nogil:
    """Return the first rank whose threshold is above the score; the last rank has none."""
    cdef int64_t r = 0, n = thresholds.shape[0]
    while r < n and score >= thresholds[r, WEIGHT]:
        r += 1
    return r


cdef inline bint move_thresholds(double score, int64_t truth, int64_t predicted, double[:, ::1] thresholds,
                                 double margin, double n_before, int64_t* step) noexcept nogil:
    """Move thresholds on the wrong side of a score by one, and set the step for the weights, which may be 0.

    Without a margin only mistakes are learned, although a threshold may equal the score of a correctly ranked row.
    """
    cdef int64_t r, n = thresholds.shape[0]
    cdef double b
    cdef bint moved = False
    step[0] = 0
    if predicted == truth and margin <= 0.0:
        return False
    for r in range(n):
        b = thresholds[r, WEIGHT]
        if r < truth:
            if score - b <= margin:
                thresholds[r, WEIGHT] = b - 1.0
                thresholds[r, SUM] -= n_before
                step[0] += 1
                moved = True
        elif b - score <= margin:
            thresholds[r, WEIGHT] = b + 1.0
            thresholds[r, SUM] += n_before
            step[0] -= 1
            moved = True
    return moved


cdef inline void update_span(double[::1] span, double score) noexcept nogil:
    """Update the lowest and the highest score seen."""
    if score < span[0]:
        span[0] = score
    if score > span[1]:
        span[1] = score


def prank_learn(const int64_t[::1] indptr, const int32_t[::1] indices, const double[::1] data,
                const int32_t[::1] ranks, double[:, ::1] weights, double[:, ::1] thresholds, double[::1] span,
                double margin, int64_t n_before, int32_t[::1] out_ranks):
    """Learn rows in order, in place; write the rank of each row before it was learned; return the number of updates.

    If a score is not finite, stop before that row and return -1.
    """
    cdef int64_t row, p, predicted, n_updates = 0, step = 0, n_rows = indptr.shape[0] - 1
    cdef double score, change, before, low = span[0], high = span[1]
    cdef double* weight
    with nogil:
        for row in range(n_rows):
            score = 0.0
            for p in range(indptr[row], indptr[row + 1]):
                score += weights[indices[p], WEIGHT] * data[p]
            if row + 1 < n_rows:            # whether this row is learned is unpredictable: use the wait
                for p in range(indptr[row + 1], indptr[row + 2]):
                    prefetch(&weights[indices[p], WEIGHT])
            if not score - score == 0.0:
                n_updates = -1
                break
            low, high = min(low, score), max(high, score)
            predicted = rank_of(score, thresholds)
            out_ranks[row] = <int32_t> predicted
            before = <double> (n_before + row)
            n_updates += move_thresholds(score, ranks[row], predicted, thresholds, margin, before, &step)
            if step:
                for p in range(indptr[row], indptr[row + 1]):
                    weight = &weights[indices[p], WEIGHT]  # its sum is stored beside it
                    change = step * data[p]
                    weight[WEIGHT] += change
                    weight[SUM] += change * before
    span[0], span[1] = low, high
    return n_updates


def prank_scores(const int64_t[::1] indptr, const int32_t[::1] indices, const double[::1] data,
                 const double[::1] weights, double[::1] out_scores):
    """Write the score of each row; ignore columns beyond the weights."""
    cdef int64_t row, p, n = weights.shape[0]
    cdef double score
    with nogil:
        for row in range(indptr.shape[0] - 1):
            score = 0.0
            for p in range(indptr[row], indptr[row + 1]):
                if indices[p] < n:
                    score += weights[indices[p]] * data[p]
            out_scores[row] = score


cdef class SupportRows:
    """Support vectors: the rows that were learned from, each with its step.

    Above the budget, the oldest are removed. Their space is closed when it is half of the memory, so that rows stay
    contiguous and in the order in which they came.
    """

    cdef readonly double gamma, coef0
    cdef readonly int64_t kind, degree, budget
    cdef int64_t first, n_rows, capacity, n_entries, entry_capacity
    cdef int64_t* starts                    # one more than there are rows
    cdef int64_t* steps
    cdef int64_t* born                      # rows seen before each
    cdef double* norms
    cdef int32_t* indices
    cdef double* data

    def __init__(self, str kind, double gamma, double coef0, int64_t degree, int64_t budget):
        self.kind = {"poly": POLYNOMIAL, "rbf": RBF}[kind]
        self.gamma, self.coef0, self.degree, self.budget = gamma, coef0, degree, budget

    def __dealloc__(self):
        free(self.starts)
        free(self.steps)
        free(self.born)
        free(self.norms)
        free(self.indices)
        free(self.data)

    def __len__(self):
        return self.n_rows - self.first

    def __reduce__(self):
        kind = {POLYNOMIAL: "poly", RBF: "rbf"}[self.kind]
        return SupportRows.from_arrays, (kind, self.gamma, self.coef0, self.degree, self.budget, *self.arrays())

    def arrays(self):
        """Return indptr, indices, data, steps and the rows seen before each, oldest first."""
        cdef int64_t i, start = self.starts[self.first] if self.n_rows else 0
        cdef int64_t n = self.n_rows - self.first, n_entries = self.n_entries - start
        indptr, steps, born = np.zeros(n + 1, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
        indices, data = np.empty(n_entries, np.int32), np.empty(n_entries)
        for i in range(n):
            indptr[i + 1] = self.starts[self.first + i + 1] - start
            steps[i], born[i] = self.steps[self.first + i], self.born[self.first + i]
        cdef int32_t[::1] to_indices = indices
        cdef double[::1] to_data = data
        for i in range(n_entries):
            to_indices[i], to_data[i] = self.indices[start + i], self.data[start + i]
        return indptr, indices, data, steps, born

    @staticmethod
    def from_arrays(kind, gamma, coef0, degree, budget, const int64_t[::1] indptr, const int32_t[::1] indices,
                    const double[::1] data, const int64_t[::1] steps, const int64_t[::1] born):
        """Restore the result of `arrays`, which the caller has validated."""
        cdef SupportRows support = SupportRows(kind, gamma, coef0, degree, budget)
        cdef int64_t i
        for i in range(indptr.shape[0] - 1):
            support.add(indices, data, indptr[i], indptr[i + 1], steps[i], born[i])
        return support

    cdef int reserve(self, int64_t n_entries) except -1 nogil:
        """Reserve memory for one more row of `n_entries` entries."""
        if self.first and 2 * self.first >= self.n_rows:
            self.compact()
        if self.n_rows + 1 >= self.capacity:
            self.capacity = max(2 * self.capacity, <int64_t> 64)
            self.starts = <int64_t*> reallocate(self.starts, self.capacity * sizeof(int64_t))
            self.steps = <int64_t*> reallocate(self.steps, self.capacity * sizeof(int64_t))
            self.born = <int64_t*> reallocate(self.born, self.capacity * sizeof(int64_t))
            self.norms = <double*> reallocate(self.norms, self.capacity * sizeof(double))
            if not self.n_rows:
                self.starts[0] = 0
        if self.n_entries + n_entries > self.entry_capacity:
            self.entry_capacity = max(2 * self.entry_capacity, self.n_entries + n_entries)
            self.indices = <int32_t*> reallocate(self.indices, self.entry_capacity * sizeof(int32_t))
            self.data = <double*> reallocate(self.data, self.entry_capacity * sizeof(double))
        return 0

    cdef void compact(self) noexcept nogil:
        cdef int64_t i, start = self.starts[self.first], n = self.n_rows - self.first
        if self.n_entries > start:          # without any entry the arrays may be NULL
            memmove(self.indices, self.indices + start, (self.n_entries - start) * sizeof(int32_t))
            memmove(self.data, self.data + start, (self.n_entries - start) * sizeof(double))
        memmove(self.steps, self.steps + self.first, n * sizeof(int64_t))
        memmove(self.born, self.born + self.first, n * sizeof(int64_t))
        memmove(self.norms, self.norms + self.first, n * sizeof(double))
        for i in range(n + 1):
            self.starts[i] = self.starts[self.first + i] - start
        self.n_entries -= start
        self.n_rows, self.first = n, 0

    cdef int add(self, const int32_t[::1] indices, const double[::1] data, int64_t start, int64_t stop,
                 int64_t step, int64_t born) except -1 nogil:
        cdef int64_t p, at
        cdef double norm = 0.0
        self.reserve(stop - start)
        at = self.n_entries
        for p in range(start, stop):
            self.indices[at], self.data[at] = indices[p], data[p]
            norm += data[p] * data[p]
            at += 1
        self.n_entries = at
        self.steps[self.n_rows], self.born[self.n_rows], self.norms[self.n_rows] = step, born, norm
        self.n_rows += 1
        self.starts[self.n_rows] = at
        if self.n_rows - self.first > self.budget:
            self.first += 1
        return 0

    cdef int64_t width(self, const int32_t[::1] indices):
        """Return the width of a dense row that has these columns and those of the support vectors."""
        cdef int64_t i, width = 0
        for i in range(indices.shape[0]):
            width = max(width, <int64_t> indices[i] + 1)
        for i in range(self.n_entries):
            width = max(width, <int64_t> self.indices[i] + 1)
        return width

    cdef double value(self, double dot, double norm, double other_norm) noexcept nogil:
        """Return the kernel's value from the dot product and the squared norms."""
        cdef double base, result = 1.0
        cdef int64_t i
        if self.kind == RBF:
            return exp(-self.gamma * max(norm + other_norm - 2.0 * dot, 0.0))
        base = self.gamma * dot + self.coef0
        for i in range(self.degree):
            result *= base
        return result

    cdef double score(self, const int32_t[::1] indices, const double[::1] data, int64_t start, int64_t stop,
                      int64_t n_seen, double[::1] dense) noexcept nogil:
        """Score a row: with n_seen rows, by the mean of the hypotheses after each of them; with 0, by the last one.

        `dense` is scratch space, all 0 before and after.
        """
        cdef int64_t i, p
        cdef double norm = 0.0, total = 0.0, dot, step
        for p in range(start, stop):
            dense[indices[p]] = data[p]
            norm += data[p] * data[p]
        for i in range(self.first, self.n_rows):
            dot = 0.0
            for p in range(self.starts[i], self.starts[i + 1]):
                dot += self.data[p] * dense[self.indices[p]]
            step = <double> self.steps[i]
            if n_seen:
                step = step * <double> (n_seen - self.born[i]) / <double> n_seen
            total += step * self.value(dot, self.norms[i], norm)
        for p in range(start, stop):
            dense[indices[p]] = 0.0
        return total


cdef void* reallocate(void* old, size_t n_bytes) except NULL nogil:
    cdef void* new = realloc(old, n_bytes)
    if new == NULL:
        with gil:
            raise MemoryError(f"no memory for {n_bytes} bytes of support vectors")
    return new


def prank_kernel_learn(SupportRows support, const int64_t[::1] indptr, const int32_t[::1] indices,
                       const double[::1] data, const int32_t[::1] ranks, double[:, ::1] thresholds,
                       double[::1] span, double margin, int64_t n_before, int32_t[::1] out_ranks):
    """Learn rows in order, in place, as `prank_learn` does, with a kernel."""
    cdef int64_t row, predicted, n_updates = 0, step = 0
    cdef double[::1] dense = np.zeros(support.width(indices))
    cdef double score, before
    with nogil:
        for row in range(indptr.shape[0] - 1):
            score = support.score(indices, data, indptr[row], indptr[row + 1], 0, dense)
            update_span(span, score)
            predicted = rank_of(score, thresholds)
            out_ranks[row] = <int32_t> predicted
            before = <double> (n_before + row)
            n_updates += move_thresholds(score, ranks[row], predicted, thresholds, margin, before, &step)
            if step:
                support.add(indices, data, indptr[row], indptr[row + 1], step, n_before + row)
    return n_updates


def prank_kernel_scores(SupportRows support, const int64_t[::1] indptr, const int32_t[::1] indices,
                        const double[::1] data, int64_t n_seen, double[::1] out_scores):
    """Write the score of each row; see `SupportRows.score` for n_seen."""
    cdef int64_t row
    cdef double[::1] dense = np.zeros(support.width(indices))
    with nogil:
        for row in range(indptr.shape[0] - 1):
            out_scores[row] = support.score(indices, data, indptr[row], indptr[row + 1], n_seen, dense)
