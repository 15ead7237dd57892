"""Compiled loops: flat arrays in, flat arrays out."""

from abound.kernels.pool import BOUNDS_CHECKED

__all__ = ["BOUNDS_CHECKED"]
