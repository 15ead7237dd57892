"""Declarations of the prototype store, for the kernels that learn on it."""

from libc.stdint cimport int32_t, int64_t

cdef struct Column:
    void* block                             # labels (unless dense), weights, auxiliary values
    int32_t length                          # pairs; if dense, the labels 0 .. length - 1
    int32_t capacity                        # pairs that fit into the block
    bint dense

cdef struct Change:
    int32_t label
    int32_t position                        # in the current column, -1 if the label is new there
    double amount                           # what one unit of a feature's value adds to its weight

cdef struct Step:
    double size                             # AdaGrad's learning rate; 0 adds the amounts as they are
    double start
    double row                              # factor of the change that is added to the auxiliary value
    double scale                            # factor of the change, the weight of its row

cdef class Prototypes:
    cdef readonly bint has_aux              # whether each pair has an auxiliary value beside its weight
    cdef readonly bint may_be_dense
    cdef readonly int64_t n_features, n_pairs
    cdef Column* columns
    cdef int64_t column_capacity
    cdef int64_t bytes_in_blocks

    cdef int ensure_features(self, int64_t n) except -1 nogil
    cdef int widen(self, Column* column, int64_t capacity, bint dense) except -1 nogil
    cdef int copy_column(self, Column* copied, const Column* c) except -1
    cdef bint is_kept(self, const Column* c, int64_t i) noexcept nogil
    cdef int apply(self, int64_t f, double value, Change* changes, int64_t n_changes, Step* step,
                   int64_t n_labels) except -1 nogil
    cdef int apply_dense(self, Column* c, double value, Change* changes, int64_t n_changes, Step* step,
                         int64_t n_labels) except -1 nogil
    cdef void insert(self, Column* c, Change* changes, int64_t n_changes, int64_t missing) noexcept nogil


cdef int64_t find_positions(const int32_t* labels, int64_t n, Change* changes, int64_t n_changes) noexcept nogil


cdef inline int32_t* labels_of(const Column* c) noexcept nogil:
    return <int32_t*> c.block


cdef inline float* weights_of(const Column* c) noexcept nogil:
    return <float*> c.block + (0 if c.dense else c.capacity)


cdef inline float* aux_of(const Column* c) noexcept nogil:
    return weights_of(c) + c.capacity
