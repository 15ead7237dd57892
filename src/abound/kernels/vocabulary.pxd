"""Declarations of the vocabulary, for the kernels that look up words."""

from cpython.mem cimport PyMem_Realloc
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

cdef enum:
    PART = 1                                # the first byte of a part of a word,
    FORM = 2                                # and of a word form beside its stem
    MAX_FIELDS = 16                         # of a document

cdef struct Term:
    int64_t start                           # of its bytes; of an n-gram, the number of the term before its last word
    int32_t length                          # of its bytes; of an n-gram, -1 - the number of its last word
    int32_t count                           # texts that have it

cdef struct Cell:
    uint32_t tag
    int32_t number                          # of a term, -1 for none

cdef class TextSettings:
    cdef readonly int ngrams, char_low, char_high, min_count
    cdef readonly bint pivoted, counted
    cdef readonly double slope
    cdef readonly int64_t max_terms
    cdef readonly object stems              # a mapping from words to stems, or None
    cdef readonly bytes kinds               # of characters: see words.pxd
    # Weights of the kinds of terms relative to words and stems. A form (the written word beside its stem) is a term
    # only if its weight is above 0.
    cdef public double run_weight, part_weight, form_weight
    # An occurrence is stored as this many units, so that the weights of fields can be fractions.
    cdef readonly int64_t unit
    cdef int64_t[MAX_FIELDS] field_units    # of an occurrence in each field

cdef class Vocabulary:
    cdef Term* terms
    cdef int64_t term_capacity
    cdef readonly int64_t n_terms
    cdef char* names
    cdef int64_t name_capacity
    cdef readonly int64_t n_name_bytes
    cdef Cell* cells
    cdef int64_t n_cells
    cdef uint64_t seed                      # of the hash table; no state depends on it
    cdef public int64_t n_texts
    cdef public int64_t n_distinct          # terms of all texts, each counted once per text
    cdef uint8_t[::1] seen_before           # counters of terms that are not admitted yet, by hash

    cdef uint64_t hash_of(self, const Term* term, uint64_t seed) noexcept
    cdef int64_t cell_of(self, uint64_t h, int64_t start, int64_t length, const char* data) noexcept
    cdef int grow_cells(self) except -1
    cdef int64_t add(self, int64_t cell, uint64_t h, int64_t start, int64_t length, const char* data) except -1
    cdef int64_t number_of(self, uint64_t h, int64_t start, int64_t length, const char* data, bint learn,
                           TextSettings s) except -2


cdef inline uint64_t mix(uint64_t h) noexcept nogil:
    h ^= h >> 32
    h *= <uint64_t> 0xd6e8feb86659fd93
    h ^= h >> 32
    h *= <uint64_t> 0xd6e8feb86659fd93
    return h ^ (h >> 32)


cdef inline uint64_t hash_bytes(const char* data, int64_t n, uint64_t seed) noexcept nogil:
    cdef uint64_t h = seed ^ <uint64_t> n * <uint64_t> 0x9e3779b97f4a7c15, part
    while n >= 8:
        memcpy(&part, data, 8)
        h = mix(h ^ part)
        data += 8
        n -= 8
    if n:
        part = 0
        memcpy(&part, data, n)
        h = mix(h ^ part)
    return h


cdef inline uint64_t hash_pair(int64_t left, int64_t right, uint64_t seed) noexcept nogil:
    return mix(mix((<uint64_t> left + 1) ^ seed) ^ (<uint64_t> right << 17))


cdef inline void* ensure_capacity(void* data, int64_t* capacity, int64_t needed, int64_t item) except NULL:
    """Return memory for at least `needed` items; grow by doubling."""
    cdef int64_t n = capacity[0]
    if needed <= n and data != NULL:
        return data
    n = max(needed, 2 * n, 256)
    data = PyMem_Realloc(data, n * item)
    if data == NULL:
        raise MemoryError("no memory for more terms")
    capacity[0] = n
    return data
