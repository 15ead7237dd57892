"""Texts to sparse rows: the terms of each text, counted and weighted."""

from cpython.mem cimport PyMem_Free
from libc.math cimport sqrt
from libc.stdint cimport INT32_MAX, UINT16_MAX, int32_t, int64_t, uint16_t
from libc.stdlib cimport qsort
from libc.string cimport memcpy

import numpy as np

from abound.kernels.logarithm cimport log_of
from abound.kernels.pool cimport check_index
from abound.kernels.vocabulary cimport FORM, PART, Term, TextSettings, Vocabulary, ensure_capacity
from abound.kernels.words cimport TermMatch, Words

cdef enum:
    MAX_INSERTION_SORT = 160


cdef int compare_matches(const void* a, const void* b) noexcept nogil:
    cdef int32_t x = (<const TermMatch*> a).number, y = (<const TermMatch*> b).number
    return (x > y) - (x < y)


cdef void sort_matches(TermMatch* matches, int64_t n) noexcept nogil:
    cdef int64_t i, j
    cdef TermMatch moved
    if n > MAX_INSERTION_SORT:
        qsort(matches, n, sizeof(TermMatch), compare_matches)
        return
    for i in range(1, n):
        moved = matches[i]
        j = i
        while j > 0 and matches[j - 1].number > moved.number:
            matches[j] = matches[j - 1]
            j -= 1
        matches[j] = moved


def text_rows(Vocabulary v, list texts, TextSettings s, bint learn):
    """Turn texts into the three arrays of a CSR matrix, with rows of unit length.

    With `learn`, each text is counted, and may add new terms, before it is weighted. A row depends only on the texts up
    to it, so that texts one by one give the same rows as all of them in one call.
    """
    cdef int64_t n = len(texts), i, j, at = 0, row, capacity = 0, data_capacity = 0, n_terms, n_distinct
    cdef Words words = Words(v)
    cdef int32_t* indices = NULL
    cdef double* data = NULL
    indptr_ = np.zeros(n + 1, np.int64)
    cdef int64_t[::1] indptr = indptr_
    try:
        for row in range(n):
            words.scan(texts[row], learn, s)
            sort_matches(words.matches, words.n_matches)
            indices = <int32_t*> ensure_capacity(indices, &capacity, at + words.n_matches + 1, sizeof(int32_t))
            data = <double*> ensure_capacity(data, &data_capacity, at + words.n_matches + 1, sizeof(double))
            i, n_terms, n_distinct = 0, 0, 0
            while i < words.n_matches:
                j = end_of_run(words, i)
                n_distinct += 1
                check_index(words.matches[i].number, v.n_terms)
                if learn and v.terms[words.matches[i].number].count < INT32_MAX:
                    v.terms[words.matches[i].number].count += 1
                if not s.counted or v.terms[words.matches[i].number].count >= s.min_count:
                    check_index(at + n_terms, min(capacity, data_capacity))
                    indices[at + n_terms] = words.matches[i].number
                    data[at + n_terms] = <double> occurrences_of(words, i, j, s) / s.unit
                    n_terms += 1
                i = j
            if learn:
                v.n_texts += 1
                v.n_distinct += n_distinct
            weight_row(v, s, indices + at, data + at, n_terms)
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


def text_counts(Vocabulary v, list texts, TextSettings s):
    """Count texts, which may add new terms, and return the terms of each text with their occurrences.

    Occurrences beyond 65,535 in one text are not counted. `weighted_rows` turns the result into rows when all texts
    have been counted. With fields, an occurrence is stored as several units.
    """
    cdef int64_t n = len(texts), i, j, at = 0, row, capacity = 0, data_capacity = 0
    cdef Words words = Words(v)
    cdef int32_t* terms = NULL
    cdef uint16_t* occurrences = NULL
    indptr_ = np.zeros(n + 1, np.int64)
    cdef int64_t[::1] indptr = indptr_
    try:
        for row in range(n):
            words.scan(texts[row], True, s)
            sort_matches(words.matches, words.n_matches)
            terms = <int32_t*> ensure_capacity(terms, &capacity, at + words.n_matches + 1, sizeof(int32_t))
            occurrences = <uint16_t*> ensure_capacity(occurrences, &data_capacity, at + words.n_matches + 1,
                                                      sizeof(uint16_t))
            i = 0
            while i < words.n_matches:
                j = end_of_run(words, i)
                check_index(words.matches[i].number, v.n_terms)
                check_index(at, min(capacity, data_capacity))
                terms[at] = words.matches[i].number
                occurrences[at] = <uint16_t> occurrences_of(words, i, j, s)
                if v.terms[terms[at]].count < INT32_MAX:
                    v.terms[terms[at]].count += 1
                at += 1
                i = j
            v.n_texts += 1
            v.n_distinct += at - indptr[row]
            indptr[row + 1] = at
        terms_, occurrences_ = np.empty(at, np.int32), np.empty(at, np.uint16)
        if at:
            memcpy(<void*> <size_t> terms_.ctypes.data, terms, at * sizeof(int32_t))
            memcpy(<void*> <size_t> occurrences_.ctypes.data, occurrences, at * sizeof(uint16_t))
    finally:
        PyMem_Free(terms)
        PyMem_Free(occurrences)
    return indptr_, terms_, occurrences_


def weighted_rows(Vocabulary v, TextSettings s, const int64_t[::1] indptr, const int32_t[::1] terms,
                  const uint16_t[::1] occurrences):
    """Weight counted texts by the current counts; return the three arrays of a CSR matrix.

    The terms of a row ascend. Negative terms and terms that are too rare are left out.
    """
    cdef int64_t n = indptr.shape[0] - 1, row, i, at = 0, first
    cdef int32_t term
    out_indptr_ = np.zeros(n + 1, np.int64)
    indices_, data_ = np.empty(terms.shape[0] + 1, np.int32), np.empty(terms.shape[0] + 1)
    cdef int64_t[::1] out_indptr = out_indptr_
    cdef int32_t[::1] indices = indices_
    cdef double[::1] data = data_
    if occurrences.shape[0] != terms.shape[0] or indptr[n] > terms.shape[0]:
        raise ValueError("the arrays of counted texts do not fit together")
    for row in range(n):
        first = at
        for i in range(indptr[row], indptr[row + 1]):
            term = terms[i]
            if term >= v.n_terms:
                raise ValueError(f"there is no term {term}: the vocabulary has {v.n_terms}")
            if term >= 0 and (not s.counted or v.terms[term].count >= s.min_count):
                indices[at] = term
                data[at] = <double> occurrences[i] / s.unit
                at += 1
        weight_row(v, s, &indices[first], &data[first], at - first)
        out_indptr[row + 1] = at
    return out_indptr_, indices_[:at], data_[:at]


def add_counts(Vocabulary v, const int64_t[::1] indptr, const int32_t[::1] terms, int by):
    """Add counted texts to the counts once more (`by` 1), or remove them (`by` -1). Negative terms are left out."""
    cdef int64_t i
    for i in range(terms.shape[0]):
        if terms[i] >= v.n_terms:
            raise ValueError(f"there is no term {terms[i]}: the vocabulary has {v.n_terms}")
        if terms[i] >= 0:
            v.terms[terms[i]].count = max(0, v.terms[terms[i]].count + by)
    v.n_texts += by * (indptr.shape[0] - 1)
    v.n_distinct += by * terms.shape[0]


cdef inline int64_t occurrences_of(Words words, int64_t i, int64_t j, TextSettings s) noexcept:
    """Return the occurrences of the term of matches i .. j-1; those of fields are weighted."""
    return words.occurrences(i, j, s) if words.n_fields else min((j - i) * s.unit, <int64_t> UINT16_MAX)


cdef inline int64_t end_of_run(Words words, int64_t i) noexcept:
    """Return the end of the occurrences of a term that begin at `i`, after sorting."""
    cdef int64_t j = i + 1
    while j < words.n_matches and words.matches[j].number == words.matches[i].number:
        j += 1
    return j


cdef void weight_row(Vocabulary v, TextSettings s, const int32_t* terms, double* data, int64_t n) noexcept:
    """Turn the occurrences of a row's terms into weights, in place."""
    cdef int64_t i
    cdef double n_occurrences = 0.0, square = 0.0, scale = 1.0, mean
    if n == 0:
        return
    if s.pivoted:
        for i in range(n):
            n_occurrences += data[i]
        mean = n_occurrences / n            # below 1 only if fields have weights below 1
        scale = 1.0 / (1.0 + log_of(mean) if mean > 1.0 else mean) / (
            (1.0 - s.slope) + s.slope * n / (<double> v.n_distinct / max(v.n_texts, 1)))
    for i in range(n):
        data[i] = scale * weight_of(v, s, terms[i], data[i])
        square += data[i] * data[i]
    if square > 0.0 and not s.pivoted:
        scale = 1.0 / sqrt(square)
        for i in range(n):
            data[i] *= scale


cdef inline double weight_of(Vocabulary v, TextSettings s, int32_t number, double occurrences) noexcept:
    """Return the weight of a term: 1 + log of its occurrences, times the log of its rarity."""
    cdef double tf = 1.0 + log_of(occurrences) if occurrences > 1.0 else occurrences
    cdef double n = <double> v.n_texts, count = <double> v.terms[number].count
    tf *= kind_weight(v, s, &v.terms[number])
    if s.pivoted:
        return tf * log_of(n / count) if count and n > count else 0.0
    return tf * (1.0 + log_of((1.0 + n) / (1.0 + count)))


cdef inline double kind_weight(Vocabulary v, TextSettings s, const Term* term) noexcept:
    """Return the weight of a term's kind relative to a word: word n-gram, part of a word, form beside its stem."""
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
