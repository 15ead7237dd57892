"""The most violated ranking of each query: the inner problem of the cutting plane, for three losses.

Algorithm 2 of Yue, Finley, Radlinski and Joachims, "A support vector method for optimizing average precision"
(SIGIR 2007), and its counterparts for the ROC area and for accuracy. The ranking itself is not written. The caller
needs its loss, and the weight of each row in Psi(right ranking) - Psi(violated ranking).
"""

from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free, malloc, qsort

from abound.kernels.pool cimport out_of_memory

cpdef enum:
    LOSS_MAP = 0
    LOSS_ROC = 1
    LOSS_ACCURACY = 2


cdef struct Scored:
    double score
    int64_t row


cdef int by_score(const void* a, const void* b) noexcept nogil:
    """Order by descending score, then by row: a total order, so that every sort gives the same result."""
    cdef const Scored* x = <const Scored*> a
    cdef const Scored* y = <const Scored*> b
    if x.score != y.score:
        return -1 if x.score > y.score else 1
    return -1 if x.row < y.row else 1


cdef double violate_map(const Scored* rel, int64_t R, const Scored* non, int64_t N, int64_t* above,
                        double[::1] weights) noexcept nogil:
    """Move each irrelevant document up while 1 - AP grows by more than the score falls; return 1 - AP.

    The positions never decrease from one document to the next (Lemma 1). So a search ends where the last one did, and
    all searches end with the first document that stays below every relevant one.
    """
    cdef int64_t i, j, position, first = 0
    cdef double total, best, loss = 0.0, pair = 2.0 / (<double> R * <double> N), share = 1.0 / R
    for i in range(R):
        above[i] = 0
    for j in range(N):
        total = best = 0.0
        position = R
        for i in range(R - 1, first - 1, -1):
            total += share * ((i + 1.0) / ((i + j + 2.0) * (i + j + 1.0))) - pair * (rel[i].score - non[j].score)
            if total > best:
                best = total
                position = i
        if position == R:
            break
        first = position
        above[position] += 1
        weights[non[j].row] = -pair * (R - position)
    j = 0
    for i in range(R):
        j += above[i]                       # irrelevant documents above the i-th relevant one
        weights[rel[i].row] = pair * j
        loss += share * (j / (i + 1.0 + j))
    return loss


cdef double violate_roc(const Scored* rel, int64_t R, const Scored* non, int64_t N,
                        double[::1] weights) noexcept nogil:
    """Swap every pair whose scores differ by less than 0.5; return 1 - ROC area."""
    cdef int64_t i, j, turned = 0
    cdef double pair = 2.0 / (<double> R * <double> N)
    i = 0
    for j in range(N):
        while i < R and rel[i].score - non[j].score >= 0.5:
            i += 1
        weights[non[j].row] = -pair * (R - i)
        turned += R - i
    j = 0
    for i in range(R):
        while j < N and rel[i].score - non[j].score < 0.5:
            j += 1
        weights[rel[i].row] = pair * j
    return 0.5 * pair * turned


cdef double violate_accuracy(const double[::1] scores, const uint8_t[::1] relevant, int64_t begin, int64_t end,
                             int64_t R, double relevant_weight, double[::1] weights) noexcept nogil:
    """Count every document as wrong that is not right by a margin of one; return the share of wrong ones."""
    cdef int64_t row
    cdef double unit = 1.0 / (R * relevant_weight + (end - begin - R)), loss = 0.0
    for row in range(begin, end):
        if relevant[row] and scores[row] < 1.0:
            weights[row] = unit * relevant_weight
            loss += weights[row]
        elif not relevant[row] and scores[row] > -1.0:
            weights[row] = -unit
            loss += unit
    return loss


def violated_rankings(int loss, double relevant_weight, const double[::1] scores, const uint8_t[::1] relevant,
                      const int64_t[::1] indptr, int64_t start, int64_t stop, double[::1] out_weights,
                      double[::1] out_losses):
    """Find the most violated rankings of the queries from `start` to `stop`.

    The rows of query q are indptr[q] to indptr[q + 1]. Writes the loss of its most violated ranking, and row weights
    whose sum with the rows is Psi(right) - Psi(violated). Both are 0 for a query without a relevant or without an
    irrelevant document. Threads may share the queries: each writes only its own rows.
    """
    cdef int64_t q, row, R, N, most = 0
    cdef Scored* rel
    cdef Scored* non
    cdef int64_t* above
    if not 0 <= start <= stop < indptr.shape[0] or loss < 0 or loss > 2:
        raise ValueError("queries or loss out of range")
    if indptr[stop] > scores.shape[0] or scores.shape[0] != relevant.shape[0] \
            or scores.shape[0] != out_weights.shape[0] or out_losses.shape[0] + 1 < indptr.shape[0]:
        raise ValueError("scores, relevance, weights and losses must match the queries")
    with nogil:
        for q in range(start, stop):
            most = max(most, indptr[q + 1] - indptr[q])
        rel = <Scored*> malloc((most + 1) * sizeof(Scored))
        non = <Scored*> malloc((most + 1) * sizeof(Scored))
        above = <int64_t*> malloc((most + 1) * sizeof(int64_t))
        if rel == NULL or non == NULL or above == NULL:
            free(rel)
            free(non)
            free(above)
            out_of_memory("the documents of a query")
        for q in range(start, stop):
            R = N = 0
            for row in range(indptr[q], indptr[q + 1]):
                out_weights[row] = 0.0
                if relevant[row]:
                    rel[R].score, rel[R].row = scores[row], row
                    R += 1
                else:
                    non[N].score, non[N].row = scores[row], row
                    N += 1
            out_losses[q] = 0.0
            if R == 0 or N == 0:
                continue
            if loss == LOSS_ACCURACY:
                out_losses[q] = violate_accuracy(scores, relevant, indptr[q], indptr[q + 1], R, relevant_weight,
                                                 out_weights)
                continue
            qsort(rel, R, sizeof(Scored), by_score)
            qsort(non, N, sizeof(Scored), by_score)
            if loss == LOSS_MAP:
                out_losses[q] = violate_map(rel, R, non, N, above, out_weights)
            else:
                out_losses[q] = violate_roc(rel, R, non, N, out_weights)
        free(rel)
        free(non)
        free(above)
