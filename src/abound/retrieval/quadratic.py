"""The quadratic programs of the cutting planes, solved by daqp."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from abound.errors import missing_extra

NO_BOUND = 1e30  # what the solver treats as infinity
ACCURACY = 1e-9


def _solver() -> Any:
    try:
        import daqp
    except ImportError as error:
        raise missing_extra("SVMMap needs daqp", "map", "daqp") from error
    return daqp


def solve_simplex_qp(P: NDArray[np.float64], gain: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the x >= 0 with sum(x) <= 1 that maximises gain . x - 1/2 x' P x; P may be singular.

    Examples
    --------
    >>> solve_simplex_qp(np.eye(2), np.array([3.0, 0.0])).tolist()
    [1.0, 0.0]
    """
    return solve_grouped_qp(P, gain, np.zeros(len(gain), np.int64))


def solve_grouped_qp(
    P: NDArray[np.float64], gain: NDArray[np.float64], groups: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the x >= 0 that maximises gain . x - 1/2 x' P x, where x sums to at most 1 in each group.

    Examples
    --------
    >>> solve_grouped_qp(np.eye(3), np.array([3.0, 0.0, 0.5]), np.array([7, 7, 8])).tolist()
    [1.0, 0.0, 0.5]
    """
    n = len(gain)
    members = (np.unique(groups)[:, None] == groups[None, :]).astype(np.float64)
    # The first n bounds are those of x, the others are those of the sums.
    upper = np.append(np.full(n, NO_BOUND), np.ones(len(members)))
    lower = np.append(np.zeros(n), np.full(len(members), -NO_BOUND))
    kinds = np.zeros(len(upper), np.int32)
    x, _, flag, _ = _solver().solve(np.ascontiguousarray(P), -gain, members, upper, lower, kinds, primal_tol=ACCURACY)
    if flag <= 0:
        raise ValueError(
            f"the quadratic program of {n} planes was not solved (daqp ended with {flag}): values of X and C are too "
            "far from 1; scale X, or choose another C"
        )
    return np.asarray(x, np.float64)
