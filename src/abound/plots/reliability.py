"""The reliability diagram: how many labels of each probability are right."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from abound.metrics.reliability import CalibrationBin, calibration_error
from abound.plots.style import Z, annotate_near, style_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def reliability_figures(bins: Sequence[CalibrationBin]) -> list[dict[str, Any]]:
    """Return each bin with the 95% interval of its share of right labels."""
    figures = []
    for found in bins:
        # Wilson's interval stays within 0 and 1, even for few labels.
        n, share = found.n, found.right
        middle = (share + Z * Z / (2 * n)) / (1 + Z * Z / n)
        half = Z / (1 + Z * Z / n) * float(np.sqrt(share * (1 - share) / n + Z * Z / (4 * n * n)))
        figures.append(
            {
                "probability": found.probability,
                "probability_from": found.low,
                "probability_to": found.high,
                "right": share,
                "low": min(middle - half, share),
                "high": max(middle + half, share),
                "n": n,
            }
        )
    return figures


def reliability_diagram(bins: Sequence[CalibrationBin], *, ax: "Axes | None" = None) -> "Axes":
    """Plot how many labels of each probability are right.

    Parameters
    ----------
    bins : sequence of CalibrationBin
        The result of `Evaluation.calibration_bins` or `abound.metrics.calibration_bins`.
    ax : Axes, optional

    Examples
    --------
    >>> from abound import plots
    >>> from abound.metrics import calibration_bins
    >>> plots.reliability_diagram(calibration_bins([0.1, 0.2, 0.8], [False, False, True], 3)).get_xlabel()
    'probability'
    """
    return draw_reliability(reliability_figures(bins), ax)


def draw_reliability(rows: list[dict[str, Any]], ax: "Axes | None" = None) -> "Axes":
    """Plot the result of `reliability_figures`."""
    ax, theme = style_axes(
        ax,
        "Reliability of the probabilities",
        x="probability",
        y="share of the labels that are right, with 95% intervals",
        grid="both",
    )
    ax.set(xlim=(0, 1), ylim=(0, 1))
    ax.plot([0, 1], [0, 1], ":", color=theme.muted, linewidth=1.2)
    x, shares = (np.array([row[name] for row in rows]) for name in ("probability", "right"))
    below, above = shares - [row["low"] for row in rows], [row["high"] for row in rows] - shares
    color = theme.lines[0]
    ax.plot(x, shares, color=color, linewidth=1, alpha=0.5)
    ax.errorbar(x, shares, np.maximum([below, above], 0), fmt="o", color=color, elinewidth=1.4, markersize=5, capsize=0)
    bins = [CalibrationBin(*(row[name] for name in ("probability", "right", "n", "low", "high"))) for row in rows]
    total = sum(row["n"] for row in rows)
    words = f"calibration error {calibration_error(bins):.4f}\n{len(rows)} groups of {total:,} labels in all"
    annotate_near(ax, words, (0.03, 0.97), (0, 0), color=theme.text, va="top")
    ideal: dict[str, Any] = {"rotation": 45, "rotation_mode": "anchor", "transform_rotates_text": True}
    ax.text(0.56, 0.61, "as many are right as expected", color=theme.muted, fontsize="small", **ideal)
    return ax
