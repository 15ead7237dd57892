"""`abound tune`: find the best setting for some rows within a time budget."""

import math
import re
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from abound.cli.common import STANDARD, JsonOption, emit, note, show_size, wants_json
from abound.cli.embedding import RefusedOption, refuse_embeddings
from abound.cli.fit import LabelNamesOption, read_by_names
from abound.cli.reading import LabelledReading

if TYPE_CHECKING:
    from abound.cli.inputs import Inputs
    from abound.cli.progress import Progress
    from abound.data import Document
    from abound.tuning import Rows, Trial, Tuning
    from abound.tuning.settings import Setting

EPILOG = """\b
Example:
  abound tune docs.jsonl --budget 60s
  abound tune docs.tsv.xz --label-names labels.tsv --budget 5m --plot tried
"""
PROBED = 2_000  # rows to measure how fast this machine learns these texts
DEFAULTS_SHARE = 0.1  # of the budget for the defaults on all rows; if they need more, fewer rows are used
_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h)?")
_SECONDS = {None: 1, "s": 1, "m": 60, "h": 3600}


def tune(
    inputs: Annotated[
        list[str], typer.Argument(metavar="INPUT", help="Files of texts and labels, or directories of documents.")
    ],
    budget: Annotated[
        str, typer.Option("--budget", metavar="TIME", help="Time budget, such as 60s, 5m or 1h.")
    ] = "60s",
    holdout: Annotated[
        str,
        typer.Option(
            "--holdout", metavar="RULE", help="Rows to measure on, which are never learned: every:10 or share:0.1."
        ),
    ] = "every:10",
    measure: Annotated[
        str, typer.Option("--metric", metavar="NAME", help="Metric to choose the setting by, such as P@1 or nDCG@5.")
    ] = "P@5",
    label_names: LabelNamesOption = None,
    stem: Annotated[
        str | None,
        typer.Option(
            "--stem",
            metavar="NAME",
            help="Another stemmer to try besides that of the detected language, such as english.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, metavar="N", help="Random seed for the settings to try.")] = 0,
    plot: Annotated[
        str | None,
        typer.Option(
            "--plot", metavar="DIR", help="Write a plot of the settings tried and its data to this directory."
        ),
    ] = None,
    dark: Annotated[bool, typer.Option("--dark", help="Draw plots for a dark background.")] = False,
    as_json: JsonOption = None,
    embeddings: RefusedOption = None,
    *,
    reading: LabelledReading,
) -> None:
    """Try settings on growing samples of the rows until the time is up. Print the best one as a command."""
    refuse_embeddings(embeddings, "settings of the words are tuned; give it to abound fit afterwards")
    started, seconds = time.monotonic(), parse_seconds(budget)
    from abound import data
    from abound.cli.holdout import parse_holdout
    from abound.cli.inputs import Inputs
    from abound.cli.progress import Progress
    from abound.metrics import metric
    from abound.tuning import tune as find_setting

    metric(measure)
    if plot is not None:
        from abound.cli.pictures import check_plots, draw_tuning

        check_plots()
    rule = parse_holdout(holdout)
    if rule.file is not None or STANDARD in inputs:
        raise ValueError("tuning needs files and --holdout every:N or share:X, because it reads the rows several times")
    names = {} if label_names is None else data.read_label_names(label_names)
    limit = _affordable(Inputs(inputs, reading, rule), names, seconds) or reading.limit
    documents = Inputs(inputs, replace(reading, limit=limit), rule)
    read_by_names([documents], names, "either")
    with Progress("tuning", lambda: min((time.monotonic() - started) / seconds, 1.0)) as progress:
        learned, held_out = split(documents)
        tuning = find_setting(
            learned,
            held_out,
            seconds=seconds - (time.monotonic() - started),
            label_names=names,
            stem=stem or None,
            measure=measure,
            random_state=seed,
            watch=_Watch(progress, measure).see,
        )
    documents.note_skipped()
    limit = None if limit is not None and documents.rows < limit else limit
    # Options for reading the rows, which the printed command needs, too.
    given = {"label_names": label_names, "holdout": holdout, **vars(reading), "limit": limit}
    command = ["abound", "fit", *inputs, *as_arguments(given), *tuning.best.setting.options(), "--model", "MODEL"]
    figures = summary(tuning, len(held_out.texts), limit, command, time.monotonic() - started)
    if plot is not None:
        note(f"wrote {', '.join(draw_tuning(tuning, plot, dark))} to {plot}")
    if wants_json(as_json):
        emit(figures)
    else:
        _show(tuning, figures, inputs)


class _Watch:
    """Show the progress of tuning."""

    def __init__(self, progress: "Progress", measure: str) -> None:
        self._progress = progress
        self._measure = measure
        self._n_learned = 0
        self._best = 0.0
        self._tried: set[Setting] = set()

    def see(self, trial: "Trial") -> None:
        """Count a trial."""
        self._n_learned += trial.n_rows
        self._tried.add(trial.setting)
        self._best = max(self._best, trial.value)
        self._progress.update(self._n_learned, f"{len(self._tried):,} settings, best {self._measure} {self._best:.4f}")


def as_arguments(options: Mapping[str, Sequence[str] | str | int | None]) -> list[str]:
    """Return options as command-line arguments. None is omitted, and lists become repeated options.

    Examples
    --------
    >>> as_arguments({"text_field": ["title", "abstract"], "format_": None, "limit": 100})
    ['--text-field', 'title', '--text-field', 'abstract', '--limit', '100']
    """
    arguments = []
    for name, value in options.items():
        values = value if isinstance(value, list | tuple) else () if value is None else (value,)
        arguments += [part for one in values for part in (f"--{name.strip('_').replace('_', '-')}", str(one))]
    return arguments


def parse_seconds(text: str) -> float:
    """Parse a time such as 60s, 5m or 1h, and return the seconds.

    Examples
    --------
    >>> parse_seconds("1.5m")
    90.0
    """
    match = _TIME.fullmatch(text.strip().lower())
    seconds = float(match[1]) * _SECONDS[match[2]] if match else 0.0
    if seconds <= 0:
        raise ValueError(f"--budget must be a time such as 60s, 5m or 1h, got {text!r}")
    return seconds


def _affordable(documents: "Inputs", names: dict[str, list[str]], seconds: float) -> int | None:
    """Return how many rows the defaults can learn in their share of the time; None if there are few rows."""
    from abound.tuning.settings import Setting
    from abound.tuning.trials import Rows, learn

    rows = list(islice(documents, PROBED))
    if len(rows) < PROBED:
        return None
    start = time.monotonic()
    learn(Setting(), Rows([row.text for row in rows], [row.labels for row in rows]), names)
    return round_down(PROBED * seconds * DEFAULTS_SHARE / (time.monotonic() - start))


def round_down(number: float) -> int:
    """Return the largest of 1, 2, 5, 10, 20, 50, ... that does not exceed a number.

    Examples
    --------
    >>> round_down(7_200), round_down(2_500), round_down(1_999)
    (5000, 2000, 1000)
    """
    power = 10 ** int(math.log10(max(number, 1)))
    return int(power * max(step for step in (1, 2, 5) if step * power <= max(number, 1)))


def split(documents: "Inputs") -> tuple["Rows", "Rows"]:
    """Read the rows and split them into training and held-out rows."""
    from abound.tuning import Rows

    learned: list[Document] = []
    held_out: list[Document] = []
    for row, document in enumerate(documents):
        (held_out if documents.holdout.holds(row) else learned).append(document)
    rows = [Rows([row.text for row in part], [row.labels for row in part]) for part in (learned, held_out)]
    return rows[0], rows[1]


def summary(
    tuning: "Tuning", n_held_out: int, limit: int | None, command: Sequence[str], seconds: float
) -> dict[str, Any]:
    """Return the result as it is printed."""
    outcomes = {}
    for name, outcome in (("defaults", tuning.defaults), ("best", tuning.best)):
        outcomes[name] = {
            "setting": dict(outcome.setting.values),
            "measures": {measure: figure._asdict() for measure, figure in outcome.measures.items()},
            "seconds": round(outcome.seconds, 3),
            "memory_bytes": outcome.memory_bytes,
        }
    return {
        "seconds": round(seconds, 2),
        "held_out": n_held_out,
        "labels": tuning.defaults.n_labels,
        "limit": limit,
        "settings_tried": len({trial.setting for trial in tuning.trials}),
        "largest_trials": {"rows": tuning.n_rows, "settings": sum(t.n_rows == tuning.n_rows for t in tuning.trials)},
        "measure": tuning.measure,
        **outcomes,
        "gain": tuning.gain._asdict(),
        "beaten": tuning.beaten,
        "command": shlex.join(command),
    }


def _show(tuning: "Tuning", figures: dict[str, Any], inputs: Sequence[str]) -> None:
    from abound.cli.tables import table

    both = (tuning.defaults, tuning.best)
    rows = [
        (
            name,
            *(
                f"{o.measures[name].value:.4f} ({o.measures[name].low:.4f} to {o.measures[name].high:.4f})"
                for o in both
            ),
        )
        for name in tuning.defaults.measures
    ]
    rows.append(("memory", *(show_size(outcome.memory_bytes) for outcome in both)))
    rows.append(("seconds", *(f"{outcome.seconds:.1f}" for outcome in both)))
    title = f"{', '.join(inputs)}: {figures['held_out']:,} rows held out, {figures['labels']:,} labels"
    table(title, ("", "defaults", "best"), rows)
    if figures["limit"]:
        note(f"used only the first {figures['limit']:,} rows, because of the time budget")
    largest = figures["largest_trials"]
    counts = f"{figures['settings_tried']:,} settings tried in {figures['seconds']:.0f} s"
    print(f"{counts}, {largest['settings']:,} of them on {largest['rows']:,} rows.")
    print(verdict(tuning))
    print(f"\n{figures['command']}")


def verdict(tuning: "Tuning") -> str:
    """Return a sentence on whether the best setting is better than the defaults."""
    gain, measure = tuning.gain, tuning.measure
    if len({trial.setting for trial in tuning.trials}) < 2:
        return "There was no time to try any setting but the defaults: give a longer --budget."
    if tuning.best.setting == tuning.defaults.setting:
        return "The defaults could not be beaten: no other setting that was tried ranked better."
    span = f"{gain.value:+.4f}, 95% interval {gain.low:+.4f} to {gain.high:+.4f}"
    if tuning.beaten:
        return f"The best setting, {tuning.best.setting.words()}, beats the defaults: {measure} {span}."
    return (
        f"The defaults could not be beaten: {tuning.best.setting.words()} was the best setting tried, "
        f"but on the held-out rows its {measure} differs by {span}."
    )
