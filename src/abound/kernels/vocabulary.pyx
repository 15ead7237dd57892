"""The vocabulary: terms, numbered when first seen, and the number of texts that have them.

A pair of words is identified by the numbers of its two parts, a triple by those of its first pair and its last word,
and so on. Only words need their bytes stored, and names are never replaced by hashes.
"""

from cpython.mem cimport PyMem_Free, PyMem_Realloc
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

import os

import numpy as np

from abound.kernels.pool cimport check_index, prefetch

cdef enum:
    PREFETCH_DISTANCE = 16
    MAX_RUN = 64                            # words per term in a file; the settings allow fewer
    FIELD_UNIT = 16                         # units of an occurrence, if occurrences are weighted by field

# Random per process, so that nobody can choose words that all collide in one cell.
cdef uint64_t SEED = int.from_bytes(os.urandom(8), "little")


cdef class TextSettings:
    """The options of the text kernels."""

    def __init__(self, *, int ngrams, int char_low, int char_high, int min_count, bint pivoted, double slope,
                 int64_t max_terms, bint counted, bytes kinds not None, object stems=None):
        self.ngrams, self.char_low, self.char_high, self.min_count = ngrams, char_low, char_high, min_count
        self.pivoted, self.slope, self.max_terms, self.counted = pivoted, slope, max_terms, counted
        self.stems, self.kinds = stems, kinds
        self.run_weight, self.part_weight, self.form_weight = 1.0, 1.0, 0.0
        self.unit = 1

    def set_field_weights(self, list weights):
        """Weight the occurrences of terms by field, in steps of 1/16."""
        cdef int64_t i
        if len(weights) > MAX_FIELDS:
            raise ValueError(f"a document has at most {MAX_FIELDS} fields, got {len(weights)}")
        self.unit = FIELD_UNIT
        for i in range(len(weights)):
            self.field_units[i] = <int64_t> (FIELD_UNIT * <double> weights[i] + 0.5)


cdef class Vocabulary:
    """Number terms in the order in which they are first seen, and count the texts that have them."""

    def __cinit__(self, sightings=None):
        self.seed = SEED
        self.n_cells = 1 << 10
        self.cells = <Cell*> PyMem_Realloc(NULL, self.n_cells * sizeof(Cell))
        if self.cells == NULL:
            raise MemoryError("no memory for a vocabulary")
        memset(self.cells, 0xff, self.n_cells * sizeof(Cell))
        self.seen_before = np.zeros(0, np.uint8) if sightings is None else sightings

    def __dealloc__(self):
        PyMem_Free(self.terms)
        PyMem_Free(self.names)
        PyMem_Free(self.cells)

    @property
    def nbytes(self):
        """Bytes of memory in use."""
        return (self.term_capacity * sizeof(Term) + self.name_capacity + self.n_cells * sizeof(Cell)
                + self.seen_before.shape[0])

    @property
    def longest_probe(self):
        """The largest number of cells that a search may visit."""
        cdef int64_t i, run = 0, longest = 0
        for i in range(2 * self.n_cells):   # runs wrap around the end
            run = run + 1 if self.cells[i & (self.n_cells - 1)].number >= 0 else 0
            longest = max(longest, run)
        return longest

    @property
    def sightings(self):
        """Counters of the terms that are not admitted yet, by hash."""
        return np.asarray(self.seen_before)

    # -- terms and numbers -----------------------------------------------------------------------

    cdef uint64_t hash_of(self, const Term* term, uint64_t seed) noexcept:
        if term.length < 0:
            return hash_pair(term.start, -1 - term.length, seed)
        return hash_bytes(self.names + term.start, term.length, seed)

    cdef int64_t cell_of(self, uint64_t h, int64_t start, int64_t length, const char* data) noexcept:
        """Return the cell of a term, or the empty one where it belongs; an n-gram has no data."""
        cdef int64_t mask = self.n_cells - 1, cell = h & mask
        cdef uint32_t tag = <uint32_t> (h >> 32)
        cdef const Term* term
        while self.cells[cell].number >= 0:
            if self.cells[cell].tag == tag:
                term = &self.terms[self.cells[cell].number]
                if term.length == length:
                    if data == NULL and term.start == start:
                        return cell
                    if data != NULL and memcmp(self.names + term.start, data, length) == 0:
                        return cell
            cell = (cell + 1) & mask
        return cell

    cdef int grow_cells(self) except -1:
        cdef int64_t n = 2 * self.n_cells, i, cell
        cdef uint64_t h
        cdef Cell* cells = <Cell*> PyMem_Realloc(NULL, n * sizeof(Cell))
        if cells == NULL:
            raise MemoryError("no memory for more terms")
        memset(cells, 0xff, n * sizeof(Cell))
        for i in range(self.n_terms):
            h = self.hash_of(&self.terms[i], self.seed)
            cell = h & (n - 1)
            while cells[cell].number >= 0:
                cell = (cell + 1) & (n - 1)
            cells[cell].number = <int32_t> i
            cells[cell].tag = <uint32_t> (h >> 32)
        PyMem_Free(self.cells)
        self.cells = cells
        self.n_cells = n
        return 0

    cdef int64_t add(self, int64_t cell, uint64_t h, int64_t start, int64_t length, const char* data) except -1:
        """Add a term in the empty cell where it belongs, and return its number."""
        cdef int64_t number = self.n_terms
        if number == INT32_MAX:
            raise OverflowError("a vocabulary holds at most 2**31 - 1 terms")
        self.terms = <Term*> ensure_capacity(self.terms, &self.term_capacity, number + 1, sizeof(Term))
        if data != NULL:
            start = self.n_name_bytes
            self.names = <char*> ensure_capacity(self.names, &self.name_capacity, start + length + 8, 1)
            check_index(start + length - 1, self.name_capacity)
            memcpy(self.names + start, data, length)
            self.n_name_bytes += length
        check_index(number, self.term_capacity)
        check_index(cell, self.n_cells)
        self.terms[number].start = start
        self.terms[number].length = <int32_t> length
        self.terms[number].count = 0
        self.cells[cell].number = <int32_t> number
        self.cells[cell].tag = <uint32_t> (h >> 32)
        self.n_terms += 1
        if 2 * self.n_terms > self.n_cells:
            self.grow_cells()
        return number

    cdef int64_t number_of(self, uint64_t h, int64_t start, int64_t length, const char* data, bint learn,
                           TextSettings s) except -2:
        """Return the number of a term, -1 if unknown; with `learn`, add it if the admission rule allows."""
        cdef int64_t cell = self.cell_of(h, start, length, data), at
        cdef uint64_t h_kept                # without a seed, because the counters are saved
        check_index(cell, self.n_cells)
        if self.cells[cell].number >= 0:
            check_index(self.cells[cell].number, self.n_terms)
            return self.cells[cell].number
        if not learn or self.n_terms >= s.max_terms:
            return -1
        if self.seen_before.shape[0]:
            h_kept = hash_bytes(data, length, 0) if data != NULL else hash_pair(start, -1 - length, 0)
            at = (h_kept >> 7) % <uint64_t> self.seen_before.shape[0]
            if self.seen_before[at] < s.min_count - 1:
                self.seen_before[at] += 1
                return -1
        return self.add(cell, h, start, length, data)

    def name(self, int64_t number, bint unique=False):
        """Return a term as a person would write it; a part of a word is shown between dots.

        A word form may read like the stem of another word. With `unique`, its name says that it is a form.
        """
        cdef const Term* term
        if not 0 <= number < self.n_terms:
            raise IndexError(f"there is no term {number}: the vocabulary has {self.n_terms}")
        term = &self.terms[number]
        if term.length < 0:
            return self.name(term.start) + " " + self.name(-1 - term.length)
        raw = self.names[term.start:term.start + term.length]
        text = raw.decode("utf-8", "surrogatepass")
        if raw[0] == PART:
            return f"·{text[1:]}·"
        if raw[0] == FORM:
            return f"{text[1:]} (as written)" if unique else text[1:]
        return text

    def merge(self, Vocabulary other):
        """Add the terms and counts of another vocabulary, and return the number here of each of its terms.

        Terms are matched by name: words by their bytes, runs of words by the numbers of their parts.
        """
        cdef int64_t i, cell, number, start, length
        cdef uint64_t h
        cdef const char* data
        numbers_ = np.empty(other.n_terms, np.int32)
        cdef int32_t[::1] numbers = numbers_
        for i in range(other.n_terms):
            start, length, data = other.terms[i].start, other.terms[i].length, NULL
            if length < 0:                  # its parts come before it and have their numbers
                start, length = numbers[start], -1 - <int64_t> numbers[-1 - length]
                h = hash_pair(start, -1 - length, self.seed)
            else:
                data = other.names + start
                h = hash_bytes(data, length, self.seed)
            cell = self.cell_of(h, start, length, data)
            number = self.cells[cell].number
            if number < 0:
                number = self.add(cell, h, start, length, data)
            numbers[i] = <int32_t> number
            self.terms[number].count = <int32_t> min(<int64_t> INT32_MAX, <int64_t> self.terms[number].count
                                                     + other.terms[i].count)
        self.n_texts += other.n_texts
        self.n_distinct += other.n_distinct
        return numbers_

    # -- in and out ------------------------------------------------------------------------------

    def arrays(self):
        """Return (starts, lengths, counts, bytes of the names)."""
        return *self.terms_between(0, self.n_terms), self.name_bytes(0, self.n_name_bytes)

    def terms_between(self, int64_t start, int64_t stop):
        """Return (starts, lengths, counts) of terms start .. stop-1."""
        cdef int64_t n, i
        stop = min(stop, self.n_terms)
        start = max(<int64_t> 0, min(start, stop))
        n = stop - start
        starts_, lengths_, counts_ = np.empty(n, np.int64), np.empty(n, np.int32), np.empty(n, np.int32)
        cdef int64_t[::1] starts = starts_
        cdef int32_t[::1] lengths = lengths_, counts = counts_
        for i in range(n):
            starts[i] = self.terms[start + i].start
            lengths[i] = self.terms[start + i].length
            counts[i] = self.terms[start + i].count
        return starts_, lengths_, counts_

    def name_bytes(self, int64_t start, int64_t stop):
        """Return bytes start .. stop-1 of the names."""
        stop = min(stop, self.n_name_bytes)
        start = max(<int64_t> 0, min(start, stop))
        names_ = np.empty(stop - start, np.uint8)
        cdef uint8_t[::1] names = names_
        if stop > start:
            memcpy(&names[0], self.names + start, stop - start)
        return names_

    def counts(self):
        """Return how many texts each term was in."""
        cdef int64_t i
        out_ = np.empty(self.n_terms, np.int32)
        cdef int32_t[::1] out = out_
        for i in range(self.n_terms):
            out[i] = self.terms[i].count
        return out_

    @classmethod
    def from_arrays(cls, const int64_t[::1] starts, const int32_t[::1] lengths, const int32_t[::1] counts,
                    const uint8_t[::1] names, sightings=None):
        """Build a vocabulary from the result of `arrays`; raise ValueError if the arrays are not valid."""
        cdef Vocabulary v = cls(sightings)
        cdef int64_t n = starts.shape[0], i, ahead, cell, at = 0
        cdef uint64_t h
        cdef uint64_t[PREFETCH_DISTANCE] hashes
        cdef const char* data
        cdef uint8_t[::1] words = np.zeros(n, np.uint8)  # words per term, which bounds the recursion of `name`
        if lengths.shape[0] != n or counts.shape[0] != n or n > INT32_MAX:
            raise ValueError("the arrays of the vocabulary differ in length")
        v.terms = <Term*> ensure_capacity(v.terms, &v.term_capacity, n + 1, sizeof(Term))
        v.names = <char*> ensure_capacity(v.names, &v.name_capacity, names.shape[0] + 8, 1)
        if names.shape[0]:
            memcpy(v.names, &names[0], names.shape[0])
        while v.n_cells < 2 * n + 2:
            v.grow_cells()
        for ahead in range(n + PREFETCH_DISTANCE):
            i = ahead - PREFETCH_DISTANCE
            h = hashes[ahead % PREFETCH_DISTANCE]  # the hash of term i, computed earlier
            if ahead < n:                   # prefetch a term's cell well before it is needed
                hashes[ahead % PREFETCH_DISTANCE] = stored_hash(starts[ahead], lengths[ahead], v.names, names.shape[0],
                                                     v.seed)
                prefetch(&v.cells[hashes[ahead % PREFETCH_DISTANCE] & <uint64_t> (v.n_cells - 1)])
            if i < 0:
                continue
            if counts[i] < 0:
                raise ValueError(f"term {i} has a negative count")
            if lengths[i] < 0:
                if not (0 <= starts[i] < i and -1 - <int64_t> lengths[i] < i):
                    raise ValueError(f"term {i} consists of terms that come after it")
                if lengths[-1 - lengths[i]] < 0 or words[starts[i]] == MAX_RUN:
                    raise ValueError(f"term {i} is not a run of words")
                words[i] = words[starts[i]] + 1
                data = NULL
            else:
                if starts[i] != at or at + lengths[i] > names.shape[0] or lengths[i] == 0:
                    raise ValueError(f"the name of term {i} is at the wrong position")
                if names[at] & 0xC0 == 0x80:
                    raise ValueError(f"the name of term {i} begins inside a character")
                at += lengths[i]
                words[i] = 1
                data = v.names + starts[i]
            cell = v.cell_of(h, starts[i], lengths[i], data)
            check_index(cell, v.n_cells)
            check_index(i, v.term_capacity)
            if v.cells[cell].number >= 0:
                raise ValueError(f"term {i} occurs twice")
            v.terms[i].start, v.terms[i].length, v.terms[i].count = starts[i], lengths[i], counts[i]
            v.cells[cell].number = <int32_t> i
            v.cells[cell].tag = <uint32_t> (h >> 32)
            v.n_terms += 1
        if at != names.shape[0]:
            raise ValueError("the names of the vocabulary have bytes that do not belong to a term")
        v.n_name_bytes = at
        return v

    def __reduce__(self):
        return _rebuilt, (*self.arrays(), self.sightings, self.n_texts, self.n_distinct)


def _rebuilt(starts, lengths, counts, names, sightings, n_texts, n_distinct):
    vocabulary = Vocabulary.from_arrays(starts, lengths, counts, names, sightings)
    vocabulary.n_texts, vocabulary.n_distinct = n_texts, n_distinct
    return vocabulary


cdef uint64_t stored_hash(int64_t start, int64_t length, const char* names, int64_t n_bytes, uint64_t seed) noexcept:
    """Return the hash of a term from a file before it is validated; the hash of an invalid one does not matter."""
    if length < 0:
        return hash_pair(start, -1 - length, seed)
    if start < 0 or start > n_bytes - length:
        return 0
    return hash_bytes(names + start, length, seed)
