"""Declarations of the vote table, for the kernels that fill it."""

from libc.stdint cimport int32_t, int64_t

from abound.kernels.pool cimport Edge, check_place

cdef enum:
    INSERTION_MOST = 32                     # up to so many, insertion beats a heap
    RIVALS_A_LABEL = 3                      # wrong labels that a hinge compares with a true one, at the least

cdef struct Vote:
    double score
    int32_t label                           # -1 marks an empty slot
    int32_t place                           # among the touched, where a kernel keeps sums of its own

cdef struct Candidates:                     # arrays side by side, for who weighs the best labels again
    int32_t* labels
    double* weights
    double* amounts

cdef class Votes:
    cdef Vote* slots
    cdef int64_t n_slots
    cdef int64_t mask                       # of the part of the slots that serves the row at hand
    cdef int32_t* touched                   # the slots in use, in the order of their first vote
    cdef int64_t n_touched
    cdef Vote* best
    cdef int64_t best_room
    cdef int32_t* positions                 # scratch for whoever learns a row
    cdef int64_t position_room
    cdef double* sums                       # and the scores of the touched, side by side
    cdef int64_t sum_room
    cdef Candidates candidates
    cdef int64_t candidate_room

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

    A label's slot is its number modulo the table, so that with fewer labels than slots the table is an
    ordinary array; the one branch is for two labels on one slot, which is rare and well predicted.
    """
    # Locals, because the compiler must assume that a store to a slot changes the object's own fields.
    cdef Vote* slots = votes.slots
    cdef int32_t* touched = votes.touched
    cdef int64_t mask = votes.mask, n_touched = votes.n_touched, slot, e
    cdef int32_t label, found
    check_place(mask, votes.n_slots)
    for e in range(n):
        label = edges[e].label
        slot = label & mask
        check_place(n_touched, mask + 1)    # below the last slot, so that every search ends
        found = slots[slot].label
        while found != label and found != -1:
            slot = (slot + 1) & mask
            found = slots[slot].label
        touched[n_touched] = <int32_t> slot
        n_touched += found == -1
        slots[slot].label = label
        slots[slot].score += scale * edges[e].weight
    votes.n_touched = n_touched
    return 0


cdef inline bint is_worse(const Vote* a, const Vote* b) noexcept nogil:
    """Tell whether a ranks below b: by score, then the larger label."""
    return a.score < b.score or (a.score == b.score and a.label > b.label)


cdef inline void insert(Vote* best, int64_t i) noexcept nogil:
    """Move best[i] up to its place among the sorted votes before it."""
    cdef Vote moved = best[i]
    while i > 0 and is_worse(&best[i - 1], &moved):
        best[i] = best[i - 1]
        i -= 1
    best[i] = moved


cdef inline void sift_up(Vote* heap, int64_t i) noexcept nogil:
    """Move heap[i] up to its place; the worst vote is on top."""
    cdef Vote moved = heap[i]
    while i > 0 and is_worse(&moved, &heap[(i - 1) >> 1]):
        heap[i] = heap[(i - 1) >> 1]
        i = (i - 1) >> 1
    heap[i] = moved


cdef inline void sift_down(Vote* heap, int64_t n) noexcept nogil:
    """Move heap[0] down to its place among n votes."""
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
    """The worst of n > 0 votes that `offer` has kept."""
    return &best[n - 1 if most <= INSERTION_MOST else 0]


cdef inline int64_t offer(Vote* best, int64_t n, int64_t most, const Vote* found) noexcept nogil:
    """Keep a vote if it is one of the `most` best so far; return how many are kept.

    Few are kept sorted; many are a heap, which `settle` sorts.
    """
    if n < most:
        best[n] = found[0]
        if most <= INSERTION_MOST:
            insert(best, n)
        else:
            sift_up(best, n)
        return n + 1
    if n and is_worse(worst_of(best, n, most), found):
        if most <= INSERTION_MOST:
            best[n - 1] = found[0]
            insert(best, n - 1)
        else:
            best[0] = found[0]
            sift_down(best, n)
    return n


cdef inline void settle(Vote* best, int64_t n, int64_t most) noexcept nogil:
    """Sort what `offer` has kept, best first."""
    cdef int64_t i
    cdef Vote last
    if most <= INSERTION_MOST:
        return
    for i in range(n - 1, 0, -1):           # the worst goes to the end: what remains is best first
        last = best[0]
        best[0] = best[i]
        best[i] = last
        sift_down(best, i)
