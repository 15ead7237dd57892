"""The exponential function by additions and multiplications only: the same bits with every C library."""

from libc.math cimport floor
from libc.stdint cimport int64_t
from libc.string cimport memcpy


cdef inline double exp_of(double x) noexcept nogil:
    """e to the x, to about 13 digits; 0 below -700."""
    cdef double k, r, total
    cdef int64_t bits
    cdef double power
    if x < -700.0:
        return 0.0
    k = floor(x * 1.4426950408889634 + 0.5)
    r = (x - k * 0.6931471803691238) - k * 1.9082149292705877e-10   # ln 2 in two parts
    total = 1.0 + r / 10.0
    total = 1.0 + r * total * 0.1111111111111111
    total = 1.0 + r * total * 0.125
    total = 1.0 + r * total * 0.14285714285714285
    total = 1.0 + r * total * 0.16666666666666666
    total = 1.0 + r * total * 0.2
    total = 1.0 + r * total * 0.25
    total = 1.0 + r * total * 0.3333333333333333
    total = 1.0 + r * total * 0.5
    total = 1.0 + r * total
    bits = (<int64_t> k + 1023) << 52       # 2 to the k
    memcpy(&power, &bits, 8)
    return total * power
