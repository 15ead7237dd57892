"""The rankers that learn prototypes row by row: MMP, perceptrons, sums of rows, the squared hinge.

Crammer and Singer, "A new family of online algorithms for category ranking", SIGIR 2002. Scores are double precision.
Rows are the three arrays of a CSR matrix.
"""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free, malloc, qsort
from libc.string cimport memset

from abound.kernels.lists cimport SMALLEST
from abound.kernels.pool cimport check_place, out_of_memory, out_of_range
from abound.kernels.prototypes cimport Change, Column, Prototypes, Step, find_all, labels_of, weights_of
from abound.kernels.votes cimport Vote, offer, settle, worst_of

import numpy as np

cdef enum:
    MMP1 = 1
    MMP2 = 2
    MMP3 = 3
    PERCEPTRON = 4
    SUM = 5
    HINGE = 6
    RIVALS_A_LABEL = 3                      # of the hinge, at the least

RULES = {"mmp1": MMP1, "mmp2": MMP2, "mmp3": MMP3, "perceptron": PERCEPTRON, "sum": SUM, "hinge": HINGE}


cdef class RowScores:
    """The scores of one row and what is to change after it: scratch for one thread at a time."""

    cdef double* score                      # by label; 0 for labels that are not touched
    cdef char* marks
    cdef int32_t* touched
    cdef int64_t n_touched
    cdef int64_t room
    cdef Change* changes
    cdef int64_t n_changes
    cdef double* keys
    cdef int64_t* tally
    cdef int64_t key_room
    cdef Vote* best
    cdef int64_t best_room

    def __dealloc__(self):
        free(self.score)
        free(self.marks)
        free(self.touched)
        free(self.changes)
        free(self.keys)
        free(self.tally)
        free(self.best)

    cdef int ensure(self, int64_t n_labels, int64_t n_keys) except -1 nogil:
        """Have room for so many labels, and so many relevant ones."""
        cdef int64_t room
        if n_labels > self.room:
            room = n_labels + n_labels // 2
            free(self.score)
            free(self.marks)
            free(self.touched)
            free(self.changes)
            self.room = 0
            self.score = <double*> calloc(room, sizeof(double))
            self.marks = <char*> calloc(room, 1)
            self.touched = <int32_t*> malloc((room + 1) * sizeof(int32_t))
            self.changes = <Change*> malloc(room * sizeof(Change))
            if self.score == NULL or self.marks == NULL or self.touched == NULL or self.changes == NULL:
                out_of_memory("the scores of a row")
            self.room, self.n_touched = room, 0
        if n_keys >= self.key_room:
            free(self.keys)
            free(self.tally)
            self.key_room = 0
            self.keys = <double*> malloc(2 * (n_keys + 1) * sizeof(double))
            self.tally = <int64_t*> malloc(2 * (n_keys + 1) * sizeof(int64_t))
            if self.keys == NULL or self.tally == NULL:
                out_of_memory("the labels of a row")
            self.key_room = 2 * (n_keys + 1)
        return 0

    cdef void blank(self, int64_t n_labels) noexcept nogil:
        """Set the scores of so many labels to 0."""
        if n_labels:                        # without labels there may be no room to set
            memset(self.score, 0, n_labels * sizeof(double))

    cdef Vote* make_best(self, int64_t n) except? NULL nogil:
        """Room for n labels and their scores."""
        if n > self.best_room:
            free(self.best)
            self.best_room = 0
            self.best = <Vote*> malloc(n * sizeof(Vote))
            if self.best == NULL:
                out_of_memory("the ranking of a row")
            self.best_room = n
        return self.best

    cdef void clear(self) noexcept nogil:
        cdef int64_t i
        for i in range(self.n_touched):
            self.score[self.touched[i]] = 0.0
            self.marks[self.touched[i]] = 0
        self.n_touched = 0


cdef inline int vote_all(const Column* c, double value, double* score, int64_t room) except -1 nogil:
    """Add the votes of a feature to the scores of its labels."""
    cdef int64_t i
    cdef int32_t n = c.length
    cdef const float* weights
    cdef const int32_t* labels
    if n == 0:
        return 0
    weights = weights_of(c)
    if c.dense:
        check_place(n - 1, room)
        for i in range(n):
            score[i] += weights[i] * value
    else:
        labels = labels_of(c)
        for i in range(n):
            check_place(labels[i], room)
            score[labels[i]] += weights[i] * value
    return 0


cdef int score_all(Prototypes store, RowScores scores, const int32_t[::1] indices, const double[::1] data,
                   int64_t start, int64_t stop, int64_t n_labels, double common) except -1 nogil:
    """Score every label of a row; what was there before is overwritten."""
    cdef int64_t p, shift = common > 0.0
    if n_labels:
        check_place(n_labels - 1, scores.room)
    scores.blank(n_labels)
    if shift and store.n_features:
        vote_all(&store.columns[0], common, scores.score, scores.room)
    for p in range(start, stop):
        if indices[p] + shift < store.n_features and data[p] >= SMALLEST:
            vote_all(&store.columns[indices[p] + shift], data[p], scores.score, scores.room)
    return 0


cdef int score_touched(Prototypes store, RowScores scores, const int32_t[::1] indices, const double[::1] data,
                       int64_t start, int64_t stop) except -1 nogil:
    """Score the labels that have a weight on a feature of the row; the scores were cleared before."""
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
        if indices[p] >= store.n_features or value < SMALLEST:
            continue
        c = &store.columns[indices[p]]
        labels, weights = labels_of(c), weights_of(c)
        for i in range(c.length):
            check_place(labels[i], scores.room)
            check_place(n_touched, scores.room + 1)
            touched[n_touched] = labels[i]
            n_touched += not marks[labels[i]]
            marks[labels[i]] = 1
            score[labels[i]] += weights[i] * value
    scores.n_touched = n_touched
    return 0


cdef int64_t pick_best(RowScores scores, bint all_labels, int64_t n_labels, int64_t k) except -1 nogil:
    """Leave the k best labels in `best`, best first; return how many there are."""
    cdef int64_t n_candidates = n_labels if all_labels else scores.n_touched, i, n = 0, most = min(k, n_candidates)
    cdef Vote found
    cdef Vote* best = scores.make_best(most)
    for i in range(n_candidates):
        found.label = <int32_t> i if all_labels else scores.touched[i]
        found.score = scores.score[found.label]
        n = offer(best, n, most, &found)
    settle(best, n, most)
    return n


cdef bint has_weights(Prototypes store, const int32_t[::1] indices, const double[::1] data, int64_t start,
                      int64_t stop, int64_t shift) noexcept nogil:
    """Tell whether some feature of a row has weights."""
    cdef int64_t p
    for p in range(start, stop):
        if (indices[p] + shift < store.n_features and data[p] >= SMALLEST
                and store.columns[indices[p] + shift].length):
            return True
    return False


cdef int check_common(double common, bint all_labels) except -1:
    if common > 0.0 and not all_labels:
        raise ValueError("a feature that all rows have touches all labels")
    return 0


def prototypes_rank(Prototypes store, RowScores scores, bint all_labels, const int64_t[::1] indptr,
                    const int32_t[::1] indices, const double[::1] data, int64_t n_labels,
                    int32_t[:, ::1] out_labels, double[:, ::1] out_scores, bint known_only=False,
                    double common=0.0):
    """Write the best labels of each row and their scores; what is left of a row keeps what it had.

    With `known_only`, a row without any feature of its own that has weights is left as it is. For `common` see
    `prototypes_learn`.
    """
    cdef int64_t row, i, n
    check_common(common, all_labels)
    with nogil:
        scores.ensure(n_labels, 0)
        for row in range(out_labels.shape[0]):
            if known_only and not has_weights(store, indices, data, indptr[row], indptr[row + 1], common > 0.0):
                continue
            if all_labels:
                score_all(store, scores, indices, data, indptr[row], indptr[row + 1], n_labels, common)
            else:
                score_touched(store, scores, indices, data, indptr[row], indptr[row + 1])
            n = pick_best(scores, all_labels, n_labels, out_labels.shape[1])
            for i in range(n):
                out_labels[row, i] = scores.best[i].label
                out_scores[row, i] = scores.best[i].score
            if all_labels:
                scores.blank(n_labels)
            else:
                scores.clear()


cdef int by_label(const void* a, const void* b) noexcept nogil:
    cdef int32_t first = (<const Change*> a).label, second = (<const Change*> b).label
    return (first > second) - (first < second)


cdef int by_value(const void* a, const void* b) noexcept nogil:
    cdef double first = (<const double*> a)[0], second = (<const double*> b)[0]
    return (first > second) - (first < second)


cdef inline bint is_relevant(const int32_t[::1] labels, int64_t first, int64_t last, int32_t label) noexcept nogil:
    """Tell whether a label is among labels[first:last], which are sorted."""
    cdef int64_t low = first, high = last, middle
    while low < high:
        middle = (low + high) >> 1
        if labels[middle] < label:
            low = middle + 1
        else:
            high = middle
    return low < last and labels[low] == label


cdef inline int change(RowScores scores, int32_t label, double amount) except -1 nogil:
    """Note a change of a label; a row has at most one for each label, or its labels were not told apart."""
    if scores.n_changes >= scores.room:
        out_of_range("a row changes more labels than there are")
    scores.changes[scores.n_changes].label = label
    scores.changes[scores.n_changes].amount = amount
    scores.n_changes += 1
    return 0


cdef int64_t find_rivals(RowScores scores, bint all_labels, double lowest, int64_t rivals, const int32_t[::1] labels,
                         int64_t first, int64_t last, int64_t n_labels) except -1 nogil:
    """Leave the other labels that score at least `lowest` in `best`, at most `rivals` of them; return how many."""
    cdef int64_t i, n = 0, n_candidates = n_labels if all_labels else scores.n_touched
    cdef int64_t most = min(rivals, n_candidates)
    cdef int32_t label
    cdef Vote found
    cdef Vote* best = scores.make_best(most)
    for i in range(n_candidates):
        label = <int32_t> i if all_labels else scores.touched[i]
        if scores.score[label] < lowest:
            continue
        if n == most and scores.score[label] < worst_of(best, n, most).score:
            continue                        # before it is looked for among the relevant ones
        if not is_relevant(labels, first, last, label):
            found.label, found.score = label, scores.score[label]
            n = offer(best, n, most, &found)
    return n


cdef inline int64_t place_after(const double* keys, int64_t low, int64_t high, double score) noexcept nogil:
    """Return the first place from `low` on whose key is above a score; keys ascend."""
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
    """Note n_s of every wrong label and n_r of every relevant one as amounts; return the number of wrong pairs.

    A pair (r, s) is wrong when score(r) - margin <= score(s). With the keys score(r) - margin sorted, n_s is the
    number of keys up to score(s); a tally of the n_s gives every n_r. No pair is looked at: O(k log k).
    """
    cdef int64_t n = last - first, i, low, n_pairs = 0, n_rivals
    cdef double* keys = scores.keys
    cdef double score
    check_place(n, scores.key_room)
    for i in range(n):
        check_place(labels[first + i], scores.room)
        keys[i] = scores.score[labels[first + i]] - margin
        scores.tally[i] = 0
    scores.tally[n] = 0
    if n > 1:
        qsort(keys, n, sizeof(double), by_value)
    scores.n_changes = 0
    n_rivals = find_rivals(scores, all_labels, keys[0], rivals, labels, first, last, n_labels)
    for i in range(n_rivals):
        score = scores.best[i].score
        low = place_after(keys, 1, n, score)    # keys[0] is at most the score
        change(scores, scores.best[i].label, -<double> low)
        scores.tally[low] += 1
        n_pairs += low
    if n_pairs == 0:
        return 0
    for i in range(n - 1, -1, -1):          # tally[i + 1] becomes the number of wrong labels above key i
        scores.tally[i] += scores.tally[i + 1]
    for i in range(first, last):
        score = scores.score[labels[i]] - margin
        low = place_after(keys, 0, n, score)
        if scores.tally[low]:
            change(scores, labels[i], <double> scores.tally[low])
    return n_pairs


cdef int find_mistakes(RowScores scores, bint all_labels, const int32_t[::1] labels, int64_t first, int64_t last,
                       int64_t n_labels) except -1 nogil:
    """Note the labels whose own perceptron is wrong about the row."""
    cdef int64_t i
    cdef int64_t n_candidates = n_labels if all_labels else scores.n_touched
    cdef int32_t label
    scores.n_changes = 0
    for i in range(n_candidates):
        label = <int32_t> i if all_labels else scores.touched[i]
        check_place(label, scores.room)
        if scores.score[label] >= 0.0 and not is_relevant(labels, first, last, label):
            change(scores, label, -1.0)
    for i in range(first, last):
        check_place(labels[i], scores.room)
        if scores.score[labels[i]] <= 0.0:
            change(scores, labels[i], 1.0)
    return 0


cdef int hold_relevant(RowScores scores, const int32_t[::1] labels, int64_t first, int64_t last) except -1 nogil:
    """Note the relevant labels that do not change by 0: a pair must be stored before its label can be touched."""
    cdef int64_t i, j, n = scores.n_changes
    for i in range(first, last):
        for j in range(n):
            if scores.changes[j].label == labels[i]:
                break
        else:
            change(scores, labels[i], 0.0)
    return 0


cdef int find_violations(RowScores scores, bint all_labels, double margin, int64_t rivals, const int32_t[::1] labels,
                         int64_t first, int64_t last, int64_t n_labels) except -1 nogil:
    """Note the gradient of the squared hinge: relevant labels should score 1 + margin, others at most 1 - margin.

    Scores are counted from 1 on, so that a label without weights is taken to be wrong and needs none. A row with many
    relevant labels has more rivals, or what speaks for a label would outweigh what speaks against it.
    """
    cdef int64_t i, n_rivals
    cdef double score
    scores.n_changes = 0
    rivals = max(rivals, RIVALS_A_LABEL * (last - first))
    n_rivals = find_rivals(scores, all_labels, 1.0 - margin, rivals, labels, first, last, n_labels)
    for i in range(n_rivals):
        if scores.best[i].score > 1.0 - margin:
            change(scores, scores.best[i].label, 1.0 - margin - scores.best[i].score)
    for i in range(first, last):
        check_place(labels[i], scores.room)
        score = scores.score[labels[i]]
        if score < 1.0 + margin:
            change(scores, labels[i], 1.0 + margin - score)
    return 0


cdef int add_rejections(RowScores scores, const int32_t[::1] wrong, int64_t first, int64_t last, double margin,
                        int64_t n_labels) except -1 nogil:
    """Note labels that were said to be wrong, to be pushed down whatever their score; unknown ones have none."""
    cdef int64_t i, j
    for i in range(first, last):
        if not 0 <= wrong[i] < n_labels:
            continue
        for j in range(scores.n_changes):
            if scores.changes[j].label == wrong[i]:
                break
        else:
            change(scores, wrong[i], -margin - max(0.0, scores.score[wrong[i]]))
    return 0


def prototypes_learn(Prototypes store, RowScores scores, int rule, bint all_labels, double margin,
                     int64_t rivals, double step_size, double step_start, const int64_t[::1] indptr,
                     const int32_t[::1] indices, const double[::1] data, const int64_t[::1] label_indptr,
                     const int32_t[::1] labels, int64_t n_known, const int64_t[::1] wrong_indptr,
                     const int32_t[::1] wrong, double common=0.0):
    """Learn rows in order, in place; return how many rows changed something.

    The labels of row i are labels[label_indptr[i]:label_indptr[i+1]], ascending; `n_known` labels were known before
    the first row, and a row makes its own known. A change in row i
    adds i times itself to its trace. Labels known to be wrong are given like the others, or not at all; only the hinge
    takes them. If `common` is above 0, every row has one more feature of that value, number 0 of the store, in which
    the others come one later.
    """
    cdef int64_t row, p, i, start, stop, first, last, n_updates = 0, n_errors, shift = common > 0.0
    cdef double divisor
    cdef bint rejects = wrong_indptr.shape[0] > 0
    cdef Step step
    step.size, step.start = step_size, step_start
    if step_size > 0.0 and not store.traced:
        raise ValueError("AdaGrad needs a store with traces")
    check_common(common, all_labels)
    store.ensure_features((<int64_t> np.max(indices) + 1 if indices.shape[0] else 0) + shift)
    cdef int64_t n_labels = max(n_known, <int64_t> np.max(labels) + 1 if labels.shape[0] else 0)
    with nogil:
        scores.ensure(n_labels, 0)
        for row in range(indptr.shape[0] - 1):
            start, stop = indptr[row], indptr[row + 1]
            first, last = label_indptr[row], label_indptr[row + 1]
            if last > first and labels[last - 1] >= n_known:
                n_known = labels[last - 1] + 1
            if first == last and (rule <= MMP3 or (rule == HINGE and not rejects)):
                continue
            scores.ensure(n_labels, last - first)
            scores.n_changes = 0
            step.row = <double> row
            if rule == SUM:
                for i in range(first, last):
                    change(scores, labels[i], 1.0)
            else:
                if all_labels:
                    score_all(store, scores, indices, data, start, stop, n_known, common)
                else:
                    score_touched(store, scores, indices, data, start, stop)
                if rule == HINGE:
                    if first < last:
                        find_violations(scores, all_labels, margin, rivals, labels, first, last, n_known)
                    if rejects:
                        add_rejections(scores, wrong, wrong_indptr[row], wrong_indptr[row + 1], margin, n_known)
                elif rule == PERCEPTRON:
                    find_mistakes(scores, all_labels, labels, first, last, n_known)
                else:
                    n_errors = find_errors(scores, all_labels, margin, rivals, labels, first, last, n_known)
                    divisor = 1.0
                    if rule == MMP1:
                        divisor = <double> n_errors
                    elif rule == MMP3:
                        divisor = <double> ((last - first) * (n_known - (last - first)))
                    for i in range(scores.n_changes):
                        scores.changes[i].amount /= divisor
            if not all_labels:
                scores.clear()
                hold_relevant(scores, labels, first, last)
            if scores.n_changes:
                n_updates += 1
                qsort(scores.changes, scores.n_changes, sizeof(Change), by_label)
                if shift:
                    store.apply(0, common, scores.changes, scores.n_changes, &step, n_known)
                for p in range(start, stop):
                    if data[p] >= SMALLEST:
                        store.apply(indices[p] + shift, data[p], scores.changes, scores.n_changes, &step, n_known)
        if all_labels:
            scores.blank(n_labels)
    return n_updates


cdef double weight_for(const Column* c, int32_t label) noexcept nogil:
    """Return the weight of a feature for a label, 0 if it has none."""
    cdef Change wanted
    if c.length == 0:
        return 0.0
    if c.dense:
        return weights_of(c)[label] if label < c.length else 0.0
    wanted.label = label
    find_all(labels_of(c), c.length, &wanted, 1)
    return weights_of(c)[wanted.position] if wanted.position >= 0 else 0.0


def prototypes_explain(Prototypes store, const int32_t[::1] indices, const double[::1] data, int32_t label,
                       double common=0.0):
    """Return the positions in a row with a weight for a label, their votes in the order of summation, and what all
    rows have for it; for `common` see `prototypes_learn`."""
    cdef int64_t p, shift = common > 0.0
    cdef double weight, prior = 0.0
    if shift and store.n_features:
        prior = common * weight_for(&store.columns[0], label)
    positions, votes = [], []
    for p in range(indices.shape[0]):
        if indices[p] + shift >= store.n_features or data[p] < SMALLEST:
            continue
        weight = weight_for(&store.columns[indices[p] + shift], label)
        if weight != 0.0:
            positions.append(p)
            votes.append(weight * data[p])
    return np.array(positions, np.int64), np.array(votes, np.float64), prior
