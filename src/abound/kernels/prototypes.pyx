"""One weight for each (feature, label) pair that was ever corrected, and the rankers that learn them row by row.

Crammer and Singer, "A new family of online algorithms for category ranking", SIGIR 2002. The weights are kept by
feature: a list sorted by label, or, where every label is a candidate and many have a weight, a plain array over
the labels. Weights are single, scores double precision. Rows are the three arrays of a CSR matrix.
"""

from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free, malloc, qsort, realloc
from libc.string cimport memcpy, memset

from abound.kernels.lists cimport SMALLEST, slope_to_store
from abound.kernels.pool cimport CHECKED, out_of_memory, out_of_range
from abound.kernels.votes cimport Vote, insert, is_worse, sift_down, sift_up

import numpy as np

cdef enum:
    DENSE_SHARE = 3                         # a column is dense from a third of the labels on
    FEWEST_DENSE = 16
    SEARCH_FACTOR = 8                       # changes so much fewer than pairs are searched for one by one
    INSERTION_MOST = 32

RULES = {"mmp1": 1, "mmp2": 2, "mmp3": 3, "perceptron": 4, "sum": 5, "hinge": 6}


cdef inline void add(float* weights, float* traces, int64_t at, double added, const Step* step) noexcept nogil:
    """Add to a weight: as it is, remembering row * added in its trace, or as a step of AdaGrad."""
    cdef double slope
    if step.size > 0.0:
        slope = traces[at] + added * added
        traces[at] = slope_to_store(slope)
        weights[at] = <float> (weights[at] + step.size * added / sqrt(slope + step.start))
        return
    weights[at] = <float> (weights[at] + added)
    if traces != NULL:
        traces[at] = <float> (traces[at] + step.row * added)


cdef class Prototypes:
    """Hold the weights of (feature, label) pairs, and a trace beside each if wanted."""

    def __init__(self, *, bint traced=False, bint may_be_dense=False):
        self.traced, self.may_be_dense = traced, may_be_dense

    def __dealloc__(self):
        cdef int64_t f
        for f in range(self.n_features):
            free(self.columns[f].block)
        free(self.columns)

    cdef int ensure_features(self, int64_t n) except -1 nogil:
        """Make features 0 .. n-1 exist; new ones have no pairs."""
        cdef Column* columns
        cdef int64_t room
        if n > self.column_room:
            room = max(n, self.column_room + self.column_room // 2)
            columns = <Column*> realloc(self.columns, room * sizeof(Column))
            if columns == NULL:
                out_of_memory("more features")
            self.columns, self.column_room = columns, room
        if n > self.n_features:
            memset(self.columns + self.n_features, 0, (n - self.n_features) * sizeof(Column))
            self.n_features = n
        return 0

    cdef int widen(self, Column* column, int64_t room, bint dense) except -1 nogil:
        """Give a column room for so many pairs, and turn it into a dense one if asked."""
        cdef int64_t planes = (1 if dense else 2) + self.traced, i, n = column.length
        cdef Column wider
        wider.room, wider.dense = <int32_t> room, dense
        wider.length = column.length
        wider.block = calloc(room * planes, 4) if dense else malloc(room * planes * 4)
        if wider.block == NULL:
            out_of_memory("more weights")
        if n and dense and not column.dense:
            for i in range(n):
                weights_of(&wider)[labels_of(column)[i]] = weights_of(column)[i]
                if self.traced:
                    traces_of(&wider)[labels_of(column)[i]] = traces_of(column)[i]
            wider.length = labels_of(column)[n - 1] + 1
            self.n_pairs += wider.length - n
        elif n:
            if not dense:
                memcpy(labels_of(&wider), labels_of(column), n * sizeof(int32_t))
            memcpy(weights_of(&wider), weights_of(column), n * sizeof(float))
            if self.traced:
                memcpy(traces_of(&wider), traces_of(column), n * sizeof(float))
        self.bytes_in_blocks += room * planes * 4
        self.bytes_in_blocks -= column.room * ((1 if column.dense else 2) + self.traced) * 4
        free(column.block)
        column[0] = wider
        return 0

    cdef int apply(self, int64_t f, double value, Change* changes, int64_t n_changes, Step* step,
                   int64_t n_labels) except -1 nogil:
        """Add value * amount to the weights of a feature, for changes sorted by label."""
        cdef Column* c = &self.columns[f]
        cdef int64_t i, at, missing = 0, room, last
        cdef float* weights
        cdef float* traces = NULL
        cdef int32_t* labels
        if CHECKED and not 0 <= f < self.n_features:
            out_of_range("feature outside the prototypes")
        if c.dense:
            last = changes[n_changes - 1].label + 1
            if last > c.room:
                self.widen(c, max(last, min(n_labels, c.room + c.room // 2)), True)
            weights = weights_of(c)
            if last > c.length:
                self.n_pairs += last - c.length
                c.length = <int32_t> last
            if self.traced:
                traces = traces_of(c)
            for i in range(n_changes):
                add(weights, traces, changes[i].label, value * changes[i].amount, step)
            return 0
        if c.length:
            missing = find_all(labels_of(c), c.length, changes, n_changes)
        else:
            missing = n_changes
            for i in range(n_changes):
                changes[i].position = -1
        if missing:
            if (self.may_be_dense and n_labels >= FEWEST_DENSE
                    and (c.length + missing) * DENSE_SHARE >= n_labels):
                self.widen(c, n_labels, True)
                return self.apply(f, value, changes, n_changes, step, n_labels)
            if c.length + missing > c.room:
                room = c.length + missing
                self.widen(c, room + (room // 4 + 2 if c.length else 0), False)
        labels, weights = labels_of(c), weights_of(c)
        if self.traced:
            traces = traces_of(c)
        if missing:                         # from the end on, so that each pair is moved once
            at = c.length - 1
            c.length += <int32_t> missing
            self.n_pairs += missing
            i = n_changes - 1
            room = c.length - 1             # where the next pair goes
            while missing:
                if changes[i].position >= 0:        # everything up to the known pair moves with it
                    while at > changes[i].position:
                        move_pair(labels, weights, traces, at, room)
                        at, room = at - 1, room - 1
                    move_pair(labels, weights, traces, at, room)
                    changes[i].position = <int32_t> room
                    at, room = at - 1, room - 1
                else:
                    while at >= 0 and labels[at] > changes[i].label:
                        move_pair(labels, weights, traces, at, room)
                        at, room = at - 1, room - 1
                    labels[room], weights[room] = changes[i].label, 0.0
                    if traces != NULL:
                        traces[room] = 0.0
                    changes[i].position = <int32_t> room
                    room -= 1
                    missing -= 1
                i -= 1
        for i in range(n_changes):
            add(weights, traces, changes[i].position, value * changes[i].amount, step)
        return 0

    # -- in and out --------------------------------------------------------------------------------

    @property
    def nbytes(self):
        """Bytes of memory in use."""
        return self.column_room * sizeof(Column) + self.bytes_in_blocks

    @property
    def n_dense(self):
        """Features whose weights are a plain array over the labels."""
        cdef int64_t f, n = 0
        for f in range(self.n_features):
            n += self.columns[f].dense
        return n

    def arrays(self):
        """Return (indptr, labels, weights), and traces if there are, by feature, then label.

        Where a column may be dense, pairs that are 0 throughout are left out.
        """
        cdef int64_t f, i, n = 0
        cdef Column* c
        indptr_ = np.zeros(self.n_features + 1, np.int64)
        cdef int64_t[::1] indptr = indptr_
        for f in range(self.n_features):
            c = &self.columns[f]
            for i in range(c.length):
                n += self.is_kept(c, i)
            indptr[f + 1] = n
        labels_, weights_ = np.empty(n, np.int32), np.empty(n, np.float32)
        traces_ = np.empty(n if self.traced else 0, np.float32)
        cdef int32_t[::1] labels = labels_
        cdef float[::1] weights = weights_, traces = traces_
        n = 0
        for f in range(self.n_features):
            c = &self.columns[f]
            for i in range(c.length):
                if self.is_kept(c, i):
                    labels[n] = <int32_t> i if c.dense else labels_of(c)[i]
                    weights[n] = weights_of(c)[i]
                    if self.traced:
                        traces[n] = traces_of(c)[i]
                    n += 1
        return (indptr_, labels_, weights_, traces_) if self.traced else (indptr_, labels_, weights_)

    cdef bint is_kept(self, const Column* c, int64_t i) noexcept nogil:
        """Tell whether a pair is part of the state."""
        return not self.may_be_dense or weights_of(c)[i] != 0.0 or (self.traced and traces_of(c)[i] != 0.0)

    @classmethod
    def from_arrays(cls, const int64_t[::1] indptr, const int32_t[::1] labels, const float[::1] weights,
                    int64_t n_labels, traces=None, *, bint may_be_dense=False):
        """Build a store from what `arrays` gave; a column is laid out as learning would have done."""
        cdef Prototypes store = cls(traced=traces is not None, may_be_dense=may_be_dense)
        cdef const float[::1] traced = traces if store.traced else np.zeros(0, np.float32)
        cdef int64_t f, i, n, start, at
        cdef bint dense
        cdef Column* c
        store.ensure_features(indptr.shape[0] - 1)
        for f in range(indptr.shape[0] - 1):
            start, n = indptr[f], indptr[f + 1] - indptr[f]
            if n == 0:
                continue
            c = &store.columns[f]
            dense = may_be_dense and n_labels >= FEWEST_DENSE and n * DENSE_SHARE >= n_labels
            store.widen(c, n_labels if dense else n, dense)
            c.length = <int32_t> (labels[start + n - 1] + 1 if dense else n)
            for i in range(n):
                at = labels[start + i] if dense else i
                if not dense:
                    labels_of(c)[i] = labels[start + i]
                weights_of(c)[at] = weights[start + i]
                if store.traced:
                    traces_of(c)[at] = traced[start + i]
            store.n_pairs += c.length
        return store

    def kept(self, wanted):
        """Return a store of the wanted features alone, numbered anew in their order."""
        indptr, labels, *values = self.arrays()
        wanted, lengths = wanted[: self.n_features], np.diff(indptr)
        chosen = np.repeat(wanted, lengths)
        kept_indptr = np.concatenate([[0], np.cumsum(lengths[wanted])]).astype(np.int64)
        labels, weights, *traces = (array[chosen] for array in (labels, *values))
        n_labels = int(labels.max(initial=-1)) + 1
        return Prototypes.from_arrays(kept_indptr, labels, weights, n_labels, *traces, may_be_dense=self.may_be_dense)

    def __reduce__(self):
        indptr, labels, weights, *traces = self.arrays()
        n_labels = int(labels.max(initial=-1)) + 1
        return rebuild, (self.may_be_dense, indptr, labels, weights, n_labels, *traces)

    def forget_traces(self):
        """Set all traces to 0."""
        cdef int64_t f
        for f in range(self.n_features if self.traced else 0):
            if self.columns[f].length:
                memset(traces_of(&self.columns[f]), 0, self.columns[f].length * sizeof(float))

    def averaged(self, double steps):
        """Return a store without traces whose weights are these less trace / steps: their mean over so many rows."""
        cdef Prototypes store = Prototypes(may_be_dense=self.may_be_dense)
        cdef int64_t f, i
        cdef Column* c
        cdef Column* a
        store.ensure_features(self.n_features)
        for f in range(self.n_features):
            c, a = &self.columns[f], &store.columns[f]
            if c.length == 0:
                continue
            store.widen(a, c.room if c.dense else c.length, c.dense)
            a.length = c.length
            store.n_pairs += c.length
            if not c.dense:
                memcpy(labels_of(a), labels_of(c), c.length * sizeof(int32_t))
            for i in range(c.length):
                weights_of(a)[i] = <float> (weights_of(c)[i] - traces_of(c)[i] / steps)
        return store


def rebuild(may_be_dense, *arrays):
    """Take a store out of a pickle."""
    return Prototypes.from_arrays(*arrays, may_be_dense=may_be_dense)


cdef int64_t find_all(const int32_t* labels, int64_t n, Change* changes, int64_t n_changes) noexcept nogil:
    """Note the position of each change's label in a sorted list, -1 where it has none; return how many have none."""
    cdef int64_t i, at = 0, low, high, middle, missing = 0
    if n_changes * SEARCH_FACTOR < n:
        for i in range(n_changes):
            low, high = at, n
            while low < high:
                middle = (low + high) >> 1
                if labels[middle] < changes[i].label:
                    low = middle + 1
                else:
                    high = middle
            at = low
            changes[i].position = <int32_t> at if at < n and labels[at] == changes[i].label else -1
            missing += changes[i].position < 0
        return missing
    for i in range(n_changes):
        while at < n and labels[at] < changes[i].label:
            at += 1
        changes[i].position = <int32_t> at if at < n and labels[at] == changes[i].label else -1
        missing += changes[i].position < 0
    return missing


cdef inline void move_pair(int32_t* labels, float* weights, float* traces, int64_t source,
                           int64_t target) noexcept nogil:
    labels[target], weights[target] = labels[source], weights[source]
    if traces != NULL:
        traces[target] = traces[source]


cdef class RowScores:
    """The scores of one row and what is to change after it: scratch for one thread at a time."""

    def __dealloc__(self):
        free(self.score)
        free(self.marks)
        free(self.touched)
        free(self.changes)
        free(self.keys)
        free(self.tally)
        free(self.best)

    cdef int ensure(self, int64_t n_labels, int64_t n_keys) except -1 nogil:
        """Have room for so many labels, and so many relevant ones."""
        cdef int64_t room
        if n_labels > self.room:
            room = n_labels + n_labels // 2
            free(self.score)
            free(self.marks)
            free(self.touched)
            free(self.changes)
            self.room = 0
            self.score = <double*> calloc(room, sizeof(double))
            self.marks = <char*> calloc(room, 1)
            self.touched = <int32_t*> malloc((room + 1) * sizeof(int32_t))
            self.changes = <Change*> malloc(room * sizeof(Change))
            if self.score == NULL or self.marks == NULL or self.touched == NULL or self.changes == NULL:
                out_of_memory("the scores of a row")
            self.room, self.n_touched = room, 0
        if n_keys >= self.key_room:
            free(self.keys)
            free(self.tally)
            self.key_room = 0
            self.keys = <double*> malloc(2 * (n_keys + 1) * sizeof(double))
            self.tally = <int64_t*> malloc(2 * (n_keys + 1) * sizeof(int64_t))
            if self.keys == NULL or self.tally == NULL:
                out_of_memory("the labels of a row")
            self.key_room = 2 * (n_keys + 1)
        return 0

    cdef Vote* make_best(self, int64_t n) except? NULL nogil:
        """Room for n labels and their scores."""
        if n > self.best_room:
            free(self.best)
            self.best_room = 0
            self.best = <Vote*> malloc(n * sizeof(Vote))
            if self.best == NULL:
                out_of_memory("the ranking of a row")
            self.best_room = n
        return self.best

    cdef void clear(self) noexcept nogil:
        cdef int64_t i
        for i in range(self.n_touched):
            self.score[self.touched[i]] = 0.0
            self.marks[self.touched[i]] = 0
        self.n_touched = 0


cdef int score_all(Prototypes store, RowScores scores, const int32_t[::1] indices, const double[::1] data,
                   int64_t start, int64_t stop, int64_t n_labels) except -1 nogil:
    """Score every label of a row; what was there before is overwritten."""
    cdef int64_t p, i
    cdef int32_t n
    cdef double value
    cdef double* score = scores.score
    cdef const float* weights
    cdef const int32_t* labels
    cdef Column* c
    memset(score, 0, n_labels * sizeof(double))
    for p in range(start, stop):
        value = data[p]
        if indices[p] >= store.n_features or value < SMALLEST:
            continue
        c = &store.columns[indices[p]]
        n = c.length
        if n == 0:
            continue
        weights = weights_of(c)
        if c.dense:
            for i in range(n):
                score[i] += weights[i] * value
        else:
            labels = labels_of(c)
            for i in range(n):
                score[labels[i]] += weights[i] * value
    return 0


cdef int score_touched(Prototypes store, RowScores scores, const int32_t[::1] indices, const double[::1] data,
                       int64_t start, int64_t stop) except -1 nogil:
    """Score the labels that have a weight on a feature of the row; the scores were cleared before."""
    cdef int64_t p, i, n_touched = 0
    cdef double value
    cdef double* score = scores.score
    cdef char* marks = scores.marks
    cdef int32_t* touched = scores.touched
    cdef const float* weights
    cdef const int32_t* labels
    cdef Column* c
    for p in range(start, stop):
        value = data[p]
        if indices[p] >= store.n_features or value < SMALLEST:
            continue
        c = &store.columns[indices[p]]
        labels, weights = labels_of(c), weights_of(c)
        for i in range(c.length):
            touched[n_touched] = labels[i]
            n_touched += not marks[labels[i]]
            marks[labels[i]] = 1
            score[labels[i]] += weights[i] * value
    scores.n_touched = n_touched
    return 0


cdef int64_t pick_best(RowScores scores, bint all_labels, int64_t n_labels, int64_t k) except -1 nogil:
    """Leave the k best labels in `best`, best first; return how many there are."""
    cdef int64_t n_candidates = n_labels if all_labels else scores.n_touched, i, n = min(k, n_candidates)
    cdef bint few = n <= INSERTION_MOST
    cdef Vote found
    cdef Vote* best = scores.make_best(n)
    for i in range(n_candidates):
        found.label = <int32_t> i if all_labels else scores.touched[i]
        found.score = scores.score[found.label]
        if i < n:
            best[i] = found
            if few:
                insert(best, i)
            else:
                sift_up(best, i)
        elif few and is_worse(&best[n - 1], &found):
            best[n - 1] = found
            insert(best, n - 1)
        elif not few and is_worse(&best[0], &found):
            best[0] = found
            sift_down(best, n)
    if not few:
        for i in range(n - 1, 0, -1):       # the worst goes to the end: what remains is best first
            found = best[0]
            best[0] = best[i]
            best[i] = found
            sift_down(best, i)
    return n


cdef bint has_weights(Prototypes store, const int32_t[::1] indices, const double[::1] data, int64_t start,
                      int64_t stop) noexcept nogil:
    """Tell whether some feature of a row has weights."""
    cdef int64_t p
    for p in range(start, stop):
        if indices[p] < store.n_features and data[p] >= SMALLEST and store.columns[indices[p]].length:
            return True
    return False


def prototypes_rank(Prototypes store, RowScores scores, bint all_labels, const int64_t[::1] indptr,
                    const int32_t[::1] indices, const double[::1] data, int64_t n_labels,
                    int32_t[:, ::1] out_labels, double[:, ::1] out_scores, bint known_only=False):
    """Write the best labels of each row and their scores; what is left of a row keeps what it had.

    With `known_only`, a row without any feature that has weights is left as it is.
    """
    cdef int64_t row, i, n
    with nogil:
        scores.ensure(n_labels, 0)
        for row in range(out_labels.shape[0]):
            if known_only and not has_weights(store, indices, data, indptr[row], indptr[row + 1]):
                continue
            if all_labels:
                score_all(store, scores, indices, data, indptr[row], indptr[row + 1], n_labels)
            else:
                score_touched(store, scores, indices, data, indptr[row], indptr[row + 1])
            n = pick_best(scores, all_labels, n_labels, out_labels.shape[1])
            for i in range(n):
                out_labels[row, i] = scores.best[i].label
                out_scores[row, i] = scores.best[i].score
            if all_labels:
                memset(scores.score, 0, n_labels * sizeof(double))
            else:
                scores.clear()


cdef int by_label(const void* a, const void* b) noexcept nogil:
    cdef int32_t first = (<const Change*> a).label, second = (<const Change*> b).label
    return (first > second) - (first < second)


cdef int by_value(const void* a, const void* b) noexcept nogil:
    cdef double first = (<const double*> a)[0], second = (<const double*> b)[0]
    return (first > second) - (first < second)


cdef inline bint is_relevant(const int32_t[::1] labels, int64_t first, int64_t last, int32_t label) noexcept nogil:
    """Tell whether a label is among labels[first:last], which are sorted."""
    cdef int64_t low = first, high = last, middle
    while low < high:
        middle = (low + high) >> 1
        if labels[middle] < label:
            low = middle + 1
        else:
            high = middle
    return low < last and labels[low] == label


cdef inline void change(RowScores scores, int32_t label, double amount) noexcept nogil:
    scores.changes[scores.n_changes].label = label
    scores.changes[scores.n_changes].amount = amount
    scores.n_changes += 1


cdef int64_t find_rivals(RowScores scores, bint all_labels, double lowest, int64_t rivals, const int32_t[::1] labels,
                         int64_t first, int64_t last, int64_t n_labels) except -1 nogil:
    """Leave the other labels that score at least `lowest` in `best`, at most `rivals` of them; return how many."""
    cdef int64_t i, n = 0, n_candidates = n_labels if all_labels else scores.n_touched
    cdef bint few = rivals <= INSERTION_MOST
    cdef int32_t label
    cdef Vote found
    cdef Vote* best = scores.make_best(min(rivals, n_candidates))
    for i in range(n_candidates):
        label = <int32_t> i if all_labels else scores.touched[i]
        if n == rivals and scores.score[label] < best[n - 1 if few else 0].score:
            continue
        if scores.score[label] < lowest or is_relevant(labels, first, last, label):
            continue
        found.label, found.score = label, scores.score[label]
        if n < rivals:
            best[n] = found
            if few:
                insert(best, n)
            else:
                sift_up(best, n)
            n += 1
        elif few and is_worse(&best[n - 1], &found):
            best[n - 1] = found
            insert(best, n - 1)
        elif not few and is_worse(&best[0], &found):
            best[0] = found
            sift_down(best, n)
    return n


cdef int64_t find_errors(RowScores scores, bint all_labels, double margin, int64_t rivals, const int32_t[::1] labels,
                         int64_t first, int64_t last, int64_t n_labels) except -1 nogil:
    """Note n_s of every wrong label and n_r of every relevant one as amounts; return the number of wrong pairs.

    A pair (r, s) is wrong when score(r) - margin <= score(s). With the keys score(r) - margin sorted, n_s is the
    number of keys up to score(s); a tally of the n_s gives every n_r. No pair is looked at: O(k log k).
    """
    cdef int64_t n = last - first, i, low, high, middle, n_pairs = 0, n_rivals
    cdef double* keys = scores.keys
    cdef double score
    for i in range(n):
        keys[i] = scores.score[labels[first + i]] - margin
        scores.tally[i] = 0
    scores.tally[n] = 0
    if n > 1:
        qsort(keys, n, sizeof(double), by_value)
    scores.n_changes = 0
    n_rivals = find_rivals(scores, all_labels, keys[0], rivals, labels, first, last, n_labels)
    for i in range(n_rivals):
        score = scores.best[i].score
        low, high = 1, n                    # keys[0] is at most the score
        while low < high:
            middle = (low + high) >> 1
            if keys[middle] <= score:
                low = middle + 1
            else:
                high = middle
        change(scores, scores.best[i].label, -<double> low)
        scores.tally[low] += 1
        n_pairs += low
    if n_pairs == 0:
        return 0
    for i in range(n - 1, -1, -1):          # tally[i + 1] becomes the number of wrong labels above key i
        scores.tally[i] += scores.tally[i + 1]
    for i in range(first, last):
        score = scores.score[labels[i]] - margin
        low, high = 0, n                    # the place of the last key like its own
        while low < high:
            middle = (low + high) >> 1
            if keys[middle] <= score:
                low = middle + 1
            else:
                high = middle
        if scores.tally[low]:
            change(scores, labels[i], <double> scores.tally[low])
    return n_pairs


cdef void find_mistakes(RowScores scores, bint all_labels, const int32_t[::1] labels, int64_t first, int64_t last,
                        int64_t n_labels) noexcept nogil:
    """Note the labels whose own perceptron is wrong about the row."""
    cdef int64_t i
    cdef int64_t n_candidates = n_labels if all_labels else scores.n_touched
    cdef int32_t label
    scores.n_changes = 0
    for i in range(n_candidates):
        label = <int32_t> i if all_labels else scores.touched[i]
        if scores.score[label] >= 0.0 and not is_relevant(labels, first, last, label):
            change(scores, label, -1.0)
    for i in range(first, last):
        if scores.score[labels[i]] <= 0.0:
            change(scores, labels[i], 1.0)


cdef void hold_relevant(RowScores scores, const int32_t[::1] labels, int64_t first, int64_t last) noexcept nogil:
    """Note the relevant labels that do not change by 0: a pair must be stored before its label can be touched."""
    cdef int64_t i, j, n = scores.n_changes
    for i in range(first, last):
        for j in range(n):
            if scores.changes[j].label == labels[i]:
                break
        else:
            change(scores, labels[i], 0.0)


cdef int find_violations(RowScores scores, bint all_labels, double margin, int64_t rivals, const int32_t[::1] labels,
                         int64_t first, int64_t last, int64_t n_labels) except -1 nogil:
    """Note the gradient of the squared hinge: relevant labels should score 1 + margin, others at most 1 - margin.

    Scores are counted from 1 on, so that a label without weights is taken to be wrong and needs none.
    """
    cdef int64_t i, n_rivals
    cdef double score
    scores.n_changes = 0
    n_rivals = find_rivals(scores, all_labels, 1.0 - margin, rivals, labels, first, last, n_labels)
    for i in range(n_rivals):
        if scores.best[i].score > 1.0 - margin:
            change(scores, scores.best[i].label, 1.0 - margin - scores.best[i].score)
    for i in range(first, last):
        score = scores.score[labels[i]]
        if score < 1.0 + margin:
            change(scores, labels[i], 1.0 + margin - score)
    return 0


cdef void add_rejections(RowScores scores, const int32_t[::1] wrong, int64_t first, int64_t last, double margin,
                         int64_t n_labels) noexcept nogil:
    """Note labels that were said to be wrong, to be pushed down whatever their score; unknown ones have none."""
    cdef int64_t i, j
    for i in range(first, last):
        if not 0 <= wrong[i] < n_labels:
            continue
        for j in range(scores.n_changes):
            if scores.changes[j].label == wrong[i]:
                break
        else:
            change(scores, wrong[i], -margin - max(0.0, scores.score[wrong[i]]))


def prototypes_learn(Prototypes store, RowScores scores, int rule, bint all_labels, double margin,
                     int64_t rivals, double step_size, double step_start, const int64_t[::1] indptr,
                     const int32_t[::1] indices, const double[::1] data, const int64_t[::1] label_indptr,
                     const int32_t[::1] labels, int64_t n_known, const int64_t[::1] wrong_indptr,
                     const int32_t[::1] wrong):
    """Learn rows in order, in place; return how many rows changed something.

    The labels of row i are labels[label_indptr[i]:label_indptr[i+1]], ascending; `n_known` labels were known before
    the first row, and a row makes its own known. A change in row i
    adds i times itself to its trace. Labels known to be wrong are given like the others, or not at all; only the hinge
    takes them.
    """
    cdef int64_t row, p, i, start, stop, first, last, n_updates = 0, n_errors
    cdef double divisor
    cdef bint rejects = wrong_indptr.shape[0] > 0
    cdef Step step
    step.size, step.start = step_size, step_start
    if step_size > 0.0 and not store.traced:
        raise ValueError("AdaGrad needs a store with traces")
    if indices.shape[0]:
        store.ensure_features(<int64_t> np.max(indices) + 1)
    cdef int64_t n_labels = max(n_known, <int64_t> np.max(labels) + 1 if labels.shape[0] else 0)
    with nogil:
        scores.ensure(n_labels, 0)
        for row in range(indptr.shape[0] - 1):
            start, stop = indptr[row], indptr[row + 1]
            first, last = label_indptr[row], label_indptr[row + 1]
            if last > first and labels[last - 1] >= n_known:
                n_known = labels[last - 1] + 1
            if first == last and (rule <= 3 or (rule == 6 and not rejects)):
                continue
            scores.ensure(n_labels, last - first)
            scores.n_changes = 0
            step.row = <double> row
            if rule == 5:
                for i in range(first, last):
                    change(scores, labels[i], 1.0)
            else:
                if all_labels:
                    score_all(store, scores, indices, data, start, stop, n_known)
                else:
                    score_touched(store, scores, indices, data, start, stop)
                if rule == 6:
                    if first < last:
                        find_violations(scores, all_labels, margin, rivals, labels, first, last, n_known)
                    if rejects:
                        add_rejections(scores, wrong, wrong_indptr[row], wrong_indptr[row + 1], margin, n_known)
                elif rule == 4:
                    find_mistakes(scores, all_labels, labels, first, last, n_known)
                else:
                    n_errors = find_errors(scores, all_labels, margin, rivals, labels, first, last, n_known)
                    divisor = 1.0
                    if rule == 1:
                        divisor = <double> n_errors
                    elif rule == 3:
                        divisor = <double> ((last - first) * (n_known - (last - first)))
                    for i in range(scores.n_changes):
                        scores.changes[i].amount /= divisor
            if not all_labels:
                scores.clear()
                hold_relevant(scores, labels, first, last)
            if scores.n_changes:
                n_updates += 1
                qsort(scores.changes, scores.n_changes, sizeof(Change), by_label)
                for p in range(start, stop):
                    if data[p] >= SMALLEST:
                        store.apply(indices[p], data[p], scores.changes, scores.n_changes, &step, n_known)
        if all_labels:
            memset(scores.score, 0, n_labels * sizeof(double))
    return n_updates


def prototypes_explain(Prototypes store, const int32_t[::1] indices, const double[::1] data, int32_t label):
    """Return the positions in a row with a weight for a label, and their votes in the order of summation."""
    cdef int64_t p, i
    cdef Column* c
    cdef Change wanted
    positions, votes = [], []
    wanted.label = label
    for p in range(indices.shape[0]):
        if indices[p] >= store.n_features or data[p] < SMALLEST:
            continue
        c = &store.columns[indices[p]]
        if c.length == 0:
            continue
        if c.dense:
            i = label if label < c.length else -1
        else:
            find_all(labels_of(c), c.length, &wanted, 1)
            i = wanted.position
        if i >= 0 and weights_of(c)[i] != 0.0:
            positions.append(p)
            votes.append(weights_of(c)[i] * data[p])
    return np.array(positions, np.int64), np.array(votes, np.float64)


def check_prototypes(const int64_t[::1] indptr, const int32_t[::1] labels, const float[::1] weights,
                     int64_t n_labels, slopes=None):
    """Say what is wrong with arrays that claim to be prototypes; None if nothing is."""
    cdef int64_t f, i
    if indptr.shape[0] == 0 or indptr[0] != 0 or indptr[indptr.shape[0] - 1] != labels.shape[0]:
        return "the lists do not span the pairs"
    if weights.shape[0] != labels.shape[0]:
        return "there are not as many weights as labels"
    for f in range(indptr.shape[0] - 1):
        if indptr[f + 1] < indptr[f]:
            return f"the list of feature {f} has a negative length"
    if not np.isfinite(weights).all():
        return "a weight is not a finite number"
    if slopes is not None:
        if slopes.shape != (labels.shape[0],) or slopes.dtype != np.float32:
            return "there are not as many sums of squares as labels"
        if not np.isfinite(slopes).all() or np.any(slopes < 0):
            return "a sum of squares is negative or not finite"
    for f in range(indptr.shape[0] - 1):
        for i in range(indptr[f], indptr[f + 1]):
            if not 0 <= labels[i] < n_labels:
                return f"feature {f} has a label outside the label set"
            if i > indptr[f] and labels[i - 1] >= labels[i]:
                return f"the labels of feature {f} are not in order"
    return None
