"""The lists of the index: sorted by descending weight, updated in place by the feature streaming update.

An edge is either plain, as in the paper, or rated, with a learned correction beside its weight. A rated edge takes
two slots of the pool; `length`, `capacity` and `n_edges` count slots.
"""

from libc.stdint cimport int32_t, int64_t

from abound.kernels.pool cimport Edge, EdgePool, Feature, Rating, edges_of, feature_at, prefetch

cdef struct RatedEdge:
    int32_t label
    float weight                            # w'[f, c], as in an Edge
    float correction                        # th[f, c]: what one unit of the feature's value adds to the label's score
    float grad_sq                           # AdaGrad's sum of squared gradients

ctypedef fused AnyEdge:
    Edge
    RatedEdge

cdef extern from *:
    """
    #define ABOUND_FLOAT_MIN 1.1754943508222875e-38
    #define ABOUND_FLOAT_MAX 3.4028234663852886e+38
    #define ABOUND_INITIAL_CORRECTION 0.75
    """
    const double FLOAT_MIN "ABOUND_FLOAT_MIN"  # the smallest normal float32; smaller values count as absent
    const double FLOAT_MAX "ABOUND_FLOAT_MAX"  # the largest finite float32
    # The correction of a new edge. That a feature occurred with a label at all carries information beside the count.
    const double INITIAL_CORRECTION "ABOUND_INITIAL_CORRECTION"

cdef enum:
    UNKNOWN = -2


cdef inline float grad_sq_to_store(double grad_sq) noexcept nogil:
    """Round a sum of squared gradients to float32; it must stay finite, or the saved model could not be loaded."""
    return <float> min(grad_sq, FLOAT_MAX)


cdef inline float weight_to_store(double weight) noexcept nogil:
    """Round a weight to float32; it must stay finite, too."""
    return <float> max(-FLOAT_MAX, min(weight, FLOAT_MAX))


cdef inline Rating* rating_of(Feature* feature) noexcept nogil:
    return &feature.stat.rating


cdef inline void move_up(AnyEdge* edges, int64_t i) noexcept nogil:
    """Move edge i up to its position: heavier edges first, equal weights by label."""
    cdef AnyEdge moved = edges[i]
    while i > 0 and (edges[i - 1].weight < moved.weight
                     or (edges[i - 1].weight == moved.weight and edges[i - 1].label > moved.label)):
        edges[i] = edges[i - 1]
        i -= 1
    edges[i] = moved


cdef inline bint is_below(float weight, double total, double w_min) noexcept nogil:
    """Tell whether weight / total < w_min; a multiplication decides all but the closest cases."""
    cdef double limit = total * w_min
    if weight > limit * 1.000001:
        return False
    return weight / total < w_min


cdef inline int32_t find_edge(const AnyEdge* edges, int64_t n, int32_t label) noexcept nogil:
    """Return the position of a label's edge in a list, or -1; compare four at a time, since most lists lack the label.
    """
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
                               int64_t n_more, double w_min, double horizon, bint leak,
                               double scale) except -1 nogil:
    """Apply the feature streaming update of one feature for one true label (figure 4c), in place.

    `edges` is the feature's list. `i` is where the label's edge was found, -1 if there was none, or UNKNOWN; updates
    for other labels of the row may have moved it since. `n_more` labels of the row are still to come. `scale` is
    the weight of the row; the value is scaled already.
    """
    cdef int64_t slots = sizeof(AnyEdge) // sizeof(Edge)
    cdef int64_t n = feature.length // slots
    cdef float weight = <float> value
    cdef AnyEdge new_edge
    feature.total += value
    if n:
        if i == UNKNOWN or i >= n or (i >= 0 and edges[i].label != label):
            i = find_edge(edges, n, label)
    if n and i >= 0:
        edges[i].weight = <float> (edges[i].weight + value)
        move_up(edges, i)
    elif not is_below(weight, feature.total, w_min):
        if (n + 1) * slots > pool.capacity(feature):
            pool.grow(feature, slots * (n + 1 if n else 1 + n_more))  # a new list will hold all of them
        edges = <AnyEdge*> edges_of(pool, feature)
        new_edge.label = label
        new_edge.weight = weight
        if AnyEdge is RatedEdge:
            new_edge.correction = <float> (INITIAL_CORRECTION * scale)
            new_edge.grad_sq = 0.0
        edges[n] = new_edge
        move_up(edges, n)
        n += 1
        pool.n_edges += slots
    elif not leak:                          # dropped before it was stored
        feature.total -= value
    while n and is_below(edges[n - 1].weight, feature.total, w_min):
        n -= 1
        pool.n_edges -= slots
        if not leak:
            feature.total -= edges[n].weight
    while feature.total > horizon:
        feature.total *= 0.5
        while n and edges[n - 1].weight < 2 * FLOAT_MIN:
            n -= 1                          # half of it would be rounded, which could break the order of the list
            pool.n_edges -= slots
        for i in range(n):
            edges[i].weight *= 0.5
    feature.length = <int32_t> (n * slots)
    return 0


cdef inline int prefetch_headers(EdgePool pool, const int64_t[::1] indptr, const int32_t[::1] indices,
                                int64_t row) except -1 nogil:
    """Prefetch the headers of a row's features, if the row exists."""
    cdef int64_t p
    if row + 1 < indptr.shape[0]:
        for p in range(indptr[row], indptr[row + 1]):
            if indices[p] < pool.n_features:
                prefetch(feature_at(pool, indices[p]))
    return 0
