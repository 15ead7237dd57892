"""Join what shards learnt from one starting point, feature by feature.

With S shards that all began at the same base, a merged count is base + sum of (shard - base). What was learnt by
gradient is the mean over the shards, each weighted by how much its sum of squared gradients has grown; the sums
themselves add their growth. A shard that dropped an edge has taken the base's weight off it and has learnt nothing
about it; an edge that is new in a shard had weight 0 before. The order of summation is that of the shards. Cost is
O(edges of a feature) and a sort of the merged list.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc, qsort, realloc
from libc.string cimport memcpy, memset

from abound.kernels.lists cimport ACQUAINTED, SMALLEST, AnyEdge, RatedEdge, is_below, rating_of, rise
from abound.kernels.pool cimport (PAGE_BITS, PAGE_MASK, Edge, EdgePool, Feature, edges_of, feature_at, out_of_memory,
                                  prefetch)
from abound.kernels.prototypes cimport Column, Prototypes, labels_of, traces_of, weights_of

import numpy as np

from abound.kernels.pool import EDGE_DTYPE

cdef enum:
    AHEAD = 8                               # features whose lists are asked for before their turn
    INSERTION_MOST = 64

cdef struct Source:                         # what is read of a pool, without the GIL
    Feature** pages
    int64_t n_features

cdef struct Mean:                           # of a number that was learnt by gradient
    double base
    double slope                            # sum of squared gradients: at the base, then merged
    double moved                            # sum of growth * value over the shards
    double grown                            # sum of growth
    double changed                          # sum of the values that differ from the base
    int64_t n_changed

cdef struct Sum:
    double weight
    double base_slope
    Mean correction
    int32_t label


cdef inline void begin(Mean* m, double base, double slope) noexcept nogil:
    m.base, m.slope = base, slope
    m.moved = m.grown = m.changed = 0.0
    m.n_changed = 0


cdef inline void add(Mean* m, double value, double slope, double base_slope) noexcept nogil:
    """Add a shard's value; a sum of squares that fell was begun anew and counts as not grown."""
    cdef double growth = slope - base_slope
    if growth > 0.0:
        m.moved += growth * value
        m.grown += growth
        m.slope += growth
    if value != m.base:
        m.changed += value
        m.n_changed += 1


cdef inline float mean_of(const Mean* m) noexcept nogil:
    """The mean weighted by growth; where none can be told, the plain mean of what changed."""
    if m.grown > 0.0:
        return <float> (m.moved / m.grown)
    if m.n_changed:
        return <float> (m.changed / m.n_changed)
    return <float> m.base


cdef int heavier_first(const void* a, const void* b) noexcept nogil:
    cdef const Edge* x = <const Edge*> a    # a rated edge begins as a plain one
    cdef const Edge* y = <const Edge*> b
    if x.weight != y.weight:
        return -1 if x.weight > y.weight else 1
    return (x.label > y.label) - (x.label < y.label)


cdef inline void put_in_order(AnyEdge* edges, int64_t n) noexcept nogil:
    cdef int64_t i
    if n > INSERTION_MOST:
        qsort(edges, n, sizeof(AnyEdge), heavier_first)
    else:
        for i in range(1, n):
            rise(edges, i)


cdef class Pruning:
    """What becomes of an index after a merge: edges with a share below `w_min` are dropped, and totals are halved until
    they are not above `horizon`; `leak` keeps what is dropped in the totals. Rated edges take two places each."""

    cdef readonly bint rated, leak
    cdef readonly double w_min, horizon

    def __init__(self, *, bint rated, double w_min=0.0, double horizon=INFINITY, bint leak=True):
        self.rated, self.w_min, self.horizon, self.leak = rated, w_min, horizon, leak


cdef class Merger:
    """The scratch of one thread: sums by label, for one feature at a time."""

    cdef Source* sources                    # the base, then the shards
    cdef int64_t n_sources
    cdef const uint8_t* present             # of each shard, whether it says anything of each feature; NULL if it does
    cdef int64_t first                      # the feature that `present` begins with
    cdef int64_t width
    cdef Sum* sums
    cdef int64_t n_sums
    cdef int64_t room
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
            source = 0                      # what a shard has not met is as it was
        s = &self.sources[source]
        if f >= s.n_features:
            return NULL
        return &s.pages[f >> PAGE_BITS][f & PAGE_MASK]

    cdef inline Sum* sum_of(self, int32_t label) except NULL nogil:
        """The sum of a label, begun at nothing if it has none yet."""
        cdef int32_t at
        cdef Sum* sums
        if not 0 <= label < self.n_labels:
            with gil:
                raise IndexError("an edge to a label that does not exist")
        at = self.position[label]
        if at < 0:
            if self.n_sums == self.room:
                sums = <Sum*> realloc(self.sums, (2 * self.room + 64) * sizeof(Sum))
                if sums == NULL:
                    out_of_memory("merging")
                self.sums, self.room = sums, 2 * self.room + 64
            at = <int32_t> self.n_sums
            self.position[label] = at
            self.n_sums += 1
            self.sums[at].label, self.sums[at].weight, self.sums[at].base_slope = label, 0.0, 0.0
            begin(&self.sums[at].correction, ACQUAINTED, 0.0)
        return &self.sums[at]

    cdef void clear(self) noexcept nogil:
        cdef int64_t i
        for i in range(self.n_sums):
            self.position[self.sums[i].label] = -1
        self.n_sums = 0


cdef int64_t merge_lists(Merger m, int64_t f, AnyEdge* out) except -1 nogil:
    """Write the merged edges of a feature, in order; return how many there are. Those without weight are left out."""
    cdef int64_t source, i, n, n_out = 0, places = sizeof(AnyEdge) // sizeof(Edge)
    cdef Feature* feature
    cdef AnyEdge* edges
    cdef Sum* s
    cdef float weight
    for source in range(m.n_sources):
        feature = m.feature(source, f)
        n = feature.length // places if feature != NULL else 0
        edges = <AnyEdge*> feature.edges if n else NULL
        for i in range(n):
            s = m.sum_of(edges[i].label)
            if source == 0:                 # base + sum of (shard - base), with the base's share at once
                s.weight = edges[i].weight * <double> (2 - m.n_sources)
                if AnyEdge is RatedEdge:
                    s.base_slope = edges[i].slope
                    begin(&s.correction, edges[i].correction, edges[i].slope)
            else:
                s.weight += edges[i].weight
                if AnyEdge is RatedEdge:
                    add(&s.correction, edges[i].correction, edges[i].slope, s.base_slope)
    for i in range(m.n_sums):
        s = &m.sums[i]
        weight = <float> s.weight
        if weight >= SMALLEST:
            out[n_out].label, out[n_out].weight = s.label, weight
            if AnyEdge is RatedEdge:
                out[n_out].correction = mean_of(&s.correction)
                out[n_out].slope = <float> s.correction.slope
            n_out += 1
    m.clear()
    put_in_order(out, n_out)
    return n_out


cdef int64_t prune(AnyEdge* edges, int64_t n, double* total, Pruning how) noexcept nogil:
    """Drop and halve as the feature streaming update does; return how many edges are left."""
    cdef int64_t i
    if n and total[0] <= 0.0:
        total[0] = edges[0].weight
    while n and is_below(edges[n - 1].weight, total[0], how.w_min):
        n -= 1
        if not how.leak:
            total[0] -= edges[n].weight
    while total[0] > how.horizon:
        total[0] *= 0.5
        while n and edges[n - 1].weight < 2 * SMALLEST:
            n -= 1
        for i in range(n):
            edges[i].weight *= 0.5
    return n


cdef int64_t merge_feature(Merger m, int64_t f, Pruning how, Edge* out, double* total, int64_t* seen) except -1 nogil:
    """Write the merged list, total and sightings or rating of a feature; return the places that the list takes."""
    cdef int64_t source, n_holders = 0, n
    cdef Feature* feature
    cdef Feature* holder = NULL
    cdef Feature merged
    cdef Mean rating
    cdef double base_slope = 0.0
    begin(&rating, 0.0, 0.0)
    total[0], seen[0] = 0.0, 0
    for source in range(m.n_sources):
        feature = m.feature(source, f)
        if feature == NULL or (feature.total == 0.0 and feature.noted.seen == 0):
            continue
        n_holders += 1
        holder = feature
        if source == 0:
            total[0] = feature.total * <double> (2 - m.n_sources)
            if how.rated:                       # whose rating stands where others have their sightings
                base_slope = rating_of(feature).slope
                begin(&rating, rating_of(feature).log, base_slope)
            else:
                seen[0] = feature.noted.seen * (2 - m.n_sources)
        else:
            total[0] += feature.total
            if how.rated:
                add(&rating, rating_of(feature).log, rating_of(feature).slope, base_slope)
            else:
                seen[0] += feature.noted.seen
    if n_holders == 0:
        return 0
    if how.rated:
        rating_of(&merged).log, rating_of(&merged).slope = mean_of(&rating), <float> rating.slope
        seen[0] = merged.noted.seen
    else:
        seen[0] = max(0, seen[0])
    total[0] = max(0.0, total[0])
    if n_holders == 1 and holder != m.feature(0, f) and total[0] <= how.horizon:
        if holder.length:                   # one shard alone knows it: its list is the merged one
            memcpy(out, holder.edges, holder.length * sizeof(Edge))
        return holder.length
    if how.rated:
        n = merge_lists[RatedEdge](m, f, <RatedEdge*> out)
        return prune[RatedEdge](<RatedEdge*> out, n, total, how) * 2
    n = merge_lists[Edge](m, f, out)
    return prune[Edge](out, n, total, how)


def merge_features(base, list shards, int64_t start, int64_t stop, int64_t n_labels, Pruning how,
                   const uint8_t[:, ::1] present=None):
    """Merge features start .. stop-1 of pools with the same numbers; return (lengths, totals, seen, edges).

    `base` is the pool that all shards began with, None for an empty one. Shards have pruned by the same `w_min`.
    Lengths count places of the pool. Shards may leave out features that they have not met, which then are as in the
    base: `present` tells, a row for each shard, whether it has features start .. stop-1.
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
            raise ValueError("present must tell of each shard and each feature")
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
            for i in range(m.n_sources if f + AHEAD < stop else 0):
                feature = m.feature(i, f + AHEAD)
                if feature != NULL and feature.length:
                    prefetch(feature.edges)
            n = merge_feature(m, f, how, edges + at, &totals[f - start], &seen[f - start])
            lengths[f - start] = n
            at += n
    return lengths_, totals_, seen_, edges_[:at]


cdef int renumber_list(const AnyEdge* edges, int64_t n, AnyEdge* out, const int32_t[::1] labels) except -1 nogil:
    cdef int64_t i
    for i in range(n):
        out[i] = edges[i]
        if edges[i].label >= labels.shape[0]:
            with gil:
                raise IndexError("an edge to a label that does not exist")
        out[i].label = labels[edges[i].label]
    put_in_order(out, n)                    # of equal weights the smaller label comes first
    return 0


def renumbered(EdgePool pool, const int32_t[::1] features, const int32_t[::1] labels, *, bint rated):
    """Return a pool whose feature f has number features[f] and whose label c has number labels[c]."""
    cdef int64_t n = pool.n_features, f, at = 0, width = 0
    cdef Feature* feature
    if features.shape[0] < n:
        raise ValueError(f"the pool has {n} features, but numbers are given for {features.shape[0]}")
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
            totals[at], seen[at] = feature.total, feature.noted.seen
            if feature.length and rated:
                renumber_list(<RatedEdge*> edges_of(pool, feature), feature.length // 2,
                              <RatedEdge*> (edges + indptr[at]), labels)
            elif feature.length:
                renumber_list(edges_of(pool, feature), feature.length, edges + indptr[at], labels)
    return EdgePool.from_arrays(lengths_, edges_[:pool.n_edges], totals_, seen_)


cdef struct Pair:
    int32_t label
    double base_slope
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
        if weights_of(c)[i] == 0.0 and traces_of(c)[i] == 0.0:
            continue
        if label >= position.shape[0]:
            with gil:
                raise IndexError("a pair with a label that does not exist")
        if position[label] < 0:
            position[label] = <int32_t> n
            pairs[n].label, pairs[n].base_slope = label, 0.0
            begin(&pairs[n].weight, 0.0, 0.0)
            n += 1
        pair = &pairs[position[label]]
        if is_base:
            pair.base_slope = traces_of(c)[i]
            begin(&pair.weight, weights_of(c)[i], traces_of(c)[i])
        else:
            add(&pair.weight, weights_of(c)[i], traces_of(c)[i], pair.base_slope)
    return n


def merge_prototypes(Prototypes base, list shards, int64_t n_labels):
    """Merge weights that AdaGrad has learnt; return (indptr, labels, weights, slopes) by feature, then label.

    A shard that does not have a pair has learnt nothing about it.
    """
    cdef int64_t n_features = 0, i, n_sources = len(shards) + 1, most = 0, at
    cdef Prototypes store
    cdef int64_t[::1] widths = np.zeros(n_sources, np.int64)
    cdef Column** columns = <Column**> malloc(n_sources * sizeof(Column*))
    cdef Pair* pairs = <Pair*> malloc(max(1, n_labels) * sizeof(Pair))
    cdef int32_t[::1] position = np.full(n_labels, -1, np.int32), labels
    cdef float[::1] weights, slopes
    try:
        if columns == NULL or pairs == NULL:
            raise MemoryError("no memory for merging")
        for i, store in enumerate([base, *shards]):
            if not store.traced:
                raise ValueError("only pairs with their sums of squares can be merged")
            columns[i], widths[i] = store.columns, store.n_features
            n_features, most = max(n_features, store.n_features), most + store.n_pairs
        indptr_ = np.zeros(n_features + 1, np.int64)
        labels_, weights_, slopes_ = np.empty(most, np.int32), np.empty(most, np.float32), np.empty(most, np.float32)
        labels, weights, slopes = labels_, weights_, slopes_
        merge_columns(columns, widths, n_sources, n_features, pairs, position, indptr_, labels, weights, slopes)
    finally:
        free(columns)
        free(pairs)
    at = indptr_[n_features]
    return indptr_, labels_[:at], weights_[:at], slopes_[:at]


cdef int merge_columns(Column** columns, const int64_t[::1] widths, int64_t n_sources, int64_t n_features, Pair* pairs,
                       int32_t[::1] position, int64_t[::1] indptr, int32_t[::1] labels, float[::1] weights,
                       float[::1] slopes) except -1:
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
                slopes[at + i] = <float> pairs[i].weight.slope
            at += n
            indptr[f + 1] = at
    return 0
