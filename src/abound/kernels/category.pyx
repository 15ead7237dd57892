"""Rankers that learn prototypes row by row: MMP, perceptrons, sums of rows, and the squared hinge.

Crammer and Singer, "A new family of online algorithms for category ranking", SIGIR 2002. Scores are double precision.
Rows are the three arrays of a CSR matrix.
"""

from libc.math cimport fabs
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, qsort
from libc.string cimport memcpy, memset

from abound.kernels.batch cimport Batch, scale_of_row
from abound.kernels.lists cimport FLOAT_MIN
from abound.kernels.pool cimport check_index, out_of_memory, out_of_range
from abound.kernels.prototypes cimport Change, Column, Prototypes, Step, find_positions, labels_of, weights_of
from abound.kernels.votes cimport RIVALS_PER_LABEL, Vote, push_top, sort_top, worst_of

import numpy as np

cdef enum:
    MMP1 = 1
    MMP2 = 2
    MMP3 = 3
    PERCEPTRON = 4
    SUM = 5
    HINGE = 6
    MMP_AVGP = 7

cdef double TWO_M53 = 2.0 ** -53           # random bits become a fraction

cdef enum:
    UNIFORM = 0
    MAX = 1
    PROPORTIONAL = 2
    RANDOM = 3

RULES = {
    "mmp1": MMP1, "mmp2": MMP2, "mmp3": MMP3, "mmpavgp": MMP_AVGP, "perceptron": PERCEPTRON, "sum": SUM, "hinge": HINGE
}
UPDATES = {"uniform": UNIFORM, "max": MAX, "proportional": PROPORTIONAL, "random": RANDOM}


cdef class PrototypeSettings:
    """The settings by which prototypes rank and learn.

    `rule` is one of RULES. With `all_labels`, every known label is scored; otherwise only the labels that have a weight
    on a feature of the row, and the row's own labels. A relevant label must beat the best `rivals` other labels by
    `margin`; the hinge may compare more. AdaGrad uses the learning rate `step` and the initial sum of squares
    `step_start`; with a `step` of 0, whole rows are added. If `bias_value` is above 0, every row has one more feature
    of that value. It is feature 0 of the store, and the other features follow it. With `known_only`, a row is not
    ranked if none of its own features has weights. `update` is one of UPDATES: how MMP divides a step among the wrong
    pairs; `seed` is for the random one.
    """

    cdef readonly int rule, update
    cdef readonly bint all_labels, known_only
    cdef readonly double margin, step, step_start, bias_value
    cdef readonly int64_t rivals
    cdef readonly uint64_t seed

    def __init__(self, *, str rule, bint all_labels, double margin=0.0, int64_t rivals=INT64_MAX, double step=0.0,
                 double step_start=0.0, double bias_value=0.0, bint known_only=False, str update="uniform",
                 uint64_t seed=0):
        if bias_value > 0.0 and not all_labels:
            raise ValueError("bias_value needs all_labels: a bias gives every label a score")
        self.rule, self.all_labels, self.margin, self.rivals = RULES[rule], all_labels, margin, rivals
        self.step, self.step_start, self.bias_value, self.known_only = step, step_start, bias_value, known_only
        self.update, self.seed = UPDATES[update], seed


cdef class RowScores:
    """The scores of one row and the changes that it causes: scratch space for one thread at a time."""

    cdef double* score                      # by label; 0 for labels without a score
    cdef char* marks
    cdef int32_t* touched
    cdef int64_t n_touched
    cdef int64_t capacity
    cdef Change* changes
    cdef int64_t n_changes
    cdef double* keys
    cdef int64_t* tally
    cdef int64_t key_capacity
    cdef Vote* best
    cdef int64_t best_capacity
    cdef int64_t n_rivals                   # entries of `best` after find_errors

    def __dealloc__(self):
        free(self.score)
        free(self.marks)
        free(self.touched)
        free(self.changes)
        free(self.keys)
        free(self.tally)
        free(self.best)

    cdef int ensure(self, int64_t n_labels, int64_t n_keys) except -1 nogil:
        """Reserve memory for `n_labels` labels and `n_keys` relevant labels."""
        cdef int64_t capacity
        if n_labels > self.capacity:
            capacity = n_labels + n_labels // 2
            free(self.score)
            free(self.marks)
            free(self.touched)
            free(self.changes)
            self.capacity = 0
            self.score = <double*> calloc(capacity, sizeof(double))
            self.marks = <char*> calloc(capacity, 1)
            self.touched = <int32_t*> malloc((capacity + 1) * sizeof(int32_t))
            self.changes = <Change*> malloc(capacity * sizeof(Change))
            if self.score == NULL or self.marks == NULL or self.touched == NULL or self.changes == NULL:
                out_of_memory("the scores of a row")
            self.capacity, self.n_touched = capacity, 0
        if n_keys >= self.key_capacity:
            free(self.keys)
            free(self.tally)
            self.key_capacity = 0
            self.keys = <double*> malloc(2 * (n_keys + 1) * sizeof(double))
            self.tally = <int64_t*> malloc(2 * (n_keys + 1) * sizeof(int64_t))
            if self.keys == NULL or self.tally == NULL:
                out_of_memory("the labels of a row")
            self.key_capacity = 2 * (n_keys + 1)
        return 0

    cdef void clear_scores(self, int64_t n_labels) noexcept nogil:
        """Set the scores of the first `n_labels` labels to 0."""
        if n_labels:                        # without labels the array may be NULL
            memset(self.score, 0, n_labels * sizeof(double))

    cdef Vote* make_best(self, int64_t n) except? NULL nogil:
        """Return space for n labels and their scores."""
        if n > self.best_capacity:
            free(self.best)
            self.best_capacity = 0
            self.best = <Vote*> malloc(n * sizeof(Vote))
            if self.best == NULL:
                out_of_memory("the ranking of a row")
            self.best_capacity = n
        return self.best

    cdef void clear(self) noexcept nogil:
        cdef int64_t i
        for i in range(self.n_touched):
            self.score[self.touched[i]] = 0.0
            self.marks[self.touched[i]] = 0
        self.n_touched = 0


cdef inline int vote_all(const Column* c, double value, double* score, int64_t capacity) except -1 nogil:
    """Add the votes of a feature to the scores of its labels."""
    cdef int64_t i
    cdef int32_t n = c.length
    cdef const float* weights
    cdef const int32_t* labels
    if n == 0:
        return 0
    weights = weights_of(c)
    if c.dense:
        check_index(n - 1, capacity)
        for i in range(n):
            score[i] += weights[i] * value
    else:
        labels = labels_of(c)
        for i in range(n):
            check_index(labels[i], capacity)
            score[labels[i]] += weights[i] * value
    return 0


cdef int score_all(Prototypes store, RowScores scores, const int32_t[::1] indices, const double[::1] data,
                   int64_t start, int64_t stop, int64_t n_labels, double bias_value) except -1 nogil:
    """Score every label of a row; overwrite the previous scores."""
    cdef int64_t p, shift = bias_value > 0.0
    if n_labels:
        check_index(n_labels - 1, scores.capacity)
    scores.clear_scores(n_labels)
    if shift and store.n_features:
        vote_all(&store.columns[0], bias_value, scores.score, scores.capacity)
    for p in range(start, stop):
        if indices[p] + shift < store.n_features and fabs(data[p]) >= FLOAT_MIN:
            vote_all(&store.columns[indices[p] + shift], data[p], scores.score, scores.capacity)
    return 0


cdef int score_touched(Prototypes store, RowScores scores, const int32_t[::1] indices, const double[::1] data,
                       int64_t start, int64_t stop) except -1 nogil:
    """Score the labels that have a weight on a feature of the row; the scores must be cleared."""
    cdef int64_t p, i, n_touched = 0
    cdef double value
    cdef double* score = scores.score
    cdef char* marks = scores.marks
    cdef int32_t* touched = scores.touched
    cdef const float* weights
    cdef const int32_t* labels
    cdef Column* c
    for p in range(start, stop):
        value = data[p]
        if indices[p] >= store.n_features or fabs(value) < FLOAT_MIN:
            continue
        c = &store.columns[indices[p]]
        labels, weights = labels_of(c), weights_of(c)
        for i in range(c.length):
            check_index(labels[i], scores.capacity)
            check_index(n_touched, scores.capacity + 1)
            touched[n_touched] = labels[i]
            n_touched += not marks[labels[i]]
            marks[labels[i]] = 1
            score[labels[i]] += weights[i] * value
    scores.n_touched = n_touched
    return 0


cdef int64_t pick_best(RowScores scores, bint all_labels, int64_t n_labels, int64_t k) except -1 nogil:
    """Write the k best labels to `best`, best first; return how many there are."""
    cdef int64_t n_scored = n_labels if all_labels else scores.n_touched, i, n = 0, most = min(k, n_scored)
    cdef Vote vote
    cdef Vote* best = scores.make_best(most)
    for i in range(n_scored):
        vote.label = <int32_t> i if all_labels else scores.touched[i]
        vote.score = scores.score[vote.label]
        n = push_top(best, n, most, &vote)
    sort_top(best, n, most)
    return n


cdef bint has_weights(Prototypes store, const int32_t[::1] indices, const double[::1] data, int64_t start,
                      int64_t stop, int64_t shift) noexcept nogil:
    """Tell whether any feature of a row has weights."""
    cdef int64_t p
    for p in range(start, stop):
        if (indices[p] + shift < store.n_features and fabs(data[p]) >= FLOAT_MIN
                and store.columns[indices[p] + shift].length):
            return True
    return False


cdef int score_row(Prototypes store, RowScores scores, PrototypeSettings s, Batch batch, int64_t row,
                   int64_t n_labels) except -1 nogil:
    """Fill the cleared scores with the score of each label that takes part."""
    if s.all_labels:
        return score_all(store, scores, batch.indices, batch.data, batch.indptr[row], batch.indptr[row + 1], n_labels,
                         s.bias_value)
    return score_touched(store, scores, batch.indices, batch.data, batch.indptr[row], batch.indptr[row + 1])


def prototypes_rank(Prototypes store, RowScores scores, PrototypeSettings s, Batch batch, int64_t n_labels,
                    int32_t[:, ::1] out_labels, double[:, ::1] out_scores):
    """Write the best labels of each row and their scores; the remaining entries of a row keep their values."""
    cdef int64_t row, i, n
    with nogil:
        scores.ensure(n_labels, 0)
        for row in range(out_labels.shape[0]):
            if s.known_only and not has_weights(store, batch.indices, batch.data, batch.indptr[row],
                                                batch.indptr[row + 1], s.bias_value > 0.0):
                continue
            score_row(store, scores, s, batch, row, n_labels)
            n = pick_best(scores, s.all_labels, n_labels, out_labels.shape[1])
            for i in range(n):
                out_labels[row, i] = scores.best[i].label
                out_scores[row, i] = scores.best[i].score
            if s.all_labels:
                scores.clear_scores(n_labels)
            else:
                scores.clear()


cdef int by_label(const void* a, const void* b) noexcept nogil:
    cdef int32_t first = (<const Change*> a).label, second = (<const Change*> b).label
    return (first > second) - (first < second)


cdef int by_value(const void* a, const void* b) noexcept nogil:
    cdef double first = (<const double*> a)[0], second = (<const double*> b)[0]
    return (first > second) - (first < second)


cdef inline bint is_relevant(const int32_t[::1] labels, int64_t first, int64_t last, int32_t label) noexcept nogil:
    """Tell whether a label is in labels[first:last], which are sorted."""
    cdef int64_t low = first, high = last, middle
    while low < high:
        middle = (low + high) >> 1
        if labels[middle] < label:
            low = middle + 1
        else:
            high = middle
    return low < last and labels[low] == label


cdef inline int add_change(RowScores scores, int32_t label, double amount) except -1 nogil:
    """Record the change of a label; a row has at most one per label, unless its labels repeat."""
    if scores.n_changes >= scores.capacity:
        out_of_range("a row changes more labels than exist")
    scores.changes[scores.n_changes].label = label
    scores.changes[scores.n_changes].amount = amount
    scores.n_changes += 1
    return 0


cdef int64_t find_rivals(RowScores scores, bint all_labels, double lowest, int64_t rivals, const int32_t[::1] labels,
                         int64_t first, int64_t last, int64_t n_labels) except -1 nogil:
    """Write the best other labels that score at least `lowest` to `best`, at most `rivals`; return how many."""
    cdef int64_t i, n = 0, n_scored = n_labels if all_labels else scores.n_touched
    cdef int64_t most = min(rivals, n_scored)
    cdef int32_t label
    cdef Vote vote
    cdef Vote* best = scores.make_best(most)
    for i in range(n_scored):
        label = <int32_t> i if all_labels else scores.touched[i]
        if scores.score[label] < lowest:
            continue
        if n == most and scores.score[label] < worst_of(best, n, most).score:
            continue                        # skip the search among the relevant labels
        if not is_relevant(labels, first, last, label):
            vote.label, vote.score = label, scores.score[label]
            n = push_top(best, n, most, &vote)
    return n


cdef inline int64_t first_key_above(const double* keys, int64_t low, int64_t high, double score) noexcept nogil:
    """Return the first index from `low` on whose key is above a score; keys ascend."""
    cdef int64_t middle
    while low < high:
        middle = (low + high) >> 1
        if keys[middle] <= score:
            low = middle + 1
        else:
            high = middle
    return low


cdef int64_t find_errors(RowScores scores, bint all_labels, double margin, int64_t rivals, const int32_t[::1] labels,
                         int64_t first, int64_t last, int64_t n_labels) except -1 nogil:
    """Record n_s of every wrong label and n_r of every relevant one as amounts; return the number of wrong pairs.

    A pair (r, s) is wrong when score(r) - margin <= score(s). With the keys score(r) - margin sorted, n_s is the
    number of keys up to score(s), and a tally of the n_s gives every n_r. No pair is visited: O(k log k).
    """
    cdef int64_t n = last - first, i, low, n_pairs = 0, n_rivals
    cdef double* keys = scores.keys
    cdef double score
    check_index(n, scores.key_capacity)
    for i in range(n):
        check_index(labels[first + i], scores.capacity)
        keys[i] = scores.score[labels[first + i]] - margin
        scores.tally[i] = 0
    scores.tally[n] = 0
    if n > 1:
        qsort(keys, n, sizeof(double), by_value)
    scores.n_changes = 0
    n_rivals = find_rivals(scores, all_labels, keys[0], rivals, labels, first, last, n_labels)
    scores.n_rivals = n_rivals
    for i in range(n_rivals):
        score = scores.best[i].score
        low = first_key_above(keys, 1, n, score)  # keys[0] is at most the score
        add_change(scores, scores.best[i].label, -<double> low)
        scores.tally[low] += 1
        n_pairs += low
    if n_pairs == 0:
        return 0
    for i in range(n - 1, -1, -1):          # tally[i + 1] becomes the number of wrong labels above key i
        scores.tally[i] += scores.tally[i + 1]
    for i in range(first, last):
        score = scores.score[labels[i]] - margin
        low = first_key_above(keys, 0, n, score)
        if scores.tally[low]:
            add_change(scores, labels[i], <double> scores.tally[low])
    return n_pairs


cdef int find_mistakes(RowScores scores, bint all_labels, const int32_t[::1] labels, int64_t first, int64_t last,
                       int64_t n_labels) except -1 nogil:
    """Record the labels whose own perceptron is wrong about the row."""
    cdef int64_t i
    cdef int64_t n_scored = n_labels if all_labels else scores.n_touched
    cdef int32_t label
    scores.n_changes = 0
    for i in range(n_scored):
        label = <int32_t> i if all_labels else scores.touched[i]
        check_index(label, scores.capacity)
        if scores.score[label] >= 0.0 and not is_relevant(labels, first, last, label):
            add_change(scores, label, -1.0)
    for i in range(first, last):
        check_index(labels[i], scores.capacity)
        if scores.score[labels[i]] <= 0.0:
            add_change(scores, labels[i], 1.0)
    return 0


cdef int add_missing_relevant(RowScores scores, const int32_t[::1] labels, int64_t first, int64_t last) except -1 nogil:
    """Record the relevant labels without a change as changes by 0: a pair must exist before its label is scored."""
    cdef int64_t i, j, n = scores.n_changes
    for i in range(first, last):
        for j in range(n):
            if scores.changes[j].label == labels[i]:
                break
        else:
            add_change(scores, labels[i], 0.0)
    return 0


cdef int find_violations(RowScores scores, bint all_labels, double margin, int64_t rivals, const int32_t[::1] labels,
                         int64_t first, int64_t last, int64_t n_labels) except -1 nogil:
    """Record the gradient of the squared hinge: relevant labels should score 1 + margin, others at most 1 - margin.

    Scores are relative to 1, so a label without weights counts as wrong and needs no weights. A row with many relevant
    labels gets more rivals; otherwise the positive updates would outweigh the negative ones.
    """
    cdef int64_t i, n_rivals
    cdef double score
    scores.n_changes = 0
    rivals = max(rivals, RIVALS_PER_LABEL * (last - first))
    n_rivals = find_rivals(scores, all_labels, 1.0 - margin, rivals, labels, first, last, n_labels)
    for i in range(n_rivals):
        if scores.best[i].score > 1.0 - margin:
            add_change(scores, scores.best[i].label, 1.0 - margin - scores.best[i].score)
    for i in range(first, last):
        check_index(labels[i], scores.capacity)
        score = scores.score[labels[i]]
        if score < 1.0 + margin:
            add_change(scores, labels[i], 1.0 + margin - score)
    return 0


cdef int add_rejections(RowScores scores, const int32_t[::1] wrong, int64_t first, int64_t last, double margin,
                        int64_t n_labels) except -1 nogil:
    """Record labels that were marked as wrong, to push them down whatever their score; skip unknown labels."""
    cdef int64_t i, j
    for i in range(first, last):
        if not 0 <= wrong[i] < n_labels:
            continue
        for j in range(scores.n_changes):
            if scores.changes[j].label == wrong[i]:
                break
        else:
            add_change(scores, wrong[i], -margin - max(0.0, scores.score[wrong[i]]))
    return 0


cdef int find_changes(RowScores scores, PrototypeSettings s, Batch batch, int64_t row, int64_t n_known) except -1 nogil:
    """Compute the change of each label from the scores of a row."""
    cdef const int32_t[::1] labels = batch.labels
    cdef int64_t i, n_errors, first = batch.label_indptr[row], last = batch.label_indptr[row + 1]
    cdef double divisor = 1.0, size
    if s.rule == HINGE:
        if first < last:
            find_violations(scores, s.all_labels, s.margin, s.rivals, labels, first, last, n_known)
        if batch.wrong_indptr.shape[0]:
            add_rejections(scores, batch.wrong_labels, batch.wrong_indptr[row], batch.wrong_indptr[row + 1], s.margin,
                           n_known)
        return 0
    if s.rule == PERCEPTRON:
        return find_mistakes(scores, s.all_labels, labels, first, last, n_known)
    n_errors = find_errors(scores, s.all_labels, s.margin, s.rivals, labels, first, last, n_known)
    if n_errors == 0:
        return 0
    if s.update != UNIFORM:
        size = loss_of_row(scores, s.rule, n_errors, last - first, n_known)
        return divide_step(scores, s, batch, row, size)
    if s.rule == MMP1:
        divisor = <double> n_errors
    elif s.rule == MMP3:
        divisor = <double> ((last - first) * (n_known - (last - first)))
    elif s.rule == MMP_AVGP:
        divisor = n_errors / loss_of_row(scores, s.rule, n_errors, last - first, n_known)
    for i in range(scores.n_changes):
        scores.changes[i].amount /= divisor
    return 0


cdef double loss_of_row(RowScores scores, int rule, int64_t n_errors, int64_t n, int64_t n_labels) noexcept nogil:
    """Return the loss of a row with n relevant labels after find_errors: the size of MMP's step."""
    cdef int64_t i
    cdef double precision = 0.0
    if rule == MMP2:
        return <double> n_errors
    if rule == MMP3:
        return n_errors / <double> (n * (n_labels - n))
    if rule == MMP_AVGP:
        for i in range(n):                  # n - i relevant labels and tally[i + 1] others have at least the i-th key
            precision += (n - i) / <double> (n - i + scores.tally[i + 1])
        return 1.0 - precision / n
    return 1.0


cdef inline uint64_t mixed(uint64_t z) noexcept nogil:
    """Return a number scrambled (SplitMix64)."""
    z += <uint64_t> 0x9E3779B97F4A7C15
    z = (z ^ (z >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * <uint64_t> 0x94D049BB133111EB
    return z ^ (z >> 31)


cdef inline uint64_t bits_of(double value) noexcept nogil:
    cdef uint64_t bits
    memcpy(&bits, &value, sizeof(double))
    return bits


cdef inline double fraction_of(uint64_t h) noexcept nogil:
    """Return random bits as a number between 0 and 1."""
    return (<double> (h >> 11) + 0.5) * TWO_M53


cdef uint64_t hash_of_row(RowScores scores, uint64_t seed, Batch batch, int64_t row) noexcept nogil:
    """Return a hash of a row and of the scores of its labels, from which random numbers are drawn.

    So a row draws the same numbers in whatever batch it comes, and others in each pass.
    """
    cdef int64_t p
    cdef uint64_t h = seed
    for p in range(batch.indptr[row], batch.indptr[row + 1]):
        h = mixed(h ^ <uint64_t> batch.indices[p])
        h = mixed(h ^ bits_of(batch.data[p]))
    for p in range(batch.label_indptr[row], batch.label_indptr[row + 1]):
        h = mixed(h ^ bits_of(scores.score[batch.labels[p]]))
    return h


cdef int divide_step(RowScores scores, PrototypeSettings s, Batch batch, int64_t row, double size) except -1 nogil:
    """Replace the changes of a row: divide a step of `size` among its wrong pairs by the settings' update.

    The relevant label of each pair gets the share of the pair, and the other label loses it.
    """
    cdef const int32_t[::1] labels = batch.labels
    cdef int64_t first = batch.label_indptr[row], last = batch.label_indptr[row + 1]
    cdef int64_t i, p, n = scores.n_rivals, lowest = first, highest = 0
    cdef double key, share, total = 0.0
    cdef uint64_t h = hash_of_row(scores, s.seed, batch, row) if s.update == RANDOM else 0
    scores.n_changes = 0
    if s.update == MAX:                     # of equals, those that a ranking has last and first
        for p in range(first, last):
            if scores.score[labels[p]] <= scores.score[labels[lowest]]:
                lowest = p
        for i in range(n):
            if (scores.best[i].score > scores.best[highest].score
                    or (scores.best[i].score == scores.best[highest].score
                        and scores.best[i].label < scores.best[highest].label)):
                highest = i
        add_change(scores, labels[lowest], size)
        add_change(scores, scores.best[highest].label, -size)
        return 0
    for i in range(n):
        add_change(scores, scores.best[i].label, 0.0)
    for p in range(first, last):
        key = scores.score[labels[p]] - s.margin
        add_change(scores, labels[p], 0.0)
        for i in range(n):
            if scores.best[i].score < key:
                continue
            share = scores.best[i].score - key
            if s.update == RANDOM:
                share = fraction_of(mixed(mixed(h ^ <uint64_t> labels[p]) ^ <uint64_t> scores.best[i].label))
            scores.changes[i].amount -= share
            scores.changes[scores.n_changes - 1].amount += share
            total += share
    return scale_changes(scores, s, labels, first, last, size, total)


cdef int scale_changes(RowScores scores, PrototypeSettings s, const int32_t[::1] labels, int64_t first, int64_t last,
                       double size, double total) except -1 nogil:
    """Scale shares that sum to `total` to a step of `size`, and drop changes of 0.

    If all shares are 0, because all wrong pairs are ties, each pair gets the same.
    """
    cdef int64_t i, p, n = 0
    if total == 0.0:
        for p in range(first, last):
            for i in range(scores.n_rivals):
                if scores.best[i].score >= scores.score[labels[p]] - s.margin:
                    scores.changes[i].amount -= 1.0
                    scores.changes[scores.n_rivals + p - first].amount += 1.0
                    total += 1.0
    for i in range(scores.n_changes):
        if scores.changes[i].amount != 0.0:
            scores.changes[n] = scores.changes[i]
            scores.changes[n].amount *= size / total
            n += 1
    scores.n_changes = n
    return 0


def row_changes(PrototypeSettings s, const double[::1] values, Batch batch):
    """Return the labels that the only row of a batch changes and by how much, given the scores of all labels."""
    cdef RowScores scores = RowScores()
    cdef int64_t i, n = values.shape[0]
    scores.ensure(n, batch.label_indptr[1])
    for i in range(n):
        scores.score[i] = values[i]
    scores.n_changes = 0
    if batch.label_indptr[1]:
        find_changes(scores, s, batch, 0, n)
    qsort(scores.changes, scores.n_changes, sizeof(Change), by_label)
    labels = np.array([scores.changes[i].label for i in range(scores.n_changes)], np.int32)
    return labels, np.array([scores.changes[i].amount for i in range(scores.n_changes)], np.float64)


cdef int apply_changes(Prototypes store, RowScores scores, PrototypeSettings s, Batch batch, int64_t row,
                       int64_t n_known, int64_t n_before) except -1 nogil:
    """Change the weights of every feature of a row, scaled by the row's weight."""
    cdef int64_t p, shift = s.bias_value > 0.0
    cdef Step step
    step.size, step.start, step.row = s.step, s.step_start, <double> (n_before + row)
    step.scale = scale_of_row(batch.scales, row)
    qsort(scores.changes, scores.n_changes, sizeof(Change), by_label)
    if shift:
        store.apply(0, s.bias_value, scores.changes, scores.n_changes, &step, n_known)
    for p in range(batch.indptr[row], batch.indptr[row + 1]):
        if fabs(batch.data[p]) >= FLOAT_MIN:
            store.apply(batch.indices[p] + shift, batch.data[p], scores.changes, scores.n_changes, &step, n_known)
    return 0


def prototypes_learn(Prototypes store, RowScores scores, PrototypeSettings s, Batch batch, int64_t n_before=0):
    """Learn rows in order, in place; return how many rows changed something.

    The labels of a row become known with it. Without AdaGrad, a change in row i adds i times itself to the auxiliary
    value; `n_before` rows of the pass came before these. Only the hinge learns from labels that are known to be wrong.
    """
    cdef const int32_t[::1] labels = batch.labels
    cdef int64_t row, i, first, last, n_updates = 0, n_known = batch.n_known, n_labels
    cdef bint rejects = batch.wrong_indptr.shape[0] > 0
    if s.step > 0.0 and not store.has_aux:
        raise ValueError("AdaGrad needs a store with auxiliary values")
    store.ensure_features(batch.n_features + (s.bias_value > 0.0))
    n_labels = max(n_known, <int64_t> np.max(labels) + 1 if labels.shape[0] else 0)
    with nogil:
        scores.ensure(n_labels, 0)
        for row in range(batch.n_rows):
            first, last = batch.label_indptr[row], batch.label_indptr[row + 1]
            if last > first and labels[last - 1] >= n_known:
                n_known = labels[last - 1] + 1
            if first == last and (s.rule <= MMP3 or s.rule == MMP_AVGP or (s.rule == HINGE and not rejects)):
                continue
            scores.ensure(n_labels, last - first)
            scores.n_changes = 0
            if s.rule == SUM:
                for i in range(first, last):
                    add_change(scores, labels[i], 1.0)
            else:
                score_row(store, scores, s, batch, row, n_known)
                find_changes(scores, s, batch, row, n_known)
            if not s.all_labels:
                scores.clear()
                add_missing_relevant(scores, labels, first, last)
            if scores.n_changes:
                n_updates += 1
                apply_changes(store, scores, s, batch, row, n_known, n_before)
        if s.all_labels:
            scores.clear_scores(n_labels)
    return n_updates


cdef double weight_for(const Column* c, int32_t label) noexcept nogil:
    """Return the weight of a feature for a label, 0 if it has none."""
    cdef Change wanted
    if c.length == 0:
        return 0.0
    if c.dense:
        return weights_of(c)[label] if label < c.length else 0.0
    wanted.label = label
    find_positions(labels_of(c), c.length, &wanted, 1)
    return weights_of(c)[wanted.position] if wanted.position >= 0 else 0.0


def prototypes_explain(Prototypes store, const int32_t[::1] indices, const double[::1] data, int32_t label,
                       double bias_value=0.0):
    """Return the positions in a row with a weight for a label, their votes in the order of summation, and the bias.

    For `bias_value` see `PrototypeSettings`.
    """
    cdef int64_t p, shift = bias_value > 0.0
    cdef double weight, prior = 0.0
    if shift and store.n_features:
        prior = bias_value * weight_for(&store.columns[0], label)
    positions, votes = [], []
    for p in range(indices.shape[0]):
        if indices[p] + shift >= store.n_features or fabs(data[p]) < FLOAT_MIN:
            continue
        weight = weight_for(&store.columns[indices[p] + shift], label)
        if weight != 0.0:
            positions.append(p)
            votes.append(weight * data[p])
    return np.array(positions, np.int64), np.array(votes, np.float64), prior
