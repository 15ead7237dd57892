"""Accuracy against memory, for an index with fewer edges per word."""

from typing import TYPE_CHECKING, Any

from abound.data.extras import require
from abound.metrics import Judgement, interval
from abound.plots.style import annotate_near, style_axes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes


def memory_figures(sizes: "Sequence[tuple[int, int, Judgement]]", measure: str = "P@5") -> list[dict[str, Any]]:
    """Return the metric for each size with its 95% interval, smallest first; see `accuracy_by_memory`."""
    rows = []
    for d_max, n_bytes, judgement in sorted(sizes, key=lambda size: (size[1], size[0])):
        figure = interval(measure, judgement, n_resamples=300)
        rows.append({"d_max": d_max, "bytes": n_bytes, "measure": measure, **figure._asdict()})
    return rows


def accuracy_by_memory(
    sizes: "Sequence[tuple[int, int, Judgement]]", *, measure: str = "P@5", ax: "Axes | None" = None
) -> "Axes":
    """Plot a metric against memory.

    Parameters
    ----------
    sizes : sequence of (d_max, bytes, Judgement)
        A model at several sizes; `Tagger.load(path, d_max=10)` loads a smaller one.
    measure : str
    ax : Axes, optional
    """
    return draw_accuracy_by_memory(memory_figures(sizes, measure), ax)


def draw_accuracy_by_memory(rows: list[dict[str, Any]], ax: "Axes | None" = None) -> "Axes":
    """Plot the result of `memory_figures`."""
    measure = rows[0]["measure"] if rows else ""
    ax, theme = style_axes(
        ax,
        "Accuracy against memory",
        x="MiB of the model's files, which are memory-mapped",
        y=f"held-out {measure}, with 95% intervals; the numbers are d_max, the edges per word",
    )
    x, values = [row["bytes"] / 2**20 for row in rows], [row["value"] for row in rows]
    below = [row["value"] - row["low"] for row in rows]
    above = [row["high"] - row["value"] for row in rows]
    ax.errorbar(x, values, [below, above], fmt="o-", color=theme.lines[0], elinewidth=1.2, markersize=5, capsize=0)
    for row, at in zip(rows, x, strict=True):
        annotate_near(ax, f"{row['d_max']:,}", (at, row["value"]), (6, -11), color=theme.text)
    ax.set_ylim(0, 1.15 * max((row["high"] for row in rows), default=1.0))
    ax.set_xlim(0, 1.06 * max(x, default=1.0))
    ticker = require("matplotlib.ticker", "plot", "plots")
    ax.xaxis.set_major_formatter(ticker.StrMethodFormatter("{x:,.4g}"))
    return ax
