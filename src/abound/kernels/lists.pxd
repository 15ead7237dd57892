"""The lists of the index: sorted by falling weight, updated in place by the feature streaming update.

An edge is either a plain one, as in the paper, or a rated one with a learned correction beside its weight. A list of
rated edges takes two of the pool's places an edge; `length`, `capacity` and `n_edges` count places.
"""

from libc.stdint cimport int32_t, int64_t

from abound.kernels.pool cimport Edge, EdgePool, Feature, Rating, edges_of, feature_at, prefetch

cdef struct RatedEdge:
    int32_t label
    float weight                            # w'[f, c], as in an Edge
    float correction                        # th[f, c], what a unit of the feature's value adds to the label's score
    float slope                             # sum of its squared gradients

ctypedef fused AnyEdge:
    Edge
    RatedEdge

cdef extern from *:
    """
    #define ABOUND_SMALLEST 1.1754943508222875e-38
    #define ABOUND_LARGEST 3.4028234663852886e+38
    #define ABOUND_ACQUAINTED 0.75
    """
    const double SMALLEST "ABOUND_SMALLEST"  # the smallest normal single; a value below it is taken as absent
    const double LARGEST "ABOUND_LARGEST"    # the largest finite single
    # The correction of a new edge: that a feature has met a label at all counts beside how often it did.
    const double ACQUAINTED "ABOUND_ACQUAINTED"

cdef enum:
    UNKNOWN = -2


cdef inline float slope_to_store(double slope) noexcept nogil:
    """Round a sum of squared gradients, which must stay finite: an infinite one could be saved but not loaded."""
    return <float> min(slope, LARGEST)


cdef inline float weight_to_store(double weight) noexcept nogil:
    """Round a weight, which must stay finite, too."""
    return <float> max(-LARGEST, min(weight, LARGEST))


cdef inline Rating* rating_of(Feature* feature) noexcept nogil:
    return &feature.noted.rating


cdef inline void rise(AnyEdge* edges, int64_t i) noexcept nogil:
    """Move edge i up to its place: heavier first, equal weights by label."""
    cdef AnyEdge moved = edges[i]
    while i > 0 and (edges[i - 1].weight < moved.weight
                     or (edges[i - 1].weight == moved.weight and edges[i - 1].label > moved.label)):
        edges[i] = edges[i - 1]
        i -= 1
    edges[i] = moved


cdef inline bint is_below(float weight, double total, double w_min) noexcept nogil:
    """Tell whether weight / total < w_min; a multiplication settles all but the closest cases."""
    cdef double limit = total * w_min
    if weight > limit * 1.000001:
        return False
    return weight / total < w_min


cdef inline int32_t find_edge(const AnyEdge* edges, int64_t n, int32_t label) noexcept nogil:
    """Position of a label's edge in a list, or -1; four at a time, for most lists do not have it."""
    cdef int64_t i = 0
    while i + 4 <= n:
        if ((edges[i].label == label) | (edges[i + 1].label == label)
                | (edges[i + 2].label == label) | (edges[i + 3].label == label)):
            break
        i += 4
    while i < n:
        if edges[i].label == label:
            return <int32_t> i
        i += 1
    return -1


cdef inline int update_feature(EdgePool pool, Feature* feature, AnyEdge* edges, int32_t label, double value, int64_t i,
                               int64_t n_more, double w_min, double horizon, bint leak) except -1 nogil:
    """The feature streaming update of one feature for one true label (figure 4c), in place.

    `edges` is the feature's list. `i` is where the label's edge was found, -1 if there was none, or UNKNOWN; updates
    for other labels of the row may have moved it since. `n_more` labels of the row are still to come.
    """
    cdef int64_t places = sizeof(AnyEdge) // sizeof(Edge)
    cdef int64_t n = feature.length // places
    cdef float weight = <float> value
    cdef AnyEdge new_edge
    feature.total += value
    if n:
        if i == UNKNOWN or i >= n or (i >= 0 and edges[i].label != label):
            i = find_edge(edges, n, label)
    if n and i >= 0:
        edges[i].weight = <float> (edges[i].weight + value)
        rise(edges, i)
    elif not is_below(weight, feature.total, w_min):
        if (n + 1) * places > pool.capacity(feature):
            pool.grow(feature, places * (n + 1 if n else 1 + n_more))   # a new list will have them all
        edges = <AnyEdge*> edges_of(pool, feature)
        new_edge.label = label
        new_edge.weight = weight
        if AnyEdge is RatedEdge:
            new_edge.correction = ACQUAINTED
            new_edge.slope = 0.0
        edges[n] = new_edge
        rise(edges, n)
        n += 1
        pool.n_edges += places
    elif not leak:                          # dropped before it was stored
        feature.total -= value
    while n and is_below(edges[n - 1].weight, feature.total, w_min):
        n -= 1
        pool.n_edges -= places
        if not leak:
            feature.total -= edges[n].weight
    while feature.total > horizon:
        feature.total *= 0.5
        while n and edges[n - 1].weight < 2 * SMALLEST:
            n -= 1                          # its half would be rounded, which could break the order of the list
            pool.n_edges -= places
        for i in range(n):
            edges[i].weight *= 0.5
    feature.length = <int32_t> (n * places)
    return 0


cdef inline int ask_for_headers(EdgePool pool, const int64_t[::1] indptr, const int32_t[::1] indices,
                                int64_t row) except -1 nogil:
    """Ask memory for the headers of a row's features, if there is such a row."""
    cdef int64_t p
    if row + 1 < indptr.shape[0]:
        for p in range(indptr[row], indptr[row + 1]):
            if indices[p] < pool.n_features:
                prefetch(feature_at(pool, indices[p]))
    return 0
