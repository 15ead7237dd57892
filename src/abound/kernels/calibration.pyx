"""Calibration: logistic regression from ranked scores to the probability that a label is right.

Rankings are matrices of label numbers, best first, padded with -1. Each ranked label has `N_FEATURES` features that
describe its score, how it compares with the other scores of its row, and how the label was judged before. The features
depend on the ten best labels only, so a probability does not depend on how many labels were asked for.

The log-odds are a weighted sum of the features, bent at `KNOT`: b[0] + b[1] * sum + b[2] * max(0, sum - KNOT). Unlikely
labels are often less likely than a straight line says.
"""

from libc.math cimport fabs, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t

from abound.kernels.exponential cimport exp_of
from abound.kernels.logarithm cimport log_of

import numpy as np

cdef enum:
    TOP = 10                # labels of a row whose scores are compared
    FEATURES = 11
    RECORD = 9              # the feature that is the label's record
    RIGHT = 0               # columns of the records: how often a label was right, and how often it was expected to be
    EXPECTED = 1
    BENDS = 3
    TABLE = 100             # ranks whose logarithms are computed once

N_FEATURES = FEATURES
N_COMPARED = TOP
RECORD_FEATURE = RECORD
N_BENDS = BENDS

cdef double PRIOR = 4.0     # judgements that the record of a label is mixed with, as many right as expected
cdef double LARGEST = 1e3   # scores, from their origin and in their unit, are clipped to this
cdef double KNOT = -2.0     # log-odds at which the line is bent
cdef double FARTHEST = 30.0  # log-odds and differences of scores are clipped to this


cdef inline double clipped(double x) noexcept nogil:
    return -FARTHEST if x < -FARTHEST else FARTHEST if x > FARTHEST else x


cdef inline double bounded(double x) noexcept nogil:
    return -LARGEST if x < -LARGEST else LARGEST if x > LARGEST else x


cdef inline double sigmoid(double x) noexcept nogil:
    return 1.0 / (1.0 + exp_of(-clipped(x)))


cdef inline double bent(double x, const double* bend) noexcept nogil:
    return bend[0] + bend[1] * x + (bend[2] * (x - KNOT) if x > KNOT else 0.0)


cdef inline double slope_at(double x, const double* bend) noexcept nogil:
    return bend[1] + (bend[2] if x > KNOT else 0.0)


cdef inline double signed_log(double x) noexcept nogil:
    return log_of(1.0 + x) if x >= 0.0 else -log_of(1.0 - x)


cdef inline double record_of(int64_t label, const double[:, ::1] records) noexcept nogil:
    """Log of how often a label was right, compared with how often it was expected to be."""
    if label >= records.shape[0] or records[label, RIGHT] == records[label, EXPECTED]:
        return 0.0
    return log_of((records[label, RIGHT] + PRIOR) / (records[label, EXPECTED] + PRIOR))


cdef double[TABLE] LOG_RANKS
for _rank in range(TABLE):
    LOG_RANKS[_rank] = log_of(_rank + 1.0)


cdef inline double share_total(const double* scores, int64_t n, double unit, double* odds) noexcept nogil:
    """Write the odds of the `n` best labels against the best one, and return their sum."""
    cdef int64_t i
    cdef double total = 0.0
    for i in range(n):
        odds[i] = exp_of(-clipped((scores[0] - scores[i]) / unit))
        total += odds[i]
    return total


cdef inline void describe(const double* scores, int64_t n, int64_t place, double total, const double* odds,
                          double origin, double unit, double record, double* out) noexcept nogil:
    """Write the features of one ranked label; `n` labels of its row are ranked, `odds` are those of the ten best."""
    cdef double score = bounded((scores[place] - origin) / unit)
    cdef double below = clipped((scores[0] - scores[place]) / unit)
    cdef double share = (odds[place] if place < TOP else exp_of(-below)) / total
    out[0] = 1.0
    out[1] = score
    out[2] = below
    out[3] = LOG_RANKS[place] if place < TABLE else log_of(place + 1.0)
    out[4] = bounded((scores[min(n, <int64_t> TOP) - 1] - origin) / unit)
    out[5] = share
    out[6] = log_of(share + 1e-6)
    out[7] = clipped((scores[0] - scores[1]) / unit) if place == 0 and n > 1 else 0.0
    out[8] = signed_log(score)
    out[RECORD] = record
    out[10] = 1.0 if place == 0 else 0.0


cdef inline int64_t n_ranked(const int32_t* labels, int64_t n) noexcept nogil:
    cdef int64_t i = 0
    while i < n and labels[i] >= 0:
        i += 1
    return i


def features(const int32_t[:, ::1] labels, const double[:, ::1] scores, double origin, double unit,
             const double[:, ::1] records, double[:, :, ::1] out):
    """Write the features of every ranked label; those of padding are left as they are."""
    cdef int64_t row, place, n, k = labels.shape[1]
    cdef double total
    cdef double[TOP] odds
    with nogil:
        for row in range(labels.shape[0]):
            n = n_ranked(&labels[row, 0], k) if k else 0
            if n == 0:
                continue
            total = share_total(&scores[row, 0], min(n, <int64_t> TOP), unit, odds)
            for place in range(n):
                describe(&scores[row, 0], n, place, total, odds, origin, unit, record_of(labels[row, place], records),
                         &out[row, place, 0])


cdef inline double weighted_sum(const double* x, const double* weights, int64_t n) noexcept nogil:
    cdef int64_t j
    cdef double total = 0.0
    for j in range(n):
        total += weights[j] * x[j]
    return total


cdef class Probabilities:
    """What a ranking needs to know for its probabilities, read once and not per row.

    `weights` are of features as they are, not standardised.
    """

    cdef double origin, unit
    cdef const double[:, ::1] records
    cdef const double[::1] weights, bend

    def __init__(self, double origin, double unit, const double[:, ::1] records, const double[::1] weights,
                 const double[::1] bend):
        self.origin, self.unit, self.records, self.weights, self.bend = origin, unit, records, weights, bend

    def of(self, const int32_t[:, ::1] labels, const double[:, ::1] scores):
        """Return the probability of every ranked label, 0 for padding."""
        cdef int64_t row, place, n, k = labels.shape[1]
        cdef double total
        cdef double[FEATURES] x
        cdef double[TOP] odds
        out_ = np.zeros((labels.shape[0], k))
        cdef double[:, ::1] out = out_
        with nogil:
            for row in range(labels.shape[0]):
                n = n_ranked(&labels[row, 0], k) if k else 0
                if n == 0:
                    continue
                total = share_total(&scores[row, 0], min(n, <int64_t> TOP), self.unit, odds)
                for place in range(n):
                    describe(&scores[row, 0], n, place, total, odds, self.origin, self.unit,
                             record_of(labels[row, place], self.records), x)
                    out[row, place] = sigmoid(bent(weighted_sum(x, &self.weights[0], FEATURES), &self.bend[0]))
        return out_


cdef bint solve(double* matrix, double* vector, int64_t n) noexcept nogil:
    """Solve a positive definite system in place by Cholesky's decomposition; False if it is not positive definite."""
    cdef int64_t i, j, l
    cdef double total
    for i in range(n):
        for j in range(i + 1):
            total = matrix[i * n + j]
            for l in range(j):
                total -= matrix[i * n + l] * matrix[j * n + l]
            if i == j:
                if total <= 0.0:
                    return False
                matrix[i * n + i] = sqrt(total)
            else:
                matrix[i * n + j] = total / matrix[j * n + j]
    for i in range(n):
        for l in range(i):
            vector[i] -= matrix[i * n + l] * vector[l]
        vector[i] /= matrix[i * n + i]
    for i in range(n - 1, -1, -1):
        for l in range(i + 1, n):
            vector[i] -= matrix[l * n + i] * vector[l]
        vector[i] /= matrix[i * n + i]
    return True


cdef inline void add_example(const double* x, double y, const double* weights, const double* bend, int64_t n,
                             double* precision, double* gradient) noexcept nogil:
    """Add the gradient of an example's log-likelihood, and its curvature; the bend counts as a line at each point."""
    cdef int64_t i, j
    cdef double total = weighted_sum(x, weights, n)
    cdef double p = sigmoid(bent(total, bend)), slope = slope_at(total, bend)
    cdef double change = (y - p) * slope, curvature = p * (1.0 - p) * slope * slope
    for i in range(n):
        gradient[i] += change * x[i]
        for j in range(i + 1):
            precision[i * n + j] += curvature * x[i] * x[j]


def fit(const double[:, ::1] x, const uint8_t[::1] y, double ridge, int64_t n_steps, const double[::1] bend,
        double[::1] weights, double[:, ::1] precision):
    """Fit weights by Newton's method with a ridge penalty, from where they are; write the precision at the end.

    Without steps, only the precision is written. There are at most `N_FEATURES` weights. Returns whether every system
    could be solved.
    """
    cdef int64_t step, i, j, row, n = x.shape[1]
    cdef double length
    cdef bint solved = True
    cdef double[FEATURES * FEATURES] work
    cdef double[FEATURES] gradient
    with nogil:
        for step in range(n_steps + 1):
            for i in range(n * n):
                work[i] = 0.0
            for i in range(n):
                work[i * n + i] = ridge
                gradient[i] = -ridge * weights[i]
            for row in range(x.shape[0]):
                add_example(&x[row, 0], y[row], &weights[0], &bend[0], n, work, gradient)
            for i in range(n):
                for j in range(i + 1):
                    precision[i, j] = work[i * n + j]
                    precision[j, i] = work[i * n + j]
            if step == n_steps:
                break
            solved = solve(work, gradient, n)
            if not solved:
                break
            length = 0.0
            for i in range(n):
                length = max(length, fabs(gradient[i]))
            for i in range(n):  # a long step may overshoot
                weights[i] += gradient[i] * (1.0 if length <= 2.0 else 2.0 / length)
            if length < 1e-9:
                break
    return solved


cdef inline void newton_step(const double* x, const uint8_t* y, int64_t n, double kept, const double* bend,
                             double* weights, double[:, ::1] precision) noexcept nogil:
    """Learn the judgements of one row by one online step; older ones count `kept` times as much as before.

    The weights stay as they are if the system cannot be solved.
    """
    cdef int64_t i, j, row
    cdef double[FEATURES * FEATURES] work
    cdef double[FEATURES] gradient
    for i in range(FEATURES):
        gradient[i] = 0.0
        for j in range(FEATURES):
            work[i * FEATURES + j] = kept * precision[i, j]
    for row in range(n):
        add_example(x + row * FEATURES, y[row], weights, bend, FEATURES, work, gradient)
    for i in range(FEATURES):
        for j in range(i + 1):
            precision[i, j] = work[i * FEATURES + j]
            precision[j, i] = work[i * FEATURES + j]
    if solve(work, gradient, FEATURES):
        for i in range(FEATURES):
            weights[i] += clipped(gradient[i])


def bend_features(const double[:, ::1] x, const double[::1] weights, double[:, ::1] out):
    """Write what the bend is fitted on: 1, the weighted sum of each example, and how far it is above the knot."""
    cdef int64_t row
    cdef double total
    with nogil:
        for row in range(x.shape[0]):
            total = clipped(weighted_sum(&x[row, 0], &weights[0], FEATURES))
            out[row, 0] = 1.0
            out[row, 1] = total
            out[row, 2] = max(0.0, total - KNOT)


def log_odds(const double[:, ::1] x, const double[::1] weights, const double[::1] bend, double[::1] out):
    """Write the log-odds of each example, clipped."""
    cdef int64_t row
    with nogil:
        for row in range(x.shape[0]):
            out[row] = clipped(bent(weighted_sum(&x[row, 0], &weights[0], FEATURES), &bend[0]))


def moments(const double[:, ::1] x, double[::1] mean, double[::1] scale):
    """Write mean and standard deviation of each column; a constant column has scale 0."""
    cdef int64_t row, j, n = x.shape[0]
    with nogil:
        for j in range(FEATURES):
            mean[j] = 0.0
            scale[j] = 0.0
        for row in range(n):
            for j in range(FEATURES):
                mean[j] += x[row, j]
        for j in range(FEATURES):
            mean[j] /= max(n, 1)
        for row in range(n):
            for j in range(FEATURES):
                scale[j] += (x[row, j] - mean[j]) * (x[row, j] - mean[j])
        for j in range(FEATURES):
            scale[j] = sqrt(scale[j] / max(n, 1))
            if scale[j] < 1e-9 * (1.0 + fabs(mean[j])):
                scale[j] = 0.0


cdef inline void to_standard(double* x, const double* mean, const double* scale) noexcept nogil:
    cdef int64_t j
    for j in range(1, FEATURES):
        x[j] = (x[j] - mean[j]) / scale[j] if scale[j] > 0.0 else 0.0


def standardise(double[:, ::1] x, const double[::1] mean, const double[::1] scale):
    """Subtract the mean of each column and divide by its scale, in place; the first column is the bias."""
    cdef int64_t row
    with nogil:
        for row in range(x.shape[0]):
            to_standard(&x[row, 0], &mean[0], &scale[0])


cdef inline void note_unit(const double* scores, int64_t n, double longest, double[::1] units) noexcept nogil:
    """Take one row into the number of rows, the mean of their best score, and that of its distance to the last."""
    cdef double count = min(units[0] + 1.0, longest)
    units[0] = count
    units[1] += (scores[0] - units[1]) / count
    units[2] += (scores[0] - scores[min(n, <int64_t> TOP) - 1] - units[2]) / count


def note_units(const double[::1] scores, double longest, double[::1] units):
    """Take the scores of one row into the origin and the unit of scores."""
    with nogil:
        note_unit(&scores[0], scores.shape[0], longest, units)


cdef inline void note_outcome(double odds, bint right, const double[::1] levels,
                              double[:, ::1] outcomes) noexcept nogil:
    """Count a label at the highest level that its log-odds reach."""
    cdef int64_t low = 0, high = levels.shape[0], middle
    while low < high:
        middle = (low + high) // 2
        if levels[middle] <= odds:
            low = middle + 1
        else:
            high = middle
    outcomes[1 if right else 0, max(low - 1, <int64_t> 0)] += 1.0


def note_outcomes(const double[::1] odds, const uint8_t[::1] right, const double[::1] levels,
                  double[:, ::1] outcomes):
    """Count labels by whether they are right and the level of their log-odds."""
    cdef int64_t i
    with nogil:
        for i in range(odds.shape[0]):
            note_outcome(odds[i], right[i], levels, outcomes)


cdef inline void count_judgement(double* record, uint8_t right, double expected, double longest) noexcept nogil:
    """Add a judgement to the record of a label; a record that is longer than `longest` is halved."""
    record[RIGHT] += right
    record[EXPECTED] += expected
    if record[RIGHT] + record[EXPECTED] > longest:
        record[RIGHT] *= 0.5
        record[EXPECTED] *= 0.5


cdef class Learner:
    """The arrays of a calibration that learns from one more row."""

    cdef const double[::1] mean, scale, bend, levels
    cdef double[::1] units, weights
    cdef double[:, ::1] precision, records, outcomes

    def __init__(self, const double[::1] mean, const double[::1] scale, const double[::1] bend,
                 const double[::1] levels, double[::1] units, double[::1] weights, double[:, ::1] precision,
                 double[:, ::1] records, double[:, ::1] outcomes):
        self.mean, self.scale, self.bend, self.levels, self.units = mean, scale, bend, levels, units
        self.weights, self.precision, self.records, self.outcomes = weights, precision, records, outcomes

    def learn(self, const int32_t[::1] labels, const double[::1] scores, const uint8_t[::1] right,
              const uint8_t[::1] judged, double unit_rows, double kept, double outcomes_kept, double longest):
        """Learn from one ranking of at most `N_COMPARED` labels: which were judged, and which of these are right.

        Judged labels must have a place in the records. Older judgements count `kept` times as much as before, older
        outcomes `outcomes_kept` times.
        """
        cdef int64_t i, j, place, n = n_ranked(&labels[0], labels.shape[0]), n_judged = 0
        cdef double total, odds, unit
        cdef double[TOP * FEATURES] x
        cdef double[TOP] shares, expected
        cdef uint8_t[TOP] y
        with nogil:
            note_unit(&scores[0], n, unit_rows, self.units)
            unit = self.units[2] if self.units[2] > 0.0 else 1.0
            total = share_total(&scores[0], n, unit, shares)
            for i in range(self.outcomes.shape[0]):
                for j in range(self.outcomes.shape[1]):
                    self.outcomes[i, j] *= outcomes_kept
            for place in range(n):
                if not judged[place]:
                    continue
                describe(&scores[0], n, place, total, shares, self.units[1], unit,
                         record_of(labels[place], self.records), x + n_judged * FEATURES)
                to_standard(x + n_judged * FEATURES, &self.mean[0], &self.scale[0])
                odds = clipped(bent(weighted_sum(x + n_judged * FEATURES, &self.weights[0], FEATURES), &self.bend[0]))
                expected[n_judged] = sigmoid(odds)
                y[n_judged] = right[place]
                note_outcome(odds, right[place], self.levels, self.outcomes)
                n_judged += 1
            newton_step(x, y, n_judged, kept, &self.bend[0], &self.weights[0], self.precision)
            n_judged = 0
            for place in range(n):
                if judged[place]:
                    count_judgement(&self.records[labels[place], 0], right[place], expected[n_judged], longest)
                    n_judged += 1
