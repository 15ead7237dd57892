"""Declarations of the words and terms of a text."""

from libc.stdint cimport int32_t, int64_t, uint64_t

from abound.kernels.vocabulary cimport MAX_FIELDS, TextSettings, Vocabulary

cdef enum:                                  # kinds of characters, as in abound.text.characters
    SEPARATOR, LETTER, MARK, UNIT

cdef struct TermMatch:                      # an occurrence of a term in a text, in code points
    int32_t number
    int32_t start
    int32_t stop

cdef struct Word:
    int64_t offset                          # of its bytes
    uint64_t hash
    int32_t n_bytes
    int32_t start                           # its first code point
    int32_t n_points                        # its length in the text
    int32_t n_letters                       # code points of its bytes; of its stem, if words are stemmed
    int32_t number                          # -1 if unknown
    int32_t n_units                         # units in a row that end with it; 0 if it is no unit
    int64_t form_offset                     # of the bytes of the written word, with their mark
    int32_t n_form_bytes                    # 0 if the word is its own stem, or if forms are not terms
    int32_t gram                            # number of the n-gram that ends with it

cdef class Words:
    cdef Vocabulary vocabulary
    cdef TermMatch* matches                 # the terms of the current text
    cdef int64_t match_capacity
    cdef int64_t n_matches
    cdef char* text                         # the bytes of its words
    cdef int64_t text_capacity
    cdef Word* words
    cdef int64_t word_capacity
    cdef int64_t n_words
    cdef int64_t[MAX_FIELDS] field_starts   # the first code point of each field
    cdef int64_t n_fields                   # of the current document; 0 for a text without fields
    cdef bint has_units                     # more than one in a row

    cdef int put(self, int64_t number, int64_t start, int64_t stop) except -1
    cdef int put_parts(self, const Word* word, bint learn, TextSettings s) except -1
    cdef int64_t put_bytes(self, str word, int64_t n_bytes, int64_t n_left) except -1
    cdef int64_t put_stem(self, Word* word, str written, int64_t n_bytes, int64_t n_left, TextSettings s) except -1
    cdef int cut(self, str text, TextSettings s) except -1
    cdef str join(self, tuple fields)
    cdef int scan(self, object document, bint learn, TextSettings s) except -1
    cdef int put_runs(self, int64_t first, int64_t stop, bint learn, TextSettings s) except -1
    cdef int64_t occurrences(self, int64_t i, int64_t j, TextSettings s) noexcept
