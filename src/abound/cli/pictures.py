"""The files that `abound evaluate --plot` and `abound tune --plot` write: plots and their data."""

import json
import warnings
from collections.abc import Callable, Iterable, Sequence
from html import escape
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from abound.cli.common import note
from abound.texts import Text

if TYPE_CHECKING:
    from abound.data import Document
    from abound.rankers.ranking import Ranking
    from abound.tagger import Evaluation, Tagger
    from abound.tuning import Tuning

N_RANKS = 10
MAX_ROWS = 200_000  # rows of a learning curve
D_MAX = (1, 2, 3, 5, 10, 25, 50, 100)
N_PAIRS = 12
N_EXPLAINED = 8
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
:root {{ color-scheme: {scheme}; }}
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }}
section {{ margin: 0 0 1.6rem; }} em {{ opacity: .7; }}
</style></head><body><h1>{title}</h1>
{body}
</body></html>
"""


def check_plots() -> None:
    """Raise an error if matplotlib is missing, before any work is done."""
    from abound.data.extras import require

    require("matplotlib", "plot", "plots")


def draw_evaluation(
    tagger: "Tagger",
    model: str,
    rows: Sequence["Document"],
    learned: Iterable["Document"],
    folder: str,
    dark: bool,
    evaluation: "Evaluation",
) -> list[str]:
    """Plot the quality of a model on rows, and return the names of the files.

    Parameters
    ----------
    rows : sequence of Document
        Labelled rows to measure on.
    learned : iterable of Document
        Rows for the learning curve. A new model with the same parameters learns them in order.
    evaluation : Evaluation
        Of the same rows.
    """
    from abound.plots.confusions import confusion_figures, draw_confused_pairs, find_confusions
    from abound.plots.frequency import draw_label_frequency, label_frequency_figures
    from abound.plots.memory import draw_accuracy_by_memory, memory_figures
    from abound.plots.per_label import draw_label_quality, label_quality_figures
    from abound.plots.progressive import draw_learning_curve, learning_curve_figures, rank_then_learn
    from abound.plots.ranks import draw_precision_at_k, precision_at_k_figures
    from abound.plots.reliability import draw_reliability, reliability_figures
    from abound.plots.thresholds import draw_precision_recall, precision_recall_figures

    target = _Target(folder, dark)
    texts, labels = [row.text for row in rows], [row.labels for row in rows]
    ranking, truth = tagger.rank_arrays(texts, N_RANKS), tagger.truth(labels)
    target.write("precision-at-k", precision_at_k_figures(truth, ranking), draw_precision_at_k)
    target.write("precision-recall", precision_recall_figures(truth, ranking), draw_precision_recall)
    by_frequency = label_frequency_figures(truth, ranking, tagger.label_counts)
    target.write("label-frequency", by_frequency, draw_label_frequency)
    target.write("label-quality", label_quality_figures(evaluation.per_label()), draw_label_quality)
    if evaluation.has_probabilities:
        target.write("reliability", reliability_figures(evaluation.calibration_bins()), draw_reliability)
    else:
        note("the reliability diagram is left out: the model has no probabilities")
    stream = list(islice((row for row in learned if row.labels), MAX_ROWS))
    if stream:
        fresh = untrained_copy(tagger)
        fresh.learn_names(tagger.label_names)
        progressive = rank_then_learn(fresh, [row.text for row in stream], [row.labels for row in stream])
        target.write("learning-curve", learning_curve_figures(*progressive), draw_learning_curve)
    sizes = truncated_models(tagger, model, texts, labels, ranking)
    if sizes:
        target.write("memory", memory_figures(sizes), draw_accuracy_by_memory)
    pairs = confusion_figures(find_confusions(tagger, texts, labels, n=N_PAIRS))
    if pairs:
        target.write("confused-labels", pairs, draw_confused_pairs, height=1.1 + 0.46 * len(pairs), width=8.6)
    _write_explanations(target, tagger, rows, dark)
    return target.files


def draw_tuning(tuning: "Tuning", folder: str, dark: bool) -> list[str]:
    """Plot the settings that were tried, and return the names of the files."""
    from abound.plots.tried import draw_tried_settings, tried_figures

    target = _Target(folder, dark)
    rows = tried_figures(tuning.trials, tuning.best.setting)
    target.write("tried", rows, lambda figures, ax: draw_tried_settings(figures, tuning.measure, ax))
    return target.files


def untrained_copy(tagger: "Tagger") -> "Tagger":
    """Return an untrained tagger with the same parameters that learns in one pass."""
    params = tagger.params()
    ranker_params = dict(params.pop("ranker_params"))
    if "passes" in ranker_params:
        ranker_params["passes"] = 1
    return type(tagger)(params.pop("ranker"), ranker_params=ranker_params, **params)


def truncated_models(
    tagger: "Tagger", model: str, texts: Sequence[Text], labels: Sequence[Any], ranking: "Ranking"
) -> list[tuple[int, int, Any]]:
    """Return (d_max, bytes, Judgement) of a model and of copies with fewer edges per word; empty without an index."""
    from abound.metrics import judge

    whole = getattr(tagger.ranker, "d_max", None)
    if not tagger.n_edges or whole is None:
        note("the plot of accuracy against memory is left out: this model has no edge lists to truncate (d_max)")
        return []
    truth = tagger.truth(labels)
    sizes = [(whole, _model_bytes(tagger), judge(truth, ranking))]
    for d_max in D_MAX:
        if d_max < whole:
            smaller = type(tagger).load(model, verify=False, d_max=d_max)
            sizes.append((d_max, _model_bytes(smaller), judge(truth, smaller.rank_arrays(texts, N_RANKS))))
    return sizes


def _model_bytes(tagger: "Tagger") -> int:
    """Return the size of a tagger's files. Unlike its memory, files have no spare capacity."""
    from abound.store.directory import Blocks

    sources = tagger.arrays().values()
    return sum(
        source.dtype.itemsize * (source.length if isinstance(source, Blocks) else source.size) for source in sources
    )


class _Target:
    """A directory of plots. The data of each plot is written beside it as JSON lines."""

    def __init__(self, folder: str, dark: bool) -> None:
        self.folder = Path(folder)
        self.dark = dark
        self.files: list[str] = []
        self.folder.mkdir(parents=True, exist_ok=True)

    def write(
        self,
        name: str,
        rows: list[dict[str, Any]],
        draw: Callable[[list[dict[str, Any]], Any], Any],
        *,
        width: float | None = None,
        height: float | None = None,
    ) -> None:
        """Write a plot and its data."""
        from matplotlib.figure import Figure  # not pyplot, which would look for a display

        from abound.plots.style import DPI, HEIGHT, WIDTH, background

        self.put(f"{name}.jsonl", "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
        with background(self.dark), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph .* missing")  # the font shows missing scripts as boxes
            figure = Figure(figsize=(width or WIDTH, height or HEIGHT), layout="constrained")
            draw(rows, figure.subplots())
            figure.savefig(self.folder / f"{name}.png", dpi=DPI)
        self.files.append(f"{name}.png")

    def put(self, name: str, text: str) -> None:
        """Write a file."""
        (self.folder / name).write_text(text, encoding="utf-8")
        self.files.append(name)


def _write_explanations(target: _Target, tagger: "Tagger", rows: Sequence["Document"], dark: bool) -> None:
    """Explain the first labels of some texts, half of them right and half of them wrong."""
    from abound.plots.colouring import coloured_text
    from abound.plots.explained import draw_explanations, explanation_figures, explanations_height

    texts = [row.text for row in rows]
    firsts = [(row, ranking[0].label) for row, ranking in zip(rows, tagger.rank_many(texts, 1), strict=True) if ranking]
    right = [row for row, label in firsts if label in row.labels]
    wrong = [row for row, label in firsts if label not in row.labels]
    shown = [*_spread(right, N_EXPLAINED // 2), *_spread(wrong, N_EXPLAINED // 2)]
    explained = [coloured_text(tagger, row.text) for row in shown]
    notes = []
    for row, coloured in zip(shown, explained, strict=True):
        verdict = "right" if str(coloured.explanation.label) in map(str, row.labels) else "wrong"
        notes.append(f"{verdict}; true: {', '.join(tagger.name_of(label) for label in row.labels)}")
    figures = explanation_figures(explained, notes)
    target.write("explanations", figures, draw_explanations, width=8.6, height=explanations_height(figures))
    pairs = zip(explained, notes, strict=True)
    sections = [f"<section>{coloured.html()}<em>{escape(note)}</em></section>" for coloured, note in pairs]
    title = "Why texts got their first labels"
    page = PAGE.format(title=title, scheme="dark" if dark else "light dark", body="\n".join(sections))
    target.put("explanations.html", page)


def _spread(rows: Sequence["Document"], n: int) -> Sequence["Document"]:
    """Return up to n rows, evenly spread."""
    return rows[:: -(-len(rows) // n)] if rows else rows
