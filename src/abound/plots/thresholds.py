"""Precision against recall, for all thresholds on the score."""

from typing import TYPE_CHECKING, Any

import numpy as np

from abound.metrics import judge
from abound.plots.style import annotate_near, draw_band, style_axes

if TYPE_CHECKING:
    import scipy.sparse as sp
    from matplotlib.axes import Axes

    from abound.metrics.judgement import RankedLabels

N_RESAMPLES = 100
N_POINTS = 120


def precision_recall_figures(truth: "sp.csr_array[Any]", ranking: "RankedLabels") -> list[dict[str, Any]]:
    """Return precision with its 95% interval, and the threshold, at evenly spaced values of recall.

    All ranked labels of all rows are pooled. A true label that is missing from the ranking is missed at all thresholds.
    """
    judgement = judge(truth, ranking)
    owners, ranks = np.nonzero(judgement.ranked)
    scores, hits = judgement.scores[owners, ranks], judgement.hits[owners, ranks]
    order = np.argsort(-scores, kind="stable")
    owners, scores, hits = owners[order], scores[order], hits[order]
    if not hits.any():
        return []
    n_rows = len(judgement.n_true)

    def curve(counts: "np.ndarray[Any, Any]") -> tuple[Any, Any]:
        right = np.cumsum(hits * counts[owners])
        return right / np.maximum(np.cumsum(counts[owners]), 1), right / max((judgement.n_true * counts).sum(), 1)

    precision, recall = curve(np.ones(n_rows, np.int64))
    # Recall rises at hits, so a value is reached at the first position with at least that recall.
    wanted = np.linspace(0, recall[-1], N_POINTS + 1)[1:]
    at = np.minimum(np.searchsorted(recall, wanted), len(recall) - 1)
    rng = np.random.default_rng(0)
    draws = []
    for _ in range(N_RESAMPLES):
        resampled, reached = curve(np.bincount(rng.integers(n_rows, size=n_rows), minlength=n_rows))
        positions = np.minimum(np.searchsorted(reached, wanted), len(reached) - 1)
        draws.append(resampled[positions])
    low, high = np.quantile(draws, [0.025, 0.975], axis=0)
    return [
        {
            "recall": float(recall[i]),
            "precision": float(precision[i]),
            "low": float(min(low[j], precision[i])),
            "high": float(max(high[j], precision[i])),
            "threshold": float(scores[i]),
        }
        for j, i in enumerate(at)
    ]


def precision_recall(truth: "sp.csr_array[Any]", ranking: "RankedLabels", *, ax: "Axes | None" = None) -> "Axes":
    """Plot precision against recall for all thresholds on the score; see `precision_at_k` for the parameters."""
    return draw_precision_recall(precision_recall_figures(truth, ranking), ax)


def draw_precision_recall(rows: list[dict[str, Any]], ax: "Axes | None" = None) -> "Axes":
    """Plot the result of `precision_recall_figures`."""
    ax, theme = style_axes(
        ax,
        "Precision against recall",
        x="recall: share of the true labels that are assigned",
        y="precision: share of the assigned labels that are true, with 95% intervals",
        grid="both",
    )
    ax.set(xlim=(0, 1), ylim=(0, 1))
    if not rows:
        ax.text(0.5, 0.5, "no ranked label is true", ha="center", color=theme.muted)
        return ax
    recall, precision = ([row[name] for row in rows] for name in ("recall", "precision"))
    color, marked = theme.lines[0], theme.lines[1]
    draw_band(ax, recall, [r["low"] for r in rows], [r["high"] for r in rows], color)
    ax.plot(recall, precision, color=color)
    f1 = [2 * p * r / (p + r) if p + r else 0.0 for p, r in zip(precision, recall, strict=True)]
    best = int(np.argmax(f1))
    ax.plot(recall[best], precision[best], "o", color=marked)
    words = f"best F1 {f1[best]:.3f}: labels with a score\nof at least {rows[best]['threshold']:.3g}"
    annotate_near(ax, words, (recall[best], precision[best]), (10, 10), color=marked)
    words = f"all ranked labels:\nrecall {recall[-1]:.3f}"
    annotate_near(ax, words, (recall[-1], precision[-1]), (6, 0), color=color, va="center")
    return ax
