"""Sum the votes for labels and select the best: scratch space whose size depends on the row, not on the label set.

One object serves one thread at a time and is reused from call to call.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc, realloc

from abound.kernels.pool cimport check_index, out_of_memory

cdef enum:
    MIN_SLOTS = 256
    SLOTS_PER_VOTE = 16                     # few collisions: each costs a mispredicted branch


cdef class Votes:
    """A small hash table from label to score with open addressing, cleared by visiting the used slots."""

    def __cinit__(self):
        self.mask = -1
        self.n_slots = self.n_touched = self.best_capacity = 0

    def __dealloc__(self):
        free(self.slots)
        free(self.touched)
        free(self.best)
        free(self.positions)
        free(self.sums)
        free(self.candidates.labels)
        free(self.candidates.weights)
        free(self.candidates.amounts)

    cdef int open(self, int64_t n_votes) except -1 nogil:
        """Prepare an empty table for at most n_votes distinct labels: small, so that it stays in cache."""
        cdef int64_t n = MIN_SLOTS, i
        while n < SLOTS_PER_VOTE * n_votes:
            n *= 2
        if n > self.n_slots:
            free(self.slots)
            free(self.touched)
            self.n_slots = 0
            self.slots = <Vote*> malloc(n * sizeof(Vote))
            self.touched = <int32_t*> malloc((n + 1) * sizeof(int32_t))
            if self.slots == NULL or self.touched == NULL:
                out_of_memory("the votes of a row")
            for i in range(n):
                self.slots[i].label = -1
                self.slots[i].score = 0.0
            self.n_slots = n
        self.mask = n - 1
        return 0

    cdef int32_t* make_positions(self, int64_t n) except NULL nogil:
        """Return space for n positions."""
        if n >= self.position_capacity:
            free(self.positions)
            self.position_capacity = 0
            self.positions = <int32_t*> malloc(2 * (n + 1) * sizeof(int32_t))
            if self.positions == NULL:
                out_of_memory("the edges of a row")
            self.position_capacity = 2 * (n + 1)
        return self.positions

    cdef double* make_sums(self, int64_t n) except NULL nogil:
        """Return space for n sums."""
        if n >= self.sum_capacity:
            free(self.sums)
            self.sum_capacity = 0
            self.sums = <double*> malloc(2 * (n + 1) * sizeof(double))
            if self.sums == NULL:
                out_of_memory("the scores of a row")
            self.sum_capacity = 2 * (n + 1)
        return self.sums

    cdef Candidates* make_candidates(self, int64_t n) except NULL nogil:
        """Return space for n candidates."""
        cdef Candidates* c = &self.candidates
        if n >= self.candidate_capacity:
            free(c.labels)
            free(c.weights)
            free(c.amounts)
            self.candidate_capacity = 0
            c.labels = <int32_t*> malloc(2 * (n + 1) * sizeof(int32_t))
            c.weights = <double*> malloc(2 * (n + 1) * sizeof(double))
            c.amounts = <double*> malloc(2 * (n + 1) * sizeof(double))
            if c.labels == NULL or c.weights == NULL or c.amounts == NULL:
                out_of_memory("the candidates of a row")
            self.candidate_capacity = 2 * (n + 1)
        return c

    cdef Vote* make_best(self, int64_t n) except? NULL nogil:
        """Return space for n labels and their scores."""
        cdef void* memory
        if n > self.best_capacity:
            memory = realloc(self.best, n * sizeof(Vote))
            if memory == NULL:
                out_of_memory("the ranking of a row")
            self.best = <Vote*> memory
            self.best_capacity = n
        return self.best

    cdef void clear(self) noexcept nogil:
        cdef int64_t i
        cdef Vote* slots = self.slots
        for i in range(self.n_touched):
            slots[self.touched[i]].label = -1
            slots[self.touched[i]].score = 0.0
        self.n_touched = 0

    cdef int64_t find(self, int32_t label) noexcept nogil:
        """Return the slot that holds a label, or the empty one where it belongs."""
        cdef int64_t slot = label & self.mask
        while self.slots[slot].label != label and self.slots[slot].label != -1:
            slot = (slot + 1) & self.mask
        return slot

    cdef int64_t take_top(self, int64_t k) except -1 nogil:
        """Write the k best votes to `best`, best first, clear the table and return how many there are."""
        cdef int64_t i, n = min(k, self.n_touched), n_touched = self.n_touched
        cdef Vote* slots = self.slots
        cdef const int32_t* touched = self.touched
        cdef Vote* best
        cdef Vote* slot
        cdef Vote vote
        cdef double worst
        cdef bint few = n <= MAX_INSERTION_SORT
        best = self.make_best(n)
        for i in range(n):
            check_index(touched[i], self.n_slots)
            slot = &slots[touched[i]]
            best[i] = slot[0]
            slot.label = -1                 # cleared in the same pass, while it is in cache
            slot.score = 0.0
            if few:
                insert(best, i)
            else:
                sift_up(best, i)
        worst = best[n - 1 if few else 0].score if n else INFINITY
        for i in range(n, n_touched):
            check_index(touched[i], self.n_slots)
            slot = &slots[touched[i]]
            vote.score = slot.score
            vote.label = slot.label
            slot.label = -1
            slot.score = 0.0
            if vote.score < worst:
                continue
            if few and is_worse(&best[n - 1], &vote):
                best[n - 1] = vote
                insert(best, n - 1)
                worst = best[n - 1].score
            elif not few and is_worse(&best[0], &vote):
                best[0] = vote
                sift_down(best, n)
                worst = best[0].score
        self.n_touched = 0
        sort_top(best, n, n)
        return n
