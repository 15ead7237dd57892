"""Declarations of the vote table, for the kernels that fill it."""

from libc.stdint cimport int32_t, int64_t

from abound.kernels.pool cimport Edge, check_index

cdef enum:
    MAX_INSERTION_SORT = 32                 # for at most this many, insertion sort beats a heap
    RIVALS_PER_LABEL = 3                    # the minimum of wrong labels that a hinge compares with each true one

cdef struct Vote:
    double score
    int32_t label                           # -1 marks an empty slot
    int32_t sum_index                       # index into `sums`, for kernels that use it

cdef struct Candidates:                     # the candidates of a row, for the second stage
    int32_t* labels
    double* weights
    double* amounts

cdef class Votes:
    cdef Vote* slots
    cdef int64_t n_slots
    cdef int64_t mask                       # of the part of the table that the current row uses
    cdef int32_t* touched                   # the used slots in the order of their first vote
    cdef int64_t n_touched
    cdef Vote* best
    cdef int64_t best_capacity
    cdef int32_t* positions                 # scratch space for learning a row
    cdef int64_t position_capacity
    cdef double* sums                       # the scores of the used slots, contiguous
    cdef int64_t sum_capacity
    cdef Candidates candidates
    cdef int64_t candidate_capacity

    cdef int open(self, int64_t n_votes) except -1 nogil
    cdef void clear(self) noexcept nogil
    cdef int64_t find(self, int32_t label) noexcept nogil
    cdef int32_t* make_positions(self, int64_t n) except NULL nogil
    cdef double* make_sums(self, int64_t n) except NULL nogil
    cdef Vote* make_best(self, int64_t n) except? NULL nogil
    cdef Candidates* make_candidates(self, int64_t n) except NULL nogil
    cdef int64_t take_top(self, int64_t k) except -1 nogil


cdef inline int add_votes(Votes votes, const Edge* edges, int64_t n, double scale) except -1 nogil:
    """Add scale * weight to the score of each edge's label.

    A label's slot is its number modulo the table size, so that with fewer labels than slots the table is an ordinary
    array. The only branch is for two labels on one slot, which is rare and well predicted.
    """
    # Local variables, because the compiler must assume that a store to a slot changes the object's fields.
    cdef Vote* slots = votes.slots
    cdef int32_t* touched = votes.touched
    cdef int64_t mask = votes.mask, n_touched = votes.n_touched, slot, e
    cdef int32_t label, occupant
    check_index(mask, votes.n_slots)
    for e in range(n):
        label = edges[e].label
        slot = label & mask
        check_index(n_touched, mask + 1)    # one slot stays empty, so that every search ends
        occupant = slots[slot].label
        while occupant != label and occupant != -1:
            slot = (slot + 1) & mask
            occupant = slots[slot].label
        touched[n_touched] = <int32_t> slot
        n_touched += occupant == -1
        slots[slot].label = label
        slots[slot].score += scale * edges[e].weight
    votes.n_touched = n_touched
    return 0


cdef inline bint is_worse(const Vote* a, const Vote* b) noexcept nogil:
    """Tell whether a ranks below b: by score, then the larger label."""
    return a.score < b.score or (a.score == b.score and a.label > b.label)


cdef inline void insert(Vote* best, int64_t i) noexcept nogil:
    """Move best[i] up to its position among the sorted votes before it."""
    cdef Vote moved = best[i]
    while i > 0 and is_worse(&best[i - 1], &moved):
        best[i] = best[i - 1]
        i -= 1
    best[i] = moved


cdef inline void sift_up(Vote* heap, int64_t i) noexcept nogil:
    """Move heap[i] up to its position; the worst vote is the root."""
    cdef Vote moved = heap[i]
    while i > 0 and is_worse(&moved, &heap[(i - 1) >> 1]):
        heap[i] = heap[(i - 1) >> 1]
        i = (i - 1) >> 1
    heap[i] = moved


cdef inline void sift_down(Vote* heap, int64_t n) noexcept nogil:
    """Move heap[0] down to its position among n votes."""
    cdef Vote moved = heap[0]
    cdef int64_t i = 0, child = 1
    while child < n:
        if child + 1 < n and is_worse(&heap[child + 1], &heap[child]):
            child += 1
        if not is_worse(&heap[child], &moved):
            break
        heap[i] = heap[child]
        i = child
        child = 2 * i + 1
    heap[i] = moved


cdef inline Vote* worst_of(Vote* best, int64_t n, int64_t most) noexcept nogil:
    """Return the worst of n > 0 votes that `push_top` has kept."""
    return &best[n - 1 if most <= MAX_INSERTION_SORT else 0]


cdef inline int64_t push_top(Vote* best, int64_t n, int64_t most, const Vote* vote) noexcept nogil:
    """Keep a vote if it is among the best `most` so far; return how many are kept.

    Few votes are kept sorted; many are kept as a heap, which `sort_top` sorts.
    """
    if n < most:
        best[n] = vote[0]
        if most <= MAX_INSERTION_SORT:
            insert(best, n)
        else:
            sift_up(best, n)
        return n + 1
    if n and is_worse(worst_of(best, n, most), vote):
        if most <= MAX_INSERTION_SORT:
            best[n - 1] = vote[0]
            insert(best, n - 1)
        else:
            best[0] = vote[0]
            sift_down(best, n)
    return n


cdef inline void sort_top(Vote* best, int64_t n, int64_t most) noexcept nogil:
    """Sort the votes that `push_top` has kept, best first."""
    cdef int64_t i
    cdef Vote last
    if most <= MAX_INSERTION_SORT:
        return
    for i in range(n - 1, 0, -1):           # heapsort: the worst vote moves to the end
        last = best[0]
        best[0] = best[i]
        best[i] = last
        sift_down(best, i)
