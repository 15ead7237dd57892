"""Brackets of successive halving: many settings on few rows, the best third on three times as many, and so on."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.experimental import enable_halving_search_cv  # noqa: F401  enables the import below
from sklearn.model_selection import HalvingRandomSearchCV

from abound.tuning.settings import Setting, Space
from abound.tuning.trials import TrialRunner

FACTOR = 3
RUNGS = 3
N_CANDIDATES = FACTOR ** (RUNGS - 1)
UNTRIED = -1.0  # below every metric, so that settings without a trial are not promoted


@dataclass(eq=False, repr=False)
class Candidate(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A setting as an estimator for scikit-learn's search, with resource `n_rows`."""

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
        """Return the parameters that differ from the defaults."""
        given = self.get_params(deep=False)
        return Setting({k: v for k, v in given.items() if v is not None and k not in ("runner", "n_rows")})

    def fit(self, X: Any, y: Any) -> "Candidate":  # noqa: ARG002
        """Learn a sample of the runner's rows. The arguments of scikit-learn are ignored."""
        assert self.runner is not None
        top = self.n_rows * FACTOR > self.runner.n_rows  # the last rung also takes the remainder of the division
        trial = self.runner.run(self.setting(), self.runner.n_rows if top else self.n_rows)
        self.value_ = UNTRIED if trial is None else trial.value
        return self

    def score(self, X: Any, y: Any) -> float:  # noqa: ARG002
        """Return the metric on the validation rows."""
        return self.value_


def rungs(runner: TrialRunner) -> list[int]:
    """Return the number of rows of each rung of a bracket.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> rungs(SimpleNamespace(n_rows=1_000))
    [111, 333, 1000]
    """
    smallest = max(1, runner.n_rows // FACTOR ** (RUNGS - 1))
    return [*(smallest * FACTOR**rung for rung in range(RUNGS - 1)), runner.n_rows]


def run_bracket(runner: TrialRunner, where: Space, random_state: int) -> None:
    """Run successive halving with scikit-learn. The runner records the trials."""
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
