"""Where the edges of the index live: short sorted lists in segments that are never copied as a whole.

A feature has a 32-byte header (its list's place, total weight, times seen) in a page; its list of
8-byte edges is one block of a segment. A list that outgrows its block moves to a larger one, and the old
block is kept for reuse. A contiguous array, such as a mapped file, can stand in for the first segments.
"""

from libc.math cimport isfinite
from libc.stdint cimport INT32_MAX, int32_t, int64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy

import numpy as np

cdef int64_t[N_SIZES] SIZES
cdef int64_t _s = 1
for _i in range(N_SIZES):
    SIZES[_i] = _s
    if _i == 0:
        _s = 2
    elif _i == 1:
        _s = 3
    elif _i == 2:
        _s = 4
    elif _i % 2:                            # 4 -> 6 -> 8 -> 12: half as much again, then a power of two
        _s = _s + _s // 2
    else:
        _s = _s // 3 * 4

EDGE_DTYPE = np.dtype([("label", "<i4"), ("weight", "<f4")])
EDGE_BYTES = sizeof(Edge)
FEATURE_BYTES = sizeof(Feature)


cdef int out_of_range(const char* message) except -1 with gil:
    raise IndexError(message.decode())


cdef int out_of_memory(const char* wanted) except -1 with gil:
    raise MemoryError(f"no memory for {wanted.decode()}")


cdef int size_holding(int64_t n) except -1 nogil:
    """Index of the smallest block size that holds n edges."""
    cdef int s = 0
    while SIZES[s] < n:
        s += 1
    return s


cdef class EdgePool:
    """Hold the edges of every feature, sorted by falling weight, then by label."""

    def __cinit__(self):
        self.n_features = self.n_pages = self.n_segments = self.n_tables = self.fill = self.n_edges = 0
        for s in range(N_SIZES):
            self.free_heads[s] = -1

    def __dealloc__(self):
        cdef int64_t i
        for i in range(self.n_pages):
            free(self.pages[i])
        for i in range(self.n_segments):
            if self.owned[i]:
                free(self.segments[i])
        free(self.pages)
        free(self.segments)
        free(self.rooms)
        free(self.owned)

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

    cdef int ensure_tables(self, int64_t n) except -1 nogil:
        cdef int64_t room
        cdef void* table
        if n <= self.n_tables:
            return 0
        room = max(n, 2 * self.n_tables, 16)
        table = realloc(self.segments, room * sizeof(Edge*))
        if table != NULL:
            self.segments = <Edge**> table
            table = realloc(self.rooms, room * sizeof(int64_t))
        if table != NULL:
            self.rooms = <int64_t*> table
            table = realloc(self.owned, room)
        if table == NULL:
            out_of_memory("more segments")
        self.owned = <char*> table
        self.n_tables = room
        return 0

    cdef int add_segment(self, int64_t size) except -1 nogil:
        cdef int64_t i = self.n_segments
        self.ensure_tables(i + 1)
        self.segments[i] = <Edge*> malloc(size * sizeof(Edge))
        if self.segments[i] == NULL:
            out_of_memory("more edges")
        self.rooms[i] = size
        self.owned[i] = 1
        self.n_segments += 1
        self.fill = 0
        return 0

    cdef int64_t take_block(self, int size) except -1 nogil:
        """Place of a block with room for SIZES[size] edges."""
        cdef int64_t place = self.free_heads[size]
        cdef int64_t n = SIZES[size]
        cdef int64_t last = self.n_segments - 1
        cdef int doublings
        if place >= 0:                      # a free block holds the place of the next one
            memcpy(&self.free_heads[size], self.segments[place >> SEGMENT_BITS]
                   + (place & ((1 << SEGMENT_BITS) - 1)), sizeof(int64_t))
            return place
        if last < 0 or self.fill + n > self.rooms[last]:
            doublings = <int> min(10 + self.n_segments, SEGMENT_BITS)   # small models stay small
            self.add_segment(max(n, 1 << doublings))
            last += 1
        place = (last << SEGMENT_BITS) | self.fill
        self.fill += n
        return place

    cdef int give_block(self, int64_t place, int64_t capacity) except -1 nogil:
        """Keep a block for reuse, under the largest size that it holds in full."""
        cdef int size
        if capacity == 0:
            return 0
        size = size_holding(capacity)
        if SIZES[size] > capacity:
            size -= 1
        memcpy(self.segments[place >> SEGMENT_BITS] + (place & ((1 << SEGMENT_BITS) - 1)),
               &self.free_heads[size], sizeof(int64_t))
        self.free_heads[size] = place
        return 0

    cdef int grow(self, Feature* feature) except -1 nogil:
        """Move a feature's list to a block with room for at least one more edge."""
        cdef int size = size_holding(<int64_t> feature.length + 1)
        cdef int64_t place = self.take_block(size)
        if feature.length:
            memcpy(self.segments[place >> SEGMENT_BITS] + (place & ((1 << SEGMENT_BITS) - 1)),
                   edges_of(self, feature), feature.length * sizeof(Edge))
        self.give_block(feature.place, feature.capacity)
        feature.place = place
        feature.capacity = <int32_t> SIZES[size]
        return 0

    # -- in and out ------------------------------------------------------------------------------

    @property
    def nbytes(self):
        """Bytes held in memory of our own; a mapped file's pages are not counted."""
        cdef int64_t total = self.n_pages * (1 << PAGE_BITS) * sizeof(Feature), i
        for i in range(self.n_segments):
            if self.owned[i]:
                total += self.rooms[i] * sizeof(Edge)
        return total

    @classmethod
    def from_arrays(cls, const int64_t[::1] indptr, edges, const double[::1] totals, const int64_t[::1] seen):
        """Build a pool on top of a contiguous array of edges, which is not copied.

        The arrays are checked by `check_arrays` first, by whoever does not trust them. Only an array that may
        not be written to is copied, for learning changes edges in place.
        """
        cdef EdgePool pool = cls()
        cdef int64_t n = totals.shape[0], n_edges = edges.shape[0], i, f
        cdef Feature* feature
        cdef char[::1] flat
        if not edges.flags.writeable:
            edges = edges.copy()
        if n_edges:
            flat = edges.view(np.int8)
            pool._borrowed = edges
            pool.n_segments = ((n_edges - 1) >> SEGMENT_BITS) + 1
            pool.ensure_tables(pool.n_segments)
            for i in range(pool.n_segments):   # a list may cross from one to the next: memory is contiguous
                pool.segments[i] = <Edge*> &flat[0] + (i << SEGMENT_BITS)
                pool.rooms[i] = n_edges - (i << SEGMENT_BITS)
                pool.owned[i] = 0
            pool.fill = pool.rooms[pool.n_segments - 1]
        pool.ensure_features(n)
        for f in range(n):
            feature = feature_at(pool, f)
            feature.place = indptr[f]
            feature.length = feature.capacity = <int32_t> (indptr[f + 1] - indptr[f])
            feature.total = totals[f]
            feature.seen = seen[f]
        pool.n_edges = n_edges
        return pool

    def headers(self, int64_t limit=INT32_MAX):
        """Return (indptr, totals, seen) of all features, their lists cut to `limit` edges."""
        cdef int64_t n = self.n_features, f
        indptr_, totals_, seen_ = np.zeros(n + 1, np.int64), np.empty(n), np.empty(n, np.int64)
        cdef int64_t[::1] indptr = indptr_, seen = seen_
        cdef double[::1] totals = totals_
        cdef Feature* feature
        for f in range(n):
            feature = feature_at(self, f)
            indptr[f + 1] = indptr[f] + min(limit, feature.length)
            totals[f] = feature.total
            seen[f] = feature.seen
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
        """Return a pool with the same edges and no spare room, each list cut to `limit` edges."""
        cdef EdgePool pool = EdgePool()
        cdef Feature* source
        cdef Feature* target
        cdef int64_t f, left = 0, n
        pool.ensure_features(self.n_features)
        for f in range(self.n_features):
            left += min(limit, feature_at(self, f).length)
        pool.n_edges = left
        for f in range(self.n_features):
            source = feature_at(self, f)
            target = feature_at(pool, f)
            target[0] = source[0]
            n = min(limit, source.length)
            target.length = target.capacity = <int32_t> n
            target.place = 0
            if n == 0:
                continue
            if pool.n_segments == 0 or pool.fill + n > pool.rooms[pool.n_segments - 1]:
                # What a full segment's end cannot hold stays unused: under one list in a million edges.
                pool.add_segment(max(n, min(left, 1 << SEGMENT_BITS)))
            target.place = ((pool.n_segments - 1) << SEGMENT_BITS) | pool.fill
            memcpy(edges_of(pool, target), edges_of(self, source), n * sizeof(Edge))
            pool.fill += n
            left -= n
        return pool

    def resize(self, int64_t n_features):
        """Make at least `n_features` features exist."""
        self.ensure_features(n_features)

    def __reduce__(self):
        indptr, totals, seen = self.headers()
        return EdgePool.from_arrays, (indptr, self.edges(0, self.n_features), totals, seen)


def check_arrays(const int64_t[::1] indptr, edges, const double[::1] totals, const int64_t[::1] seen,
                 int64_t n_labels):
    """Return what is wrong with the arrays of a pool in one phrase, or None.

    What passes here cannot make a kernel read or write outside its arrays.
    """
    cdef int64_t n = totals.shape[0], n_edges = edges.shape[0], f, i
    cdef const int32_t[:] labels = edges["label"]
    cdef const float[:] weights = edges["weight"]
    if indptr.shape[0] != n + 1 or seen.shape[0] != n:
        return "indptr, totals and seen disagree about the number of features"
    if indptr[0] != 0 or indptr[n] != n_edges:
        return "indptr does not begin at 0 and end at the number of edges"
    last_ = np.full(n_labels, -1, np.int64)
    cdef int64_t[::1] last = last_          # the feature in whose list a label was met last
    for f in range(n):
        if indptr[f + 1] < indptr[f] or indptr[f + 1] > n_edges or indptr[f + 1] - indptr[f] > INT32_MAX:
            return f"indptr falls or leaves the edges at feature {f}"
        if not isfinite(totals[f]) or totals[f] < 0 or seen[f] < 0:
            return f"feature {f} has a negative or infinite total or count"
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
