"""Try settings: training rows, validation rows, and a clock."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from abound.metrics import Judgement, judge, metric
from abound.metrics.label_ranking import figures
from abound.tagger import Tagger
from abound.texts import Text
from abound.tuning.settings import Setting

RANKS = 5
VALIDATION_EVERY = 10  # one row in this many is a validation row
MAX_VALIDATION_ROWS = 4_000
SLACK = 1.25  # a trial may take this many times as long as expected
GOLDEN = 0.6180339887498949


class Rows(NamedTuple):
    """Texts and the labels of each."""

    texts: Sequence[Text]
    labels: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Trial:
    """A setting, the number of rows it learned, its metric on the validation rows, and the seconds it took."""

    setting: Setting
    n_rows: int
    value: float
    seconds: float
    bracket: int = 0


def learn(setting: Setting, rows: Rows, label_names: Mapping[Any, Sequence[str]] | None = None) -> Tagger:
    """Learn rows as `abound fit` does with the same options."""
    return setting.tagger().fit(rows.texts, rows.labels, label_names=label_names)


def judge_rows(tagger: Tagger, rows: Rows, n_ranks: int = RANKS) -> Judgement:
    """Rank rows and compare the rankings with their labels."""
    ranking = tagger.rank_arrays(rows.texts, n_ranks)
    return judge(tagger.truth(rows.labels), ranking, label_counts=tagger.label_counts, n_train_rows=tagger.n_rows)


class TrialRunner:
    """Try settings on growing samples of rows while there is time.

    Parameters
    ----------
    rows : Rows
        The training rows. A tenth of them become validation rows.
    label_names : mapping
        Names of the labels.
    name : str
        The metric to choose by.
    time_left : callable
        Returns the seconds left for trials.
    watch : callable
        Called with each trial.
    n_rows : int or None
        Number of rows of the largest trials; None for all training rows.
    clock : callable
        Returns the time in seconds.
    """

    def __init__(
        self,
        rows: Rows,
        label_names: Mapping[Any, Sequence[str]],
        name: str,
        time_left: Callable[[], float],
        watch: Callable[[Trial], None],
        n_rows: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        labelled = [
            number for number in range(VALIDATION_EVERY - 1, len(rows.texts), VALIDATION_EVERY) if rows.labels[number]
        ]
        aside = labelled[:: -(-len(labelled) // MAX_VALIDATION_ROWS)] if labelled else []
        if not aside:
            raise ValueError(f"there are too few rows with labels to choose a setting, {len(rows.texts):,} in total")
        apart = set(aside)
        self.validation = _select(rows, aside)
        self.rows = _select(rows, [number for number in range(len(rows.texts)) if number not in apart])
        self.n_rows = min(len(self.rows.texts), n_rows or len(self.rows.texts))
        self.label_names = label_names
        self.name = name
        self.trials: list[Trial] = []
        self.bracket = 0
        self._n_ranks = metric(name)[1] or RANKS
        self._time_left = time_left
        self._watch = watch
        self._clock = clock
        # The fractional parts of multiples of the golden ratio are spread evenly for any number of rows. A sample is
        # the rows below a threshold: samples are nested, keep the order, and cover the whole of a sorted file.
        self._spread = np.arange(1, len(self.rows.texts) + 1) * GOLDEN % 1.0

    def __deepcopy__(self, _: Any) -> "TrialRunner":
        return self  # scikit-learn copies the parameters of each candidate, but they share rows and trials

    @property
    def n_all(self) -> int:
        """Number of training and validation rows."""
        return len(self.rows.texts) + len(self.validation.texts)

    def sample(self, n_rows: int) -> Rows:
        """Return `n_rows` rows, in order. A larger sample contains a smaller one."""
        if n_rows >= len(self.rows.texts):
            return self.rows
        threshold = np.partition(self._spread, n_rows - 1)[n_rows - 1]
        return _select(self.rows, np.flatnonzero(self._spread <= threshold).tolist())

    def expected_seconds(self, setting: Setting, n_rows: int) -> float:
        """Estimate the time of a trial from earlier ones of the same setting, or of all settings."""
        own = [trial for trial in self.trials if trial.setting == setting]
        if own:
            return SLACK * own[-1].seconds * n_rows / own[-1].n_rows
        rates = [trial.seconds / trial.n_rows / trial.setting.work() for trial in self.trials]
        return SLACK * float(np.median(rates)) * n_rows * setting.work() if rates else 0.0

    def run(self, setting: Setting, n_rows: int) -> Trial | None:
        """Try a setting on `n_rows` rows. Return None if the time left is too short."""
        earlier = next((t for t in self.trials if t.setting == setting and t.n_rows == n_rows), None)
        if earlier is not None:
            return earlier
        needed = self.expected_seconds(setting, n_rows)
        if n_rows >= self.n_rows:  # the winner is trained once more at the end, on all rows
            needed += self.expected_seconds(setting, self.n_all)
        if needed > self._time_left():
            return None
        start = self._clock()
        tagger = learn(setting, self.sample(n_rows), self.label_names)
        judgement = judge_rows(tagger, self.validation, self._n_ranks)
        value = metric(self.name)[0].reduce(figures(self.name, judgement))
        trial = Trial(setting, n_rows, value, self._clock() - start, self.bracket)
        self.trials.append(trial)
        self._watch(trial)
        return trial

    def best(self, seconds: float = math.inf) -> Setting:
        """Return the best setting of the largest trials; of equal ones, the first.

        If there was no time for largest trials, return the setting with the largest gain over the defaults on the same
        number of rows; of a setting, the trial on most rows counts. Settings that would need more than `seconds` to
        learn all rows are left out.
        """
        defaults = {trial.n_rows: trial.value for trial in self.trials if trial.setting == Setting()}
        known = [trial for trial in self.trials if self.expected_seconds(trial.setting, self.n_all) <= seconds]
        largest = [trial for trial in known if trial.n_rows == self.n_rows]
        most = {trial.setting.words(): trial for trial in sorted(known, key=lambda trial: trial.n_rows)}
        compared = largest if len(largest) > 1 else [trial for trial in most.values() if trial.n_rows in defaults]
        gains = [(trial.value - defaults.get(trial.n_rows, 0.0), trial.setting) for trial in compared]
        return max(gains, key=lambda gain: gain[0])[1] if gains else Setting()


def _select(rows: Rows, numbers: Sequence[int]) -> Rows:
    return Rows([rows.texts[number] for number in numbers], [rows.labels[number] for number in numbers])
