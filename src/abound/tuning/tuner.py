"""Tuning: measure the defaults, search within the time left, and train the best setting on all rows."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from abound.components.linear import Linear
from abound.metrics import Interval, Judgement, compare, interval, metric
from abound.tagger import Tagger
from abound.tuning.halving import run_bracket, rungs
from abound.tuning.settings import Setting, space
from abound.tuning.trials import RANKS, Rows, Trial, TrialRunner, judge_rows, learn

MEASURES = ("P@1", "P@3", "P@5")
MAX_BRACKETS = 100
SMALLER_IS_BETTER = ("HR", "OneErr", "Coverage", "loss1", "loss2", "loss3")
MIN_ROWS = 1_000
TRIAL_SHARE = 0.03  # of the time for one of the largest trials with the defaults


@dataclass(frozen=True)
class Outcome:
    """A setting that was trained on all rows, with its metrics on the held-out rows."""

    setting: Setting
    measures: dict[str, Interval]
    seconds: float
    memory_bytes: int
    n_labels: int


@dataclass(frozen=True)
class Tuning:
    """The result of tuning.

    Attributes
    ----------
    defaults, best : Outcome
        Both are trained on all rows and measured on the held-out rows, which were not used to choose.
    gain : Interval
        The metric of the best setting minus that of the defaults, paired over the held-out rows.
    trials : list of Trial
        All trials in order, measured on validation rows, which are taken from the training rows.
    n_rows : int
        Number of rows of the largest trials.
    """

    measure: str
    defaults: Outcome
    best: Outcome
    gain: Interval
    trials: list[Trial]
    n_rows: int

    @property
    def beaten(self) -> bool:
        """Whether the best setting is significantly better than the defaults (95% interval above 0)."""
        return self.gain.low > 0


def tune(
    rows: Rows,
    held_out: Rows,
    *,
    seconds: float,
    label_names: Mapping[Any, Sequence[str]] | None = None,
    stem: str | None = None,
    measure: str = "P@5",
    random_state: int = 0,
    watch: Callable[[Trial], None] = lambda _: None,
    clock: Callable[[], float] = time.monotonic,
) -> Tuning:
    """Find the best setting of a tagger within a time budget.

    Brackets of successive halving draw settings, try each on few rows, the best third on three times as many, and the
    best of those on as many as the time allows. Settings are chosen on validation rows, which are taken from `rows`.
    The held-out rows are only used at the end, to measure the choice.

    Parameters
    ----------
    rows : Rows
        Training rows.
    held_out : Rows
        Rows to measure on.
    seconds : float
        The time budget. The seed decides which settings are tried, and the time decides how many.
    label_names : mapping, optional
        Names of the labels; see `Tagger.fit`.
    stem : str, optional
        Another stemmer to try.
    measure : str
        The metric to choose by.
    random_state : int
        Random seed for the settings and their order.
    watch : callable
        Called with each finished trial.
    clock : callable
        Returns the time in seconds. Use `time.process_time` to exclude other work of a busy machine.

    Returns
    -------
    Tuning

    Examples
    --------
    >>> from abound.tuning import Rows, tune
    >>> rows = Rows(["red apple", "fast car"] * 40, [["fruit"], ["vehicle"]] * 40)
    >>> tune(rows, rows, seconds=0.5, measure="P@1").best.measures["P@1"].value
    1.0
    """
    deadline = clock() + seconds
    if measure in SMALLER_IS_BETTER:
        raise ValueError(f"measure must be a metric that is higher for better rankings, such as P@5, got {measure}")
    if not any(held_out.labels):
        raise ValueError("there is nothing to measure on: no held-out row has a label")
    names = dict(label_names or {})
    before = clock()
    n_ranks = max(RANKS, metric(measure)[1])
    default, tagger, default_judged = _outcome(Setting(), rows, held_out, names, n_ranks, clock)
    measured = clock() - before - default.seconds
    reserved = default.seconds  # for training the best setting so far on all rows

    def time_for_last_step() -> float:
        return deadline - clock() - 2 * measured

    def time_left() -> float:
        return time_for_last_step() - reserved

    affordable = int(TRIAL_SHARE * seconds / max(default.seconds, 1e-9) * len(rows.texts))
    runner = TrialRunner(rows, names, measure, time_left, watch, max(affordable, MIN_ROWS), clock)
    few = tagger.ranker.component(Linear) is not None
    del tagger  # release its memory for the trials
    where = space(few_labels=few, stem=stem, has_names=bool(names))
    for n_rows in rungs(runner):
        runner.run(Setting(), n_rows)
    for bracket in range(1, MAX_BRACKETS + 1):
        if time_left() < runner.expected_seconds(Setting(), runner.n_rows):
            break
        runner.bracket, n_before = bracket, len(runner.trials)
        run_bracket(runner, where, random_state + bracket)
        reserved = runner.expected_seconds(runner.best(time_for_last_step()), len(rows.texts))
        if len(runner.trials) == n_before:
            break
    best, best_judged, chosen = default, default_judged, runner.best(time_for_last_step())
    if chosen != Setting():
        best, _, best_judged = _outcome(chosen, rows, held_out, names, n_ranks, clock)
    return Tuning(measure, default, best, compare(measure, best_judged, default_judged), runner.trials, runner.n_rows)


def _outcome(
    setting: Setting,
    rows: Rows,
    held_out: Rows,
    names: Mapping[Any, Sequence[str]],
    n_ranks: int,
    clock: Callable[[], float],
) -> tuple[Outcome, Tagger, Judgement]:
    start = clock()
    tagger = learn(setting, rows, names)
    seconds = clock() - start
    judgement = judge_rows(tagger, held_out, n_ranks)
    measures = {name: interval(name, judgement) for name in MEASURES}
    return Outcome(setting, measures, seconds, tagger.nbytes, tagger.n_labels), tagger, judgement
