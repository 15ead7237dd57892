"""How good the rankings of a stream were, each made before its row was learned."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from abound.metrics import judge
from abound.metrics.label_ranking import figures
from abound.plots.style import Z, draw_band, label_lines, style_axes, thousands
from abound.rankers.ranking import Ranking

if TYPE_CHECKING:
    import scipy.sparse as sp
    from matplotlib.axes import Axes

    from abound.metrics.judgement import RankedLabels
    from abound.tagger import Tagger

N_POINTS = 40
MEASURES = ("P@1", "P@3", "P@5")
MAX_BATCH = 2_000
AHEAD = 50  # a row is ranked by what was learned up to a fiftieth of the rows before it


def rank_then_learn(
    tagger: "Tagger", texts: Sequence[str], labels: Sequence[Sequence[Any]], k: int = 5
) -> tuple["sp.csr_array[Any]", Ranking]:
    """Rank texts before learning them, in order, and return the truth and the rankings of all.

    The tagger learns what it would have learned without. Texts are taken in small lots, of one at first and never of
    more than a fiftieth of those before, because ranking many at once is faster.

    Examples
    --------
    >>> from abound import Tagger, plots
    >>> texts, labels = ["a red apple", "a fast car"] * 10, [["fruit"], ["vehicle"]] * 10
    >>> truth, ranking = plots.rank_then_learn(Tagger(), texts, labels)
    >>> plots.learning_curve(truth, ranking).get_title(loc="left")
    'Learning curve'
    """
    indices, scores, at = np.full((len(texts), k), -1, np.int32), np.zeros((len(texts), k)), 0
    while at < len(texts):
        stop = at + min(max(at // AHEAD, 1), MAX_BATCH)
        part = tagger.rank_arrays(texts[at:stop], k)
        width = part.indices.shape[1]
        if tagger.n_labels:
            indices[at:stop, :width], scores[at:stop, :width] = part.indices, part.scores
        tagger.learn_many(texts[at:stop], labels[at:stop])
        at = stop
    return tagger.truth(labels), Ranking(indices, scores, tagger.ranker.labels_.names)


def learning_curve_figures(
    truth: "sp.csr_array[Any]", ranking: "RankedLabels", measures: Sequence[str] = MEASURES
) -> list[dict[str, Any]]:
    """Return the mean of each measure over consecutive windows of the rows, with 95% intervals."""
    judgement = judge(truth, ranking)
    rows = {name: figures(name, judgement) for name in measures}
    n_windows = max(1, min(N_POINTS, len(judgement.kept) // 25))
    bounds = np.linspace(0, len(judgement.kept), n_windows + 1).astype(np.int64)
    found = []
    for start, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        window: dict[str, Any] = {
            "rows_from": int(judgement.kept[start]) + 1,
            "rows_to": int(judgement.kept[stop - 1]) + 1,
        }
        for name, values in rows.items():
            part = values[start:stop]
            half = Z * float(part.std()) / np.sqrt(len(part))
            mean = float(part.mean())
            window |= {name: mean, f"{name}_low": max(mean - half, 0.0), f"{name}_high": min(mean + half, 1.0)}
        found.append(window)
    return found


def learning_curve(
    truth: "sp.csr_array[Any]",
    ranking: "RankedLabels",
    *,
    measures: Sequence[str] = MEASURES,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw how good rankings became as rows were learned.

    Parameters
    ----------
    truth, ranking, ax
        See `precision_at_k`; rows in the order in which they were learned, each ranked before, as `rank_then_learn`
        does.
    measures : sequence of str
        Measures that are means over rows.
    """
    return draw_learning_curve(learning_curve_figures(truth, ranking, measures), ax)


def draw_learning_curve(rows: list[dict[str, Any]], ax: "Axes | None" = None) -> "Axes":
    """Draw what `learning_curve_figures` gave."""
    ax, theme = style_axes(
        ax,
        "Learning curve",
        x="rows learned",
        y="mean over rows that were ranked before they were learned, with 95% intervals",
    )
    x, ends = [(row["rows_from"] + row["rows_to"]) / 2 for row in rows], []
    measures = [name for name in rows[0] if f"{name}_low" in rows[0]]
    for number, name in enumerate(measures):
        color = theme.lines[number % len(theme.lines)]
        values = [row[name] for row in rows]
        low, high = ([row[f"{name}_{end}"] for row in rows] for end in ("low", "high"))
        draw_band(ax, x, low, high, color)
        ax.plot(x, values, color=color)
        ends.append((x[-1], values[-1], f"{name} {values[-1]:.3f}", color))
    ax.set_ylim(0, min(1.0, 1.1 * max(row[f"{name}_high"] for row in rows for name in measures)))
    ax.set_xlim(0, rows[-1]["rows_to"])
    thousands(ax)
    label_lines(ax, ends)
    return ax
