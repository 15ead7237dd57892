"""Store the result of each system on each trial, so that an interrupted run continues where it stopped."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

from benchmarks.papers.feature_focus.corpora import Corpus, Part

FORM = 1  # increase it when a cell would come out differently; older cells are then computed again
FEW_ROWS = 1000  # up to this size, starting other processes costs more than it saves


class Cells:
    """The cells of one data set: one result for each system and trial.

    Parameters
    ----------
    corpus : Corpus
        The data set.
    folder : Path or None
        Where cells are stored, one line each; None stores nothing.
    jobs : int
        Trials that run at the same time.
    stored_only : bool
        Whether systems without stored cells are left out instead of computed.
    """

    def __init__(self, corpus: Corpus, folder: Path | None = None, jobs: int = 1, *, stored_only: bool = False) -> None:
        self.corpus, self.jobs, self.stored_only, self.seconds = corpus, jobs, stored_only, 0.0
        self.found: dict[str, Any] = {}
        self.path = folder / f"{corpus.name}.jsonl" if folder is not None else None
        X, Y = corpus.rows[0]
        self.mark = f"{FORM}, {X.shape[0]} rows, {X.nnz} values, {Y.nnz} labels"
        if self.path is not None and self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                self._read(line)

    def _read(self, line: str) -> None:
        try:
            cell = json.loads(line)
        except ValueError:
            return  # the last line of an interrupted run
        if cell["of"] == self.mark:
            self.found[cell["key"]] = cell

    def has(self, system: str, n_trials: int) -> bool:
        """Return whether a system can be shown: it is stored, or may be computed."""
        return not self.stored_only or all(f"{system}, trial {number}" in self.found for number in range(n_trials))

    def trials(self, system: str, n_trials: int, function: Callable[[Part], Any]) -> list[Any]:
        """Return what a function finds in each trial; compute only what is not stored."""
        if not self.has(system, n_trials):
            raise LookupError(f"{self.corpus.name}: {system} is not stored")
        keys = [f"{system}, trial {number}" for number in range(n_trials)]
        missing = [number for number, key in enumerate(keys) if key not in self.found]

        def one(number: int) -> tuple[int, Any, float]:
            start = time.process_time()
            found = function(self.corpus.trial(number))
            return number, found, time.process_time() - start

        jobs = min(self.jobs, len(missing)) if self.corpus.rows[0][0].shape[0] > FEW_ROWS else 1
        if missing:
            for number, found, seconds in Parallel(n_jobs=max(1, jobs), return_as="generator")(
                delayed(one)(number) for number in missing
            ):
                self._store(keys[number], found, seconds)
        self.seconds += sum(self.found[key]["seconds"] for key in keys)
        return [self.found[key]["value"] for key in keys]

    def _store(self, key: str, value: Any, seconds: float) -> None:
        cell = json.loads(json.dumps({"of": self.mark, "key": key, "value": value, "seconds": round(seconds, 4)}))
        self.found[key] = cell
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(cell) + "\n")
