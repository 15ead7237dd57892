"""Texts to sparse rows: words, n-grams, a vocabulary that grows, weights.

A word is a run of letters, digits and underscores. A pair of words is known by the numbers of its two parts, a triple by
those of its first pair and its last word, and so on: only words need their bytes kept, and no name is hashed
away. Texts come in lower case and in a normal form of Unicode; see `abound.text`.
"""

from cpython.mem cimport PyMem_Free, PyMem_Realloc
from cpython.unicode cimport PyUnicode_KIND, PyUnicode_DATA, PyUnicode_READ, PyUnicode_GET_LENGTH
from libc.math cimport frexp, sqrt
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memcmp, memcpy, memset

import numpy as np

from abound.kernels.pool cimport prefetch

cdef extern from "Python.h":
    bint Py_UNICODE_ISALNUM(Py_UCS4 ch)

cdef enum:
    INSERTION_MOST = 160
    COMBINING_DOT = 0x307                   # what is left of a capital I with a dot when it is made small
    SUBWORD = 1                             # the byte that tells a part of a word from a word

    N_LOG = 10
    AHEAD = 16
    LONGEST_RUN = 64                        # words of a term that is read from a file; settings allow fewer

cdef double[N_LOG] LOG_SERIES
for _i in range(N_LOG):
    LOG_SERIES[_i] = 1.0 / (2 * (N_LOG - _i) + 1)

cdef struct Term:
    int64_t start                           # of its bytes; of an n-gram, the number of what comes before its last word
    int32_t length                          # of its bytes; of an n-gram, -1 - the number of its last word
    int32_t count                           # texts that it was in

cdef struct Cell:
    uint32_t tag
    int32_t number                          # of a term, -1 for none

cdef struct Found:                          # a term in a text, from code point to code point
    int32_t number
    int32_t start
    int32_t stop


cdef struct Word:
    int64_t place                           # of its bytes
    uint64_t hash
    int32_t n_bytes
    int32_t start                           # its first code point
    int32_t n_points
    int32_t number                          # -1 if it is not known
    int32_t gram                            # number of the run of words that ends with it


cdef double log_of(double x) noexcept nogil:
    """Natural logarithm by additions and multiplications only: the same bits with every C library."""
    cdef int exponent
    cdef double m = frexp(x, &exponent), s, s2, total
    cdef int i
    if m < 0.7071067811865476:
        m *= 2.0
        exponent -= 1
    s = (m - 1.0) / (m + 1.0)
    s2 = s * s
    # The series of atanh, summed from its smallest term on.
    total = 0.0
    for i in range(N_LOG):
        total = total * s2 + LOG_SERIES[i]
    return 2.0 * s * (1.0 + s2 * total) + exponent * 0.6931471805599453


def log_for_tests(double x):
    """Return `log_of(x)`."""
    return log_of(x)


cdef inline uint64_t mix(uint64_t h) noexcept nogil:
    h ^= h >> 32
    h *= <uint64_t> 0xd6e8feb86659fd93
    h ^= h >> 32
    h *= <uint64_t> 0xd6e8feb86659fd93
    return h ^ (h >> 32)


cdef uint64_t hash_bytes(const char* data, int64_t n) noexcept nogil:
    cdef uint64_t h = <uint64_t> n * <uint64_t> 0x9e3779b97f4a7c15, part
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


cdef inline uint64_t hash_pair(int64_t left, int64_t right) noexcept nogil:
    return mix(mix(<uint64_t> left + 1) ^ (<uint64_t> right << 17))


cdef class TextSettings:
    """The options of the text kernels."""

    cdef readonly int ngrams, char_low, char_high, min_count
    cdef readonly bint pivoted, frozen
    cdef readonly double slope
    cdef readonly int64_t max_terms

    def __init__(self, *, int ngrams, int char_low, int char_high, int min_count, bint pivoted, double slope,
                 int64_t max_terms, bint frozen):
        self.ngrams, self.char_low, self.char_high, self.min_count = ngrams, char_low, char_high, min_count
        self.pivoted, self.slope, self.max_terms, self.frozen = pivoted, slope, max_terms, frozen


cdef void* enlarged(void* data, int64_t* room, int64_t needed, int64_t item) except NULL:
    """Return memory for at least `needed` items, by doubling."""
    cdef int64_t n = room[0]
    if needed <= n and data != NULL:
        return data
    n = max(needed, 2 * n, 256)
    data = PyMem_Realloc(data, n * item)
    if data == NULL:
        raise MemoryError("no memory for more terms")
    room[0] = n
    return data


cdef class Vocabulary:
    """Number terms in the order in which they are first seen, and count the texts that have them."""

    cdef Term* terms
    cdef int64_t term_room
    cdef readonly int64_t n_terms
    cdef char* names
    cdef int64_t name_room
    cdef readonly int64_t n_name_bytes
    cdef Cell* cells
    cdef int64_t n_cells
    cdef public int64_t n_texts
    cdef public int64_t n_distinct          # terms of all texts, each counted once a text
    cdef uint8_t[::1] seen_before            # of terms that are not admitted yet, by hash
    cdef Found* found
    cdef int64_t found_room
    cdef int64_t n_found
    cdef char* text                         # the bytes of the words of the text at hand
    cdef int64_t text_room
    cdef Word* words
    cdef int64_t word_room
    cdef int64_t n_words

    def __cinit__(self, sightings=None):
        self.n_cells = 1 << 10
        self.cells = <Cell*> PyMem_Realloc(NULL, self.n_cells * sizeof(Cell))
        memset(self.cells, 0xff, self.n_cells * sizeof(Cell))
        self.seen_before = np.zeros(0, np.uint8) if sightings is None else sightings

    def __dealloc__(self):
        PyMem_Free(self.terms)
        PyMem_Free(self.names)
        PyMem_Free(self.cells)
        PyMem_Free(self.found)
        PyMem_Free(self.text)
        PyMem_Free(self.words)

    @property
    def nbytes(self):
        """Bytes of memory that the vocabulary holds."""
        return (self.term_room * sizeof(Term) + self.name_room + self.n_cells * sizeof(Cell)
                + self.seen_before.shape[0])

    @property
    def sightings(self):
        """Counters of the terms that are not admitted yet, by hash."""
        return np.asarray(self.seen_before)

    # -- terms and numbers -----------------------------------------------------------------------

    cdef uint64_t hash_of(self, const Term* term) noexcept:
        if term.length < 0:
            return hash_pair(term.start, -1 - term.length)
        return hash_bytes(self.names + term.start, term.length)

    cdef int64_t cell_of(self, uint64_t h, int64_t start, int64_t length, const char* data) noexcept:
        """Cell of a term, or the empty one where it belongs; an n-gram has no data."""
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
            h = self.hash_of(&self.terms[i])
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
        """Number of a new term, put into the empty cell where it belongs."""
        cdef int64_t number = self.n_terms
        if number == INT32_MAX:
            raise OverflowError("a vocabulary holds at most 2**31 - 1 terms")
        self.terms = <Term*> enlarged(self.terms, &self.term_room, number + 1, sizeof(Term))
        if data != NULL:
            start = self.n_name_bytes
            self.names = <char*> enlarged(self.names, &self.name_room, start + length + 8, 1)
            memcpy(self.names + start, data, length)
            self.n_name_bytes += length
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
        """Number of a term, -1 if it is unknown; with `learn` it becomes known if the rule for admission allows."""
        cdef int64_t cell = self.cell_of(h, start, length, data), at
        if self.cells[cell].number >= 0:
            return self.cells[cell].number
        if not learn or self.n_terms >= s.max_terms:
            return -1
        if self.seen_before.shape[0]:
            at = (h >> 7) % <uint64_t> self.seen_before.shape[0]
            if self.seen_before[at] < s.min_count - 1:
                self.seen_before[at] += 1
                return -1
        return self.add(cell, h, start, length, data)

    # -- a text ----------------------------------------------------------------------------------

    cdef int put(self, int64_t number, int64_t start, int64_t stop) except -1:
        if number >= 0:
            self.found = <Found*> enlarged(self.found, &self.found_room, self.n_found + 1, sizeof(Found))
            self.found[self.n_found].number = <int32_t> number
            self.found[self.n_found].start = <int32_t> start
            self.found[self.n_found].stop = <int32_t> stop
            self.n_found += 1
        return 0

    cdef int put_parts(self, const Word* word, bint learn, TextSettings s) except -1:
        """Find the parts of a word; the byte before each makes room for the mark that tells it from a word."""
        cdef char* data = self.text + word.place
        cdef char* part
        cdef char kept
        cdef int64_t i = 0, j, begin = 0, stop, length
        while i < word.n_points:
            stop, j = begin, i
            while j < word.n_points and j < i + s.char_high:
                stop += 1
                while stop < word.n_bytes and data[stop] & 0xC0 == 0x80:   # the rest of a code point
                    stop += 1
                j += 1
                if j - i >= s.char_low and j - i < word.n_points:
                    part = data + begin - 1
                    kept = part[0]
                    part[0] = SUBWORD
                    length = stop - begin + 1
                    self.put(self.number_of(hash_bytes(part, length), 0, length, part, learn, s),
                             word.start + i, word.start + j)
                    part[0] = kept
            i += 1
            begin += 1
            while begin < word.n_bytes and data[begin] & 0xC0 == 0x80:
                begin += 1
        return 0

    cdef int cut(self, str text) except -1:
        """Put the words of a text into `words`, their bytes into `text`, and ask memory for their cells."""
        cdef int kind = PyUnicode_KIND(text)
        cdef void* data = PyUnicode_DATA(text)
        cdef int64_t n = PyUnicode_GET_LENGTH(text), i = 0, n_bytes = 0
        cdef Py_UCS4 ch
        cdef Word* word
        self.n_words = 0
        self.text = <char*> enlarged(self.text, &self.text_room, 5 * n + 16, 1)
        while i < n:
            ch = PyUnicode_READ(kind, data, i)
            if not is_word(ch):
                i += 1
                continue
            self.words = <Word*> enlarged(self.words, &self.word_room, self.n_words + 1, sizeof(Word))
            word = &self.words[self.n_words]
            n_bytes += 1                    # a spare byte, for the mark of the word's first part
            word.place, word.start = n_bytes, <int32_t> i
            while i < n:
                ch = PyUnicode_READ(kind, data, i)
                if not is_word(ch):
                    break
                n_bytes += encode(<uint32_t> ch, self.text + n_bytes)
                i += 1
            word.n_bytes, word.n_points = <int32_t> (n_bytes - word.place), <int32_t> (i - word.start)
            word.hash = hash_bytes(self.text + word.place, word.n_bytes)
            prefetch(&self.cells[word.hash & (self.n_cells - 1)])
            self.n_words += 1
        return 0

    cdef int scan(self, str text, bint learn, TextSettings s) except -1:
        """Put all terms of a text that are known, or become so, into `found`: words, then pairs, and so on.

        One kind after the other, so that memory can be asked for all of a kind before the first is needed.
        """
        cdef int64_t i, g, left, g_left
        cdef Word* word
        self.n_found = 0
        self.cut(text)
        for i in range(self.n_words):
            word = &self.words[i]
            word.number = <int32_t> self.number_of(word.hash, 0, word.n_bytes, self.text + word.place, learn, s)
            word.gram = word.number
            self.put(word.number, word.start, word.start + word.n_points)
            if s.char_high:
                self.put_parts(word, learn, s)
        for g in range(1, s.ngrams):        # words[i].gram is the run of g words that ends with word i
            for i in range(g, self.n_words):
                word = &self.words[i]
                if word.number >= 0 and self.words[i - 1].gram >= 0:
                    word.hash = hash_pair(self.words[i - 1].gram, word.number)
                    prefetch(&self.cells[word.hash & (self.n_cells - 1)])
            left = self.words[g - 1].gram if g <= self.n_words else -1
            for i in range(g, self.n_words):
                word = &self.words[i]
                g_left, left = left, word.gram
                word.gram = -1
                if word.number >= 0 and g_left >= 0:
                    word.gram = <int32_t> self.number_of(word.hash, g_left, -1 - <int64_t> word.number, NULL, learn, s)
                    self.put(word.gram, self.words[i - g].start, word.start + word.n_points)
        return 0

    def terms_of(self, str text, TextSettings s):
        """Return (number, start, stop) of every known term of a text."""
        self.scan(text, False, s)
        return [(self.found[i].number, self.found[i].start, self.found[i].stop) for i in range(self.n_found)]

    def name(self, int64_t number):
        """Return a term as a person would write it; a part of a word stands between dots."""
        cdef const Term* term
        if not 0 <= number < self.n_terms:
            raise IndexError(f"term {number} of {self.n_terms}")
        term = &self.terms[number]
        if term.length < 0:
            return self.name(term.start) + " " + self.name(-1 - term.length)
        raw = self.names[term.start:term.start + term.length]
        text = raw.decode("utf-8", "surrogatepass")
        return f"·{text[1:]}·" if raw[:1] == b"\x01" else text

    def absorb(self, Vocabulary other):
        """Make the terms of another vocabulary known, add its counts, and return the number of each of its terms here.

        Terms are matched by their names: words by their bytes, runs of words by the numbers of their parts.
        """
        cdef int64_t i, cell, number, start, length
        cdef uint64_t h
        cdef const char* data
        numbers_ = np.empty(other.n_terms, np.int32)
        cdef int32_t[::1] numbers = numbers_
        for i in range(other.n_terms):
            start, length, data = other.terms[i].start, other.terms[i].length, NULL
            if length < 0:                  # its parts came before it, and have their numbers
                start, length = numbers[start], -1 - <int64_t> numbers[-1 - length]
                h = hash_pair(start, -1 - length)
            else:
                data = other.names + start
                h = hash_bytes(data, length)
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
        cdef int64_t n = self.n_terms, i
        starts_, lengths_, counts_ = np.empty(n, np.int64), np.empty(n, np.int32), np.empty(n, np.int32)
        names_ = np.empty(self.n_name_bytes, np.uint8)
        cdef int64_t[::1] starts = starts_
        cdef int32_t[::1] lengths = lengths_, counts = counts_
        cdef uint8_t[::1] names = names_
        for i in range(n):
            starts[i] = self.terms[i].start
            lengths[i] = self.terms[i].length
            counts[i] = self.terms[i].count
        if self.n_name_bytes:
            memcpy(&names[0], self.names, self.n_name_bytes)
        return starts_, lengths_, counts_, names_

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
        """Build a vocabulary from what `arrays` gave; what it cannot have given raises ValueError."""
        cdef Vocabulary v = cls(sightings)
        cdef int64_t n = starts.shape[0], i, ahead, cell, at = 0
        cdef uint64_t h
        cdef uint64_t[AHEAD] hashes
        cdef const char* data
        cdef uint8_t[::1] words = np.zeros(n, np.uint8)     # of each term, so that a name is put together in few steps
        if lengths.shape[0] != n or counts.shape[0] != n or n > INT32_MAX:
            raise ValueError("the arrays of the vocabulary differ in length")
        v.terms = <Term*> enlarged(v.terms, &v.term_room, n + 1, sizeof(Term))
        v.names = <char*> enlarged(v.names, &v.name_room, names.shape[0] + 8, 1)
        if names.shape[0]:
            memcpy(v.names, &names[0], names.shape[0])
        while v.n_cells < 2 * n + 2:
            v.grow_cells()
        for ahead in range(n + AHEAD):
            i = ahead - AHEAD
            h = hashes[ahead % AHEAD]       # that of term i, which has waited for its turn
            if ahead < n:                   # ask memory for a term's cell well before it is needed
                hashes[ahead % AHEAD] = stored_hash(starts[ahead], lengths[ahead], v.names, names.shape[0])
                prefetch(&v.cells[hashes[ahead % AHEAD] & <uint64_t> (v.n_cells - 1)])
            if i < 0:
                continue
            if counts[i] < 0:
                raise ValueError(f"term {i} has a negative count")
            if lengths[i] < 0:
                if not (0 <= starts[i] < i and -1 - <int64_t> lengths[i] < i):
                    raise ValueError(f"term {i} is made of terms that come after it")
                if lengths[-1 - lengths[i]] < 0 or words[starts[i]] == LONGEST_RUN:
                    raise ValueError(f"term {i} is no run of words")
                words[i] = words[starts[i]] + 1
                data = NULL
            else:
                if starts[i] != at or at + lengths[i] > names.shape[0] or lengths[i] == 0:
                    raise ValueError(f"the name of term {i} is not where it must be")
                if names[at] & 0xC0 == 0x80:
                    raise ValueError(f"the name of term {i} begins within a letter")
                at += lengths[i]
                words[i] = 1
                data = v.names + starts[i]
            cell = v.cell_of(h, starts[i], lengths[i], data)
            if v.cells[cell].number >= 0:
                raise ValueError(f"term {i} occurs twice")
            v.terms[i].start, v.terms[i].length, v.terms[i].count = starts[i], lengths[i], counts[i]
            v.cells[cell].number = <int32_t> i
            v.cells[cell].tag = <uint32_t> (h >> 32)
            v.n_terms += 1
        if at != names.shape[0]:
            raise ValueError("the names of the vocabulary have bytes that belong to no term")
        v.n_name_bytes = at
        return v

    def __reduce__(self):
        return _rebuilt, (*self.arrays(), self.sightings, self.n_texts, self.n_distinct)


def _rebuilt(starts, lengths, counts, names, sightings, n_texts, n_distinct):
    vocabulary = Vocabulary.from_arrays(starts, lengths, counts, names, sightings)
    vocabulary.n_texts, vocabulary.n_distinct = n_texts, n_distinct
    return vocabulary


cdef uint64_t stored_hash(int64_t start, int64_t length, const char* names, int64_t n_bytes) noexcept:
    """Hash of a term that was read from a file and is not checked yet; of a wrong one it does not matter."""
    if length < 0:
        return hash_pair(start, -1 - length)
    if start < 0 or start > n_bytes - length:
        return 0
    return hash_bytes(names + start, length)


cdef inline bint is_word(Py_UCS4 ch) noexcept:
    if ch < 128:
        return b"a"[0] <= ch <= b"z"[0] or b"0"[0] <= ch <= b"9"[0] or b"A"[0] <= ch <= b"Z"[0] or ch == b"_"[0]
    return Py_UNICODE_ISALNUM(ch) or ch == COMBINING_DOT


cdef inline int encode(uint32_t ch, char* out) noexcept:
    """Write a code point as UTF-8 and return how many bytes it took."""
    if ch < 0x80:
        out[0] = <char> ch
        return 1
    if ch < 0x800:
        out[0] = <char> (0xC0 | ch >> 6)
        out[1] = <char> (0x80 | ch & 0x3F)
        return 2
    if ch < 0x10000:
        out[0] = <char> (0xE0 | ch >> 12)
        out[1] = <char> (0x80 | (ch >> 6 & 0x3F))
        out[2] = <char> (0x80 | ch & 0x3F)
        return 3
    out[0] = <char> (0xF0 | ch >> 18)
    out[1] = <char> (0x80 | (ch >> 12 & 0x3F))
    out[2] = <char> (0x80 | (ch >> 6 & 0x3F))
    out[3] = <char> (0x80 | ch & 0x3F)
    return 4


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
    cdef int32_t* indices = NULL
    cdef double* data = NULL
    cdef double square, scale, mean, n_occurrences
    indptr_ = np.zeros(n + 1, np.int64)
    cdef int64_t[::1] indptr = indptr_
    try:
        for row in range(n):
            v.scan(<str?> texts[row], learn, s)
            sort_found(v.found, v.n_found)
            indices = <int32_t*> enlarged(indices, &room, at + v.n_found + 1, sizeof(int32_t))
            data = <double*> enlarged(data, &room_again, at + v.n_found + 1, sizeof(double))
            i, n_terms, n_occurrences = 0, 0, 0.0
            while i < v.n_found:
                j = i + 1
                while j < v.n_found and v.found[j].number == v.found[i].number:
                    j += 1
                if not s.frozen or v.terms[v.found[i].number].count >= s.min_count:
                    indices[at + n_terms] = v.found[i].number
                    data[at + n_terms] = <double> (j - i)
                    n_occurrences += <double> (j - i)
                    n_terms += 1
                if learn and v.terms[v.found[i].number].count < INT32_MAX:
                    v.terms[v.found[i].number].count += 1
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
    if s.pivoted:
        return tf * log_of(n / count) if count and n > count else 0.0
    return tf * (1.0 + log_of((1.0 + n) / (1.0 + count)))
