"""Re-rank candidates: a weight for each (feature, label) pair, looked up for the few labels that an index recalls.

Every row has a bias feature of the value BIAS. It is feature 0, and the other features follow it. The second-stage
score of a label is the sum of value * weight over the row's features. By the squared hinge, true labels should score
2 and wrong candidates at most 0. The weights are learned by AdaGrad.

Each feature has a small hash table from labels to pairs, because a row looks up few labels and changes fewer. A row
costs O(active features x candidates), whatever the size of the tables. Eight labels and their weights fill a cache
line and are compared together: whether a label is present is unpredictable, so no branch depends on it. A store that
was opened from a file points into its sorted arrays until a feature learns, so that processes share the mapped memory.
"""

from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc, qsort, realloc
from libc.string cimport memset

from abound.kernels.lists cimport FLOAT_MIN, grad_sq_to_store, weight_to_store
from abound.kernels.pool cimport BOUNDS_CHECKS, advise_huge_pages, out_of_memory, out_of_range, prefetch
from abound.kernels.votes cimport RIVALS_PER_LABEL, Candidates, Votes

import numpy as np

cdef enum:
    PREFETCH_DISTANCE = 8                   # how many tables ahead a walk over all of them prefetches
    RIVALS = 5                              # the minimum of wrong labels that learn from a row
cdef int64_t MAX_LOAD_EIGHTHS = 6           # maximum load, in eighths of the lanes, if there are several buckets
cdef int64_t MIN_ARENA = 1 << 12
cdef int64_t MAX_ARENA = 1 << 25
cdef double TRUE_SCORE = 2.0                # target score of true labels; wrong ones should not exceed 0
cdef double BIAS = 0.1                      # value of the bias feature
cdef double STEP = 1.4                      # AdaGrad's learning rate, and below it the initial sum of squares
cdef double STEP_START = 30.0
cdef double PRUNE_BELOW = 0.05              # weights nearer to 0 are dropped when the store is pruned

PRUNING_THRESHOLD = PRUNE_BELOW
BIAS_VALUE, LEARNING_RATE, INITIAL_GRAD_SQ = BIAS, STEP, STEP_START  # also used by the linear model

cdef int64_t BUCKET_BYTES = sizeof(Bucket)
cdef int64_t BORROWED_BYTES = sizeof(int32_t) + 2 * sizeof(float)


cdef inline bint fits_load(int64_t n_pairs, int64_t n_buckets) noexcept nogil:
    """Tell whether `n_pairs` leave most buckets with an empty lane, so that a search for an absent label ends soon."""
    return n_pairs < LANES if n_buckets == 1 else 8 * n_pairs <= MAX_LOAD_EIGHTHS * n_buckets * LANES


cdef inline int64_t buckets_for(int64_t n_pairs) noexcept nogil:
    """Return how many buckets `n_pairs` need."""
    cdef int64_t n = 1
    while not fits_load(n_pairs, n):
        n *= 2
    return n


cdef inline int size_of(int64_t n_buckets) noexcept nogil:
    """Return the size class of a block of `n_buckets`, 0 if there are none."""
    cdef int size = 0
    while (<int64_t> 1 << size) < n_buckets:
        size += 1
    return size


cdef inline int64_t n_buckets_of(const Table* t) noexcept nogil:
    return 0 if t.buckets == NULL else <int64_t> t.mask + 1


cdef inline PairSlot find_slot(const Table* t, int32_t label) noexcept nogil:
    """Return the slot of a label in a table with buckets, or the empty slot where it belongs."""
    cdef int64_t at = home_of(label, t.mask)
    cdef int64_t lane = lane_of(t.buckets[at].labels, label)
    cdef PairSlot slot
    while lane < 0 and is_full(&t.buckets[at]):
        at = (at + 1) & t.mask
        lane = lane_of(t.buckets[at].labels, label)
    if lane < 0:
        lane = n_taken(&t.buckets[at])
    slot.bucket, slot.lane = &t.buckets[at], lane
    return slot


cdef inline void put(Table* t, int32_t label, float weight, float grad_sq, float avg_sum) noexcept nogil:
    """Insert a pair that is not in the table."""
    cdef int64_t at = home_of(label, t.mask), lane
    cdef Bucket* b
    while is_full(&t.buckets[at]):
        at = (at + 1) & t.mask
    b = &t.buckets[at]
    lane = n_taken(b)
    b.labels[lane], b.weights[lane], b.grad_sq[lane], b.avg_sums[lane] = label, weight, grad_sq, avg_sum


cdef inline void prefetch_table(const Table* t) noexcept nogil:
    """Prefetch the first bucket of a table."""
    if t.buckets != NULL:
        prefetch(t.buckets[0].labels)
        prefetch(t.buckets[0].grad_sq)


cdef class PairTables:
    """The weights of (feature, label) pairs, looked up label by label."""

    def __dealloc__(self):
        cdef int64_t i
        for i in range(self.n_arenas):
            free(self.arenas[i])
        free(self.arenas)
        free(self.tables)

    cdef int ensure_features(self, int64_t n) except -1 nogil:
        """Make features 0 .. n-1 exist; new ones have no pairs."""
        cdef Table* tables
        cdef int64_t capacity
        if n > self.capacity:
            capacity = max(n, self.capacity + self.capacity // 2)
            tables = <Table*> realloc(self.tables, capacity * sizeof(Table))
            if tables == NULL:
                out_of_memory("more features")
            self.tables, self.capacity = tables, capacity
        if n > self.n_features:
            memset(self.tables + self.n_features, 0, (n - self.n_features) * sizeof(Table))
            self.n_features = n
        return 0

    cdef void* take_block(self, int size) except NULL nogil:
        """Return a block of 1 << size buckets: a free one, half of a larger one, or a fresh one."""
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
            for larger in range(N_SIZES - 1, -1, -1):  # the rest of the last arena becomes free blocks
                n = BUCKET_BYTES << larger
                if self.fresh_bytes >= n:
                    self.give_block(self.fresh, larger)
                    self.fresh, self.fresh_bytes = self.fresh + n, self.fresh_bytes - n
            n = max(n_bytes, min(MAX_ARENA, max(MIN_ARENA, self.arena_bytes)))
            arenas = <void**> realloc(self.arenas, (self.n_arenas + 1) * sizeof(void*))
            if arenas != NULL:
                self.arenas = arenas
                arenas[self.n_arenas] = malloc(n + BUCKET_BYTES)
            if arenas == NULL or arenas[self.n_arenas] == NULL:
                out_of_memory("more weights")
            advise_huge_pages(arenas[self.n_arenas], n + BUCKET_BYTES)
            self.fresh, self.fresh_bytes = <char*> arenas[self.n_arenas], n
            self.fresh += -<int64_t> self.fresh & (BUCKET_BYTES - 1)  # half a bucket is a cache line
            self.n_arenas += 1
            self.arena_bytes += n
        block = self.fresh
        self.fresh, self.fresh_bytes = self.fresh + n_bytes, self.fresh_bytes - n_bytes
        return block

    cdef void give_block(self, void* block, int size) noexcept nogil:
        """Return a block to the free list."""
        cdef Spare* spare = <Spare*> block
        if block != NULL:
            spare.next = self.spares[size]
            self.spares[size] = spare

    cdef int make_buckets(self, Table* t, int64_t n) except -1 nogil:
        """Give a table `n` empty buckets; the caller keeps the old ones."""
        cdef int64_t i
        cdef Bucket* buckets = <Bucket*> self.take_block(size_of(n))
        for i in range(n):
            memset(buckets[i].labels, 0xff, sizeof(buckets[i].labels))
            memset(buckets[i].weights, 0, sizeof(buckets[i].weights))
        t.buckets, t.mask = buckets, <int32_t> (n - 1)
        return 0

    cdef int make_private(self, Table* t, int64_t n_more) except -1 nogil:
        """Copy a table into buckets of the store, with space for `n_more` pairs."""
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
                put(t, self.labels[i], self.weights[i], self.grad_sq[i], 0.0)
        return 0

    cdef int add(self, Table* t, int32_t label, PairSlot* at) except -1 nogil:
        """Add the pair of a label to a table with buckets, in the slot where it belongs, with weight 0."""
        if not fits_load(t.length + 1, n_buckets_of(t)):
            self.make_private(t, 1)
            at[0] = find_slot(t, label)
        at.bucket.labels[at.lane] = label
        at.bucket.grad_sq[at.lane] = at.bucket.avg_sums[at.lane] = 0.0
        t.length += 1
        self.n_pairs += 1
        return 0

    cdef int drop(self, Table* t, double least) except -1 nogil:
        """Drop the pairs of a table whose weight is nearer to 0 than `least`."""
        cdef int64_t n_kept
        cdef Table old
        self.make_private(t, 0)
        old, n_kept = t[0], n_at_least(t, least)
        if n_kept == t.length:
            return 0
        self.make_buckets(t, buckets_for(n_kept))
        self.n_pairs -= t.length - n_kept
        t.length = <int32_t> n_kept
        refill(t, &old, least)
        self.give_block(old.buckets, size_of(n_buckets_of(&old)))
        return 0

    cdef int prune_tables(self) except -1 nogil:
        """Drop pairs with a negligible weight."""
        cdef int64_t f
        for f in range(self.n_features):
            prefetch_table(&self.tables[min(f + PREFETCH_DISTANCE, self.n_features - 1)])
            if self.tables[f].length:
                self.drop(&self.tables[f], PRUNE_BELOW)
        return 0

    def prune(self):
        """Drop pairs with a negligible weight, and return the store."""
        self.prune_tables()
        return self

    # -- averaging over a pass ---------------------------------------------------------------------

    def reset_averages(self):
        """Start a new average."""
        cdef int64_t f, i
        cdef Table* t
        for f in range(self.n_features):
            t = &self.tables[f]
            for i in range(n_buckets_of(t)):
                memset(t.buckets[i].avg_sums, 0, sizeof(t.buckets[i].avg_sums))

    def average_weights(self, double n_rows):
        """Replace each weight by its mean over the rows numbered 0 .. n_rows-1 since `reset_averages`."""
        cdef int64_t f, i, j
        cdef Bucket* b
        for f in range(self.n_features):
            prefetch_table(&self.tables[min(f + PREFETCH_DISTANCE, self.n_features - 1)])
            for i in range(n_buckets_of(&self.tables[f])):
                b = &self.tables[f].buckets[i]
                for j in range(LANES):
                    if b.labels[j] == -1:
                        break
                    b.weights[j] = weight_to_store(b.weights[j] - b.avg_sums[j] / n_rows)
                    b.avg_sums[j] = 0.0

    # -- in and out --------------------------------------------------------------------------------

    @property
    def nbytes(self):
        """Bytes of memory in use, including the borrowed arrays."""
        return self.capacity * sizeof(Table) + self.arena_bytes + self.n_borrowed * BORROWED_BYTES

    def indptr(self):
        """Return where the pairs of each feature begin."""
        cdef int64_t f
        indptr_ = np.zeros(self.n_features + 1, np.int64)
        cdef int64_t[::1] indptr = indptr_
        for f in range(self.n_features):
            indptr[f + 1] = indptr[f] + self.tables[f].length
        return indptr_

    def arrays(self):
        """Return (indptr, labels, weights, grad_sq) by feature, then label."""
        return self.indptr(), *self.part(0, self.n_features)

    def part(self, int64_t start, int64_t stop):
        """Return (labels, weights, grad_sq) of features start .. stop-1, by feature, then label."""
        cdef int64_t f, i, n = 0, at, slot, longest = 1
        cdef Table* t
        cdef int64_t* order
        if not 0 <= start <= stop <= self.n_features:
            raise ValueError(f"features {start} to {stop} are outside the {self.n_features} known ones")
        for f in range(start, stop):
            n += self.tables[f].length
            longest = max(longest, self.tables[f].length)
        labels_, weights_, grad_sq_ = np.empty(n, np.int32), np.empty(n, np.float32), np.empty(n, np.float32)
        cdef int32_t[::1] labels = labels_
        cdef float[::1] weights = weights_, grad_sq = grad_sq_
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
                        grad_sq[n + i] = self.grad_sq[at]
                else:
                    at = 0
                    for i in range(LANES * n_buckets_of(t)):
                        if t.buckets[i // LANES].labels[i % LANES] != -1:  # label and slot in one number, for sorting
                            order[at] = (<int64_t> t.buckets[i // LANES].labels[i % LANES] << 32) | i
                            at += 1
                    qsort(order, at, sizeof(int64_t), by_number)
                    for i in range(at):
                        labels[n + i] = <int32_t> (order[i] >> 32)
                        slot = order[i] & <int64_t> 0xffffffff
                        weights[n + i] = t.buckets[slot // LANES].weights[slot % LANES]
                        grad_sq[n + i] = t.buckets[slot // LANES].grad_sq[slot % LANES]
                n += t.length
        free(order)
        return labels_, weights_, grad_sq_

    @classmethod
    def from_arrays(cls, const int64_t[::1] indptr, const int32_t[::1] labels, const float[::1] weights,
                    const float[::1] grad_sq):
        """Return a store that points into the result of `arrays`."""
        cdef PairTables store = cls()
        cdef int64_t f
        store.ensure_features(indptr.shape[0] - 1)
        for f in range(store.n_features):
            store.tables[f].start = indptr[f]
            store.tables[f].length = <int32_t> (indptr[f + 1] - indptr[f])
        store.n_pairs = store.n_borrowed = labels.shape[0]
        if store.n_pairs:
            store._borrowed = (labels, weights, grad_sq)
            store.labels, store.weights, store.grad_sq = &labels[0], &weights[0], &grad_sq[0]
        return store

    def copy(self):
        """Return an independent store with the same pairs."""
        return PairTables.from_arrays(*self.arrays())

    def kept(self, wanted):
        """Return a store of the wanted features only, renumbered in their order."""
        indptr, *columns = self.arrays()
        wanted, lengths = wanted[: self.n_features], np.diff(indptr)
        chosen = np.repeat(wanted, lengths)
        kept_indptr = np.concatenate([[0], np.cumsum(lengths[wanted])]).astype(np.int64)
        return PairTables.from_arrays(kept_indptr, *(column[chosen] for column in columns))

    def __reduce__(self):
        return PairTables.from_arrays, self.arrays()


cdef int64_t n_at_least(const Table* t, double least) noexcept nogil:
    """Count the pairs of a table whose weight is not nearer to 0 than `least`."""
    cdef int64_t i, j, n = 0
    cdef const Bucket* b
    for i in range(n_buckets_of(t)):
        b = &t.buckets[i]
        for j in range(LANES):
            n += b.labels[j] != -1 and not -least < b.weights[j] < least
    return n


cdef void refill(Table* t, const Table* old, double least) noexcept nogil:
    """Insert the pairs of an old table whose weight is not nearer to 0 than `least` into an empty table."""
    cdef int64_t i, j
    cdef const Bucket* b
    for i in range(n_buckets_of(old)):
        b = &old.buckets[i]
        for j in range(LANES):
            if b.labels[j] == -1:
                break
            if not -least < b.weights[j] < least:
                put(t, b.labels[j], b.weights[j], b.grad_sq[j], b.avg_sums[j])


cdef int by_number(const void* a, const void* b) noexcept nogil:
    cdef int64_t first = (<const int64_t*> a)[0], second = (<const int64_t*> b)[0]
    return (first > second) - (first < second)


cdef inline Table* table_at(PairTables store, const int32_t[::1] indices, int64_t p, int64_t start) except NULL nogil:
    """Return the table of the feature at position p of a row; position start - 1 is the bias."""
    cdef int64_t f = 0 if p < start else <int64_t> indices[p] + 1
    if BOUNDS_CHECKS and not 0 <= f < store.n_features:
        out_of_range("feature outside the pairs")
    return &store.tables[f]


cdef inline bint is_known(PairTables store, const int32_t[::1] indices, const double[::1] data, int64_t p,
                          int64_t start) noexcept nogil:
    """Tell whether position p of a row has a value and a table."""
    if p < start:
        return store.n_features > 0
    return indices[p] + 1 < store.n_features and data[p] >= FLOAT_MIN


cdef void prefetch_pairs(PairTables store, const int32_t[::1] indices, int64_t start, int64_t stop,
                        const int32_t* labels, int64_t n) noexcept nogil:
    """Prefetch the pairs of n > 0 labels and a row's features."""
    cdef int64_t p, i
    cdef const Table* t
    for p in range(start, stop):
        if indices[p] + 1 < store.n_features:
            t = &store.tables[indices[p] + 1]
            if t.buckets != NULL:
                for i in range(n if t.mask else 1):
                    prefetch(&t.buckets[home_of(labels[i], t.mask)])


cdef int score_pairs(PairTables store, const int32_t[::1] indices, const double[::1] data, int64_t start, int64_t stop,
               const int32_t* labels, double* scores, int64_t n) except -1 nogil:
    """Score n labels for a row."""
    cdef int64_t p, i
    cdef double value
    cdef const Table* t
    for i in range(n):
        scores[i] = 0.0
    for p in range(start - 1, stop):
        if not is_known(store, indices, data, p, start):
            continue
        t = table_at(store, indices, p, start)
        value = BIAS if p < start else data[p]
        if t.buckets != NULL:
            for i in range(n):
                scores[i] += value * owned_weight(t, labels[i])
        elif t.length:
            for i in range(n):
                scores[i] += value * borrowed_weight(store, t, labels[i])
    return 0


cdef inline void adagrad_step(PairSlot at, double gradient, double row, double scale) noexcept nogil:
    """Apply one AdaGrad step to a pair, scaled by the weight of its row."""
    cdef double grad_sq = at.bucket.grad_sq[at.lane] + scale * gradient * gradient
    cdef double change = scale * STEP * gradient / sqrt(grad_sq + STEP_START)
    at.bucket.grad_sq[at.lane] = grad_sq_to_store(grad_sq)
    at.bucket.weights[at.lane] = weight_to_store(at.bucket.weights[at.lane] + change)
    at.bucket.avg_sums[at.lane] = weight_to_store(at.bucket.avg_sums[at.lane] + row * change)


cdef int update_pairs(PairTables store, const int32_t[::1] indices, const double[::1] data, int64_t start, int64_t stop,
                    int32_t* labels, double* amounts, int64_t n, double row, double scale) except -1 nogil:
    """Add value * amount to the weights of a row's features, one AdaGrad step each.

    Amounts of 0 change nothing and are removed from both lists.
    """
    cdef int64_t p, i, n_moved = 0
    cdef double value
    cdef Table* t
    cdef PairSlot at
    for i in range(n):
        if amounts[i] != 0.0:
            labels[n_moved], amounts[n_moved] = labels[i], amounts[i]
            n_moved += 1
    if n_moved == 0:
        return 0
    for p in range(start - 1, stop):        # scoring prefetched only the first half of each bucket
        if is_known(store, indices, data, p, start):
            t = table_at(store, indices, p, start)
            if t.buckets != NULL:
                for i in range(n_moved if t.mask else 1):
                    prefetch(t.buckets[home_of(labels[i], t.mask)].grad_sq)
    for p in range(start - 1, stop):
        if not is_known(store, indices, data, p, start):
            continue
        t = table_at(store, indices, p, start)
        value = BIAS if p < start else data[p]
        if t.buckets == NULL:
            store.make_private(t, 1)
        for i in range(n_moved):
            at = find_slot(t, labels[i])
            if at.bucket.labels[at.lane] != labels[i]:
                store.add(t, labels[i], &at)
            adagrad_step(at, value * amounts[i], row, scale)
    return 0


cdef int learn_candidates(PairTables store, const int32_t[::1] indices, const double[::1] data, int64_t start,
                          int64_t stop, const Candidates* c, int64_t n_wrong, int64_t n_true, double row,
                          double scale) except -1 nogil:
    """Learn from a row: first its wrong candidates, then its true labels.

    Of the wrong candidates only those with the highest scores learn; of equal scores, the earlier ones.
    """
    cdef int64_t i, heaviest
    cdef double most
    score_pairs(store, indices, data, start, stop, c.labels, c.weights, n_wrong + n_true)
    for i in range(n_wrong):
        c.amounts[i] = 0.0
    for i in range(n_wrong, n_wrong + n_true):
        c.amounts[i] = max(0.0, TRUE_SCORE - c.weights[i])
    for _ in range(max(<int64_t> RIVALS, RIVALS_PER_LABEL * n_true)):
        heaviest, most = -1, 0.0
        for i in range(n_wrong):
            if c.weights[i] > most and c.amounts[i] == 0.0:
                heaviest, most = i, c.weights[i]
        if heaviest < 0:
            break
        c.amounts[heaviest] = -most
    return update_pairs(store, indices, data, start, stop, c.labels, c.amounts, n_wrong + n_true, row, scale)


cdef int reject_candidate(PairTables store, const int32_t[::1] indices, const double[::1] data, int64_t start,
                          int64_t stop, int32_t label, double row, double scale) except -1 nogil:
    """Push a label down for a row, whatever its score."""
    cdef double amount = 0.0
    score_pairs(store, indices, data, start, stop, &label, &amount, 1)
    amount = -1.0 - max(0.0, amount)
    return update_pairs(store, indices, data, start, stop, &label, &amount, 1, row, scale)


def pairs_teach(PairTables store, Votes votes, const int32_t[::1] indices, const double[::1] data,
                const int32_t[::1] wrong, const int32_t[::1] true):
    """Learn from one row which labels are right and which must not rank before them."""
    cdef int64_t i, n = wrong.shape[0], m = true.shape[0]
    cdef Candidates* c = votes.make_candidates(n + m)
    store.ensure_features((<int64_t> np.max(indices) + 1 if indices.shape[0] else 0) + 1)
    for i in range(n):
        c.labels[i] = wrong[i]
    for i in range(m):
        c.labels[n + i] = true[i]
    learn_candidates(store, indices, data, 0, indices.shape[0], c, n, m, 0.0, 1.0)


def pairs_explain(PairTables store, const int32_t[::1] indices, const double[::1] data, int32_t label):
    """Return what each position of a row adds to a label's second-stage score, and the label's bias."""
    cdef int64_t p
    cdef double prior = 0.0
    weights_ = np.zeros(indices.shape[0])
    cdef double[::1] weights = weights_
    for p in range(-1, indices.shape[0]):
        if is_known(store, indices, data, p, 0):
            if p < 0:
                prior = BIAS * weight_in(store, table_at(store, indices, p, 0), label)
            else:
                weights[p] = data[p] * weight_in(store, table_at(store, indices, p, 0), label)
    return weights_, prior
