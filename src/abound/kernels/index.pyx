"""The feature-focus index: rank by votes, learn by the feature streaming update.

Figures 3 and 4 of Madani, Connor and Greiner, "Learning when concepts abound", JMLR 10 (2009). Rows are the
three arrays of a CSR matrix. Values are not negative, and a zero counts as absent. The cost per row is
O(active features x d_max) to rank and O(active features x labels / w_min) to learn, whatever the size of the label set.
"""

from libc.math cimport NAN
from libc.stdint cimport int32_t, int64_t

from abound.kernels.batch cimport Batch, scale_of_row
from abound.kernels.lists cimport FLOAT_MIN, UNKNOWN, find_edge, prefetch_headers, update_feature
from abound.kernels.pool cimport Edge, EdgePool, Feature, check_index, edges_of, feature_at, prefetch
from abound.kernels.votes cimport Vote, Votes, add_votes

import numpy as np

cdef enum:
    EDGES_PER_LINE = 8                      # edges in one cache line
cdef double SEEN_FOR_FULL_VOTE = 10.0       # rows with a feature from which on it votes at full strength

SIGHTINGS_FOR_FULL_VOTE = SEEN_FOR_FULL_VOTE


cdef class IndexSettings:
    """The options of the index, as the kernels read them."""

    cdef readonly double w_min, margin, horizon
    cdef readonly int64_t d_max, max_rank
    cdef readonly bint leak, rating, boolean

    def __init__(self, *, double w_min, int64_t d_max, double margin, double horizon, bint leak, bint rating,
                 bint boolean, int64_t max_rank):
        self.w_min, self.d_max, self.margin, self.horizon = w_min, d_max, margin, horizon
        self.leak, self.rating, self.boolean, self.max_rank = leak, rating, boolean, max_rank


cdef inline double scale_of(const Feature* feature, double value, IndexSettings s) noexcept nogil:
    """Return the vote per unit of w': r[f] * v[f] / W[f]."""
    cdef double rating = 1.0
    if s.rating and feature.stat.seen < SEEN_FOR_FULL_VOTE:
        rating = feature.stat.seen / SEEN_FOR_FULL_VOTE
    return rating * (1.0 if s.boolean else value) / feature.total


cdef int score_row(EdgePool pool, Votes votes, IndexSettings s, const int32_t[::1] indices,
                   const double[::1] data, int64_t start, int64_t stop, int64_t most_votes) except -1 nogil:
    """Fill the empty `votes` with the score of every label that gets a vote from the row."""
    cdef int64_t p, n
    cdef Feature* feature
    votes.open(most_votes)
    for p in range(start, stop):
        if indices[p] >= pool.n_features or data[p] < FLOAT_MIN:
            continue
        feature = feature_at(pool, indices[p])
        n = min(<int64_t> feature.length, s.d_max)
        if n:
            add_votes(votes, edges_of(pool, feature), n, scale_of(feature, data[p], s))
    return 0


cdef int64_t count_votes(EdgePool pool, IndexSettings s, const int32_t[::1] indices, int64_t start,
                         int64_t stop, int64_t n_labels) except -1 nogil:
    """Return an upper bound of the number of labels that a row votes for, and prefetch the lists.

    Lists are scattered in memory; without prefetching, most of the time is spent waiting for them.
    """
    cdef int64_t p, n, n_votes = 0
    cdef Feature* feature
    cdef const Edge* edges
    for p in range(start, stop):
        if indices[p] < pool.n_features:
            feature = feature_at(pool, indices[p])
            n = min(<int64_t> feature.length, s.d_max)
            if n:
                edges = edges_of(pool, feature)
                prefetch(edges)             # no loop: its end could not be predicted
                prefetch(edges + min(n - 1, EDGES_PER_LINE))
                prefetch(edges + n - 1)
                n_votes += n
    return min(n_votes, n_labels)


def index_rank(EdgePool pool, Votes votes, IndexSettings s, Batch batch, int64_t n_labels,
               int32_t[:, ::1] out_labels, double[:, ::1] out_scores):
    """Write the best labels of each row and their scores; the remaining entries of a row keep their values."""
    cdef const int64_t[::1] indptr = batch.indptr
    cdef const int32_t[::1] indices = batch.indices
    cdef const double[::1] data = batch.data
    cdef int64_t row, i, n, n_votes = 0, n_votes_next = 0, k = out_labels.shape[1]
    cdef int64_t n_rows = out_labels.shape[0]
    with nogil:
        if n_rows:
            n_votes_next = count_votes(pool, s, indices, indptr[0], indptr[1], n_labels)
        for row in range(n_rows):
            n_votes = n_votes_next
            prefetch_headers(pool, indptr, indices, row + 2)
            if row + 1 < n_rows:
                n_votes_next = count_votes(pool, s, indices, indptr[row + 1], indptr[row + 2], n_labels)
            score_row(pool, votes, s, indices, data, indptr[row], indptr[row + 1], n_votes)
            n = votes.take_top(k)
            for i in range(n):
                out_labels[row, i] = votes.best[i].label
                out_scores[row, i] = votes.best[i].score


def index_scores(EdgePool pool, Votes votes, IndexSettings s, Batch batch, int64_t n_labels,
                 const int32_t[::1] labels, double[:, ::1] out):
    """Write the scores of some labels for each row, NaN for a label without a vote."""
    cdef const int64_t[::1] indptr = batch.indptr
    cdef const int32_t[::1] indices = batch.indices
    cdef const double[::1] data = batch.data
    cdef int64_t row, i, slot, n_votes
    with nogil:
        for row in range(out.shape[0]):
            n_votes = count_votes(pool, s, indices, indptr[row], indptr[row + 1], n_labels)
            score_row(pool, votes, s, indices, data, indptr[row], indptr[row + 1], n_votes)
            for i in range(labels.shape[0]):
                slot = votes.find(labels[i])
                out[row, i] = votes.slots[slot].score if votes.slots[slot].label == labels[i] else NAN
            votes.clear()


cdef double find_label(EdgePool pool, IndexSettings s, const int32_t[::1] indices, const double[::1] data,
                       int64_t start, int64_t stop, int32_t label, int32_t* positions) except? -1.0 nogil:
    """Write the position of a label's edge in the list of each feature of a row; return the label's score."""
    cdef int64_t p
    cdef double score = 0.0
    cdef int32_t at
    cdef Feature* feature
    for p in range(start, stop):
        feature = feature_at(pool, indices[p])
        at = -1
        if feature.length and data[p] >= FLOAT_MIN:
            at = find_edge(edges_of(pool, feature), feature.length, label)
            if 0 <= at < s.d_max:
                score += scale_of(feature, data[p], s) * feature.edges[at].weight
        positions[p - start] = at
    return score


cdef double margin_score(Votes votes, int32_t label, int64_t max_rank) noexcept nogil:
    """Return the score of a true label, or 0 if `max_rank` labels score better."""
    cdef Vote* slot = &votes.slots[votes.find(label)]
    cdef Vote* other
    cdef int64_t better = 0, i
    if slot.label != label:
        return 0.0
    if max_rank < votes.n_touched:
        for i in range(votes.n_touched):
            other = &votes.slots[votes.touched[i]]
            better += other.score > slot.score or (other.score == slot.score and other.label < label)
        if better >= max_rank:
            return 0.0
    return slot.score


cdef double best_wrong(Votes votes, const int32_t[::1] labels, int64_t start, int64_t stop) noexcept nogil:
    """Return the highest score of a label outside labels[start:stop], which are sorted; 0 if there is none."""
    cdef double best = 0.0
    cdef int64_t i, low, high, middle
    cdef Vote* slot
    for i in range(votes.n_touched):
        slot = &votes.slots[votes.touched[i]]
        if slot.score <= best:
            continue
        low, high = start, stop
        while low < high:
            middle = (low + high) >> 1
            if labels[middle] < slot.label:
                low = middle + 1
            else:
                high = middle
        if low == stop or labels[low] != slot.label:
            best = slot.score
    return best


def index_learn(EdgePool pool, Votes votes, IndexSettings s, Batch batch, int64_t n_labels, bint count):
    """Learn rows in order, in place (figure 4a); return how many (row, label) pairs made an update.

    `count` adds the row to the counts of its features. A later pass over the same rows must not count them again.
    A row's weight scales what it adds to totals and edges.
    """
    cdef const int64_t[::1] indptr = batch.indptr, label_indptr = batch.label_indptr
    cdef const int32_t[::1] indices = batch.indices, labels = batch.labels
    cdef const double[::1] data = batch.data
    cdef int64_t row, p, i, start, stop, first, last, n_updates = 0, n_votes
    cdef int32_t* positions = NULL
    cdef double rival = 0.0, scale, value
    cdef bint scored
    cdef Feature* feature
    pool.ensure_features(batch.n_features)
    with nogil:
        for row in range(indptr.shape[0] - 1):
            prefetch_headers(pool, indptr, indices, row + 2)
            start, stop = indptr[row], indptr[row + 1]
            if row + 2 < indptr.shape[0]:
                count_votes(pool, s, indices, stop, indptr[row + 2], n_labels)
            first, last = label_indptr[row], label_indptr[row + 1]
            if count:
                for p in range(start, stop):
                    if data[p] >= FLOAT_MIN:
                        feature_at(pool, indices[p]).stat.seen += 1
            if first == last:
                continue
            scored, scale = False, scale_of_row(batch.scales, row)
            if s.margin < 1e300:
                positions = votes.make_positions((last - first) * (stop - start))
            for i in range(first, last if s.margin < 1e300 else first):
                # A label that scores no more than the margin cannot win by more, and needs no comparison.
                check_index((i - first + 1) * (stop - start), votes.position_capacity)
                if find_label(pool, s, indices, data, start, stop, labels[i],
                              positions + (i - first) * (stop - start)) > s.margin:
                    scored = True
            if scored:
                n_votes = count_votes(pool, s, indices, start, stop, n_labels)
                score_row(pool, votes, s, indices, data, start, stop, n_votes)
                rival = best_wrong(votes, labels, first, last)
            for i in range(first, last):
                if scored and margin_score(votes, labels[i], s.max_rank) - rival > s.margin:
                    continue
                n_updates += 1
                for p in range(start, stop):
                    value = (1.0 if s.boolean else data[p]) * scale
                    if data[p] >= FLOAT_MIN and value >= FLOAT_MIN:
                        feature = feature_at(pool, indices[p])
                        update_feature(pool, feature, edges_of(pool, feature), labels[i], value,
                                       positions[(i - first) * (stop - start) + p - start] if positions else UNKNOWN,
                                       last - i - 1, s.w_min, s.horizon, s.leak, scale)
            votes.clear()
    return n_updates


def index_explain(EdgePool pool, IndexSettings s, const int32_t[::1] indices, const double[::1] data,
                  int32_t label):
    """Return the positions in a row that vote for a label, and their votes in the order of summation."""
    cdef int64_t p, e
    cdef Feature* feature
    cdef const Edge* edges
    positions, votes = [], []
    for p in range(indices.shape[0]):
        if indices[p] >= pool.n_features or data[p] < FLOAT_MIN:
            continue
        feature = feature_at(pool, indices[p])
        if feature.length == 0:
            continue
        edges = edges_of(pool, feature)
        for e in range(min(<int64_t> feature.length, s.d_max)):
            if edges[e].label == label:
                positions.append(p)
                votes.append(scale_of(feature, data[p], s) * edges[e].weight)
    return np.array(positions, np.int64), np.array(votes, np.float64)
