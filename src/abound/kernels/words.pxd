"""Declarations of the words and terms of a text."""

from libc.stdint cimport int32_t, int64_t, uint64_t

from abound.kernels.vocabulary cimport TextSettings, Vocabulary

cdef struct Found:                          # a term in a text, from code point to code point
    int32_t number
    int32_t start
    int32_t stop

cdef struct Word:
    int64_t place                           # of its bytes
    uint64_t hash
    int32_t n_bytes
    int32_t start                           # its first code point
    int32_t n_points                        # that it has in the text
    int32_t n_letters                       # code points of its bytes, which are those of its stem where words are stemmed
    int32_t number                          # -1 if it is not known
    int64_t form_place                      # of the bytes of the word as it is written, with their mark
    int32_t n_form_bytes                    # 0 where it is its own stem, and where forms are no terms
    int32_t gram                            # number of the run of words that ends with it

cdef class Words:
    cdef Vocabulary vocabulary
    cdef Found* found                       # the terms of the text at hand
    cdef int64_t found_room
    cdef int64_t n_found
    cdef char* text                         # the bytes of its words
    cdef int64_t text_room
    cdef Word* words
    cdef int64_t word_room
    cdef int64_t n_words

    cdef int put(self, int64_t number, int64_t start, int64_t stop) except -1
    cdef int put_parts(self, const Word* word, bint learn, TextSettings s) except -1
    cdef int64_t put_bytes(self, str word, int64_t n_bytes, int64_t n_left) except -1
    cdef int cut(self, str text, TextSettings s) except -1
    cdef int scan(self, str text, bint learn, TextSettings s) except -1
