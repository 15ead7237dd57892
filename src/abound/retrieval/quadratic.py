"""The quadratic program of the cutting plane, handed to a solver."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

ACCURACY = 1e-9


def _solver() -> Any:
    try:
        import piqp
    except ImportError as error:
        raise ImportError("SVMMap needs piqp: pip install 'abound[map]'", name="piqp") from error
    return piqp


def solve_simplex_qp(P: NDArray[np.float64], gain: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the x >= 0 with sum(x) <= 1 that maximises gain . x - 1/2 x' P x.

    Examples
    --------
    >>> np.abs(solve_simplex_qp(np.eye(2), np.array([3.0, 0.0]))).round(6).tolist()
    [1.0, 0.0]
    """
    n = len(gain)
    solver = _solver().DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = ACCURACY
    solver.settings.eps_duality_gap_abs = solver.settings.eps_duality_gap_rel = ACCURACY
    solver.setup(
        np.asfortranarray(P),
        -gain,
        None,
        None,
        np.ones((1, n), order="F"),
        np.array([-np.inf]),
        np.array([1.0]),
        np.zeros(n),
        np.full(n, np.inf),
    )
    solver.solve()
    return np.asarray(solver.result.x, np.float64)
