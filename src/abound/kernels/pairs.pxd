"""Declarations of the weights of pairs that candidates are weighed by."""

from libc.stdint cimport int32_t, int64_t, uint32_t

from abound.kernels.pool cimport prefetch
from abound.kernels.votes cimport Candidates

cdef struct Pair:                           # all that ranking reads; eight a cache line
    int32_t label                           # -1 marks an empty slot, whose weight is 0
    float weight

cdef struct Past:
    float slope                             # sum of its squared gradients
    float trace                             # sum of row * change, for the mean of a pass

cdef struct Table:
    Pair* slots                             # and then as many Pasts; NULL as long as nothing was learnt since
                                            # the store was opened
    int64_t start                           # of its pairs in the borrowed arrays
    int32_t length                          # pairs
    int32_t mask                            # slots - 1

cdef enum:
    FEWEST_SLOTS = 4
    N_SIZES = 32

cdef struct Spare:
    Spare* next

cdef class PairTables:
    cdef Table* tables
    cdef int64_t room
    cdef readonly int64_t n_features, n_pairs
    cdef int64_t n_borrowed
    cdef void** arenas                      # memory that blocks are cut from
    cdef int64_t n_arenas, arena_bytes
    cdef char* fresh                        # the part of the last arena that was never a block
    cdef int64_t fresh_bytes
    cdef Spare* spares[N_SIZES]             # blocks that were given back, of FEWEST_SLOTS slots, twice as many, ...
    cdef object _borrowed                   # sorted arrays that tables without slots point into
    cdef const int32_t* labels
    cdef const float* weights
    cdef const float* slopes

    cdef int ensure_features(self, int64_t n) except -1 nogil
    cdef void* take_block(self, int size) except NULL nogil
    cdef void give_block(self, void* block, int size) noexcept nogil
    cdef int make_slots(self, Table* t, int64_t size) except -1 nogil
    cdef int own(self, Table* t, int64_t n_more) except -1 nogil
    cdef int64_t add(self, Table* t, int32_t label) except -1 nogil
    cdef int drop(self, Table* t, double least) except -1 nogil
    cdef int tidy(self) except -1 nogil


cdef inline int64_t slot_of(int32_t label, int32_t mask) noexcept nogil:
    """Where a label's search begins; neighbouring numbers, often labels of the same rows, go far apart."""
    return (<uint32_t> label * <uint32_t> 2654435769 >> 7) & mask


cdef inline int64_t find_slot(const Table* t, int32_t label) noexcept nogil:
    """The slot of a label in a table that has slots, or the empty one where it belongs."""
    cdef int64_t at = slot_of(label, t.mask)
    while t.slots[at].label != label and t.slots[at].label != -1:
        at = (at + 1) & t.mask
    return at


cdef inline Past* pasts_of(const Table* t) noexcept nogil:
    return <Past*> (t.slots + t.mask + 1)


cdef inline float borrowed_weight(PairTables store, const Table* t, int32_t label) noexcept nogil:
    """The weight of a label in a table without slots, of which there are some; halved without a branch."""
    cdef const int32_t* labels = store.labels + t.start
    cdef int64_t n = t.length, half
    while n > 1:
        half = n >> 1
        labels += half if labels[half] <= label else 0
        n -= half
    return store.weights[labels - store.labels] if labels[0] == label else <float> 0.0


cdef inline float weight_in(PairTables store, const Table* t, int32_t label) noexcept nogil:
    """The weight of a label in a table."""
    if t.slots != NULL:
        return t.slots[find_slot(t, label)].weight
    return borrowed_weight(store, t, label) if t.length else <float> 0.0


cdef inline void ask_for_tables(PairTables store, const int32_t[::1] indices, int64_t start,
                                int64_t stop) noexcept nogil:
    """Ask memory for the tables of a row."""
    cdef int64_t p
    for p in range(start, stop):
        if indices[p] + 1 < store.n_features:
            prefetch(&store.tables[indices[p] + 1])


cdef int weigh(PairTables store, const int32_t[::1] indices, const double[::1] data, int64_t start, int64_t stop,
               const int32_t* labels, double* scores, int64_t n) except -1 nogil

cdef int learn_candidates(PairTables store, const int32_t[::1] indices, const double[::1] data, int64_t start,
                          int64_t stop, const Candidates* c, int64_t n_wrong, int64_t n_true,
                          double row) except -1 nogil

cdef int reject_candidate(PairTables store, const int32_t[::1] indices, const double[::1] data, int64_t start,
                          int64_t stop, int32_t label, double row) except -1 nogil
