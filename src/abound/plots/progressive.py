"""Progressive validation: rank each row of a stream before it is learned."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from abound.metrics import judge
from abound.metrics.label_ranking import figures
from abound.plots.style import Z, draw_band, label_lines, style_axes, thousands
from abound.rankers.ranking import Ranking
from abound.texts import Text

if TYPE_CHECKING:
    import scipy.sparse as sp
    from matplotlib.axes import Axes

    from abound.metrics.judgement import RankedLabels
    from abound.tagger import Tagger

N_POINTS = 40
MEASURES = ("P@1", "P@3", "P@5")
MAX_BATCH = 2_000
AHEAD = 50  # a batch is at most one row per 50 rows before it


def rank_then_learn(
    tagger: "Tagger", texts: Sequence[Text], labels: Sequence[Sequence[Any]], k: int = 5
) -> tuple["sp.csr_array[Any]", Ranking]:
    """Rank texts before learning them, in order, and return the truth and the rankings.

    The tagger learns the same as without ranking. Ranking many texts at once is faster, so texts are taken in batches:
    one text at first, and never more than a fiftieth of the texts before.

    Examples
    --------
    >>> from abound import Tagger, plots
    >>> texts, labels = ["a red apple", "a fast car"] * 10, [["fruit"], ["vehicle"]] * 10
    >>> truth, ranking = plots.rank_then_learn(Tagger(), texts, labels)
    >>> plots.learning_curve(truth, ranking).get_title(loc="left")
    'Learning curve'
    """
    indices, scores, start = np.full((len(texts), k), -1, np.int32), np.zeros((len(texts), k)), 0
    while start < len(texts):
        stop = start + min(max(start // AHEAD, 1), MAX_BATCH)
        part = tagger.rank_arrays(texts[start:stop], k)
        width = part.indices.shape[1]
        if tagger.n_labels:
            indices[start:stop, :width], scores[start:stop, :width] = part.indices, part.scores
        tagger.learn_many(texts[start:stop], labels[start:stop])
        start = stop
    return tagger.truth(labels), Ranking(indices, scores, tagger.ranker.labels_.names)


def learning_curve_figures(
    truth: "sp.csr_array[Any]", ranking: "RankedLabels", measures: Sequence[str] = MEASURES
) -> list[dict[str, Any]]:
    """Return the mean of each metric over consecutive windows of rows, with 95% intervals."""
    judgement = judge(truth, ranking)
    rows = {name: figures(name, judgement) for name in measures}
    n_windows = max(1, min(N_POINTS, len(judgement.kept) // 25))
    bounds = np.linspace(0, len(judgement.kept), n_windows + 1).astype(np.int64)
    windows = []
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
        windows.append(window)
    return windows


def learning_curve(
    truth: "sp.csr_array[Any]",
    ranking: "RankedLabels",
    *,
    measures: Sequence[str] = MEASURES,
    ax: "Axes | None" = None,
) -> "Axes":
    """Plot the quality of the rankings over the learned rows.

    Parameters
    ----------
    truth, ranking
        See `precision_at_k`. Rows are in the order of learning, and each was ranked before it was learned; see
        `rank_then_learn`.
    measures : sequence of str
        Metrics that are means over rows.
    ax
        See `precision_at_k`.
    """
    return draw_learning_curve(learning_curve_figures(truth, ranking, measures), ax)


def draw_learning_curve(rows: list[dict[str, Any]], ax: "Axes | None" = None) -> "Axes":
    """Plot the result of `learning_curve_figures`."""
    ax, theme = style_axes(
        ax,
        "Learning curve",
        x="rows learned",
        y="mean over rows, ranked before they were learned, with 95% intervals",
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
