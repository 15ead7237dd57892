"""The natural logarithm from additions and multiplications only: the same bits with every C library."""

from libc.math cimport frexp


cdef inline double log_of(double x) noexcept nogil:
    """Return the natural logarithm of a positive number."""
    cdef int exponent
    cdef double m = frexp(x, &exponent), s, s2, total
    if m < 0.7071067811865476:
        m *= 2.0
        exponent -= 1
    s = (m - 1.0) / (m + 1.0)
    s2 = s * s
    # The series of atanh, summed from its smallest term.
    total = 1.0 / 21.0
    total = total * s2 + 1.0 / 19.0
    total = total * s2 + 1.0 / 17.0
    total = total * s2 + 1.0 / 15.0
    total = total * s2 + 1.0 / 13.0
    total = total * s2 + 1.0 / 11.0
    total = total * s2 + 1.0 / 9.0
    total = total * s2 + 1.0 / 7.0
    total = total * s2 + 1.0 / 5.0
    total = total * s2 + 1.0 / 3.0
    return 2.0 * s * (1.0 + s2 * total) + exponent * 0.6931471805599453
