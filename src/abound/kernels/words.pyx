"""The words of a text, and the terms that the words, their parts and their n-grams make.

A word is a run of letters, digits and underscores with the marks on them. In scripts without spaces between words,
each character is a unit: a short word of its own, and so is a symbol. Units in a row form n-grams of up to
`UNIT_NGRAM` units, even if n-grams of words are shorter. Texts are case-folded and in a normal form of Unicode; see
`abound.text`. If words are stemmed, a word has the bytes of its stem and keeps its position in the text.
"""

from cpython.mem cimport PyMem_Free
from cpython.unicode cimport PyUnicode_KIND, PyUnicode_DATA, PyUnicode_READ, PyUnicode_GET_LENGTH
from libc.stdint cimport UINT16_MAX, int32_t, int64_t, uint32_t

from abound.kernels.pool cimport check_index, prefetch
from abound.kernels.vocabulary cimport FORM, MAX_FIELDS, PART, TextSettings, Vocabulary, ensure_capacity, hash_bytes, hash_pair

cpdef enum:
    UNIT_NGRAM = 3


cdef class Words:
    """Find the terms of one text at a time; the memory is reused for the next text."""

    def __cinit__(self, Vocabulary vocabulary not None):
        self.vocabulary = vocabulary

    def __dealloc__(self):
        PyMem_Free(self.matches)
        PyMem_Free(self.text)
        PyMem_Free(self.words)

    cdef int put(self, int64_t number, int64_t start, int64_t stop) except -1:
        if number >= 0:
            self.matches = <TermMatch*> ensure_capacity(self.matches, &self.match_capacity, self.n_matches + 1,
                                                        sizeof(TermMatch))
            check_index(self.n_matches, self.match_capacity)
            self.matches[self.n_matches].number = <int32_t> number
            self.matches[self.n_matches].start = <int32_t> start
            self.matches[self.n_matches].stop = <int32_t> stop
            self.n_matches += 1
        return 0

    cdef int put_parts(self, const Word* word, bint learn, TextSettings s) except -1:
        """Find the parts of a word; the byte before each is replaced by the mark that distinguishes it from a word.

        A stem may be longer than its word: parts beyond the end of the word are placed at its end.
        """
        cdef Vocabulary v = self.vocabulary
        cdef char* data = self.text + word.offset
        cdef char* part
        cdef char kept
        cdef int64_t i = 0, j, begin = 0, stop, length
        while i < word.n_letters:
            stop, j = begin, i
            while j < word.n_letters and j < i + s.char_high:
                stop += 1
                while stop < word.n_bytes and data[stop] & 0xC0 == 0x80:  # continuation bytes
                    stop += 1
                j += 1
                if j - i >= s.char_low and j - i < word.n_letters:
                    check_index(word.offset + begin - 1, self.text_capacity)
                    check_index(word.offset + stop - 1, self.text_capacity)
                    part = data + begin - 1
                    kept = part[0]
                    part[0] = PART
                    length = stop - begin + 1
                    self.put(v.number_of(hash_bytes(part, length, v.seed), 0, length, part, learn, s),
                             word.start + min(i, word.n_points - 1), word.start + min(j, word.n_points))
                    part[0] = kept
            i += 1
            begin += 1
            while begin < word.n_bytes and data[begin] & 0xC0 == 0x80:
                begin += 1
        return 0

    cdef int64_t put_bytes(self, str word, int64_t n_bytes, int64_t n_left) except -1:
        """Append the bytes of a word, reserve memory for `n_left` more code points, and return the number of bytes."""
        cdef int64_t i, n = PyUnicode_GET_LENGTH(word)
        cdef int kind = PyUnicode_KIND(word)
        cdef void* data = PyUnicode_DATA(word)
        self.text = <char*> ensure_capacity(self.text, &self.text_capacity, n_bytes + 4 * n + 5 * n_left + 16, 1)
        for i in range(n):
            n_bytes += encode(<uint32_t> PyUnicode_READ(kind, data, i), self.text + n_bytes)
        return n_bytes

    cdef int64_t put_stem(self, Word* word, str written, int64_t n_bytes, int64_t n_left, TextSettings s) except -1:
        """Append the bytes of a word's stem, and of the word itself if it is a term; return the number of bytes."""
        cdef str stem = <str?> s.stems[written]
        word.n_letters = <int32_t> PyUnicode_GET_LENGTH(stem)
        if word.n_letters == 0:
            return n_bytes
        n_bytes = self.put_bytes(stem, n_bytes, n_left + word.n_points)
        word.n_bytes = <int32_t> (n_bytes - word.offset)
        if s.form_weight > 0.0 and stem != written:
            word.form_offset = n_bytes
            self.text[n_bytes] = FORM
            n_bytes = self.put_bytes(written, n_bytes + 1, n_left)
            word.n_form_bytes = <int32_t> (n_bytes - word.form_offset)
        return n_bytes

    cdef int cut(self, str text, TextSettings s) except -1:
        """Split a text into `words`, with their bytes in `text`, and prefetch their cells."""
        cdef Vocabulary v = self.vocabulary
        cdef int kind = PyUnicode_KIND(text)
        cdef void* data = PyUnicode_DATA(text)
        cdef int64_t n = PyUnicode_GET_LENGTH(text), i = 0, n_bytes = 0
        cdef int64_t n_kinds = len(s.kinds), last_stop = -1
        cdef int32_t n_units = 0            # in a row, up to the last word
        cdef const unsigned char* kinds = s.kinds
        cdef Py_UCS4 ch
        cdef int of_ch, allowed
        cdef Word* word
        cdef bint is_stemmed
        self.n_words, self.has_units = 0, False
        self.text = <char*> ensure_capacity(self.text, &self.text_capacity, 5 * n + 16, 1)
        while i < n:
            ch = PyUnicode_READ(kind, data, i)
            of_ch = kind_of(ch, kinds, n_kinds)
            if of_ch == SEPARATOR or of_ch == MARK:
                i += 1
                continue
            is_stemmed = of_ch == LETTER and s.stems is not None
            allowed = 1 << LETTER | 1 << MARK if of_ch == LETTER else 1 << MARK  # kinds of its other characters
            self.words = <Word*> ensure_capacity(self.words, &self.word_capacity, self.n_words + 1, sizeof(Word))
            check_index(self.n_words, self.word_capacity)
            word = &self.words[self.n_words]
            n_bytes += 1                    # a spare byte for the mark of the word's first part
            word.offset, word.start = n_bytes, <int32_t> i
            while True:
                if not is_stemmed:
                    check_index(n_bytes + 3, self.text_capacity)  # a code point takes up to four bytes
                    n_bytes += encode(<uint32_t> ch, self.text + n_bytes)
                i += 1
                if i == n:
                    break
                ch = PyUnicode_READ(kind, data, i)
                if not allowed >> kind_of(ch, kinds, n_kinds) & 1:
                    break
            if of_ch == UNIT:
                n_units = n_units + 1 if last_stop == word.start else 1
                self.has_units = self.has_units or n_units > 1
                last_stop = i
            else:
                n_units = 0
            word.n_units = n_units
            word.n_points = word.n_letters = <int32_t> (i - word.start)
            word.n_form_bytes = 0
            word.n_bytes = <int32_t> (n_bytes - word.offset)
            if is_stemmed:
                n_bytes = self.put_stem(word, text[word.start:i], n_bytes, n - i, s)
                if word.n_letters == 0:
                    continue
            word.hash = hash_bytes(self.text + word.offset, word.n_bytes, v.seed)
            prefetch(&v.cells[word.hash & (v.n_cells - 1)])
            self.n_words += 1
        return 0

    cdef str join(self, tuple fields):
        """Return the texts of a document's fields as one text, and note where each begins."""
        cdef int64_t at = 0
        cdef str text
        if not 0 < len(fields) <= MAX_FIELDS:
            raise ValueError(f"a document has from 1 to {MAX_FIELDS} fields, got {len(fields)}")
        self.n_fields = 0
        for text in fields:
            self.field_starts[self.n_fields] = at
            at += PyUnicode_GET_LENGTH(text) + 1
            self.n_fields += 1
        return "\n".join(fields)            # no word contains a line break

    cdef int scan(self, object document, bint learn, TextSettings s) except -1:
        """Put all terms of a document that are known, or become known, into `matches`: words, then pairs, and so on.

        One kind after the other, so that the cells of one kind are prefetched before the first is needed. A document is
        a text, or a tuple of one text per field; runs of words do not cross fields.
        """
        cdef Vocabulary v = self.vocabulary
        cdef int64_t i, field, first = 0, last
        cdef Word* word
        cdef char* form
        self.n_matches = self.n_fields = 0
        self.cut(self.join(<tuple> document) if type(document) is tuple else <str?> document, s)
        for i in range(self.n_words):
            word = &self.words[i]
            if word.n_form_bytes:
                form = self.text + word.form_offset
                self.put(v.number_of(hash_bytes(form, word.n_form_bytes, v.seed), 0, word.n_form_bytes, form, learn, s),
                         word.start, word.start + word.n_points)
            word.number = <int32_t> v.number_of(word.hash, 0, word.n_bytes, self.text + word.offset, learn, s)
            word.gram = word.number
            self.put(word.number, word.start, word.start + word.n_points)
            if s.char_high:
                self.put_parts(word, learn, s)
        for field in range(1, self.n_fields):
            last = first
            while last < self.n_words and self.words[last].start < self.field_starts[field]:
                last += 1
            self.put_runs(first, last, learn, s)
            first = last
        return self.put_runs(first, self.n_words, learn, s)

    cdef int put_runs(self, int64_t first, int64_t stop, bint learn, TextSettings s) except -1:
        """Find the runs of two or more words among words first .. stop-1."""
        cdef Vocabulary v = self.vocabulary
        cdef int64_t i, g, left, g_left, longest = max(s.ngrams, UNIT_NGRAM) if self.has_units else s.ngrams
        cdef Word* word
        for g in range(1, longest):         # words[i].gram is the run of g words that ends with word i
            for i in range(first + g, stop):
                word = &self.words[i]
                if word.number >= 0 and self.words[i - 1].gram >= 0 and (g < s.ngrams or word.n_units > g):
                    word.hash = hash_pair(self.words[i - 1].gram, word.number, v.seed)
                    prefetch(&v.cells[word.hash & (v.n_cells - 1)])
            left = self.words[first + g - 1].gram if first + g <= stop else -1
            for i in range(first + g, stop):
                word = &self.words[i]
                g_left, left = left, word.gram
                word.gram = -1
                if word.number >= 0 and g_left >= 0 and (g < s.ngrams or word.n_units > g):
                    word.gram = <int32_t> v.number_of(word.hash, g_left, -1 - <int64_t> word.number, NULL, learn, s)
                    self.put(word.gram, self.words[i - g].start, word.start + word.n_points)
        return 0

    cdef int64_t occurrences(self, int64_t i, int64_t j, TextSettings s) noexcept:
        """Return the occurrences of the term of matches i .. j-1, weighted by their fields, in units of the settings.

        Weights are summed before the logarithm is taken, as in BM25F.
        """
        cdef int64_t total = 0, field
        if not self.n_fields:
            return min((j - i) * s.unit, <int64_t> UINT16_MAX)
        while i < j:
            field = self.n_fields - 1
            while self.matches[i].start < self.field_starts[field]:
                field -= 1
            total += s.field_units[field]
            i += 1
        return min(total, <int64_t> UINT16_MAX)


def terms_of(Vocabulary v, object document, TextSettings s):
    """Return (number, start, stop) of every known term of a document; positions are in its fields joined by line breaks."""
    cdef Words words = Words(v)
    words.scan(document, False, s)
    return [(words.matches[i].number, words.matches[i].start, words.matches[i].stop) for i in range(words.n_matches)]


def word_spans(str text, bytes kinds not None):
    """Return (start, stop, number of units in a row that end here) of each word and unit of a prepared text."""
    cdef Words words = Words(Vocabulary())
    words.cut(text, TextSettings(ngrams=1, char_low=0, char_high=0, min_count=1, pivoted=False, slope=0.0, max_terms=0,
                                 counted=False, kinds=kinds))
    return [(words.words[i].start, words.words[i].start + words.words[i].n_points, words.words[i].n_units)
            for i in range(words.n_words)]


cdef inline int kind_of(Py_UCS4 ch, const unsigned char* kinds, int64_t n_kinds) noexcept:
    return kinds[ch] if <int64_t> ch < n_kinds else SEPARATOR


cdef inline int encode(uint32_t ch, char* out) noexcept:
    """Write a code point as UTF-8 and return the number of bytes."""
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
