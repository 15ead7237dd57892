"""The exponential function from additions and multiplications only: the same bits with every C library."""

from libc.stdint cimport int64_t
from libc.string cimport memcpy


cdef inline double exp_of(double x) noexcept nogil:
    """Return e to the x, to about 13 digits, for -700 < x < 700. It has no branch, because votes are not predictable.
    """
    cdef int64_t whole = <int64_t> (x * 1.4426950408889634 + 1024.5) - 1024  # truncated; floor is a call
    cdef double k = <double> whole
    cdef double r = (x - k * 0.6931471803691238) - k * 1.9082149292705877e-10  # ln 2 in two parts
    # The series up to the tenth power, in parts that do not depend on each other.
    cdef double r2 = r * r
    cdef double r4 = r2 * r2
    cdef double total = (1.0 + r) + r2 * (0.5 + r * 0.16666666666666666)
    cdef int64_t bits = (whole + 1023) << 52  # 2 to the k
    cdef double power
    total += r4 * ((0.041666666666666664 + r * 0.008333333333333333)
                   + r2 * (0.001388888888888889 + r * 0.0001984126984126984))
    total += (r4 * r4) * ((2.48015873015873e-05 + r * 2.7557319223985893e-06) + r2 * 2.755731922398589e-07)
    memcpy(&power, &bits, 8)
    return total * power
