"""Declarations of the segmented edge storage, for the kernels that work on it."""

from libc.stdint cimport int32_t, int64_t

cdef extern from *:
    """
    #ifdef ABOUND_BOUNDS_CHECKS
    #define ABOUND_CHECKED 1
    #else
    #define ABOUND_CHECKED 0
    #endif
    #if defined(__GNUC__) || defined(__clang__)
    #define ABOUND_PREFETCH(address) __builtin_prefetch(address)
    #else
    #define ABOUND_PREFETCH(address) ((void)(address))
    #endif
    """
    const bint CHECKED "ABOUND_CHECKED"
    void prefetch "ABOUND_PREFETCH"(const void* address) noexcept nogil

cdef enum:
    SEGMENT_BITS = 20                       # a full segment holds 2**20 edges, 8 MiB
    PAGE_BITS = 14                          # a page holds 2**14 features, 512 KiB
    PAGE_MASK = (1 << 14) - 1
    N_SIZES = 62                            # block sizes 1, 2, 3, 4, 6, 8, 12, ... below 2**31

cdef struct Edge:
    int32_t label
    float weight                            # w'[f, c]

cdef struct Feature:
    int64_t place                           # segment << SEGMENT_BITS | position of its first edge
    double total                            # W[f]
    int64_t seen                            # n[f]
    int32_t length
    int32_t capacity

cdef int out_of_range(const char* message) except -1 with gil
cdef int out_of_memory(const char* wanted) except -1 with gil


cdef class EdgePool:
    cdef Feature** pages
    cdef int64_t n_pages
    cdef readonly int64_t n_features
    cdef Edge** segments
    cdef int64_t* rooms                     # edges that may be read from a segment's start
    cdef char* owned
    cdef int64_t n_segments
    cdef int64_t n_tables                   # room in the three tables above
    cdef int64_t fill                       # edges used in the last segment
    cdef int64_t[N_SIZES] free_heads        # first free block of each size, -1 for none
    cdef readonly int64_t n_edges
    cdef object _borrowed                   # the array that the first segments point into

    cdef int ensure_tables(self, int64_t n) except -1 nogil
    cdef int give_block(self, int64_t place, int64_t capacity) except -1 nogil
    cdef int ensure_features(self, int64_t n) except -1 nogil
    cdef int add_segment(self, int64_t size) except -1 nogil
    cdef int64_t take_block(self, int size) except -1 nogil
    cdef int grow(self, Feature* feature) except -1 nogil


cdef inline Feature* feature_at(EdgePool pool, int64_t f) except NULL nogil:
    if CHECKED and not 0 <= f < pool.n_features:
        out_of_range("feature outside the pool")
    return &pool.pages[f >> PAGE_BITS][f & PAGE_MASK]


cdef inline Edge* edges_of(EdgePool pool, const Feature* feature) except NULL nogil:
    cdef int64_t segment = feature.place >> SEGMENT_BITS
    cdef int64_t position = feature.place & ((1 << SEGMENT_BITS) - 1)
    if CHECKED and (segment >= pool.n_segments or position + feature.capacity > pool.rooms[segment]):
        out_of_range("edges outside their segment")
    return pool.segments[segment] + position
