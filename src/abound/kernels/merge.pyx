"""Merge what shards learned from one starting point, feature by feature.

With S shards that all began at the same base, a merged count is base + sum of (shard - base). Values learned by
gradient are averaged over the shards, each weighted by the growth of its sum of squared gradients; the sums of squares
add their growth. A shard that dropped an edge has removed the base's weight from it and has learned nothing about it.
An edge that is new in a shard had weight 0 before. The shards are added in their order. The cost is O(edges of a
feature) and a sort of the merged list.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc, qsort, realloc
from libc.string cimport memcpy, memset

from abound.kernels.lists cimport FLOAT_MIN, INITIAL_CORRECTION, AnyEdge, RatedEdge, is_below, move_up, rating_of
from abound.kernels.pool cimport (PAGE_BITS, PAGE_MASK, Edge, EdgePool, Feature, edges_of, feature_at, out_of_memory,
                                  prefetch)
from abound.kernels.prototypes cimport Column, Prototypes, aux_of, labels_of, weights_of

import numpy as np

from abound.kernels.pool import EDGE_DTYPE

cdef enum:
    PREFETCH_DISTANCE = 8                   # how many features ahead lists are prefetched
    MAX_INSERTION_SORT = 64

cdef struct Source:                         # the parts of a pool that are read without the GIL
    Feature** pages
    int64_t n_features

cdef struct Mean:                           # the mean of a value that was learned by gradient
    double base
    double grad_sq                          # sum of squared gradients: of the base, then merged
    double weighted_sum                     # sum of growth * value over the shards
    double total_growth                     # sum of growth
    double changed_sum                      # sum of the values that differ from the base
    int64_t n_changed

cdef struct Sum:
    double weight
    double base_grad_sq
    Mean correction
    int32_t label


cdef inline void start_mean(Mean* m, double base, double grad_sq) noexcept nogil:
    m.base, m.grad_sq = base, grad_sq
    m.weighted_sum = m.total_growth = m.changed_sum = 0.0
    m.n_changed = 0


cdef inline void add_to_mean(Mean* m, double value, double grad_sq, double base_grad_sq) noexcept nogil:
    """Add a shard's value; a sum of squares that fell was reset and counts as not grown."""
    cdef double growth = grad_sq - base_grad_sq
    if growth > 0.0:
        m.weighted_sum += growth * value
        m.total_growth += growth
        m.grad_sq += growth
    if value != m.base:
        m.changed_sum += value
        m.n_changed += 1


cdef inline float mean_of(const Mean* m) noexcept nogil:
    """Return the mean weighted by growth; without any growth, the plain mean of the changed values."""
    if m.total_growth > 0.0:
        return <float> (m.weighted_sum / m.total_growth)
    if m.n_changed:
        return <float> (m.changed_sum / m.n_changed)
    return <float> m.base


cdef int heavier_first(const void* a, const void* b) noexcept nogil:
    cdef const Edge* x = <const Edge*> a    # a rated edge begins as a plain one
    cdef const Edge* y = <const Edge*> b
    if x.weight != y.weight:
        return -1 if x.weight > y.weight else 1
    return (x.label > y.label) - (x.label < y.label)


cdef inline void sort_edges(AnyEdge* edges, int64_t n) noexcept nogil:
    cdef int64_t i
    if n > MAX_INSERTION_SORT:
        qsort(edges, n, sizeof(AnyEdge), heavier_first)
    else:
        for i in range(1, n):
            move_up(edges, i)


cdef class Pruning:
    """How an index is pruned after a merge.

    Edges with a share below `w_min` are dropped, and totals are halved until they are not above `horizon`. `leak` keeps
    the weight of dropped edges in the totals. A rated edge takes two slots.
    """

    cdef readonly bint rated, leak
    cdef readonly double w_min, horizon

    def __init__(self, *, bint rated, double w_min=0.0, double horizon=INFINITY, bint leak=True):
        self.rated, self.w_min, self.horizon, self.leak = rated, w_min, horizon, leak


cdef class Merger:
    """Scratch space of one thread: sums by label, for one feature at a time."""

    cdef Source* sources                    # the base, then the shards
    cdef int64_t n_sources
    cdef const uint8_t* present             # per shard, whether it sent each feature; NULL if all sent everything
    cdef int64_t first                      # the first feature of `present`
    cdef int64_t width
    cdef Sum* sums
    cdef int64_t n_sums
    cdef int64_t capacity
    cdef int32_t* position                  # of a label in the sums, -1 for none
    cdef int64_t n_labels

    def __cinit__(self, int64_t n_labels, int64_t n_sources):
        self.n_labels, self.n_sources = n_labels, n_sources
        self.position = <int32_t*> malloc(max(1, n_labels) * sizeof(int32_t))
        self.sources = <Source*> malloc(n_sources * sizeof(Source))
        if self.position == NULL or self.sources == NULL:
            raise MemoryError("no memory for merging")
        memset(self.position, 0xff, n_labels * sizeof(int32_t))

    def __dealloc__(self):
        free(self.sources)
        free(self.sums)
        free(self.position)

    cdef inline Feature* feature(self, int64_t source, int64_t f) noexcept nogil:
        cdef Source* s
        if source and self.present != NULL and not self.present[(source - 1) * self.width + f - self.first]:
            source = 0                      # a shard that did not send a feature has the base's
        s = &self.sources[source]
        if f >= s.n_features:
            return NULL
        return &s.pages[f >> PAGE_BITS][f & PAGE_MASK]

    cdef inline Sum* sum_of(self, int32_t label) except NULL nogil:
        """Return the sum of a label; start an empty one if it has none yet."""
        cdef int32_t at
        cdef Sum* sums
        if not 0 <= label < self.n_labels:
            with gil:
                raise IndexError("an edge points to a label that does not exist")
        at = self.position[label]
        if at < 0:
            if self.n_sums == self.capacity:
                sums = <Sum*> realloc(self.sums, (2 * self.capacity + 64) * sizeof(Sum))
                if sums == NULL:
                    out_of_memory("merging")
                self.sums, self.capacity = sums, 2 * self.capacity + 64
            at = <int32_t> self.n_sums
            self.position[label] = at
            self.n_sums += 1
            self.sums[at].label, self.sums[at].weight, self.sums[at].base_grad_sq = label, 0.0, 0.0
            start_mean(&self.sums[at].correction, INITIAL_CORRECTION, 0.0)
        return &self.sums[at]

    cdef void clear(self) noexcept nogil:
        cdef int64_t i
        for i in range(self.n_sums):
            self.position[self.sums[i].label] = -1
        self.n_sums = 0


cdef int64_t merge_lists(Merger m, int64_t f, AnyEdge* out) except -1 nogil:
    """Write the merged edges of a feature, in order, without those of weight 0; return how many there are."""
    cdef int64_t source, i, n, n_out = 0, slots = sizeof(AnyEdge) // sizeof(Edge)
    cdef Feature* feature
    cdef AnyEdge* edges
    cdef Sum* s
    cdef float weight
    for source in range(m.n_sources):
        feature = m.feature(source, f)
        n = feature.length // slots if feature != NULL else 0
        edges = <AnyEdge*> feature.edges if n else NULL
        for i in range(n):
            s = m.sum_of(edges[i].label)
            if source == 0:                 # base + sum of (shard - base), with the base's part at first
                s.weight = edges[i].weight * <double> (2 - m.n_sources)
                if AnyEdge is RatedEdge:
                    s.base_grad_sq = edges[i].grad_sq
                    start_mean(&s.correction, edges[i].correction, edges[i].grad_sq)
            else:
                s.weight += edges[i].weight
                if AnyEdge is RatedEdge:
                    add_to_mean(&s.correction, edges[i].correction, edges[i].grad_sq, s.base_grad_sq)
    for i in range(m.n_sums):
        s = &m.sums[i]
        weight = <float> s.weight
        if weight >= FLOAT_MIN:
            out[n_out].label, out[n_out].weight = s.label, weight
            if AnyEdge is RatedEdge:
                out[n_out].correction = mean_of(&s.correction)
                out[n_out].grad_sq = <float> s.correction.grad_sq
            n_out += 1
    m.clear()
    sort_edges(out, n_out)
    return n_out


cdef int64_t prune(AnyEdge* edges, int64_t n, double* total, Pruning pruning) noexcept nogil:
    """Drop and halve as the feature streaming update does; return how many edges remain."""
    cdef int64_t i
    if n and total[0] <= 0.0:
        total[0] = edges[0].weight
    while n and is_below(edges[n - 1].weight, total[0], pruning.w_min):
        n -= 1
        if not pruning.leak:
            total[0] -= edges[n].weight
    while total[0] > pruning.horizon:
        total[0] *= 0.5
        while n and edges[n - 1].weight < 2 * FLOAT_MIN:
            n -= 1
        for i in range(n):
            edges[i].weight *= 0.5
    return n


cdef int64_t merge_feature(Merger m, int64_t f, Pruning pruning, Edge* out, double* total,
                           int64_t* seen) except -1 nogil:
    """Write the merged list, total and count or rating of a feature; return the slots that the list takes."""
    cdef int64_t source, n_holders = 0, n
    cdef Feature* feature
    cdef Feature* holder = NULL
    cdef Feature merged
    cdef Mean rating
    cdef double base_grad_sq = 0.0
    start_mean(&rating, 0.0, 0.0)
    total[0], seen[0] = 0.0, 0
    for source in range(m.n_sources):
        feature = m.feature(source, f)
        if feature == NULL or (feature.total == 0.0 and feature.stat.seen == 0):
            continue
        n_holders += 1
        holder = feature
        if source == 0:
            total[0] = feature.total * <double> (2 - m.n_sources)
            if pruning.rated:               # a rating shares its memory with the count of a plain index
                base_grad_sq = rating_of(feature).grad_sq
                start_mean(&rating, rating_of(feature).log, base_grad_sq)
            else:
                seen[0] = feature.stat.seen * (2 - m.n_sources)
        else:
            total[0] += feature.total
            if pruning.rated:
                add_to_mean(&rating, rating_of(feature).log, rating_of(feature).grad_sq, base_grad_sq)
            else:
                seen[0] += feature.stat.seen
    if n_holders == 0:
        return 0
    if pruning.rated:
        rating_of(&merged).log, rating_of(&merged).grad_sq = mean_of(&rating), <float> rating.grad_sq
        seen[0] = merged.stat.seen
    else:
        seen[0] = max(0, seen[0])
    total[0] = max(0.0, total[0])
    if n_holders == 1 and holder != m.feature(0, f) and total[0] <= pruning.horizon:
        if holder.length:                   # only one shard knows it: its list is the merged one
            memcpy(out, holder.edges, holder.length * sizeof(Edge))
        return holder.length
    if pruning.rated:
        n = merge_lists[RatedEdge](m, f, <RatedEdge*> out)
        return prune[RatedEdge](<RatedEdge*> out, n, total, pruning) * 2
    n = merge_lists[Edge](m, f, out)
    return prune[Edge](out, n, total, pruning)


def merge_features(base, list shards, int64_t start, int64_t stop, int64_t n_labels, Pruning pruning,
                   const uint8_t[:, ::1] present=None):
    """Merge features start .. stop-1 of pools with the same numbers; return (lengths, totals, seen, edges).

    `base` is the pool that all shards began with, None for an empty one. The shards were pruned with the same `w_min`.
    Lengths count slots of the pool. Shards may omit features that did not occur in their rows; these are then taken
    from the base. `present` has one row per shard and tells whether it has features start .. stop-1.
    """
    cdef Merger m = Merger(n_labels, len(shards) + 1)
    cdef EdgePool pool
    cdef int64_t i, f, n = stop - start, most = 0, at = 0
    cdef Feature* feature
    empty = EdgePool()
    for i in range(m.n_sources):
        pool = (empty if base is None else base) if i == 0 else shards[i - 1]
        m.sources[i].pages, m.sources[i].n_features = pool.pages, pool.n_features
        for f in range(start, min(stop, pool.n_features) if i or present is not None else start):
            most += feature_at(pool, f).length
    if present is not None:
        if present.shape[0] != len(shards) or present.shape[1] != n:
            raise ValueError("present must have one row for each shard and one column for each feature")
        if n and len(shards):
            m.present, m.first, m.width = &present[0, 0], start, n
    lengths_, totals_, seen_ = np.empty(n, np.int64), np.empty(n), np.empty(n, np.int64)
    edges_ = np.empty(most + 2, EDGE_DTYPE)
    cdef int64_t[::1] lengths = lengths_, seen = seen_
    cdef double[::1] totals = totals_
    cdef char[::1] raw = edges_.view(np.int8)
    cdef Edge* edges = <Edge*> &raw[0]
    with nogil:
        for f in range(start, stop):
            for i in range(m.n_sources if f + PREFETCH_DISTANCE < stop else 0):
                feature = m.feature(i, f + PREFETCH_DISTANCE)
                if feature != NULL and feature.length:
                    prefetch(feature.edges)
            n = merge_feature(m, f, pruning, edges + at, &totals[f - start], &seen[f - start])
            lengths[f - start] = n
            at += n
    return lengths_, totals_, seen_, edges_[:at]


cdef int renumber_list(const AnyEdge* edges, int64_t n, AnyEdge* out, const int32_t[::1] labels) except -1 nogil:
    cdef int64_t i
    for i in range(n):
        out[i] = edges[i]
        if edges[i].label >= labels.shape[0]:
            with gil:
                raise IndexError("an edge points to a label that does not exist")
        out[i].label = labels[edges[i].label]
    sort_edges(out, n)                      # for equal weights, the smaller label comes first
    return 0


def renumber(EdgePool pool, const int32_t[::1] features, const int32_t[::1] labels, *, bint rated):
    """Return a pool whose feature f has number features[f] and whose label c has number labels[c]."""
    cdef int64_t n = pool.n_features, f, at = 0, width = 0
    cdef Feature* feature
    if features.shape[0] < n:
        raise ValueError(f"the pool has {n} features, but there are numbers for {features.shape[0]}")
    for f in range(n):
        width = max(width, features[f] + 1)
    lengths_, totals_, seen_ = np.zeros(width + 1, np.int64), np.zeros(width), np.zeros(width, np.int64)
    edges_ = np.empty(max(1, pool.n_edges), EDGE_DTYPE)
    cdef int64_t[::1] indptr = lengths_, seen = seen_
    cdef double[::1] totals = totals_
    cdef char[::1] raw = edges_.view(np.int8)
    cdef Edge* edges = <Edge*> &raw[0]
    with nogil:
        for f in range(n):
            indptr[features[f] + 1] = feature_at(pool, f).length
        for f in range(width):
            indptr[f + 1] += indptr[f]
        for f in range(n):
            feature, at = feature_at(pool, f), features[f]
            totals[at], seen[at] = feature.total, feature.stat.seen
            if feature.length and rated:
                renumber_list(<RatedEdge*> edges_of(pool, feature), feature.length // 2,
                              <RatedEdge*> (edges + indptr[at]), labels)
            elif feature.length:
                renumber_list(edges_of(pool, feature), feature.length, edges + indptr[at], labels)
    return EdgePool.from_arrays(lengths_, edges_[:pool.n_edges], totals_, seen_)


cdef struct Pair:
    int32_t label
    double base_grad_sq
    Mean weight


cdef int by_label(const void* a, const void* b) noexcept nogil:
    cdef int32_t x = (<const Pair*> a).label, y = (<const Pair*> b).label
    return (x > y) - (x < y)


cdef int64_t add_column(const Column* c, bint is_base, Pair* pairs, int64_t n, int32_t[::1] position) except -1 nogil:
    """Add the pairs of a feature in one store to its sums; return how many there are now."""
    cdef int64_t i
    cdef int32_t label
    cdef Pair* pair
    for i in range(c.length):
        label = <int32_t> i if c.dense else labels_of(c)[i]
        if weights_of(c)[i] == 0.0 and aux_of(c)[i] == 0.0:
            continue
        if label >= position.shape[0]:
            with gil:
                raise IndexError("a pair has a label that does not exist")
        if position[label] < 0:
            position[label] = <int32_t> n
            pairs[n].label, pairs[n].base_grad_sq = label, 0.0
            start_mean(&pairs[n].weight, 0.0, 0.0)
            n += 1
        pair = &pairs[position[label]]
        if is_base:
            pair.base_grad_sq = aux_of(c)[i]
            start_mean(&pair.weight, weights_of(c)[i], aux_of(c)[i])
        else:
            add_to_mean(&pair.weight, weights_of(c)[i], aux_of(c)[i], pair.base_grad_sq)
    return n


def merge_prototypes(Prototypes base, list shards, int64_t n_labels):
    """Merge weights learned by AdaGrad; return (indptr, labels, weights, grad_sq) by feature, then label.

    A shard without a pair has learned nothing about it.
    """
    cdef int64_t n_features = 0, i, n_sources = len(shards) + 1, most = 0, at
    cdef Prototypes store
    cdef int64_t[::1] widths = np.zeros(n_sources, np.int64)
    cdef Column** columns = <Column**> malloc(n_sources * sizeof(Column*))
    cdef Pair* pairs = <Pair*> malloc(max(1, n_labels) * sizeof(Pair))
    cdef int32_t[::1] position = np.full(n_labels, -1, np.int32), labels
    cdef float[::1] weights, grad_sq
    try:
        if columns == NULL or pairs == NULL:
            raise MemoryError("no memory for merging")
        for i, store in enumerate([base, *shards]):
            if not store.has_aux:
                raise ValueError("only pairs with sums of squared gradients can be merged")
            columns[i], widths[i] = store.columns, store.n_features
            n_features, most = max(n_features, store.n_features), most + store.n_pairs
        indptr_ = np.zeros(n_features + 1, np.int64)
        labels_, weights_, grad_sq_ = np.empty(most, np.int32), np.empty(most, np.float32), np.empty(most, np.float32)
        labels, weights, grad_sq = labels_, weights_, grad_sq_
        merge_columns(columns, widths, n_sources, n_features, pairs, position, indptr_, labels, weights, grad_sq)
    finally:
        free(columns)
        free(pairs)
    at = indptr_[n_features]
    return indptr_, labels_[:at], weights_[:at], grad_sq_[:at]


cdef int merge_columns(Column** columns, const int64_t[::1] widths, int64_t n_sources, int64_t n_features, Pair* pairs,
                       int32_t[::1] position, int64_t[::1] indptr, int32_t[::1] labels, float[::1] weights,
                       float[::1] grad_sq) except -1:
    cdef int64_t f, i, source, n, at = 0
    with nogil:
        for f in range(n_features):
            n = 0
            for source in range(n_sources):
                if f < widths[source]:
                    n = add_column(&columns[source][f], source == 0, pairs, n, position)
            qsort(pairs, n, sizeof(Pair), by_label)
            for i in range(n):
                position[pairs[i].label] = -1
                labels[at + i], weights[at + i] = pairs[i].label, mean_of(&pairs[i].weight)
                grad_sq[at + i] = <float> pairs[i].weight.grad_sq
            at += n
            indptr[f + 1] = at
    return 0
