"""Brackets of successive halving: many settings on few rows, a third of them on three times the rows, and so on."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.experimental import enable_halving_search_cv  # noqa: F401  (scikit-learn's way to offer it)
from sklearn.model_selection import HalvingRandomSearchCV

from abound.tuning.settings import Setting, Space
from abound.tuning.trials import TrialRunner

FACTOR = 3
RUNGS = 3
N_CANDIDATES = FACTOR ** (RUNGS - 1)
UNTRIED = -1.0  # below every figure: what there was no time for is not promoted


@dataclass(eq=False, repr=False)
class Candidate(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A setting as scikit-learn's searches want it: an estimator whose resource is `n_rows`."""

    runner: TrialRunner | None = None
    n_rows: int = 1
    _: KW_ONLY
    ranker: str | None = None
    passes: int | None = None
    d_max: int | None = None
    w_min: float | None = None
    language: str | None = None
    ngrams: int | None = None
    char_ngrams: tuple[int, int] | None = None
    stem: str | None = None
    min_count: int | None = None
    name_weight: float | None = None

    def setting(self) -> Setting:
        """Return what differs from the defaults."""
        given = self.get_params(deep=False)
        return Setting({k: v for k, v in given.items() if v is not None and k not in ("runner", "n_rows")})

    def fit(self, X: Any, y: Any) -> "Candidate":  # noqa: ARG002
        """Learn the first rows of the runner; those that scikit-learn would hand over are not looked at."""
        assert self.runner is not None
        top = self.n_rows * FACTOR > self.runner.n_rows  # the last rung takes what division leaves over, too
        trial = self.runner.run(self.setting(), self.runner.n_rows if top else self.n_rows)
        self.value_ = UNTRIED if trial is None else trial.value
        return self

    def score(self, X: Any, y: Any) -> float:  # noqa: ARG002
        """Return the measure on the rows to choose by."""
        return self.value_


def rungs(runner: TrialRunner) -> list[int]:
    """Return the rows of each step of a bracket.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> rungs(SimpleNamespace(n_rows=1_000))
    [111, 333, 1000]
    """
    smallest = max(1, runner.n_rows // FACTOR ** (RUNGS - 1))
    return [*(smallest * FACTOR**rung for rung in range(RUNGS - 1)), runner.n_rows]


def run_bracket(runner: TrialRunner, where: Space, random_state: int) -> None:
    """Let scikit-learn draw settings and halve them; the runner keeps what was tried."""
    search = HalvingRandomSearchCV(
        Candidate(runner),
        where,
        n_candidates=N_CANDIDATES,
        factor=FACTOR,
        resource="n_rows",
        min_resources=rungs(runner)[0],
        max_resources=runner.n_rows,
        cv=[([0], [1])],  # the runner has the rows
        refit=False,
        return_train_score=False,
        error_score="raise",
        random_state=random_state,
    )
    search.fit([[0.0], [0.0]], [0, 0])
