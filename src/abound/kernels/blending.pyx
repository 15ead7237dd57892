"""The blend of several voters: a weighted sum of features, which learns that right labels beat the wrong ones."""

from libc.stdint cimport int64_t, uint8_t
from libc.math cimport sqrt

from abound.kernels.exponential cimport exp_of
from abound.kernels.logarithm cimport log_of

cdef double FARTHEST = 600.0  # differences of scores are clipped to this


def exponentials(const double[::1] given, double[::1] out):
    """Write e to the power of each number, clipped to a finite result."""
    cdef int64_t i
    if out.shape[0] != given.shape[0]:
        raise ValueError("both arrays must have the same size")
    for i in range(given.shape[0]):
        out[i] = exp_of(max(-FARTHEST, min(FARTHEST, given[i])))


def logarithms(const double[::1] given, double[::1] out):
    """Write the natural logarithm of each number, which must be positive."""
    cdef int64_t i
    if out.shape[0] != given.shape[0]:
        raise ValueError("both arrays must have the same size")
    for i in range(given.shape[0]):
        if not given[i] > 0.0:
            raise ValueError("logarithms need positive numbers")
        out[i] = log_of(given[i])


def weighted_sums(const double[:, ::1] features, const double[::1] weights, double[::1] out):
    """Write the weighted sum of the features of each candidate."""
    cdef int64_t row, column
    cdef double total
    if features.shape[1] != weights.shape[0] or out.shape[0] != features.shape[0]:
        raise ValueError("features, weights and sums must have the same sizes")
    for row in range(features.shape[0]):
        total = 0.0
        for column in range(features.shape[1]):
            total += features[row, column] * weights[column]
        out[row] = total


def learn(const double[:, ::1] features, const uint8_t[::1] right, const uint8_t[::1] judged, double step,
          double[::1] weights, double[::1] squares, double[::1] scores, double[::1] gradient):
    """Learn from the candidates of one text: each right one competes with the wrong ones (AdaGrad).

    `scores` has one number per candidate and `gradient` one per feature; both are scratch space.
    """
    cdef int64_t n = features.shape[0], width = features.shape[1], row, column, n_right = 0
    cdef double wrong = 0.0, best = 0.0, pull = 0.0, share, push
    if (weights.shape[0] != width or squares.shape[0] != width or gradient.shape[0] != width
            or right.shape[0] != n or judged.shape[0] != n or scores.shape[0] != n):
        raise ValueError("features, weights and marks must have the same sizes")
    for row in range(n):
        scores[row] = 0.0
        for column in range(width):
            scores[row] += features[row, column] * weights[column]
        if row == 0 or scores[row] > best:
            best = scores[row]
    for row in range(n):
        scores[row] = exp_of(max(-FARTHEST, scores[row] - best))
        if judged[row] and right[row]:
            n_right += 1
        elif judged[row]:
            wrong += scores[row]
    if not n_right or wrong == 0.0:
        return False
    for column in range(width):
        gradient[column] = 0.0
    for row in range(n):
        if judged[row] and right[row]:
            pull += 1.0 / (scores[row] + wrong)
    for row in range(n):
        if not judged[row]:
            continue
        if right[row]:
            share = scores[row] / (scores[row] + wrong)
            push = -(1.0 - share) / n_right
        else:
            push = scores[row] * pull / n_right
        for column in range(width):
            gradient[column] += push * features[row, column]
    for column in range(width):
        squares[column] += gradient[column] * gradient[column]
        weights[column] -= step * gradient[column] / sqrt(squares[column])
    return True
