"""One weight for each (feature, label) pair that was ever updated.

The weights are stored by feature: a list sorted by label or, if every label is scored and many have a weight, a plain
array over the labels. Weights are single precision. Each may have an auxiliary value beside it: AdaGrad's sum of
squared gradients, or the sum of row * change that averaging needs.
"""

from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy, memset

from abound.kernels.lists cimport grad_sq_to_store, weight_to_store
from abound.kernels.pool cimport BOUNDS_CHECKS, out_of_memory, out_of_range, prefetch

import numpy as np

cdef enum:
    DENSE_SHARE = 3                         # a column is dense if at least a third of the labels have a weight
    MIN_DENSE_LABELS = 16
    SEARCH_FACTOR = 8                       # with this many times fewer changes than pairs, search each by bisection
    PREFETCH_DISTANCE = 8                   # how many columns ahead a walk over two stores prefetches

cdef inline void add(float* weights, float* aux, int64_t at, double added, const Step* step) noexcept nogil:
    """Add to a weight, either directly, with row * added in its auxiliary value, or as an AdaGrad step."""
    cdef double grad_sq
    if step.size > 0.0:
        grad_sq = aux[at] + step.scale * added * added
        aux[at] = grad_sq_to_store(grad_sq)
        weights[at] = weight_to_store(weights[at] + step.scale * step.size * added / sqrt(grad_sq + step.start))
        return
    added *= step.scale
    weights[at] = weight_to_store(weights[at] + added)
    if aux != NULL:
        aux[at] = weight_to_store(aux[at] + step.row * added)


cdef class Prototypes:
    """The weights of (feature, label) pairs, each with an optional auxiliary value."""

    def __init__(self, *, bint has_aux=False, bint may_be_dense=False):
        self.has_aux, self.may_be_dense = has_aux, may_be_dense

    def __dealloc__(self):
        cdef int64_t f
        for f in range(self.n_features):
            free(self.columns[f].block)
        free(self.columns)

    cdef int ensure_features(self, int64_t n) except -1 nogil:
        """Make features 0 .. n-1 exist; new ones have no pairs."""
        cdef Column* columns
        cdef int64_t capacity
        if n > self.column_capacity:
            capacity = max(n, self.column_capacity + self.column_capacity // 2)
            columns = <Column*> realloc(self.columns, capacity * sizeof(Column))
            if columns == NULL:
                out_of_memory("more features")
            self.columns, self.column_capacity = columns, capacity
        if n > self.n_features:
            memset(self.columns + self.n_features, 0, (n - self.n_features) * sizeof(Column))
            self.n_features = n
        return 0

    cdef int widen(self, Column* column, int64_t capacity, bint dense) except -1 nogil:
        """Enlarge a column to `capacity` pairs, and make it dense if `dense` is true."""
        cdef int64_t planes = (1 if dense else 2) + self.has_aux, i, n = column.length
        cdef Column wider
        wider.capacity, wider.dense = <int32_t> capacity, dense
        wider.length = column.length
        wider.block = calloc(capacity * planes, 4) if dense else malloc(capacity * planes * 4)
        if wider.block == NULL:
            out_of_memory("more weights")
        if n and dense and not column.dense:
            for i in range(n):
                weights_of(&wider)[labels_of(column)[i]] = weights_of(column)[i]
                if self.has_aux:
                    aux_of(&wider)[labels_of(column)[i]] = aux_of(column)[i]
            wider.length = labels_of(column)[n - 1] + 1
            self.n_pairs += wider.length - n
        elif n:
            if not dense:
                memcpy(labels_of(&wider), labels_of(column), n * sizeof(int32_t))
            memcpy(weights_of(&wider), weights_of(column), n * sizeof(float))
            if self.has_aux:
                memcpy(aux_of(&wider), aux_of(column), n * sizeof(float))
        self.bytes_in_blocks += capacity * planes * 4
        self.bytes_in_blocks -= column.capacity * ((1 if column.dense else 2) + self.has_aux) * 4
        free(column.block)
        column[0] = wider
        return 0

    cdef int apply(self, int64_t f, double value, Change* changes, int64_t n_changes, Step* step,
                   int64_t n_labels) except -1 nogil:
        """Add value * amount to the weights of a feature, for changes sorted by label."""
        cdef Column* c = &self.columns[f]
        cdef int64_t i, missing = n_changes, capacity
        cdef float* weights
        cdef float* aux
        if BOUNDS_CHECKS and not 0 <= f < self.n_features:
            out_of_range("feature outside the prototypes")
        if c.dense:
            return self.apply_dense(c, value, changes, n_changes, step, n_labels)
        if c.length:
            missing = find_positions(labels_of(c), c.length, changes, n_changes)
        else:
            for i in range(n_changes):
                changes[i].position = -1
        if missing:
            if (self.may_be_dense and n_labels >= MIN_DENSE_LABELS
                    and (c.length + missing) * DENSE_SHARE >= n_labels):
                self.widen(c, n_labels, True)
                return self.apply_dense(c, value, changes, n_changes, step, n_labels)
            if c.length + missing > c.capacity:
                capacity = c.length + missing
                self.widen(c, capacity + (capacity // 4 + 2 if c.length else 0), False)
            self.insert(c, changes, n_changes, missing)
        weights, aux = weights_of(c), aux_of(c) if self.has_aux else NULL
        for i in range(n_changes):
            add(weights, aux, changes[i].position, value * changes[i].amount, step)
        return 0

    cdef int apply_dense(self, Column* c, double value, Change* changes, int64_t n_changes, Step* step,
                         int64_t n_labels) except -1 nogil:
        """Add to the weights of a dense column."""
        cdef int64_t i, last = changes[n_changes - 1].label + 1
        cdef float* weights
        cdef float* aux
        if last > c.capacity:
            self.widen(c, max(last, min(n_labels, c.capacity + c.capacity // 2)), True)
        weights, aux = weights_of(c), aux_of(c) if self.has_aux else NULL
        if last > c.length:
            self.n_pairs += last - c.length
            c.length = <int32_t> last
        for i in range(n_changes):
            add(weights, aux, changes[i].label, value * changes[i].amount, step)
        return 0

    cdef void insert(self, Column* c, Change* changes, int64_t n_changes, int64_t missing) noexcept nogil:
        """Insert the missing labels with weight 0, from the end, so that each pair moves once."""
        cdef int32_t* labels = labels_of(c)
        cdef float* weights = weights_of(c)
        cdef float* aux = aux_of(c) if self.has_aux else NULL
        cdef int64_t i = n_changes - 1, at = c.length - 1, target = c.length + missing - 1  # of the next pair
        c.length += <int32_t> missing
        self.n_pairs += missing
        while missing:
            if changes[i].position >= 0:    # everything up to the existing pair moves with it
                while at > changes[i].position:
                    move_pair(labels, weights, aux, at, target)
                    at, target = at - 1, target - 1
                move_pair(labels, weights, aux, at, target)
                changes[i].position = <int32_t> target
                at, target = at - 1, target - 1
            else:
                while at >= 0 and labels[at] > changes[i].label:
                    move_pair(labels, weights, aux, at, target)
                    at, target = at - 1, target - 1
                labels[target], weights[target] = changes[i].label, 0.0
                if aux != NULL:
                    aux[target] = 0.0
                changes[i].position = <int32_t> target
                target -= 1
                missing -= 1
            i -= 1

    # -- in and out --------------------------------------------------------------------------------

    @property
    def nbytes(self):
        """Bytes of memory in use."""
        return self.column_capacity * sizeof(Column) + self.bytes_in_blocks

    @property
    def n_dense(self):
        """Features whose weights are a plain array over the labels."""
        cdef int64_t f, n = 0
        for f in range(self.n_features):
            n += self.columns[f].dense
        return n

    def arrays(self):
        """Return (indptr, labels, weights), and the auxiliary values if any, by feature, then label.

        If columns may be dense, pairs whose values are all 0 are left out.
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
        aux_ = np.empty(n if self.has_aux else 0, np.float32)
        cdef int32_t[::1] labels = labels_
        cdef float[::1] weights = weights_, aux = aux_
        n = 0
        for f in range(self.n_features):
            c = &self.columns[f]
            for i in range(c.length):
                if self.is_kept(c, i):
                    labels[n] = <int32_t> i if c.dense else labels_of(c)[i]
                    weights[n] = weights_of(c)[i]
                    if self.has_aux:
                        aux[n] = aux_of(c)[i]
                    n += 1
        return (indptr_, labels_, weights_, aux_) if self.has_aux else (indptr_, labels_, weights_)

    cdef bint is_kept(self, const Column* c, int64_t i) noexcept nogil:
        """Tell whether a pair is part of the state."""
        return not self.may_be_dense or weights_of(c)[i] != 0.0 or (self.has_aux and aux_of(c)[i] != 0.0)

    @classmethod
    def from_arrays(cls, const int64_t[::1] indptr, const int32_t[::1] labels, const float[::1] weights,
                    int64_t n_labels, aux=None, *, bint may_be_dense=False):
        """Build a store from the result of `arrays`; columns get the same layout as after learning."""
        cdef Prototypes store = cls(has_aux=aux is not None, may_be_dense=may_be_dense)
        cdef const float[::1] aux_values = aux if store.has_aux else np.zeros(0, np.float32)
        cdef int64_t f, i, n, start, at
        cdef bint dense
        cdef Column* c
        store.ensure_features(indptr.shape[0] - 1)
        for f in range(indptr.shape[0] - 1):
            start, n = indptr[f], indptr[f + 1] - indptr[f]
            if n == 0:
                continue
            c = &store.columns[f]
            dense = may_be_dense and n_labels >= MIN_DENSE_LABELS and n * DENSE_SHARE >= n_labels
            store.widen(c, n_labels if dense else n, dense)
            c.length = <int32_t> (labels[start + n - 1] + 1 if dense else n)
            for i in range(n):
                at = labels[start + i] if dense else i
                if not dense:
                    labels_of(c)[i] = labels[start + i]
                weights_of(c)[at] = weights[start + i]
                if store.has_aux:
                    aux_of(c)[at] = aux_values[start + i]
            store.n_pairs += c.length
        return store

    def kept(self, wanted):
        """Return a store of the wanted features only, renumbered in their order."""
        indptr, labels, *values = self.arrays()
        wanted, lengths = wanted[: self.n_features], np.diff(indptr)
        chosen = np.repeat(wanted, lengths)
        kept_indptr = np.concatenate([[0], np.cumsum(lengths[wanted])]).astype(np.int64)
        labels, weights, *aux = (array[chosen] for array in (labels, *values))
        n_labels = int(labels.max(initial=-1)) + 1
        return Prototypes.from_arrays(kept_indptr, labels, weights, n_labels, *aux, may_be_dense=self.may_be_dense)

    def __reduce__(self):
        indptr, labels, weights, *aux = self.arrays()
        n_labels = int(labels.max(initial=-1)) + 1
        return rebuild, (self.may_be_dense, indptr, labels, weights, n_labels, *aux)

    def reset_averages(self):
        """Set all auxiliary values to 0."""
        cdef int64_t f
        for f in range(self.n_features if self.has_aux else 0):
            if self.columns[f].length:
                memset(aux_of(&self.columns[f]), 0, self.columns[f].length * sizeof(float))

    def averaged(self, double steps):
        """Return a store without auxiliary values whose weights are the means over `steps` rows."""
        cdef Prototypes store = Prototypes(may_be_dense=self.may_be_dense)
        cdef int64_t f, i
        cdef Column* c
        cdef Column* a
        store.ensure_features(self.n_features)
        for f in range(self.n_features):
            c, a = &self.columns[f], &store.columns[f]
            if c.length == 0:
                continue
            store.widen(a, c.capacity if c.dense else c.length, c.dense)
            a.length = c.length
            store.n_pairs += c.length
            if not c.dense:
                memcpy(labels_of(a), labels_of(c), c.length * sizeof(int32_t))
            for i in range(c.length):
                weights_of(a)[i] = weight_to_store(weights_of(c)[i] - aux_of(c)[i] / steps)
        return store

    cdef int copy_column(self, Column* copied, const Column* c) except -1:
        """Fill an empty column with the pairs of one of another store."""
        self.widen(copied, c.capacity, c.dense)
        memcpy(copied.block, c.block, c.capacity * ((1 if c.dense else 2) + self.has_aux) * 4)
        copied.length = c.length
        self.n_pairs += c.length
        return 0

    def copy(self):
        """Return a copy."""
        cdef Prototypes store = Prototypes(has_aux=self.has_aux, may_be_dense=self.may_be_dense)
        cdef int64_t f
        store.ensure_features(self.n_features)
        for f in range(self.n_features):
            if self.columns[f].length:
                store.copy_column(&store.columns[f], &self.columns[f])
        return store

    def update_mean(self, Prototypes latest, double share):
        """Make the weights (1 - share) * those of a later state + share * these; take over its pairs and other values.

        A pair that is new in the later state had weight 0.
        """
        cdef int64_t f
        cdef Column* c
        cdef Column* m
        cdef Column before
        if self.n_features > latest.n_features:
            raise ValueError("the earlier state must not have more features")
        self.ensure_features(latest.n_features)
        for f in range(latest.n_features):
            c, m = &latest.columns[f], &self.columns[f]
            if f + PREFETCH_DISTANCE < latest.n_features:
                prefetch(c[PREFETCH_DISTANCE].block)
                prefetch(m[PREFETCH_DISTANCE].block)
            if m.length == 0 and c.length == 0:
                continue
            if m.length == c.length and have_equal_labels(m, c):  # nearly all columns
                average_weights(weights_of(m), weights_of(c), m.length, share)
                if self.has_aux:
                    memcpy(aux_of(m), aux_of(c), m.length * sizeof(float))
                continue
            before = m[0]
            memset(m, 0, sizeof(Column))
            self.copy_column(m, c)
            try:
                average_column(m, &before, share)
            finally:
                self.n_pairs -= before.length
                self.bytes_in_blocks -= before.capacity * ((1 if before.dense else 2) + self.has_aux) * 4
                free(before.block)


cdef inline void average_weights(float* weights, const float* latest, int64_t n, double share) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        weights[i] = weight_to_store((1.0 - share) * latest[i] + share * weights[i])


cdef int average_column(Column* column, const Column* earlier, double share) except -1:
    """Average a column's weights with those of an earlier state, whose labels are a subset."""
    cdef int64_t i, at = 0
    cdef int32_t label
    cdef double before
    for i in range(column.length):
        label = <int32_t> i if column.dense else labels_of(column)[i]
        before = 0.0
        if at < earlier.length and (at if earlier.dense else labels_of(earlier)[at]) == label:
            before = weights_of(earlier)[at]
            at += 1
        weights_of(column)[i] = weight_to_store((1.0 - share) * weights_of(column)[i] + share * before)
    if at < earlier.length:
        raise ValueError("the earlier state must not have other pairs")
    return 0


cdef inline bint have_equal_labels(const Column* a, const Column* b) noexcept nogil:
    """Tell whether two columns of the same length have the same labels."""
    return a.dense == b.dense and (a.dense or memcmp(labels_of(a), labels_of(b), a.length * sizeof(int32_t)) == 0)


def rebuild(may_be_dense, *arrays):
    """Restore a store from a pickle."""
    return Prototypes.from_arrays(*arrays, may_be_dense=may_be_dense)


cdef int64_t find_positions(const int32_t* labels, int64_t n, Change* changes, int64_t n_changes) noexcept nogil:
    """Set the position of each change's label in a sorted list, -1 if absent; return how many are absent."""
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


cdef inline void move_pair(int32_t* labels, float* weights, float* aux, int64_t source,
                           int64_t target) noexcept nogil:
    labels[target], weights[target] = labels[source], weights[source]
    if aux != NULL:
        aux[target] = aux[source]


def check_prototypes(const int64_t[::1] indptr, const int32_t[::1] labels, const float[::1] weights,
                     int64_t n_labels, grad_sq=None):
    """Return what is wrong with the arrays of prototypes as one phrase, or None."""
    cdef int64_t f, i
    if indptr.shape[0] == 0 or indptr[0] != 0 or indptr[indptr.shape[0] - 1] != labels.shape[0]:
        return "the lists do not span the pairs"
    if weights.shape[0] != labels.shape[0]:
        return "the numbers of weights and labels differ"
    for f in range(indptr.shape[0] - 1):
        if indptr[f + 1] < indptr[f]:
            return f"the list of feature {f} has a negative length"
    if not np.isfinite(weights).all():
        return "a weight is not a finite number"
    if grad_sq is not None:
        if grad_sq.shape != (labels.shape[0],) or grad_sq.dtype != np.float32:
            return "the sums of squares do not match the labels in number or type"
        if not np.isfinite(grad_sq).all() or np.any(grad_sq < 0):
            return "a sum of squares is negative or not finite"
    for f in range(indptr.shape[0] - 1):
        for i in range(indptr[f], indptr[f + 1]):
            if not 0 <= labels[i] < n_labels:
                return f"feature {f} has a label outside the label set"
            if i > indptr[f] and labels[i - 1] >= labels[i]:
                return f"the labels of feature {f} are not in order"
    return None
