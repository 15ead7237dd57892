"""Weigh candidates: a weight for each (feature, label) pair, looked up for the few labels that an index recalls.

Every row has one more feature than its own, of the value COMMON and number 0; the others come one later. A label's
weight for a row is the sum of value * weight over the row's features. By the squared hinge, true labels should weigh 2,
and candidates that are wrong at most 0; weights follow by AdaGrad.

Each feature has a small hash table from labels to pairs, because a row asks for few labels and changes fewer: a row
costs O(active features x candidates), whatever the features hold. Eight labels and their weights fill a cache line and
are compared at once: whether a label is there, which no processor can foresee, decides no branch. A store that was
opened points into its sorted arrays until a feature learns, so that processes share what is mapped.
"""

from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc, qsort, realloc
from libc.string cimport memset

from abound.kernels.lists cimport SMALLEST, slope_to_store, weight_to_store
from abound.kernels.pool cimport CHECKED, ask_for_large_pages, out_of_memory, out_of_range, prefetch
from abound.kernels.votes cimport RIVALS_A_LABEL, Candidates, Votes

import numpy as np

cdef enum:
    AHEAD = 8                               # tables that are asked for before a walk over all comes to them
    RIVALS = 5                              # wrong labels that learn from a row, at the least
cdef int64_t FULLEST = 6                    # eighths of the lanes that may be taken, where there are several buckets
cdef int64_t SMALLEST_ARENA = 1 << 12
cdef int64_t LARGEST_ARENA = 1 << 25
cdef double TRUE_WEIGHT = 2.0               # what true labels should weigh; wrong ones should not weigh anything
cdef double COMMON = 0.1                    # value of the feature that every row has
cdef double STEP = 1.4                      # of AdaGrad, and what its sum of squares starts with
cdef double STEP_START = 30.0
cdef double LEAST = 0.05                    # a weight nearer to 0 is dropped when the store is tidied

LEAST_WEIGHT = LEAST
COMMON_VALUE, STEP_SIZE, STEP_BEGIN = COMMON, STEP, STEP_START   # few labels learn by the same ones

cdef int64_t BUCKET_BYTES = sizeof(Bucket)
cdef int64_t BORROWED_BYTES = sizeof(int32_t) + 2 * sizeof(float)


cdef inline bint has_room(int64_t n_pairs, int64_t n_buckets) noexcept nogil:
    """Tell whether so many pairs leave few buckets full, so that a label that is not there is soon missed."""
    return n_pairs < LANES if n_buckets == 1 else 8 * n_pairs <= FULLEST * n_buckets * LANES


cdef inline int64_t buckets_for(int64_t n_pairs) noexcept nogil:
    """How many buckets so many pairs need."""
    cdef int64_t n = 1
    while not has_room(n_pairs, n):
        n *= 2
    return n


cdef inline int size_of(int64_t n_buckets) noexcept nogil:
    """The size of a block of so many buckets, 0 if there are none."""
    cdef int size = 0
    while (<int64_t> 1 << size) < n_buckets:
        size += 1
    return size


cdef inline int64_t n_buckets_of(const Table* t) noexcept nogil:
    return 0 if t.buckets == NULL else <int64_t> t.mask + 1


cdef inline Place find_place(const Table* t, int32_t label) noexcept nogil:
    """The lane of a label in a table that has buckets, or the empty one where it belongs."""
    cdef int64_t at = home_of(label, t.mask)
    cdef int64_t lane = lane_of(t.buckets[at].labels, label)
    cdef Place place
    while lane < 0 and is_full(&t.buckets[at]):
        at = (at + 1) & t.mask
        lane = lane_of(t.buckets[at].labels, label)
    if lane < 0:
        lane = n_taken(&t.buckets[at])
    place.bucket, place.lane = &t.buckets[at], lane
    return place


cdef inline void put(Table* t, int32_t label, float weight, float slope, float trace) noexcept nogil:
    """Put a pair that is not there into its lane."""
    cdef int64_t at = home_of(label, t.mask), lane
    cdef Bucket* b
    while is_full(&t.buckets[at]):
        at = (at + 1) & t.mask
    b = &t.buckets[at]
    lane = n_taken(b)
    b.labels[lane], b.weights[lane], b.slopes[lane], b.traces[lane] = label, weight, slope, trace


cdef inline void ask_for_table(const Table* t) noexcept nogil:
    """Ask memory for the first bucket of a table."""
    if t.buckets != NULL:
        prefetch(t.buckets[0].labels)
        prefetch(t.buckets[0].slopes)


cdef class PairTables:
    """Hold the weights of (feature, label) pairs, to be looked up label by label."""

    def __dealloc__(self):
        cdef int64_t i
        for i in range(self.n_arenas):
            free(self.arenas[i])
        free(self.arenas)
        free(self.tables)

    cdef int ensure_features(self, int64_t n) except -1 nogil:
        """Make features 0 .. n-1 exist; new ones have no pairs."""
        cdef Table* tables
        cdef int64_t room
        if n > self.room:
            room = max(n, self.room + self.room // 2)
            tables = <Table*> realloc(self.tables, room * sizeof(Table))
            if tables == NULL:
                out_of_memory("more features")
            self.tables, self.room = tables, room
        if n > self.n_features:
            memset(self.tables + self.n_features, 0, (n - self.n_features) * sizeof(Table))
            self.n_features = n
        return 0

    cdef void* take_block(self, int size) except NULL nogil:
        """A block of 1 << size buckets: a spare one, half of a larger one, or a fresh one."""
        cdef int larger = size
        cdef int64_t n_bytes = BUCKET_BYTES << size, n
        cdef char* block
        cdef void** arenas
        while larger < N_SIZES and self.spares[larger] == NULL:
            larger += 1
        if larger < N_SIZES:
            block = <char*> self.spares[larger]
            self.spares[larger] = self.spares[larger].next
            while larger > size:
                larger -= 1
                self.give_block(block + (BUCKET_BYTES << larger), larger)
            return block
        if self.fresh_bytes < n_bytes:
            for larger in range(N_SIZES - 1, -1, -1):       # what is left of the last arena is spare
                n = BUCKET_BYTES << larger
                if self.fresh_bytes >= n:
                    self.give_block(self.fresh, larger)
                    self.fresh, self.fresh_bytes = self.fresh + n, self.fresh_bytes - n
            n = max(n_bytes, min(LARGEST_ARENA, max(SMALLEST_ARENA, self.arena_bytes)))
            arenas = <void**> realloc(self.arenas, (self.n_arenas + 1) * sizeof(void*))
            if arenas != NULL:
                self.arenas = arenas
                arenas[self.n_arenas] = malloc(n + BUCKET_BYTES)
            if arenas == NULL or arenas[self.n_arenas] == NULL:
                out_of_memory("more weights")
            ask_for_large_pages(arenas[self.n_arenas], n + BUCKET_BYTES)
            self.fresh, self.fresh_bytes = <char*> arenas[self.n_arenas], n
            self.fresh += -<int64_t> self.fresh & (BUCKET_BYTES - 1)     # no half of a bucket lies across two lines
            self.n_arenas += 1
            self.arena_bytes += n
        block = self.fresh
        self.fresh, self.fresh_bytes = self.fresh + n_bytes, self.fresh_bytes - n_bytes
        return block

    cdef void give_block(self, void* block, int size) noexcept nogil:
        """Take a block back."""
        cdef Spare* spare = <Spare*> block
        if block != NULL:
            spare.next = self.spares[size]
            self.spares[size] = spare

    cdef int make_buckets(self, Table* t, int64_t n) except -1 nogil:
        """Give a table so many empty buckets instead of those that it has, which are the caller's now."""
        cdef int64_t i
        cdef Bucket* buckets = <Bucket*> self.take_block(size_of(n))
        for i in range(n):
            memset(buckets[i].labels, 0xff, sizeof(buckets[i].labels))
            memset(buckets[i].weights, 0, sizeof(buckets[i].weights))
        t.buckets, t.mask = buckets, <int32_t> (n - 1)
        return 0

    cdef int own(self, Table* t, int64_t n_more) except -1 nogil:
        """Let a table have buckets of its own, with room for so many more pairs."""
        cdef int64_t i, n = buckets_for(t.length + n_more)
        cdef Table old = t[0]
        if n <= n_buckets_of(t):
            return 0
        self.make_buckets(t, n)
        if old.buckets != NULL:
            refill(t, &old, 0.0)
            self.give_block(old.buckets, size_of(n_buckets_of(&old)))
        else:
            for i in range(t.start, t.start + t.length):
                put(t, self.labels[i], self.weights[i], self.slopes[i], 0.0)
        return 0

    cdef int add(self, Table* t, int32_t label, Place* at) except -1 nogil:
        """Add the pair of a label to a table that has buckets, at the place where it belongs; it weighs nothing yet."""
        if not has_room(t.length + 1, n_buckets_of(t)):
            self.own(t, 1)
            at[0] = find_place(t, label)
        at.bucket.labels[at.lane] = label
        at.bucket.slopes[at.lane] = at.bucket.traces[at.lane] = 0.0
        t.length += 1
        self.n_pairs += 1
        return 0

    cdef int drop(self, Table* t, double least) except -1 nogil:
        """Drop the pairs of a table whose weight is nearer to 0 than `least`."""
        cdef int64_t n_kept
        cdef Table old
        self.own(t, 0)
        old, n_kept = t[0], n_at_least(t, least)
        if n_kept == t.length:
            return 0
        self.make_buckets(t, buckets_for(n_kept))
        self.n_pairs -= t.length - n_kept
        t.length = <int32_t> n_kept
        refill(t, &old, least)
        self.give_block(old.buckets, size_of(n_buckets_of(&old)))
        return 0

    cdef int tidy(self) except -1 nogil:
        """Drop what weighs next to nothing."""
        cdef int64_t f
        for f in range(self.n_features):
            ask_for_table(&self.tables[min(f + AHEAD, self.n_features - 1)])
            if self.tables[f].length:
                self.drop(&self.tables[f], LEAST)
        return 0

    def tidied(self):
        """Drop what weighs next to nothing, and return the store."""
        self.tidy()
        return self

    # -- the mean of a pass ------------------------------------------------------------------------

    def forget_traces(self):
        """Begin a mean here."""
        cdef int64_t f, i
        cdef Table* t
        for f in range(self.n_features):
            t = &self.tables[f]
            for i in range(n_buckets_of(t)):
                memset(t.buckets[i].traces, 0, sizeof(t.buckets[i].traces))

    def take_mean(self, double n_rows):
        """Let each weight be its mean over the rows that were numbered 0 .. n_rows-1 since `forget_traces`."""
        cdef int64_t f, i, j
        cdef Bucket* b
        for f in range(self.n_features):
            ask_for_table(&self.tables[min(f + AHEAD, self.n_features - 1)])
            for i in range(n_buckets_of(&self.tables[f])):
                b = &self.tables[f].buckets[i]
                for j in range(LANES):
                    if b.labels[j] == -1:
                        break
                    b.weights[j] = weight_to_store(b.weights[j] - b.traces[j] / n_rows)
                    b.traces[j] = 0.0

    # -- in and out --------------------------------------------------------------------------------

    @property
    def nbytes(self):
        """Bytes of memory in use, with the borrowed arrays."""
        return self.room * sizeof(Table) + self.arena_bytes + self.n_borrowed * BORROWED_BYTES

    def indptr(self):
        """Return where the pairs of each feature begin."""
        cdef int64_t f
        indptr_ = np.zeros(self.n_features + 1, np.int64)
        cdef int64_t[::1] indptr = indptr_
        for f in range(self.n_features):
            indptr[f + 1] = indptr[f] + self.tables[f].length
        return indptr_

    def arrays(self):
        """Return (indptr, labels, weights, slopes) by feature, then label."""
        return self.indptr(), *self.part(0, self.n_features)

    def part(self, int64_t start, int64_t stop):
        """Return (labels, weights, slopes) of features start .. stop-1, by feature, then label."""
        cdef int64_t f, i, n = 0, at, place, longest = 1
        cdef Table* t
        cdef int64_t* order
        if not 0 <= start <= stop <= self.n_features:
            raise ValueError(f"features {start} to {stop} are not among {self.n_features}")
        for f in range(start, stop):
            n += self.tables[f].length
            longest = max(longest, self.tables[f].length)
        labels_, weights_, slopes_ = np.empty(n, np.int32), np.empty(n, np.float32), np.empty(n, np.float32)
        cdef int32_t[::1] labels = labels_
        cdef float[::1] weights = weights_, slopes = slopes_
        order = <int64_t*> malloc(longest * sizeof(int64_t))
        if order == NULL:
            raise MemoryError("no memory for the pairs of a feature")
        n = 0
        with nogil:
            for f in range(start, stop):
                t = &self.tables[f]
                if t.buckets == NULL:
                    for i in range(t.length):
                        at = t.start + i
                        labels[n + i], weights[n + i] = self.labels[at], self.weights[at]
                        slopes[n + i] = self.slopes[at]
                else:
                    at = 0
                    for i in range(LANES * n_buckets_of(t)):
                        if t.buckets[i // LANES].labels[i % LANES] != -1:  # label and place in one number, to be sorted
                            order[at] = (<int64_t> t.buckets[i // LANES].labels[i % LANES] << 32) | i
                            at += 1
                    qsort(order, at, sizeof(int64_t), by_number)
                    for i in range(at):
                        labels[n + i] = <int32_t> (order[i] >> 32)
                        place = order[i] & <int64_t> 0xffffffff
                        weights[n + i] = t.buckets[place // LANES].weights[place % LANES]
                        slopes[n + i] = t.buckets[place // LANES].slopes[place % LANES]
                n += t.length
        free(order)
        return labels_, weights_, slopes_

    @classmethod
    def from_arrays(cls, const int64_t[::1] indptr, const int32_t[::1] labels, const float[::1] weights,
                    const float[::1] slopes):
        """Return a store that points into what `arrays` gave."""
        cdef PairTables store = cls()
        cdef int64_t f
        store.ensure_features(indptr.shape[0] - 1)
        for f in range(store.n_features):
            store.tables[f].start = indptr[f]
            store.tables[f].length = <int32_t> (indptr[f + 1] - indptr[f])
        store.n_pairs = store.n_borrowed = labels.shape[0]
        if store.n_pairs:
            store._borrowed = (labels, weights, slopes)
            store.labels, store.weights, store.slopes = &labels[0], &weights[0], &slopes[0]
        return store

    def copy(self):
        """Return a store of its own with the same pairs."""
        return PairTables.from_arrays(*self.arrays())

    def kept(self, wanted):
        """Return a store of the wanted features alone, numbered anew in their order."""
        indptr, *columns = self.arrays()
        wanted, lengths = wanted[: self.n_features], np.diff(indptr)
        chosen = np.repeat(wanted, lengths)
        kept_indptr = np.concatenate([[0], np.cumsum(lengths[wanted])]).astype(np.int64)
        return PairTables.from_arrays(kept_indptr, *(column[chosen] for column in columns))

    def __reduce__(self):
        return PairTables.from_arrays, self.arrays()


cdef int64_t n_at_least(const Table* t, double least) noexcept nogil:
    """Count the pairs of a table whose weight is not nearer to 0."""
    cdef int64_t i, j, n = 0
    cdef const Bucket* b
    for i in range(n_buckets_of(t)):
        b = &t.buckets[i]
        for j in range(LANES):
            n += b.labels[j] != -1 and not -least < b.weights[j] < least
    return n


cdef void refill(Table* t, const Table* old, double least) noexcept nogil:
    """Put the pairs of an old table whose weight is not nearer to 0 into one that is empty."""
    cdef int64_t i, j
    cdef const Bucket* b
    for i in range(n_buckets_of(old)):
        b = &old.buckets[i]
        for j in range(LANES):
            if b.labels[j] == -1:
                break
            if not -least < b.weights[j] < least:
                put(t, b.labels[j], b.weights[j], b.slopes[j], b.traces[j])


cdef int by_number(const void* a, const void* b) noexcept nogil:
    cdef int64_t first = (<const int64_t*> a)[0], second = (<const int64_t*> b)[0]
    return (first > second) - (first < second)


cdef inline Table* table_at(PairTables store, const int32_t[::1] indices, int64_t p, int64_t start) except NULL nogil:
    """The table of the feature at place p of a row; before the first one comes what all rows have."""
    cdef int64_t f = 0 if p < start else <int64_t> indices[p] + 1
    if CHECKED and not 0 <= f < store.n_features:
        out_of_range("feature outside the pairs")
    return &store.tables[f]


cdef inline bint is_known(PairTables store, const int32_t[::1] indices, const double[::1] data, int64_t p,
                          int64_t start) noexcept nogil:
    """Tell whether place p of a row has a value, and a table."""
    if p < start:
        return store.n_features > 0
    return indices[p] + 1 < store.n_features and data[p] >= SMALLEST


cdef void ask_for_pairs(PairTables store, const int32_t[::1] indices, int64_t start, int64_t stop,
                        const int32_t* labels, int64_t n) noexcept nogil:
    """Ask memory for the pairs of n > 0 labels and a row's features, which will be weighed soon."""
    cdef int64_t p, i
    cdef const Table* t
    for p in range(start, stop):
        if indices[p] + 1 < store.n_features:
            t = &store.tables[indices[p] + 1]
            if t.buckets != NULL:
                for i in range(n if t.mask else 1):
                    prefetch(&t.buckets[home_of(labels[i], t.mask)])


cdef int weigh(PairTables store, const int32_t[::1] indices, const double[::1] data, int64_t start, int64_t stop,
               const int32_t* labels, double* scores, int64_t n) except -1 nogil:
    """Weigh n labels for a row."""
    cdef int64_t p, i
    cdef double value
    cdef const Table* t
    for i in range(n):
        scores[i] = 0.0
    for p in range(start - 1, stop):
        if not is_known(store, indices, data, p, start):
            continue
        t = table_at(store, indices, p, start)
        value = COMMON if p < start else data[p]
        if t.buckets != NULL:
            for i in range(n):
                scores[i] += value * owned_weight(t, labels[i])
        elif t.length:
            for i in range(n):
                scores[i] += value * borrowed_weight(store, t, labels[i])
    return 0


cdef inline void move(Place at, double gradient, double row) noexcept nogil:
    """One AdaGrad step of a pair."""
    cdef double slope = at.bucket.slopes[at.lane] + gradient * gradient
    cdef double change = STEP * gradient / sqrt(slope + STEP_START)
    at.bucket.slopes[at.lane] = slope_to_store(slope)
    at.bucket.weights[at.lane] = weight_to_store(at.bucket.weights[at.lane] + change)
    at.bucket.traces[at.lane] = weight_to_store(at.bucket.traces[at.lane] + row * change)


cdef int change_all(PairTables store, const int32_t[::1] indices, const double[::1] data, int64_t start, int64_t stop,
                    int32_t* labels, double* amounts, int64_t n, double row) except -1 nogil:
    """Add value * amount to the weights of a row's features, a step of AdaGrad each.

    Amounts of 0 change nothing, and are taken out of both lists.
    """
    cdef int64_t p, i, n_moved = 0
    cdef double value
    cdef Table* t
    cdef Place at
    for i in range(n):
        if amounts[i] != 0.0:
            labels[n_moved], amounts[n_moved] = labels[i], amounts[i]
            n_moved += 1
    if n_moved == 0:
        return 0
    for p in range(start - 1, stop):        # to weigh only the first halves were asked for
        if is_known(store, indices, data, p, start):
            t = table_at(store, indices, p, start)
            if t.buckets != NULL:
                for i in range(n_moved if t.mask else 1):
                    prefetch(t.buckets[home_of(labels[i], t.mask)].slopes)
    for p in range(start - 1, stop):
        if not is_known(store, indices, data, p, start):
            continue
        t = table_at(store, indices, p, start)
        value = COMMON if p < start else data[p]
        if t.buckets == NULL:
            store.own(t, 1)
        for i in range(n_moved):
            at = find_place(t, labels[i])
            if at.bucket.labels[at.lane] != labels[i]:
                store.add(t, labels[i], &at)
            move(at, value * amounts[i], row)
    return 0


cdef int learn_candidates(PairTables store, const int32_t[::1] indices, const double[::1] data, int64_t start,
                          int64_t stop, const Candidates* c, int64_t n_wrong, int64_t n_true,
                          double row) except -1 nogil:
    """Learn from a row, whose wrong candidates are given and then its true labels.

    Of the wrong ones only those learn that weigh most, of equals the earlier ones.
    """
    cdef int64_t i, heaviest
    cdef double most
    weigh(store, indices, data, start, stop, c.labels, c.weights, n_wrong + n_true)
    for i in range(n_wrong):
        c.amounts[i] = 0.0
    for i in range(n_wrong, n_wrong + n_true):
        c.amounts[i] = max(0.0, TRUE_WEIGHT - c.weights[i])
    for _ in range(max(<int64_t> RIVALS, RIVALS_A_LABEL * n_true)):
        heaviest, most = -1, 0.0
        for i in range(n_wrong):
            if c.weights[i] > most and c.amounts[i] == 0.0:
                heaviest, most = i, c.weights[i]
        if heaviest < 0:
            break
        c.amounts[heaviest] = -most
    return change_all(store, indices, data, start, stop, c.labels, c.amounts, n_wrong + n_true, row)


cdef int reject_candidate(PairTables store, const int32_t[::1] indices, const double[::1] data, int64_t start,
                          int64_t stop, int32_t label, double row) except -1 nogil:
    """Push a label down whatever it weighs for a row."""
    cdef double amount = 0.0
    weigh(store, indices, data, start, stop, &label, &amount, 1)
    amount = -1.0 - max(0.0, amount)
    return change_all(store, indices, data, start, stop, &label, &amount, 1, row)


def pairs_teach(PairTables store, Votes votes, const int32_t[::1] indices, const double[::1] data,
                const int32_t[::1] wrong, const int32_t[::1] true):
    """Learn from one row what its labels are, and which others must not stand before them."""
    cdef int64_t i, n = wrong.shape[0], m = true.shape[0]
    cdef Candidates* c = votes.make_candidates(n + m)
    store.ensure_features((<int64_t> np.max(indices) + 1 if indices.shape[0] else 0) + 1)
    for i in range(n):
        c.labels[i] = wrong[i]
    for i in range(m):
        c.labels[n + i] = true[i]
    learn_candidates(store, indices, data, 0, indices.shape[0], c, n, m, 0.0)


def pairs_explain(PairTables store, const int32_t[::1] indices, const double[::1] data, int32_t label):
    """Return what each place of a row adds to a label's weight, and what all rows have for it."""
    cdef int64_t p
    cdef double prior = 0.0
    weights_ = np.zeros(indices.shape[0])
    cdef double[::1] weights = weights_
    for p in range(-1, indices.shape[0]):
        if is_known(store, indices, data, p, 0):
            if p < 0:
                prior = COMMON * weight_in(store, table_at(store, indices, p, 0), label)
            else:
                weights[p] = data[p] * weight_in(store, table_at(store, indices, p, 0), label)
    return weights_, prior
