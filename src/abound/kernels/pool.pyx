"""The memory of the index's edges: short sorted lists in slabs, so that growth never copies the whole index.

A feature has a 32-byte header (pointer to its list, total weight, count) in a page. Its list of 8-byte edges is one
block of a slab. A slab is divided into blocks of one size. A list that outgrows its block moves to the next size. A
slab without a used block can serve another size, and half-empty slabs are emptied before more memory is allocated. A
contiguous array, such as a mapped file, can be borrowed: its lists move into slabs when they grow.
"""

from libc.math cimport isfinite
from libc.stdint cimport INT32_MAX, int32_t, int64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy

import numpy as np

cdef enum:
    FREE_DIVISOR = 12                       # defragment when more than 1/12 of the size in use is free

cdef int64_t[N_SIZES] SIZES
for _i in range(N_SIZES):                   # four sizes per power of two
    SIZES[_i] = _i + 1 if _i < 8 else (<int64_t> (4 + _i % 4 + 1)) << (_i // 4 - 1)

EDGE_DTYPE = np.dtype([("label", "<i4"), ("weight", "<f4")])
BOUNDS_CHECKED = bool(BOUNDS_CHECKS)
EDGE_BYTES = sizeof(Edge)
MAX_SEEN = 1 << 53                          # largest count of a feature; counting on from it cannot overflow
FEATURE_BYTES = sizeof(Feature)


cdef int out_of_range(const char* message) except -1 with gil:
    raise IndexError(message.decode())


cdef int out_of_memory(const char* wanted) except -1 with gil:
    raise MemoryError(f"no memory for {wanted.decode()}")


cdef int size_holding(int64_t n) except -1 nogil:
    """Return the index of the smallest block size that holds n edges."""
    cdef int s = 0
    while SIZES[s] < n:
        s += 1
    return s


cdef class EdgePool:
    """The edges of every feature, sorted by descending weight, then by label."""

    def __cinit__(self):
        cdef int s
        for s in range(N_SIZES):
            self.open_slabs[s] = -1
        self.empty_slabs = -1

    def __dealloc__(self):
        cdef int64_t i
        for i in range(self.n_pages):
            free(self.pages[i])
        for i in range(self.n_arenas):
            free(self.arenas[i])
        free(self.pages)
        free(self.arenas)
        free(self.slabs)

    # -- growing ---------------------------------------------------------------------------------

    cdef int ensure_features(self, int64_t n) except -1 nogil:
        """Make features 0 .. n-1 exist; new ones have no edges."""
        cdef int64_t needed = (n + PAGE_MASK) >> PAGE_BITS
        cdef Feature** pages
        if needed > self.n_pages:
            pages = <Feature**> realloc(self.pages, needed * sizeof(Feature*))
            if pages == NULL:
                out_of_memory("more features")
            self.pages = pages
            while self.n_pages < needed:
                self.pages[self.n_pages] = <Feature*> calloc(1 << PAGE_BITS, sizeof(Feature))
                if self.pages[self.n_pages] == NULL:
                    out_of_memory("more features")
                self.n_pages += 1
        if n > self.n_features:
            self.n_features = n
        return 0

    cdef int64_t add_entry(self) except -1 nogil:
        """Return the number of a new entry in the table of slabs."""
        cdef Slab* slabs
        if self.n_slabs == self.slab_capacity:
            slabs = <Slab*> realloc(self.slabs, max(16, 2 * self.slab_capacity) * sizeof(Slab))
            if slabs == NULL:
                out_of_memory("more slabs")
            self.slabs = slabs
            self.slab_capacity = max(16, 2 * self.slab_capacity)
        self.n_slabs += 1
        return self.n_slabs - 1

    cdef void* add_arena(self, int64_t n_bytes) except NULL nogil:
        cdef void** arenas = <void**> realloc(self.arenas, (self.n_arenas + 1) * sizeof(void*))
        if arenas != NULL:
            self.arenas = arenas
            arenas[self.n_arenas] = malloc(n_bytes)
        if arenas == NULL or arenas[self.n_arenas] == NULL:
            out_of_memory("more edges")
        advise_huge_pages(arenas[self.n_arenas], n_bytes)
        self.n_arenas += 1
        self.arena_bytes += n_bytes
        return arenas[self.n_arenas - 1]

    cdef int add_empty_slabs(self) except -1 nogil:
        """Allocate slabs: few for a small model, 8 MiB at a time for a large one."""
        cdef int64_t n = max(1, min(256, self.n_slabs // 8)), i, entry
        cdef Edge* edges = <Edge*> self.add_arena(n * SLAB_EDGES * sizeof(Edge))
        for i in range(n):
            entry = self.add_entry()
            self.slabs[entry].edges = edges + i * SLAB_EDGES
            self.slabs[entry].capacity = SLAB_EDGES
            self.link(&self.empty_slabs, <int32_t> entry)
        return 0

    cdef int link(self, int32_t* head, int32_t slab) noexcept nogil:
        self.slabs[slab].previous = -1
        self.slabs[slab].next = head[0]
        if head[0] >= 0:
            self.slabs[head[0]].previous = slab
        head[0] = slab
        return 0

    cdef int unlink(self, int32_t* head, int32_t slab) noexcept nogil:
        cdef Slab* s = &self.slabs[slab]
        if s.previous >= 0:
            self.slabs[s.previous].next = s.next
        else:
            head[0] = s.next
        if s.next >= 0:
            self.slabs[s.next].previous = s.previous
        return 0

    cdef int64_t capacity(self, const Feature* feature) noexcept nogil:
        """Return how many edges fit into the block of a feature's list."""
        if feature.slab < 0 or feature.edges == NULL:
            return feature.length
        if self.slabs[feature.slab].size < 0:
            return self.slabs[feature.slab].capacity
        return SIZES[self.slabs[feature.slab].size]

    cdef bint holds(self, const Feature* feature) noexcept nogil:
        """Tell whether a feature's list lies within its own block or array."""
        cdef const Slab* s
        if feature.length == 0:
            return True
        if feature.slab < 0:
            return self.borrowed_start <= feature.edges and feature.edges + feature.length <= self.borrowed_end
        s = &self.slabs[feature.slab]
        return (feature.slab < self.n_slabs and feature.length <= self.capacity(feature)
                and s.edges <= feature.edges and feature.edges + feature.length <= s.edges + s.capacity)

    cdef int take_block(self, int size, Feature* feature) except -1 nogil:
        """Point a feature at a block with space for SIZES[size] edges; its old block is not freed."""
        cdef int64_t n = SIZES[size], position
        cdef int32_t slab
        cdef Slab* s
        if n > SLAB_EDGES:                  # a list of thousands of labels gets separate memory, kept until the end
            slab = <int32_t> self.add_entry()
            s = &self.slabs[slab]
            s.edges = <Edge*> self.add_arena(n * sizeof(Edge))
            s.capacity, s.size = n, -1
            feature.edges, feature.slab = s.edges, slab
            return 0
        if self.open_slabs[size] < 0:
            if self.empty_slabs < 0 and (self.n_cut * SLAB_EDGES - self.in_blocks) * FREE_DIVISOR > self.in_blocks:
                self.defragment()           # instead of allocating more memory
        slab = self.open_slabs[size]
        if slab < 0:
            if self.empty_slabs < 0:
                self.add_empty_slabs()
            slab = self.empty_slabs
            self.unlink(&self.empty_slabs, slab)
            s = &self.slabs[slab]
            s.size, s.used, s.fresh, s.free_head = size, 0, 0, -1
            self.n_cut += 1
            self.link(&self.open_slabs[size], slab)
        s = &self.slabs[slab]
        if s.free_head >= 0:                # a free block holds the position of the next one
            position = s.free_head
            s.free_head = s.edges[position].label
        else:
            position = s.fresh
            s.fresh += <int32_t> n
        s.used += 1
        self.in_blocks += n
        if s.free_head < 0 and s.fresh + n > SLAB_EDGES:
            self.unlink(&self.open_slabs[size], slab)
        feature.edges, feature.slab = s.edges + position, slab
        return 0

    cdef int give_block(self, const Feature* feature) except -1 nogil:
        """Free a feature's block; in a borrowed array its memory is lost until the pool is compacted."""
        cdef Slab* s
        if feature.edges == NULL or feature.slab < 0:
            return 0
        s = &self.slabs[feature.slab]
        if s.size < 0:
            return 0
        if s.free_head < 0 and s.fresh + SIZES[s.size] > SLAB_EDGES:
            self.link(&self.open_slabs[s.size], feature.slab)
        feature.edges.label = s.free_head
        s.free_head = <int32_t> (feature.edges - s.edges)
        s.used -= 1
        self.in_blocks -= SIZES[s.size]
        if s.used == 0:
            self.unlink(&self.open_slabs[s.size], feature.slab)
            self.link(&self.empty_slabs, feature.slab)
            self.n_cut -= 1
        return 0

    cdef int defragment(self) except -1 nogil:
        """Empty as many slabs as possible by moving their lists into free blocks of other slabs.

        It walks over all features, and is called only after a twelfth of the memory has become free.
        """
        cdef int64_t f, n_marked = 0
        cdef int32_t slab, next_slab
        cdef int size, old_size
        cdef int64_t capacity, free_blocks, kept_free
        cdef Slab* s
        cdef Feature* feature
        for size in range(N_SIZES):         # only slabs with a free block are listed, and only these can be emptied
            if SIZES[size] > SLAB_EDGES:
                break
            capacity = SLAB_EDGES // SIZES[size]
            free_blocks = 0
            slab = self.open_slabs[size]
            while slab >= 0:
                free_blocks += capacity - self.slabs[slab].used
                slab = self.slabs[slab].next
            slab = self.open_slabs[size]
            while slab >= 0:
                s = &self.slabs[slab]
                next_slab = s.next
                kept_free = free_blocks - (capacity - s.used)
                if kept_free >= s.used:
                    self.unlink(&self.open_slabs[size], slab)
                    s.size = -2 - size      # marked: it gives out no blocks, and its lists will be moved
                    free_blocks = kept_free - s.used
                    n_marked += 1
                slab = next_slab
        if n_marked == 0:
            return 0
        for f in range(self.n_features):
            feature = feature_at(self, f)
            if feature.edges != NULL and feature.slab >= 0 and self.slabs[feature.slab].size <= -2:
                self.move(feature, -2 - self.slabs[feature.slab].size)
        for slab in range(<int32_t> self.n_slabs):
            s = &self.slabs[slab]
            if s.size <= -2:
                old_size = -2 - s.size
                self.in_blocks -= s.used * SIZES[old_size]
                self.n_cut -= 1
                s.size, s.used = -1, 0
                self.link(&self.empty_slabs, slab)
        return 0

    cdef int move(self, Feature* feature, int size) except -1 nogil:
        """Move a feature's list to a block of a given size, and free the old one."""
        cdef Feature target
        self.take_block(size, &target)      # which may defragment, and so move this list
        if feature.length:
            memcpy(target.edges, feature.edges, feature.length * sizeof(Edge))
        self.give_block(feature)
        feature.edges, feature.slab = target.edges, target.slab
        return 0

    cdef int grow(self, Feature* feature, int64_t n) except -1 nogil:
        """Move a feature's list to a block with space for at least n edges."""
        return self.move(feature, size_holding(n))

    # -- in and out ------------------------------------------------------------------------------

    @property
    def nbytes(self):
        """Bytes in the process's own memory; pages of a mapped file are not counted."""
        cdef int64_t total = self.n_pages * (1 << PAGE_BITS) * sizeof(Feature) + self.arena_bytes
        if self._borrowed is not None and self._borrowed.flags.owndata:
            total += self._borrowed.nbytes
        return total

    @classmethod
    def from_arrays(cls, const int64_t[::1] indptr, edges, const double[::1] totals, const int64_t[::1] seen):
        """Build a pool on a contiguous array of edges, without a copy.

        Arrays that are not trusted must pass `check_arrays` first. Only a read-only array is copied, because learning
        changes edges in place.
        """
        cdef EdgePool pool = cls()
        cdef int64_t n = totals.shape[0], n_edges = edges.shape[0], f
        cdef Feature* feature
        cdef char[::1] flat
        if not edges.flags.writeable:
            edges = edges.copy()
        if n_edges:
            flat = edges.view(np.int8)
            pool._borrowed = edges
            pool.borrowed_start = <Edge*> &flat[0]
            pool.borrowed_end = pool.borrowed_start + n_edges
        pool.ensure_features(n)
        for f in range(n):
            feature = feature_at(pool, f)
            feature.edges = pool.borrowed_start + indptr[f]
            feature.slab = -1
            feature.length = <int32_t> (indptr[f + 1] - indptr[f])
            feature.total = totals[f]
            feature.stat.seen = seen[f]
        pool.n_edges = n_edges
        return pool

    def headers(self, int64_t limit=INT32_MAX, int64_t start=0, int64_t stop=INT32_MAX):
        """Return (indptr, totals, seen) of features start .. stop-1, with lists cut to `limit` edges."""
        cdef int64_t n, f
        stop = min(stop, self.n_features)
        start = max(<int64_t> 0, min(start, stop))
        n = stop - start
        indptr_, totals_, seen_ = np.zeros(n + 1, np.int64), np.empty(n), np.empty(n, np.int64)
        cdef int64_t[::1] indptr = indptr_, seen = seen_
        cdef double[::1] totals = totals_
        cdef Feature* feature
        for f in range(n):
            feature = feature_at(self, start + f)
            indptr[f + 1] = indptr[f] + min(limit, feature.length)
            totals[f] = feature.total
            seen[f] = feature.stat.seen
        return indptr_, totals_, seen_

    def edges(self, int64_t start, int64_t stop, int64_t limit=INT32_MAX):
        """Copy the edges of features start .. stop-1, in order, each list cut to `limit` edges."""
        cdef int64_t f, n = 0, at = 0
        cdef Feature* feature
        for f in range(start, stop):
            n += min(limit, feature_at(self, f).length)
        out_ = np.empty(n, EDGE_DTYPE)
        if n == 0:
            return out_
        cdef char[::1] out = out_.view(np.int8)
        for f in range(start, stop):
            feature = feature_at(self, f)
            n = min(limit, feature.length)
            if n:
                memcpy(&out[at * sizeof(Edge)], edges_of(self, feature), n * sizeof(Edge))
                at += n
        return out_

    def compacted(self, int64_t limit=INT32_MAX):
        """Return a pool with the same edges and no unused memory, with lists cut to `limit` edges."""
        indptr, totals, seen = self.headers(limit)
        return EdgePool.from_arrays(indptr, self.edges(0, self.n_features, limit), totals, seen)

    def __reduce__(self):
        indptr, totals, seen = self.headers()
        return EdgePool.from_arrays, (indptr, self.edges(0, self.n_features), totals, seen)


def check_lists(const int64_t[::1] indptr, edges, const double[::1] totals, int64_t n_labels,
                int64_t longest=INT32_MAX):
    """Return what is wrong with lists of edges as one phrase, or None.

    `edges` have a label and a weight, and perhaps more; the caller has checked their type. Lists that pass cannot make
    a kernel read or write out of bounds.
    """
    cdef int64_t n = totals.shape[0], n_edges = edges.shape[0], f, i
    cdef const int32_t[:] labels = edges["label"]
    cdef const float[:] weights = edges["weight"]
    if indptr[0] != 0 or indptr[n] != n_edges:
        return "indptr does not begin at 0 and end at the number of edges"
    last_ = np.full(n_labels, -1, np.int64)
    cdef int64_t[::1] last = last_          # the last feature whose list has the label
    for f in range(n):
        if indptr[f + 1] < indptr[f] or indptr[f + 1] > n_edges or indptr[f + 1] - indptr[f] > longest:
            return f"indptr decreases or exceeds the edges at feature {f}"
        if not isfinite(totals[f]) or totals[f] < 0:
            return f"feature {f} has a negative or infinite total"
        if indptr[f + 1] > indptr[f] and totals[f] == 0:
            return f"feature {f} has edges but no total"
        for i in range(indptr[f], indptr[f + 1]):
            if labels[i] < 0 or labels[i] >= n_labels:
                return f"feature {f} has an edge to a label that does not exist"
            if not isfinite(weights[i]) or weights[i] < 0:
                return f"feature {f} has an edge with a negative or infinite weight"
            if i > indptr[f] and (weights[i] > weights[i - 1]
                                  or (weights[i] == weights[i - 1] and labels[i] < labels[i - 1])):
                return f"the edges of feature {f} are not sorted"
            if last[labels[i]] == f:
                return f"feature {f} has two edges to one label"
            last[labels[i]] = f
    return None


def check_arrays(const int64_t[::1] indptr, edges, const double[::1] totals, const int64_t[::1] seen,
                 int64_t n_labels):
    """Return what is wrong with the arrays of a pool as one phrase, or None; see `check_lists`."""
    if edges.dtype != EDGE_DTYPE:           # rated edges would be read as twice as many
        return "the edges have the wrong type"
    if indptr.shape[0] != totals.shape[0] + 1 or seen.shape[0] != totals.shape[0]:
        return "indptr, totals and seen disagree about the number of features"
    if np.any(np.asarray(seen) > MAX_SEEN):
        return "a feature's count is larger than 2**53"
    if np.any(np.asarray(seen) < 0):
        return f"feature {int(np.argmax(np.asarray(seen) < 0))} has a negative count"
    return check_lists(indptr, edges, totals, n_labels)
