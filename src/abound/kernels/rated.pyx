"""The index with learned ratings and corrections: votes as in the paper, weighted by a learned rating per feature.

score(c) = sum over active f of kappa * exp(l[f]) * v[f] * w'[f,c] / (W[f] + shrink) + v[f] * th[f,c]

over the d_max heaviest edges of each feature. The ratings l and the corrections th follow the gradient of the softmax
loss of each true label against the wrong labels that get a vote, by AdaGrad. A row is scored before its own counts are
added, so that it does not vote for itself; in a later pass over the same rows, their own counts are subtracted.

The second stage (`pairs.pyx`) may re-rank the n_candidates best labels: SECOND_STAGE_SCALE times their second-stage
score is added to their votes, and the other labels stay behind them in the order of their votes. The second stage
learns from the candidates of the scores without the row's own counts. Rows are the three arrays of a CSR matrix. The
cost per row is O(active features x (d_max + n_candidates)) to rank and O(active features x labels / w_min) to learn.
"""

from libc.math cimport INFINITY, NAN, sqrt
from libc.stdint cimport INT32_MAX, int32_t, int64_t

from abound.kernels.batch cimport Batch, scale_of_row
from abound.kernels.exponential cimport exp_of
from abound.kernels.lists cimport (FLOAT_MIN, UNKNOWN, RatedEdge, find_edge, grad_sq_to_store, prefetch_headers,
                                   rating_of, update_feature)
from abound.kernels.pairs cimport PairTables, learn_candidates, prefetch_pairs, reject_candidate, score_pairs
from abound.kernels.pool cimport EdgePool, Feature, Rating, check_index, edges_of, feature_at, prefetch
from abound.kernels.votes cimport Candidates, Vote, Votes, insert, push_top, sort_top, worst_of

import numpy as np

from abound.kernels.pool import check_lists

RATED_DTYPE = np.dtype([("label", "<i4"), ("weight", "<f4"), ("correction", "<f4"), ("slope", "<f4")])
RATING_DTYPE = np.dtype([("log", "<f4"), ("slope", "<f4")])

cdef enum:
    SLOTS_PER_EDGE = 2                      # slots of the pool per rated edge
    FIRST_PRUNING_ROW = 1 << 16             # rows before the first pruning of pairs; then at every doubling
cdef double MIN_ERROR = 0.001               # smaller softmax errors are not corrected
cdef double MIN_LOG_RATING = -6.0           # limits of the logarithm of a rating
cdef double MAX_LOG_RATING = 4.0
cdef double SECOND_STAGE_SCALE = 5.0        # factor of the second-stage score
cdef double MAX_SCORE_GAP = 12.0            # scores further below the best wrong one are left out of the softmax

SECOND_STAGE_WEIGHT = SECOND_STAGE_SCALE


cdef class RatedSettings:
    """The options of the rated index, as the kernels read them.

    `learning` is (kappa, shrink, rate, rate_start, step_start).
    """

    cdef readonly double w_min, horizon, kappa, shrink, rate, rate_start, step, step_start
    cdef readonly int64_t d_max, n_candidates
    cdef readonly bint leak, boolean

    def __init__(self, *, double w_min, int64_t d_max, double horizon, bint leak, bint boolean, double step, learning,
                 int64_t n_candidates=0):
        self.w_min, self.d_max, self.horizon, self.leak, self.boolean = w_min, d_max, horizon, leak, boolean
        self.step, self.n_candidates = step, n_candidates
        self.kappa, self.shrink, self.rate, self.rate_start, self.step_start = learning


cdef inline RatedEdge* list_of(EdgePool pool, const Feature* feature) except? NULL nogil:
    return <RatedEdge*> edges_of(pool, feature)


cdef inline int64_t voters(const Feature* feature, RatedSettings s) noexcept nogil:
    """Return how many edges of a feature vote."""
    return min(<int64_t> (feature.length // SLOTS_PER_EDGE), s.d_max)


cdef inline double scale_of(Feature* feature, double value, double total, RatedSettings s) noexcept nogil:
    """Return the vote per unit of w'."""
    return s.kappa * exp_of(rating_of(feature).log) * value / (total + s.shrink)


cdef inline bint is_among(const int32_t[::1] labels, int64_t first, int64_t last, int32_t label) noexcept nogil:
    cdef int64_t i
    for i in range(first, last):
        if labels[i] == label:
            return True
    return False


cdef int64_t count_votes(EdgePool pool, RatedSettings s, const int32_t[::1] indices, int64_t start,
                         int64_t stop) except -1 nogil:
    """Return the number of votes of a row, and prefetch the lists that hold them."""
    cdef int64_t p, n, i, n_votes = 0
    cdef Feature* feature
    cdef const RatedEdge* edges
    for p in range(start, stop):
        if indices[p] < pool.n_features:
            feature = feature_at(pool, indices[p])
            n = voters(feature, s)
            if n:
                edges = list_of(pool, feature)
                for i in range(0, n, 4):    # four edges per cache line
                    prefetch(edges + i)
                n_votes += n
    return n_votes


cdef int score_row(EdgePool pool, Votes votes, RatedSettings s, const int32_t[::1] indices, const double[::1] data,
                   int64_t start, int64_t stop, int64_t most_votes) except -1 nogil:
    """Fill the empty `votes` with the score of every label that gets a vote from the row."""
    cdef int64_t p, e, n, slot, mask, n_touched = 0
    cdef Feature* feature
    cdef const RatedEdge* edges
    cdef double value, scale
    cdef int32_t label, occupant
    cdef Vote* slots
    cdef int32_t* touched
    votes.open(most_votes)
    slots, touched, mask = votes.slots, votes.touched, votes.mask
    check_index(mask, votes.n_slots)
    for p in range(start, stop):
        if indices[p] >= pool.n_features or data[p] < FLOAT_MIN:
            continue
        feature = feature_at(pool, indices[p])
        n = voters(feature, s)
        if n == 0:
            continue
        edges = list_of(pool, feature)
        value = 1.0 if s.boolean else data[p]
        scale = scale_of(feature, value, feature.total, s)
        for e in range(n):
            label = edges[e].label
            slot = label & mask
            check_index(n_touched, mask + 1)  # one slot stays empty, so that every search ends
            occupant = slots[slot].label
            while occupant != label and occupant != -1:
                slot = (slot + 1) & mask
                occupant = slots[slot].label
            touched[n_touched] = <int32_t> slot
            n_touched += occupant == -1
            slots[slot].label = label
            slots[slot].score += scale * edges[e].weight + value * edges[e].correction
    votes.n_touched = n_touched
    return 0


cdef int score_to_learn(EdgePool pool, Votes votes, RatedSettings s, const int32_t[::1] indices,
                        const double[::1] data, int64_t start, int64_t stop, const int32_t[::1] labels, int64_t first,
                        int64_t last, int64_t n_votes, int64_t n_labels, double row_scale) except -1 nogil:
    """Write the score of every label that gets a vote to `sums`, and for each vote the index of its sum.

    labels[first:last] are labels that the row itself was counted for; these counts, scaled by `row_scale`, are
    subtracted. An edge without other counts keeps its correction, so that rows which no other row explains can be
    memorised. The sums are contiguous, because softmax and gradient visit them several times.
    """
    cdef int64_t p, e, n, slot, mask, n_touched = 0, vote = 0
    cdef Feature* feature
    cdef const RatedEdge* edges
    cdef double value, total, scale, weight
    cdef int32_t label, occupant, sum_index
    cdef Vote* slots
    cdef int32_t* touched
    cdef int32_t* sum_indices = votes.make_positions(n_votes)
    cdef double* sums = votes.make_sums(min(n_votes, n_labels))
    votes.open(min(n_votes, n_labels))
    slots, touched, mask = votes.slots, votes.touched, votes.mask
    for p in range(start, stop):
        if indices[p] >= pool.n_features or data[p] < FLOAT_MIN:
            continue
        feature = feature_at(pool, indices[p])
        n = voters(feature, s)
        if n == 0:
            continue
        edges = list_of(pool, feature)
        value = 1.0 if s.boolean else data[p]
        total = max(0.0, feature.total - value * row_scale * (last - first))
        scale = scale_of(feature, value, total, s)
        for e in range(n):
            label, weight = edges[e].label, edges[e].weight
            if last > first and is_among(labels, first, last, label):
                weight = max(0.0, weight - value * row_scale)
            slot = label & mask
            occupant = slots[slot].label
            while occupant != label and occupant != -1:
                slot = (slot + 1) & mask
                occupant = slots[slot].label
            if occupant == -1:
                check_index(n_touched, min(mask + 1, votes.sum_capacity))
                slots[slot].label, slots[slot].sum_index = label, <int32_t> n_touched
                touched[n_touched] = <int32_t> slot
                sums[n_touched] = 0.0
                n_touched += 1
            sum_index = slots[slot].sum_index
            check_index(sum_index, n_touched)
            check_index(vote, votes.position_capacity)
            sums[sum_index] += scale * weight + value * edges[e].correction
            sum_indices[vote] = sum_index
            vote += 1
    votes.n_touched = n_touched
    return 0


cdef int64_t score_ahead(EdgePool pool, Votes votes, RatedSettings s, const int64_t[::1] indptr,
                         const int32_t[::1] indices, const double[::1] data, int64_t row, int64_t n_votes,
                         int64_t n_labels) except -1 nogil:
    """Score a row of `n_votes` votes, if the row exists; prefetch the next row and return its number of votes."""
    cdef int64_t n_votes_next = 0
    if row + 1 >= indptr.shape[0]:
        return 0
    prefetch_headers(pool, indptr, indices, row + 2)
    if row + 2 < indptr.shape[0]:
        n_votes_next = count_votes(pool, s, indices, indptr[row + 1], indptr[row + 2])
    score_row(pool, votes, s, indices, data, indptr[row], indptr[row + 1], min(n_votes, n_labels))
    return n_votes_next


def rated_rank(EdgePool pool, Votes votes, RatedSettings s, Batch batch, int64_t n_labels,
               int32_t[:, ::1] out_labels, double[:, ::1] out_scores, PairTables pairs=None):
    """Write the best labels of each row and their scores; the remaining entries of a row keep their values."""
    cdef const int64_t[::1] indptr = batch.indptr
    cdef const int32_t[::1] indices = batch.indices
    cdef const double[::1] data = batch.data
    cdef bint reranks = pairs is not None and s.n_candidates > 0
    cdef int64_t k = max(<int64_t> out_labels.shape[1], s.n_candidates if reranks else 0)
    cdef int64_t row, i, n, n_votes = 0, n_rows = out_labels.shape[0]
    with nogil:
        if n_rows:
            n_votes = count_votes(pool, s, indices, indptr[0], indptr[1])
            n_votes = score_ahead(pool, votes, s, indptr, indices, data, 0, n_votes, n_labels)
        for row in range(n_rows):
            n = votes.take_top(k)
            if reranks:                     # the pairs are prefetched while the next row is scored
                select_candidates(pairs, votes, indices, indptr[row], indptr[row + 1], min(n, s.n_candidates))
            n_votes = score_ahead(pool, votes, s, indptr, indices, data, row + 1, n_votes, n_labels)
            if reranks:
                rerank_best(pairs, votes, indices, data, indptr[row], indptr[row + 1], n, min(n, s.n_candidates))
            for i in range(min(n, <int64_t> out_labels.shape[1])):
                out_labels[row, i] = votes.best[i].label
                out_scores[row, i] = votes.best[i].score


def rated_scores(EdgePool pool, Votes votes, RatedSettings s, Batch batch, int64_t n_labels,
                 const int32_t[::1] labels, double[:, ::1] out):
    """Write the votes of some labels for each row, NaN for a label without a vote; do not re-rank."""
    cdef const int64_t[::1] indptr = batch.indptr
    cdef const int32_t[::1] indices = batch.indices
    cdef const double[::1] data = batch.data
    cdef int64_t row, i, slot, n_votes
    with nogil:
        for row in range(out.shape[0]):
            n_votes = count_votes(pool, s, indices, indptr[row], indptr[row + 1])
            score_row(pool, votes, s, indices, data, indptr[row], indptr[row + 1], min(n_votes, n_labels))
            for i in range(labels.shape[0]):
                slot = votes.find(labels[i])
                out[row, i] = votes.slots[slot].score if votes.slots[slot].label == labels[i] else NAN
            votes.clear()


cdef int select_candidates(PairTables pairs, Votes votes, const int32_t[::1] indices, int64_t start, int64_t stop,
                     int64_t n) except -1 nogil:
    """Make the first n of the best labels the candidates of a row, and prefetch their pairs."""
    cdef int64_t i
    cdef Candidates* c = votes.make_candidates(n)
    check_index(n, votes.candidate_capacity)
    for i in range(n):
        check_index(i, votes.best_capacity)
        c.labels[i] = votes.best[i].label
    if n:
        prefetch_pairs(pairs, indices, start, stop, c.labels, n)
    return 0


cdef int rerank_best(PairTables pairs, Votes votes, const int32_t[::1] indices, const double[::1] data, int64_t start,
                    int64_t stop, int64_t n, int64_t n_reranked) except -1 nogil:
    """Re-rank the candidates, the first `n_reranked` of n sorted labels; the other labels stay behind them."""
    cdef int64_t i
    cdef Candidates* c = &votes.candidates
    cdef Vote* best = votes.best
    check_index(n_reranked, votes.candidate_capacity)
    check_index(n, votes.best_capacity + 1)
    score_pairs(pairs, indices, data, start, stop, c.labels, c.weights, n_reranked)
    for i in range(n_reranked):
        best[i].score += SECOND_STAGE_SCALE * c.weights[i]
        insert(best, i)
    for i in range(n_reranked, n):
        best[i].score = min(best[i].score, best[n_reranked - 1].score)
    return 0


cdef int64_t select_training_candidates(Votes votes, const int32_t[::1] labels, int64_t first, int64_t last,
                             int64_t n_candidates) except -1 nogil:
    """Make the wrong labels with the best sums candidates, followed by the true labels[first:last].

    Return how many are wrong.
    """
    cdef int64_t i, n = 0, most = min(n_candidates, votes.n_touched)  # there are no more, however many are wanted
    cdef Vote vote
    cdef Vote* best = votes.make_best(most)
    cdef Candidates* c
    for i in range(votes.n_touched):
        check_index(i, votes.sum_capacity)
        check_index(votes.touched[i], votes.n_slots)
        vote.score = votes.sums[i]
        if n == most and vote.score < worst_of(best, n, most).score:
            continue                        # skip the search among the true labels
        vote.label = votes.slots[votes.touched[i]].label
        if not is_among(labels, first, last, vote.label):
            n = push_top(best, n, most, &vote)
    sort_top(best, n, most)
    c = votes.make_candidates(n + last - first)
    check_index(n + last - first, votes.candidate_capacity)
    for i in range(n):
        c.labels[i] = best[i].label
    for i in range(first, last):
        c.labels[n + i - first] = labels[i]
    return n


cdef inline bint is_pruning_time(int64_t row) noexcept nogil:
    """Tell whether pairs are pruned after `row` rows: at every power of two from FIRST_PRUNING_ROW on."""
    return row >= FIRST_PRUNING_ROW and (row & (row - 1)) == 0


cdef double compute_errors(Votes votes, const int32_t[::1] labels, int64_t first, int64_t last) noexcept nogil:
    """Turn the sums into errors; return the mean missing softmax share of the true labels.

    Return -1 if only true labels, or no true label, got a vote. Every true label has a separate softmax against the
    wrong labels only: true labels must not push each other down. Errors are averaged over the true labels that got a
    vote.
    """
    cdef int64_t i, n_true = 0, n = votes.n_touched
    cdef double best = -INFINITY, wrong = 0.0, share = 0.0, lack = 0.0, away, inverse
    cdef double* sums = votes.sums
    cdef Vote* slot
    for i in range(first, last):
        slot = &votes.slots[votes.find(labels[i])]
        if slot.label == labels[i]:
            slot.score, sums[slot.sum_index] = sums[slot.sum_index], -INFINITY
            n_true += 1
    if n_true == 0:
        return -1.0
    for i in range(n):
        best = max(best, sums[i])
    if best == -INFINITY:                   # every label with a vote is true: there is nothing to learn
        return -1.0
    for i in range(n):
        away = sums[i] - best
        sums[i] = exp_of(max(away, -MAX_SCORE_GAP)) * (away > -MAX_SCORE_GAP)
        wrong += sums[i]
    for i in range(first, last):
        slot = &votes.slots[votes.find(labels[i])]
        if slot.label == labels[i]:
            away = min(slot.score - best, MAX_SCORE_GAP)
            inverse = 1.0 / ((exp_of(away) if away > -MAX_SCORE_GAP else 0.0) + wrong) if wrong > 0.0 else 0.0
            share += inverse
            lack += wrong * inverse
            slot.score = -wrong * inverse / n_true
    share /= n_true
    for i in range(n):
        sums[i] *= share
    for i in range(first, last):
        slot = &votes.slots[votes.find(labels[i])]
        if slot.label == labels[i]:
            sums[slot.sum_index] = slot.score
    return lack / n_true


cdef int apply_gradient(EdgePool pool, Votes votes, RatedSettings s, const int32_t[::1] indices,
                         const double[::1] data, int64_t start, int64_t stop, const int32_t[::1] labels,
                         int64_t first, int64_t last, double row_scale) except -1 nogil:
    """Update the ratings and corrections of a row's features by the errors of `compute_errors`."""
    cdef int64_t p, e, n, vote = 0
    cdef Feature* feature
    cdef RatedEdge* edges
    cdef Rating* rating
    cdef double value, total, scale, weight, error, gradient, grad_sq, change
    cdef const double* errors = votes.sums
    cdef const int32_t* sum_indices = votes.positions
    for p in range(start, stop):
        if indices[p] >= pool.n_features or data[p] < FLOAT_MIN:
            continue
        feature = feature_at(pool, indices[p])
        n = voters(feature, s)
        if n == 0:
            continue
        edges = list_of(pool, feature)
        value = 1.0 if s.boolean else data[p]
        total = max(0.0, feature.total - value * row_scale * (last - first))
        scale = scale_of(feature, value, total, s)
        gradient = 0.0
        for e in range(n):
            check_index(vote, votes.position_capacity)
            check_index(sum_indices[vote], votes.sum_capacity)
            error, weight = errors[sum_indices[vote]], edges[e].weight
            vote += 1
            if last > first and is_among(labels, first, last, edges[e].label):
                weight = max(0.0, weight - value * row_scale)
            gradient += error * scale * weight
            if s.step > 0.0 and (error > MIN_ERROR or error < -MIN_ERROR):
                step_correction(&edges[e], error * value, s, row_scale)
        rating = rating_of(feature)
        grad_sq = rating.grad_sq + row_scale * gradient * gradient
        rating.grad_sq = grad_sq_to_store(grad_sq)
        change = row_scale * s.rate * gradient / sqrt(grad_sq + s.rate_start)
        rating.log = <float> min(MAX_LOG_RATING, max(MIN_LOG_RATING, rating.log - change))
    return 0


cdef inline void step_correction(RatedEdge* edge, double gradient, RatedSettings s, double row_scale) noexcept nogil:
    """Apply one AdaGrad step to an edge's correction, scaled by the weight of the row."""
    cdef double grad_sq = edge.grad_sq + row_scale * gradient * gradient
    edge.grad_sq = grad_sq_to_store(grad_sq)
    edge.correction = <float> (edge.correction - row_scale * s.step * gradient / sqrt(grad_sq + s.step_start))


cdef int reject(EdgePool pool, RatedSettings s, const int32_t[::1] indices, const double[::1] data, int64_t start,
                int64_t stop, int32_t label, double row_scale) except -1 nogil:
    """Push a label down on every feature of a row that votes for it, as if it had ranked first."""
    cdef int64_t p, at
    cdef Feature* feature
    for p in range(start, stop):
        if indices[p] >= pool.n_features or data[p] < FLOAT_MIN:
            continue
        feature = feature_at(pool, indices[p])
        if feature.length:
            at = find_edge(list_of(pool, feature), feature.length // SLOTS_PER_EDGE, label)
            if at >= 0:
                step_correction(&list_of(pool, feature)[at], 1.0 if s.boolean else data[p], s, row_scale)
    return 0


def rated_lift(EdgePool pool, RatedSettings s, const int32_t[::1] indices, const double[::1] data, int32_t label):
    """Push a label up on every feature of a row that votes for it.

    A label without an edge, because all features of the row occurred with too many others, gets one on the rarest
    feature, at twice the weight that keeps an edge.
    """
    cdef int64_t p, at, n_edges_found = 0
    cdef Feature* feature
    cdef Feature* rarest = NULL
    cdef double value, rarest_value = 0.0
    cdef RatedEdge* edges
    for p in range(indices.shape[0]):
        if indices[p] >= pool.n_features or data[p] < FLOAT_MIN:
            continue
        feature = feature_at(pool, indices[p])
        value = 1.0 if s.boolean else data[p]
        if rarest == NULL or feature.total < rarest.total:
            rarest, rarest_value = feature, value
        at = find_edge(list_of(pool, feature), voters(feature, s), label) if feature.length else -1
        if at >= 0:
            n_edges_found += 1
            step_correction(&list_of(pool, feature)[at], -value, s, 1.0)
    if n_edges_found == 0 and rarest != NULL:
        update_feature(pool, rarest, list_of(pool, rarest), label, max(rarest_value, 2.0 * s.w_min * rarest.total),
                       UNKNOWN, 0, s.w_min, s.horizon, s.leak, 1.0)
        at = find_edge(list_of(pool, rarest), rarest.length // SLOTS_PER_EDGE, label) if rarest.length else -1
        if at >= 0:
            step_correction(&list_of(pool, rarest)[at], -rarest_value, s, 1.0)


def rated_learn(EdgePool pool, Votes votes, RatedSettings s, Batch batch, int64_t n_labels, bint again,
                PairTables pairs=None, int64_t n_before=0, bint prunes=True):
    """Learn rows in order, in place; return the mean missing softmax share of the true labels before the update.

    `again` marks a later pass over rows that were learned before: their counts stay, and are subtracted while they are
    scored. `pairs` is the second stage, which learns too if there are candidates. `n_before` rows of the pass came
    before these. A row's weight scales the counts and the steps.
    """
    cdef const int64_t[::1] indptr = batch.indptr, label_indptr = batch.label_indptr, wrong_indptr = batch.wrong_indptr
    cdef const int32_t[::1] indices = batch.indices, labels = batch.labels, wrong = batch.wrong_labels
    cdef const double[::1] data = batch.data
    cdef bint reranks = pairs is not None and s.n_candidates > 0
    cdef int64_t row, p, i, start, stop, first, last, n_votes, n_wrong = 0, n_scored = 0
    cdef double loss, total_loss = 0.0, scale, value
    cdef Feature* feature
    pool.ensure_features(batch.n_features)
    if reranks:
        pairs.ensure_features(batch.n_features + 1)
    with nogil:
        for row in range(indptr.shape[0] - 1):
            if reranks and prunes and is_pruning_time(n_before + row):
                pairs.prune_tables()
            prefetch_headers(pool, indptr, indices, row + 2)
            start, stop = indptr[row], indptr[row + 1]
            if row + 2 < indptr.shape[0]:
                count_votes(pool, s, indices, stop, indptr[row + 2])
            first, last, scale = label_indptr[row], label_indptr[row + 1], scale_of_row(batch.scales, row)
            if first < last:
                n_votes = count_votes(pool, s, indices, start, stop)
                score_to_learn(pool, votes, s, indices, data, start, stop, labels, first, last if again else first,
                               n_votes, n_labels, scale)
                if reranks:                 # the pairs are prefetched while the index learns
                    n_wrong = select_training_candidates(votes, labels, first, last, s.n_candidates)
                    prefetch_pairs(pairs, indices, start, stop, votes.candidates.labels, n_wrong + last - first)
                loss = compute_errors(votes, labels, first, last)
                if loss >= 0.0:
                    n_scored += 1
                    total_loss += loss
                    apply_gradient(pool, votes, s, indices, data, start, stop, labels, first,
                                    last if again else first, scale)
                votes.clear()
                if reranks:
                    learn_candidates(pairs, indices, data, start, stop, &votes.candidates, n_wrong, last - first,
                                     <double> (n_before + row), scale)
            if wrong_indptr.shape[0] and not again:
                for i in range(wrong_indptr[row], wrong_indptr[row + 1]):
                    reject(pool, s, indices, data, start, stop, wrong[i], scale)
                    if reranks and 0 <= wrong[i] < n_labels:
                        reject_candidate(pairs, indices, data, start, stop, wrong[i], <double> (n_before + row), scale)
            for i in range(first, first if again else last):
                for p in range(start, stop):
                    value = (1.0 if s.boolean else data[p]) * scale
                    if data[p] >= FLOAT_MIN and value >= FLOAT_MIN:
                        feature = feature_at(pool, indices[p])
                        update_feature(pool, feature, list_of(pool, feature), labels[i], value, UNKNOWN, last - i - 1,
                                       s.w_min, s.horizon, s.leak, scale)
    return total_loss / n_scored if n_scored else 0.0


def rated_explain(EdgePool pool, RatedSettings s, const int32_t[::1] indices, const double[::1] data, int32_t label):
    """Return the positions in a row that vote for a label, their votes in the order of summation, and corrections."""
    cdef int64_t p, e
    cdef Feature* feature
    cdef const RatedEdge* edges
    cdef double value, correction
    positions, votes, corrections = [], [], []
    for p in range(indices.shape[0]):
        if indices[p] >= pool.n_features or data[p] < FLOAT_MIN:
            continue
        feature = feature_at(pool, indices[p])
        if feature.length == 0:
            continue
        edges = list_of(pool, feature)
        value = 1.0 if s.boolean else data[p]
        e = find_edge(edges, voters(feature, s), label)
        if e >= 0:
            positions.append(p)
            correction = value * edges[e].correction
            corrections.append(correction)
            votes.append(scale_of(feature, value, feature.total, s) * edges[e].weight + correction)
    return np.array(positions, np.int64), np.array(votes, np.float64), np.array(corrections, np.float64)


def check_rated(const int64_t[::1] indptr, edges, const double[::1] totals, ratings, int64_t n_labels):
    """Return what is wrong with the arrays of a rated index as one phrase, or None; see `check_lists`."""
    if edges.dtype != RATED_DTYPE or ratings.dtype != RATING_DTYPE:
        return "edges or ratings have the wrong type"
    if indptr.shape[0] != totals.shape[0] + 1 or ratings.shape[0] != totals.shape[0]:
        return "indptr, totals and ratings disagree about the number of features"
    for name in ("correction", "slope"):
        if not np.isfinite(edges[name]).all():
            return f"a {name} is not a finite number"
    if not np.isfinite(ratings["log"]).all() or not np.isfinite(ratings["slope"]).all():
        return "a rating is not a finite number"
    if np.any(edges["slope"] < 0) or np.any(ratings["slope"] < 0) or np.any(np.abs(ratings["log"]) > 6):
        return "a rating or a sum of squares is outside its limits"
    return check_lists(indptr, edges, totals, n_labels, INT32_MAX // SLOTS_PER_EDGE)
