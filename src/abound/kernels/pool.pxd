"""Declarations of the segmented edge storage, for the kernels that work on it."""

from libc.stdint cimport int32_t, int64_t

cdef extern from *:
    """
    #ifdef ABOUND_BOUNDS_CHECKS
    #define ABOUND_CHECKED 1
    #else
    #define ABOUND_CHECKED 0
    #endif
    #include <stddef.h>
    #include <stdint.h>
    #if defined(__linux__)
    #include <sys/mman.h>
    #endif
    /* With small pages, random lookups in a large memory wait for page tables more than for the memory itself. */
    static inline void abound_advise_huge_pages(void* address, int64_t n_bytes) {
    #if defined(__linux__) && defined(MADV_HUGEPAGE)
        const uintptr_t page = (uintptr_t) 1 << 21;
        uintptr_t start = ((uintptr_t) address + page - 1) & ~(page - 1);
        uintptr_t end = ((uintptr_t) address + (uintptr_t) n_bytes) & ~(page - 1);
        if (start < end) (void) madvise((void*) start, end - start, MADV_HUGEPAGE);
    #else
        (void) address, (void) n_bytes;
    #endif
    }
    #if defined(__GNUC__) || defined(__clang__)
    #define ABOUND_PREFETCH(address) __builtin_prefetch(address)
    #else
    #define ABOUND_PREFETCH(address) ((void)(address))
    #endif
    """
    const bint BOUNDS_CHECKS "ABOUND_CHECKED"
    void prefetch "ABOUND_PREFETCH"(const void* address) noexcept nogil
    void advise_huge_pages "abound_advise_huge_pages"(void* address, int64_t n_bytes) noexcept nogil

cdef enum:
    SLAB_EDGES = 1 << 12                    # 32 KiB
    PAGE_BITS = 14                          # a page holds 2**14 features, 512 KiB
    PAGE_MASK = (1 << 14) - 1
    N_SIZES = 120                           # block sizes 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, ... to 2**31

cdef struct Edge:
    int32_t label
    float weight                            # w'[f, c]

cdef struct Rating:
    float log                               # l[f]: the feature's votes are multiplied by exp(l[f])
    float grad_sq                           # AdaGrad's sum of squared gradients

cdef union FeatureStat:                     # depends on the kind of the index
    int64_t seen                            # n[f], of a plain index: how many rows had the feature
    Rating rating                           # of a rated index

cdef struct Feature:
    Edge* edges                             # its list; NULL if it never had one
    double total                            # W[f]
    FeatureStat stat
    int32_t length
    int32_t slab                            # the slab of its list; -1 if the list is in the borrowed array

cdef struct Slab:
    Edge* edges
    int64_t capacity                        # in edges
    int32_t size                            # of its blocks, an index into SIZES; negative if it gives out no blocks
    int32_t used                            # blocks in use
    int32_t fresh                           # position of the first edge that was never part of a block
    int32_t free_head                       # position of the first free block, -1 for none
    int32_t previous, next                  # neighbours in its list, -1 for none

cdef int out_of_range(const char* message) except -1 with gil
cdef int out_of_memory(const char* wanted) except -1 with gil


cdef inline int check_index(int64_t index, int64_t size) except -1 nogil:
    """Raise, in a build with bounds checks, if an index of a scratch array is out of range."""
    if BOUNDS_CHECKS and not 0 <= index < size:
        out_of_range("index outside a scratch array")
    return 0


cdef class EdgePool:
    cdef Feature** pages
    cdef int64_t n_pages
    cdef readonly int64_t n_features
    cdef readonly int64_t n_edges
    cdef Slab* slabs
    cdef int64_t n_slabs
    cdef int64_t slab_capacity              # of the table of slabs
    cdef int32_t[N_SIZES] open_slabs        # first slab with a free block of each size, -1 for none
    cdef int32_t empty_slabs                # first slab without a block in use, -1 for none
    cdef int64_t n_cut                      # slabs that are divided into blocks
    cdef int64_t in_blocks                  # edges that fit into the blocks in use
    cdef void** arenas                      # memory that is freed at the end
    cdef int64_t n_arenas
    cdef int64_t arena_bytes
    cdef object _borrowed                   # an array of edges that features may point into
    cdef Edge* borrowed_start
    cdef Edge* borrowed_end

    cdef int ensure_features(self, int64_t n) except -1 nogil
    cdef int64_t add_entry(self) except -1 nogil
    cdef void* add_arena(self, int64_t n_bytes) except NULL nogil
    cdef int add_empty_slabs(self) except -1 nogil
    cdef int link(self, int32_t* head, int32_t slab) noexcept nogil
    cdef int unlink(self, int32_t* head, int32_t slab) noexcept nogil
    cdef int defragment(self) except -1 nogil
    cdef int take_block(self, int size, Feature* feature) except -1 nogil
    cdef int give_block(self, const Feature* feature) except -1 nogil
    cdef int64_t capacity(self, const Feature* feature) noexcept nogil
    cdef bint holds(self, const Feature* feature) noexcept nogil
    cdef int move(self, Feature* feature, int size) except -1 nogil
    cdef int grow(self, Feature* feature, int64_t n) except -1 nogil


cdef inline Feature* feature_at(EdgePool pool, int64_t f) except NULL nogil:
    if BOUNDS_CHECKS and not 0 <= f < pool.n_features:
        out_of_range("feature outside the pool")
    return &pool.pages[f >> PAGE_BITS][f & PAGE_MASK]


cdef inline Edge* edges_of(EdgePool pool, const Feature* feature) except? NULL nogil:
    """Return a feature's list; call it again after the list may have moved."""
    if BOUNDS_CHECKS and not pool.holds(feature):
        out_of_range("edges outside their slab")
    return feature.edges
