"""Exact search among vectors of 8-bit numbers.

Products and sums are whole numbers, and of equal values the earlier row wins, so that the result is the same on every
processor. From many rows on, those whose sign bits differ least from the query's can be selected first.
"""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint64_t

import numpy as np

cdef extern from *:
    int popcount "__builtin_popcountll"(unsigned long long) nogil

cdef enum:
    MOST_BITS = 8192


cdef inline bint is_worse(double value, int64_t row, double other, int64_t other_row) noexcept nogil:
    return value < other or (value == other and row > other_row)


cdef inline int32_t dot(const int8_t* row, const int16_t* query, int64_t n) noexcept nogil:
    cdef int32_t total = 0
    cdef int64_t i
    for i in range(n):
        total += <int32_t> row[i] * <int32_t> query[i]
    return total


cdef class Best:
    """The best of the rows that were offered: dot(row, query) * factor * gain + bias.

    Parameters
    ----------
    k : int
        The number of rows to keep.
    """

    cdef double[::1] values
    cdef int64_t[::1] rows
    cdef int64_t filled, k

    def __init__(self, int64_t k):
        if k < 1:
            raise ValueError("k must be positive")
        self.k, self.filled = k, 0
        self.values = np.empty(k, np.float64)
        self.rows = np.empty(k, np.int64)

    cdef void offer_one(self, double value, int64_t row) noexcept nogil:
        """Keep a row if it is among the best; these are a heap with the worst on top."""
        cdef int64_t at, child
        if self.filled < self.k:
            at = self.filled
            self.filled += 1
            while at and is_worse(value, row, self.values[(at - 1) // 2], self.rows[(at - 1) // 2]):
                self.values[at] = self.values[(at - 1) // 2]
                self.rows[at] = self.rows[(at - 1) // 2]
                at = (at - 1) // 2
        else:
            if not is_worse(self.values[0], self.rows[0], value, row):
                return
            at = 0
            while True:
                child = 2 * at + 1
                if child >= self.k:
                    break
                if child + 1 < self.k and is_worse(self.values[child + 1], self.rows[child + 1], self.values[child],
                                                   self.rows[child]):
                    child += 1
                if not is_worse(self.values[child], self.rows[child], value, row):
                    break
                self.values[at] = self.values[child]
                self.rows[at] = self.rows[child]
                at = child
        self.values[at] = value
        self.rows[at] = row

    def offer(self, const int8_t[:, ::1] vectors, const double[::1] factors, const double[::1] biases,
              const int16_t[::1] query, double gain, int64_t first):
        """Offer all rows of an array, numbered from `first`; rows with the factor 0 are skipped."""
        cdef int64_t n = vectors.shape[0], width = vectors.shape[1], row
        cdef double value
        if query.shape[0] != width or factors.shape[0] < n or biases.shape[0] < n:
            raise ValueError("vectors, factors, biases and the query must have the same sizes")
        if n == 0 or width == 0:
            return
        with nogil:
            for row in range(n):
                if factors[row] == 0.0:
                    continue
                value = <double> dot(&vectors[row, 0], &query[0], width) * factors[row] * gain + biases[row]
                if self.filled < self.k or value >= self.values[0]:
                    self.offer_one(value, first + row)

    def offer_chosen(self, const int8_t[:, ::1] vectors, const double[::1] factors, const double[::1] biases,
                     const int16_t[::1] query, double gain, int64_t first, const int32_t[::1] chosen):
        """Offer some rows of an array."""
        cdef int64_t n = vectors.shape[0], width = vectors.shape[1], number, row
        if query.shape[0] != width or factors.shape[0] < n or biases.shape[0] < n or width == 0:
            raise ValueError("vectors, factors, biases and the query must have the same sizes")
        for number in range(chosen.shape[0]):
            row = chosen[number]
            if not 0 <= row < n:
                raise ValueError("row out of range")
            if factors[row] != 0.0:
                self.offer_one(<double> dot(&vectors[row, 0], &query[0], width) * factors[row] * gain + biases[row],
                               first + row)

    def taken(self):
        """Return the rows and their values, the best first."""
        rows, values = np.array(self.rows[:self.filled]), np.array(self.values[:self.filled])
        order = np.lexsort((rows, -values))
        return rows[order], values[order]


def dots(const int8_t[:, ::1] vectors, const int64_t[::1] chosen, const int16_t[::1] query, double[::1] out):
    """Write the dot products of some rows with the query."""
    cdef int64_t number, width = vectors.shape[1]
    if query.shape[0] != width or out.shape[0] != chosen.shape[0] or width == 0:
        raise ValueError("vectors and the query must have the same sizes")
    for number in range(chosen.shape[0]):
        if not 0 <= chosen[number] < vectors.shape[0]:
            raise ValueError("row out of range")
        out[number] = <double> dot(&vectors[chosen[number], 0], &query[0], width)


def fewest_differences(const uint64_t[:, ::1] bits, const uint64_t[::1] query, int64_t wanted):
    """Return the rows that differ from the query in the fewest bits, in ascending order; of ties, the first ones."""
    cdef int64_t n = bits.shape[0], words = bits.shape[1], row, word, below = 0, found = 0, limit = 0, ties
    cdef int differing
    if query.shape[0] != words or words * 64 > MOST_BITS:
        raise ValueError("rows and the query must have the same number of bits")
    cdef uint16_t[::1] distances = np.empty(n, np.uint16)
    cdef int64_t[::1] counts = np.zeros(MOST_BITS + 1, np.int64)
    cdef int32_t[::1] chosen = np.empty(min(n, wanted), np.int32)
    with nogil:
        for row in range(n):
            differing = 0
            for word in range(words):
                differing += popcount(bits[row, word] ^ query[word])
            distances[row] = <uint16_t> differing
            counts[differing] += 1
        while limit < MOST_BITS and below + counts[limit] < wanted:
            below += counts[limit]
            limit += 1
        ties = wanted - below
        for row in range(n):
            if found == chosen.shape[0]:
                break
            if distances[row] < limit or (distances[row] == limit and ties > 0):
                ties -= distances[row] == limit
                chosen[found] = <int32_t> row
                found += 1
    return np.asarray(chosen[:found])
