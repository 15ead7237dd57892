"""Texts to sparse rows: the terms of each text, counted and weighed."""

from cpython.mem cimport PyMem_Free
from libc.math cimport sqrt
from libc.stdint cimport INT32_MAX, int32_t, int64_t
from libc.stdlib cimport qsort
from libc.string cimport memcpy

import numpy as np

from abound.kernels.logarithm cimport log_of
from abound.kernels.pool cimport check_place
from abound.kernels.vocabulary cimport FORM, PART, Term, TextSettings, Vocabulary, enlarged
from abound.kernels.words cimport Found, Words

cdef enum:
    INSERTION_MOST = 160


def log_for_tests(double x):
    """Return `log_of(x)`."""
    return log_of(x)


cdef int compare_found(const void* a, const void* b) noexcept nogil:
    cdef int32_t x = (<const Found*> a).number, y = (<const Found*> b).number
    return (x > y) - (x < y)


cdef void sort_found(Found* found, int64_t n) noexcept nogil:
    cdef int64_t i, j
    cdef Found moved
    if n > INSERTION_MOST:
        qsort(found, n, sizeof(Found), compare_found)
        return
    for i in range(1, n):
        moved = found[i]
        j = i
        while j > 0 and found[j - 1].number > moved.number:
            found[j] = found[j - 1]
            j -= 1
        found[j] = moved


def text_rows(Vocabulary v, list texts, TextSettings s, bint learn):
    """Turn texts into the three arrays of a CSR matrix, each row of unit length.

    With `learn`, each text is counted, and may bring new terms, before it is weighed: a row depends on the texts up
    to it, so that texts one by one give the same rows as all at once.
    """
    cdef int64_t n = len(texts), i, j, at = 0, row, room = 0, room_again = 0, n_terms
    cdef Words words = Words(v)
    cdef int32_t* indices = NULL
    cdef double* data = NULL
    cdef double square, scale, mean, n_occurrences
    indptr_ = np.zeros(n + 1, np.int64)
    cdef int64_t[::1] indptr = indptr_
    try:
        for row in range(n):
            words.scan(<str?> texts[row], learn, s)
            sort_found(words.found, words.n_found)
            indices = <int32_t*> enlarged(indices, &room, at + words.n_found + 1, sizeof(int32_t))
            data = <double*> enlarged(data, &room_again, at + words.n_found + 1, sizeof(double))
            i, n_terms, n_occurrences = 0, 0, 0.0
            while i < words.n_found:
                j = i + 1
                while j < words.n_found and words.found[j].number == words.found[i].number:
                    j += 1
                check_place(words.found[i].number, v.n_terms)
                if not s.frozen or v.terms[words.found[i].number].count >= s.min_count:
                    check_place(at + n_terms, min(room, room_again))
                    indices[at + n_terms] = words.found[i].number
                    data[at + n_terms] = <double> (j - i)
                    n_occurrences += <double> (j - i)
                    n_terms += 1
                if learn and v.terms[words.found[i].number].count < INT32_MAX:
                    v.terms[words.found[i].number].count += 1
                i = j
            if learn:
                v.n_texts += 1
                v.n_distinct += n_terms
            if n_terms:
                mean, scale = n_occurrences / n_terms, 1.0
                if s.pivoted:
                    scale = 1.0 / (1.0 + log_of(mean)) / (
                        (1.0 - s.slope) + s.slope * n_terms / (<double> v.n_distinct / max(v.n_texts, 1)))
                square = 0.0
                for i in range(at, at + n_terms):
                    data[i] = scale * weight_of(v, s, indices[i], data[i])
                    square += data[i] * data[i]
                if square > 0.0 and not s.pivoted:
                    scale = 1.0 / sqrt(square)
                    for i in range(at, at + n_terms):
                        data[i] *= scale
            at += n_terms
            indptr[row + 1] = at
        indices_, data_ = np.empty(at, np.int32), np.empty(at)
        if at:
            memcpy(<void*> <size_t> indices_.ctypes.data, indices, at * sizeof(int32_t))
            memcpy(<void*> <size_t> data_.ctypes.data, data, at * sizeof(double))
    finally:
        PyMem_Free(indices)
        PyMem_Free(data)
    return indptr_, indices_, data_


cdef inline double weight_of(Vocabulary v, TextSettings s, int32_t number, double occurrences) noexcept:
    """Weight of a term: 1 + log of its occurrences, times the log of its rarity."""
    cdef double tf = 1.0 + log_of(occurrences) if occurrences > 1.0 else 1.0
    cdef double n = <double> v.n_texts, count = <double> v.terms[number].count
    tf *= kind_weight(v, s, &v.terms[number])
    if s.pivoted:
        return tf * log_of(n / count) if count and n > count else 0.0
    return tf * (1.0 + log_of((1.0 + n) / (1.0 + count)))


cdef inline double kind_weight(Vocabulary v, TextSettings s, const Term* term) noexcept:
    """How much a term of its kind weighs beside a word: a run of words, a part of a word, a form beside its stem."""
    cdef char mark
    if term.length < 0:
        return s.run_weight
    if s.part_weight != 1.0 or s.form_weight > 0.0:
        mark = v.names[term.start]
        if mark == PART:
            return s.part_weight
        if mark == FORM:
            return s.form_weight
    return 1.0
