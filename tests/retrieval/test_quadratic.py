"""The quadratic program: solved by conditions that only an optimum meets, also where its matrix is singular."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abound.retrieval.quadratic import solve_simplex_qp


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 25), st.integers(1, 8), st.integers(0, 2**32 - 1), st.floats(-3, 3), st.booleans())
def test_no_direction_leads_to_more(n, rank, seed, magnitude, twins):
    rng = np.random.default_rng(seed)
    slopes, gain = rng.normal(size=(n, rank)), rng.random(n)
    if twins and n > 1:
        slopes[-1], gain[-1] = slopes[0], gain[0]
    P = 10.0**magnitude * slopes @ slopes.T
    x = solve_simplex_qp(P, gain)
    assert x.min() >= -1e-6  # what the solver promises; versions before 0.10.3 use a tenth of it
    assert x.sum() <= 1 + 1e-6
    # The most that any point can add to first order: all on the steepest corner, or nothing at all.
    slope = gain - P @ x
    assert max(slope.max(), 0.0) - slope @ x <= 1e-4 * max(1.0, gain @ x)


def test_a_missing_solver_is_told_with_the_command_that_brings_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "daqp", None)
    with pytest.raises(ImportError, match=r"SVMMap needs daqp: pip install 'abound\[map\]'"):
        solve_simplex_qp(np.eye(1), np.ones(1))
