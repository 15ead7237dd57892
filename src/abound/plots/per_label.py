"""F1 of every label by its number of texts, and the labels that lose most."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from abound.plots.style import annotate_near, escape_math, shorten, style_axes, thousands

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from abound.tagger import LabelQuality

N_NAMED = 5


def label_quality_figures(labels: Sequence["LabelQuality"]) -> list[dict[str, Any]]:
    """Return each label that a text has as a plain row."""
    return [asdict(row) for row in labels if row.support]


def label_quality(labels: Sequence["LabelQuality"], *, ax: "Axes | None" = None) -> "Axes":
    """Plot F1 of every label by its number of texts, with the mean and the names of the labels that lose most.

    Parameters
    ----------
    labels : sequence of LabelQuality
        The result of `Evaluation.per_label`.
    ax : Axes, optional
    """
    return draw_label_quality(label_quality_figures(labels), ax)


def draw_label_quality(rows: list[dict[str, Any]], ax: "Axes | None" = None) -> "Axes":
    """Plot the result of `label_quality_figures`."""
    ax, theme = style_axes(
        ax, "Quality of each label", x="texts that have the label", y="F1 of a label; the line is their mean"
    )
    ax.set_ylim(-0.03, 1.03)
    if not rows:
        ax.text(0.5, 0.5, "no text has a label", ha="center", color=theme.muted, transform=ax.transAxes)
        return ax
    support, f1 = (np.array([row[name] for row in rows], float) for name in ("support", "f1"))
    ax.set_xscale("log", base=2)  # the groups of the mean
    thousands(ax)
    ax.plot(support, f1, "o", color=theme.lines[0], markersize=4, alpha=max(0.05, min(0.6, 60 / len(rows))), mew=0)
    groups = np.floor(np.log2(support)).astype(np.int64)  # 1, 2-3, 4-7 and so on
    means = [(support[groups == g].mean(), f1[groups == g].mean()) for g in np.unique(groups)]
    ax.plot(*zip(*means, strict=True), "-", color=theme.lines[1], linewidth=2)
    for place in np.argsort(-support * (1 - f1), kind="stable")[:N_NAMED].tolist():
        name = rows[place]["name"] or str(rows[place]["label"])
        at = (float(support[place]), float(f1[place]))
        annotate_near(ax, escape_math(shorten(name, 24)), at, (-5, 3), ha="right", color=theme.text, fontsize="small")
    return ax
