"""Solve stored quadratic programs with each solver: max gain.x - 1/2 x'Px over x >= 0, sum(x) <= 1."""

import json
import sys
import time

import daqp
import numpy as np
import piqp

ROUNDS = 3


def with_piqp(P, gain):
    n = len(gain)
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-9
    solver.settings.eps_duality_gap_abs = solver.settings.eps_duality_gap_rel = 1e-9
    ones, none = np.ones((1, n), order="F"), np.array([-np.inf])
    solver.setup(np.asfortranarray(P), -gain, None, None, ones, none, np.ones(1), np.zeros(n), np.full(n, np.inf))
    status = solver.solve()
    return solver.result.x, status == piqp.PIQP_SOLVED


def with_daqp(P, gain):
    n = len(gain)
    upper, lower = np.append(np.full(n, 1e30), 1.0), np.append(np.zeros(n), -1e30)
    x, _, flag, _ = daqp.solve(P, -gain, np.ones((1, n)), upper, lower, np.zeros(n + 1, np.int32), primal_tol=1e-9)
    return x, flag > 0


def value(P, gain, x):
    """Return the objective of x after making it feasible."""
    x = np.maximum(np.asarray(x), 0)
    x = x / max(1.0, x.sum())
    return gain @ x - 0.5 * x @ P @ x


def main():
    with np.load(sys.argv[1]) as arrays:
        flat = [arrays[name] for name in arrays.files]
    programs = list(zip(flat[::2], flat[1::2], strict=True))
    solvers = {"piqp": with_piqp, "daqp": with_daqp}
    seconds = dict.fromkeys(solvers, np.inf)
    answers = {}
    for _ in range(ROUNDS):
        for name, solve in solvers.items():
            start = time.perf_counter()
            answers[name] = [solve(P, gain) for P, gain in programs]
            seconds[name] = min(seconds[name], time.perf_counter() - start)
    values = {
        name: np.array([value(*program, x) for program, (x, _) in zip(programs, answers[name], strict=True)])
        for name in solvers
    }
    best = np.maximum(*values.values())
    print(
        json.dumps(
            {
                "solvers": {
                    name: {
                        "seconds": seconds[name],
                        "largest_error": float(np.max((best - values[name]) / best)),
                        "failed": sum(not solved for _, solved in answers[name]),
                    }
                    for name in solvers
                }
            }
        )
    )


if __name__ == "__main__":
    main()
