"""The 1-slack cutting plane: minimise 1/2 |w|^2 + C times a convex risk, with a certificate.

Joachims, Finley and Yu, "Cutting-plane training of structural SVMs" (2009). Each round computes the tangent of the risk
at w, adds it to the planes, and minimises the regularised maximum of the planes, a quadratic program with one variable
per plane. Its value is a lower bound of the optimum, and the objective at any w is an upper bound.

With few planes, the minimum is far from the optimum, and tangents there say little about the risk near the optimum. So
the next tangent is taken on the line from the best w so far to that minimum; both bounds hold at any point.

`minimize_n_slack` is Algorithm 1 of Yue et al. (2007) as printed: one slack per query, and one constraint at a time.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from abound.retrieval.quadratic import ACCURACY, solve_grouped_qp, solve_simplex_qp

Floats = NDArray[np.float64]
# The tangent of the risk at w: (loss, g), where the risk is at least loss - w . g, with equality at w.
Tangent = Callable[[Floats], tuple[float, Floats]]

STEP = 0.2  # relative step on that line; on letor-agg, a full step takes three to five times the rounds
IDLE_ROUNDS = 20  # a plane with zero weight for this many rounds is dropped
IDLE_WEIGHT = 1e-9


@dataclass(frozen=True)
class Certificate:
    """How close to the optimum a solution is known to be.

    Attributes
    ----------
    primal : float
        The objective of the solution: an upper bound of the optimum.
    dual : float
        A lower bound of the optimum.
    rounds : int
        The number of searches for the most violated rankings.
    seconds : float
        The total time.
    constraints : int or None
        The number of constraints in the working sets of Algorithm 1; None if another solver was used.
    """

    primal: float
    dual: float
    rounds: int
    seconds: float
    constraints: int | None = None

    @property
    def gap(self) -> float:
        """The largest possible distance of the solution's objective from the optimum."""
        return self.primal - self.dual

    @property
    def relative_gap(self) -> float:
        """The gap as a share of the objective."""
        return self.gap / self.primal if self.primal > 0 else 0.0


class _Planes:
    """The current planes and their products."""

    def __init__(self, n_features: int) -> None:
        self.losses = np.zeros(0)
        self.slopes = np.zeros((0, n_features))
        self.products = np.zeros((0, 0))
        self.idle = np.zeros(0, np.int64)

    def add(self, loss: float, slope: Floats) -> None:
        column = self.slopes @ slope
        self.products = np.block([[self.products, column[:, None]], [column[None, :], np.array([[slope @ slope]])]])
        self.slopes = np.vstack([self.slopes, slope])
        self.losses = np.append(self.losses, loss)
        self.idle = np.append(self.idle, 0)

    def solve(self, C: float) -> tuple[Floats, float]:
        """Return the w that minimises the regularised maximum of the planes, and a lower bound of the optimum."""
        shares = solve_simplex_qp(C * self.products, self.losses)
        # Feasible shares give a true lower bound, whatever the accuracy of the solver.
        shares = np.maximum(shares, 0.0)
        shares /= max(1.0, shares.sum())
        self.idle = np.where(shares > IDLE_WEIGHT, 0, self.idle + 1)
        w = C * (shares @ self.slopes)
        return w, C * float(shares @ self.losses) - 0.5 * float(w @ w)

    def drop_idle(self) -> None:
        kept = self.idle < IDLE_ROUNDS
        if not kept.all():
            self.losses, self.slopes, self.idle = self.losses[kept], self.slopes[kept], self.idle[kept]
            self.products = self.products[np.ix_(kept, kept)]


def minimize(tangent: Tangent, n_features: int, C: float, tol: float, max_rounds: int) -> tuple[Floats, Certificate]:
    """Minimise 1/2 |w|^2 + C risk(w) until the gap is at most `tol` times the objective.

    Returns
    -------
    w : ndarray of shape (n_features,)
        The best solution found.
    certificate : Certificate
    """
    begin = time.perf_counter()
    planes = _Planes(n_features)
    w = best = np.zeros(n_features)
    primal, dual, rounds = np.inf, 0.0, 0
    while rounds < max_rounds:
        rounds += 1
        loss, slope = tangent(w)
        value = 0.5 * float(w @ w) + C * max(0.0, loss - float(w @ slope))
        if value < primal:
            primal, best = value, w
        if primal - dual <= tol * primal:
            break
        planes.add(loss, slope)
        w, bound = planes.solve(C)
        dual = max(dual, bound)
        if primal - dual <= tol * primal:
            break
        w = best + STEP * (w - best)
        planes.drop_idle()
    return best, Certificate(primal, dual, rounds, time.perf_counter() - begin)


class _WorkingSets:
    """The constraints of Algorithm 1: a loss, a difference of Psi, and a query for each."""

    def __init__(self, n_features: int) -> None:
        self.losses = np.zeros(0)
        self.slopes = np.zeros((0, n_features))
        self.queries = np.zeros(0, np.int64)
        self._shares = np.zeros(0)

    def add(self, query: int, loss: float, slope: Floats) -> None:
        self.losses = np.append(self.losses, loss)
        self.slopes = np.vstack([self.slopes, slope])
        self.queries = np.append(self.queries, query)
        self._shares = np.append(self._shares, 1.0)  # the new constraint takes part in the next program

    def slack(self, query: int, w: Floats) -> float:
        """Return the largest violation of a constraint of the query, at least 0."""
        mine = self.queries == query
        return float(np.max(self.losses[mine] - self.slopes[mine] @ w, initial=0.0))

    def solve(self, cap: float) -> tuple[Floats, float]:
        """Return the w that is optimal for all constraints, and the value of the dual program there.

        Few constraints have a share of the solution. So a program of those that had one is solved, and constraints
        that its solution violates are added until there are none: the result is that of the program of all.
        """
        active = self._shares > IDLE_WEIGHT
        while True:
            slopes, losses, queries = self.slopes[active], self.losses[active], self.queries[active]
            shares = np.maximum(solve_grouped_qp(cap * (slopes @ slopes.T), losses, queries), 0.0)
            shares /= np.maximum(1.0, np.bincount(queries, shares))[queries]
            w = cap * (shares @ slopes)
            violations = self.losses - self.slopes @ w
            slacks = np.zeros(int(self.queries.max()) + 1)
            np.maximum.at(slacks, queries, violations[active])
            missing = ~active & (violations > slacks[self.queries] + ACCURACY)
            if not missing.any():
                self._shares = np.zeros(len(self.losses))
                self._shares[active] = shares
                return w, cap * float(shares @ losses) - 0.5 * float(w @ w)
            active |= missing


def minimize_n_slack(
    tangents: Sequence[Tangent], n_features: int, C: float, epsilon: float, max_rounds: int
) -> tuple[Floats, Certificate]:
    """Minimise 1/2 |w|^2 + C / n times the sum of the slacks, until no ranking violates by more than `epsilon`.

    Algorithm 1: visit the queries in turn. If the most violated ranking of a query violates by more than its slack
    and epsilon, add it to the query's working set, and solve the program of all working sets. End after a round
    that adds nothing. The gap is then at most C times epsilon.

    Returns
    -------
    w : ndarray of shape (n_features,)
    certificate : Certificate
        `rounds` counts visits of all queries.
    """
    begin = time.perf_counter()
    sets, w, dual, cap = _WorkingSets(n_features), np.zeros(n_features), 0.0, C / max(len(tangents), 1)
    rounds, changed = 0, True
    while changed and rounds < max_rounds:
        rounds, changed = rounds + 1, False
        for query, tangent in enumerate(tangents):
            loss, slope = tangent(w)
            if loss - float(w @ slope) > sets.slack(query, w) + epsilon:
                sets.add(query, loss, slope)
                w, dual = sets.solve(cap)
                changed = True
    hinges = [loss - float(w @ slope) for loss, slope in (tangent(w) for tangent in tangents)]
    primal = 0.5 * float(w @ w) + cap * sum(max(0.0, hinge) for hinge in hinges)
    return w, Certificate(primal, min(dual, primal), rounds, time.perf_counter() - begin, len(sets.losses))
