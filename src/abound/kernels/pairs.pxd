"""Declarations of the pair weights that re-rank candidates."""

from libc.stdint cimport int32_t, int64_t, uint32_t

from abound.kernels.pool cimport prefetch
from abound.kernels.votes cimport Candidates

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    #define ABOUND_LANES 8
    #if defined(__GNUC__)
    typedef int32_t abound_four __attribute__((vector_size(16)));
    typedef int64_t abound_two __attribute__((vector_size(16)));
    #endif
    /* The number beside a label among eight, or 0. The vectors are explicit, because compilers unroll the plain loop
       into eight comparisons. A label occurs at most once, so "or" selects its number. */
    static inline int32_t abound_beside(const int32_t* labels, const void* numbers, int32_t label) {
    #if defined(__GNUC__)
        abound_four l0, l1, n0, n1, wanted = {label, label, label, label};
        abound_two match;
        memcpy(&l0, labels, 16);
        memcpy(&l1, labels + 4, 16);
        memcpy(&n0, numbers, 16);
        memcpy(&n1, (const char*) numbers + 16, 16);
        match = (abound_two) ((n0 & (l0 == wanted)) | (n1 & (l1 == wanted)));
        match[0] |= match[1];
        return (int32_t) (match[0] | match[0] >> 32);
    #else
        int32_t n[ABOUND_LANES], match = 0, j;
        memcpy(n, numbers, sizeof(n));
        for (j = 0; j < ABOUND_LANES; j++) match |= n[j] & -(int32_t) (labels[j] == label);
        return match;
    #endif
    }
    static inline float abound_weight_beside(const int32_t* labels, const float* weights, int32_t label) {
        int32_t match = abound_beside(labels, weights, label);
        float weight;
        memcpy(&weight, &match, sizeof(weight));
        return weight;
    }
    static inline int32_t abound_lane_of(const int32_t* labels, int32_t label) {
        static const int32_t lanes[ABOUND_LANES] = {1, 2, 3, 4, 5, 6, 7, 8};
        return abound_beside(labels, lanes, label) - 1;
    }
    """
    const int LANES "ABOUND_LANES"          # the length of a bucket's arrays
    float weight_beside "abound_weight_beside"(const int32_t* labels, const float* weights,
                                               int32_t label) noexcept nogil
    int32_t lane_of "abound_lane_of"(const int32_t* labels, int32_t label) noexcept nogil  # -1 if it has none

cdef enum:
    N_SIZES = 32

cdef struct Bucket:                         # two cache lines; ranking reads the first
    int32_t labels[8]                       # the used lanes come first; -1 marks an empty one, whose weight is 0
    float weights[8]
    float grad_sq[8]                        # sums of squared gradients
    float avg_sums[8]                       # sums of row * change, for the average over a pass

cdef struct Table:
    Bucket* buckets                         # NULL until the table learns, if the store was opened from arrays
    int64_t start                           # of its pairs in the borrowed arrays
    int32_t length                          # pairs
    int32_t mask                            # buckets - 1

cdef struct PairSlot:                       # where a pair is stored
    Bucket* bucket
    int64_t lane

cdef struct Spare:
    Spare* next

cdef class PairTables:
    cdef Table* tables
    cdef int64_t capacity
    cdef readonly int64_t n_features, n_pairs
    cdef int64_t n_borrowed
    cdef void** arenas                      # memory that blocks are cut from
    cdef int64_t n_arenas, arena_bytes
    cdef char* fresh                        # the unused part of the last arena
    cdef int64_t fresh_bytes
    cdef Spare* spares[N_SIZES]             # free blocks of 1, 2, 4, ... buckets
    cdef object _borrowed                   # sorted arrays that tables without buckets point into
    cdef const int32_t* labels
    cdef const float* weights
    cdef const float* grad_sq

    cdef int ensure_features(self, int64_t n) except -1 nogil
    cdef void* take_block(self, int size) except NULL nogil
    cdef void give_block(self, void* block, int size) noexcept nogil
    cdef int make_buckets(self, Table* t, int64_t n) except -1 nogil
    cdef int make_private(self, Table* t, int64_t n_more) except -1 nogil
    cdef int add(self, Table* t, int32_t label, PairSlot* at) except -1 nogil
    cdef int drop(self, Table* t, double least) except -1 nogil
    cdef int prune_tables(self) except -1 nogil


cdef inline int64_t home_of(int32_t label, int32_t mask) noexcept nogil:
    """Return the bucket where the search for a label begins; neighbouring labels, often of one row, are spread out."""
    return (<uint32_t> label * <uint32_t> 2654435769 >> 7) & mask


cdef inline bint is_full(const Bucket* b) noexcept nogil:
    return b.labels[LANES - 1] != -1


cdef inline float owned_weight(const Table* t, int32_t label) noexcept nogil:
    """Return the weight of a label in a table with buckets: in its first bucket, or after the full ones."""
    cdef int64_t at = home_of(label, t.mask)
    cdef float weight = weight_beside(t.buckets[at].labels, t.buckets[at].weights, label)
    while is_full(&t.buckets[at]) and weight == 0.0:
        at = (at + 1) & t.mask
        weight = weight_beside(t.buckets[at].labels, t.buckets[at].weights, label)
    return weight


cdef inline int64_t n_taken(const Bucket* b) noexcept nogil:
    """Return how many lanes of a bucket are used."""
    cdef int64_t j, n = 0
    for j in range(LANES):
        n += b.labels[j] != -1
    return n


cdef inline float borrowed_weight(PairTables store, const Table* t, int32_t label) noexcept nogil:
    """Return the weight of a label in a non-empty table without buckets, by binary search without a branch."""
    cdef const int32_t* labels = store.labels + t.start
    cdef int64_t n = t.length, half
    while n > 1:
        half = n >> 1
        labels += half if labels[half] <= label else 0
        n -= half
    return store.weights[labels - store.labels] if labels[0] == label else <float> 0.0


cdef inline float weight_in(PairTables store, const Table* t, int32_t label) noexcept nogil:
    """Return the weight of a label in a table."""
    if t.buckets != NULL:
        return owned_weight(t, label)
    return borrowed_weight(store, t, label) if t.length else <float> 0.0


cdef void prefetch_pairs(PairTables store, const int32_t[::1] indices, int64_t start, int64_t stop,
                        const int32_t* labels, int64_t n) noexcept nogil

cdef int score_pairs(PairTables store, const int32_t[::1] indices, const double[::1] data, int64_t start, int64_t stop,
               const int32_t* labels, double* scores, int64_t n) except -1 nogil

cdef int learn_candidates(PairTables store, const int32_t[::1] indices, const double[::1] data, int64_t start,
                          int64_t stop, const Candidates* c, int64_t n_wrong, int64_t n_true, double row,
                          double scale) except -1 nogil

cdef int reject_candidate(PairTables store, const int32_t[::1] indices, const double[::1] data, int64_t start,
                          int64_t stop, int32_t label, double row, double scale) except -1 nogil
