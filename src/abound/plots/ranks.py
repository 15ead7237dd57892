"""Precision and recall of the first k labels."""

from typing import TYPE_CHECKING, Any

import numpy as np

from abound.metrics import judge
from abound.metrics.bootstrap import mean_bands
from abound.plots.style import annotate_near, draw_band, label_lines, style_axes

if TYPE_CHECKING:
    import scipy.sparse as sp
    from matplotlib.axes import Axes

    from abound.metrics.judgement import RankedLabels


def precision_at_k_figures(truth: "sp.csr_array[Any]", ranking: "RankedLabels") -> list[dict[str, Any]]:
    """Return precision, recall and the best possible precision at each rank, with 95% intervals."""
    judgement = judge(truth, ranking)
    k = np.arange(1, judgement.width + 1)
    n_hits = np.cumsum(judgement.hits, axis=1)
    precision, recall = mean_bands(n_hits / k), mean_bands(n_hits / judgement.n_true[:, None])
    best = (np.minimum(judgement.n_true[:, None], k) / k).mean(axis=0)
    return [
        {
            "k": int(k[i]),
            **{name: float(band[i]) for name, band in zip(("P", "P_low", "P_high"), precision, strict=True)},
            **{name: float(band[i]) for name, band in zip(("R", "R_low", "R_high"), recall, strict=True)},
            "best_possible_P": float(best[i]),
        }
        for i in range(judgement.width)
    ]


def precision_at_k(truth: "sp.csr_array[Any]", ranking: "RankedLabels", *, ax: "Axes | None" = None) -> "Axes":
    """Plot precision and recall of the first k labels, for each k of the ranking.

    Parameters
    ----------
    truth : sparse indicator of shape (n_rows, n_labels)
        `Tagger.truth` creates it from names.
    ranking : Ranking
        The result of `rank` of a ranker or `rank_arrays` of a tagger.
    ax : Axes, optional
        The axes; by default, those of a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from abound import Tagger, plots
    >>> tagger = Tagger().fit(["a red apple", "a fast car"], [["fruit"], ["vehicle"]])
    >>> ranking = tagger.rank_arrays(["red apple", "fast car"], k=2)
    >>> plots.precision_at_k(tagger.truth([["fruit"], ["vehicle"]]), ranking).get_xlabel()
    'first k labels'
    """
    return draw_precision_at_k(precision_at_k_figures(truth, ranking), ax)


def draw_precision_at_k(rows: list[dict[str, Any]], ax: "Axes | None" = None) -> "Axes":
    """Plot the result of `precision_at_k_figures`."""
    k = [row["k"] for row in rows]
    ax, theme = style_axes(ax, "Precision and recall at k", x="first k labels", y="mean over rows, with 95% intervals")
    best = [row["best_possible_P"] for row in rows]
    ax.plot(k, best, ":", color=theme.muted, linewidth=1.2)
    ends = [(k[-1], best[-1], "best possible precision", theme.muted)]
    for name, word, color in (("P", "precision", theme.lines[0]), ("R", "recall", theme.lines[1])):
        values = [row[name] for row in rows]
        draw_band(ax, k, [r[f"{name}_low"] for r in rows], [r[f"{name}_high"] for r in rows], color)
        ax.plot(k, values, "o-", color=color, markersize=3.5)
        ends.append((k[-1], values[-1], f"{word} {values[-1]:.3f}", color))
        annotate_near(ax, f"{values[0]:.3f}", (k[0], values[0]), (-7, 0), color=color, ha="right", va="center")
    ax.set(xlim=(k[0] - 0.09 * len(k), k[-1] + 0.03 * len(k)), ylim=(0, 1))
    ax.set_xticks(k if len(k) <= 12 else k[:: -(-len(k) // 10)])
    label_lines(ax, ends)
    return ax
