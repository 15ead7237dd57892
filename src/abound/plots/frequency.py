"""Recall of rare and frequent labels."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from abound.metrics.judgement import validate_ranking
from abound.plots.style import Z, style_axes

if TYPE_CHECKING:
    import scipy.sparse as sp
    from matplotlib.axes import Axes

    from abound.metrics.judgement import RankedLabels


def label_frequency_figures(
    truth: "sp.csr_array[Any]", ranking: "RankedLabels", label_counts: NDArray[np.int64], k: int = 5
) -> list[dict[str, Any]]:
    """Return the share of true labels among the first k, by the number of training rows of the label."""
    truth, indices, _ = validate_ranking(truth, ranking)
    rows, labels = np.repeat(np.arange(truth.shape[0]), np.diff(truth.indptr)), truth.indices.astype(np.int64)
    first = indices[:, :k]
    hits = (first[rows] == labels[:, None]).any(axis=1)
    counts = np.zeros(max(truth.shape[1], len(label_counts)), np.int64)
    counts[: len(label_counts)] = label_counts
    seen = counts[labels]
    # 0, 1, 2-3, 4-7 and so on.
    bins = np.where(seen > 0, np.floor(np.log2(np.maximum(seen, 1))).astype(np.int64) + 1, 0)
    figures = []
    for number in range(int(bins.max(initial=-1)) + 1):
        within = bins == number
        n = int(within.sum())
        if not n:
            continue
        share = float(hits[within].mean())
        # Wilson's interval stays within 0 and 1, even for few labels.
        middle = (share + Z * Z / (2 * n)) / (1 + Z * Z / n)
        half = Z / (1 + Z * Z / n) * np.sqrt(share * (1 - share) / n + Z * Z / (4 * n * n))
        figures.append(
            {
                "rows_from": 2 ** (number - 1) if number else 0,
                "rows_to": 2**number - 1 if number else 0,
                "k": k,
                "found": share,
                "low": float(middle - half),
                "high": float(middle + half),
                "n": n,
                "labels": len(np.unique(labels[within])),
            }
        )
    return figures


def label_frequency(
    truth: "sp.csr_array[Any]",
    ranking: "RankedLabels",
    label_counts: NDArray[np.int64],
    *,
    k: int = 5,
    ax: "Axes | None" = None,
) -> "Axes":
    """Plot the share of true labels among the first k, by the number of training rows of the label.

    Parameters
    ----------
    truth, ranking, ax
        See `precision_at_k`.
    label_counts : ndarray
        Number of training rows of each label; `Tagger.label_counts`.
    k : int
        Number of labels of each row.
    """
    return draw_label_frequency(label_frequency_figures(truth, ranking, label_counts, k), ax)


def draw_label_frequency(rows: list[dict[str, Any]], ax: "Axes | None" = None) -> "Axes":
    """Plot the result of `label_frequency_figures`."""
    k = rows[0]["k"] if rows else 5
    ax, theme = style_axes(
        ax,
        "Rare and frequent labels",
        x="training rows of a label (lower bound), and below, the number of true labels",
        y=f"share of the true labels among the first {k}, with 95% intervals",
    )
    x = np.arange(len(rows))
    shares = np.array([row["found"] for row in rows])
    below, above = shares - [row["low"] for row in rows], [row["high"] for row in rows] - shares
    color = theme.lines[0]
    ax.plot(x, shares, color=color, linewidth=1, alpha=0.5)
    ax.errorbar(x, shares, np.maximum([below, above], 0), fmt="o", color=color, elinewidth=1.4, markersize=5, capsize=0)
    ax.set_ylim(0, 1)
    ax.set_xticks(x, [f"{_short(row['rows_from'])}\n{_short(row['n'])}" for row in rows], fontsize="small")
    return ax


def _short(number: int) -> str:
    return f"{number:,}" if number < 10_000 else f"{number / 1000:.0f}k"
